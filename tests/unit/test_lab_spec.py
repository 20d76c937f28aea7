"""What travels to the supervisor arrives as it was sent."""

import json

from edgegate.lab import Bind, ProcessSpec, Ready


def test_a_spec_survives_the_socket() -> None:
    spec = ProcessSpec(
        name="envoy-gateway",
        argv=("/bin/eg", "server"),
        env={"KUBECONFIG": "/k"},
        binds=(Bind("/a", "/certs"), Bind("/b", "/etc/b", read_only=False)),
        ready=Ready("http", "https://127.0.0.1:6443/readyz", contains="ok", header={"Host": "x"}, limit=7),
        stop_grace=2.5,
        restart="always",
    )
    assert ProcessSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_a_spec_without_extras_survives_the_socket() -> None:
    spec = ProcessSpec("etcd", ("/bin/etcd",), {})
    assert ProcessSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
