"""Real API servers and faked neighbours (Envoy Gateway, cert-manager, PowerDNS) for tests of the reference operator."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.components.base_state import crds_in
from edgegate_operator import kinds
from edgegate_operator.core.kube import ApiError, Cluster, NotFound
from edgegate_operator.core.webhook import certificate
from edgegate_operator.kinds import Kind, Obj, key_of, kind_of
from operator_tls import certificate_for

ROOT = Path(__file__).parent.parent
TOKEN = "operator-test"
NEEDED = {
    "gateway-api": ("gatewayclasses", "gateways", "httproutes", "backendtlspolicies"),
    "envoy-gateway": ("backends", "backendtrafficpolicies", "httproutefilters", "securitypolicies"),
}
LOOSE = (kinds.CERTIFICATE, kinds.CHALLENGE, kinds.ORDER, kinds.DNS_ENDPOINT)
"""Kinds of others of which any form will do here."""


def free_port() -> int:
    """Return a port that nobody used a moment ago."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def loose_crd(kind: Kind) -> Obj:
    """Return a CRD that takes any object."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower(), "listKind": f"{kind.kind}List"}
    spec: Obj = {"group": kind.group, "scope": "Namespaced", "names": names}
    spec["versions"] = [version | {"schema": {"openAPIV3Schema": anything}}]
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    approved = {"api-approved.kubernetes.io": "unapproved, for tests"}  # asked for in groups of k8s.io
    return head | {"metadata": {"name": f"{kind.plural}.{kind.group}", "annotations": approved}, "spec": spec}


class Plane(Cluster):
    """One API server as tests use it."""

    def path(self, obj: Obj) -> str:
        """Return the address of an object of any kind that tests apply."""
        plurals = {
            "CustomResourceDefinition": "customresourcedefinitions",
            "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
            "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
        }
        return f"/apis/{obj['apiVersion']}/{plurals[obj['kind']]}/{obj['metadata']['name']}"

    def put(self, *objects: Obj) -> None:
        """Apply objects as a user."""
        for obj in objects:
            self.apply(obj, "user")

    def put_foundations(self, *objects: Obj) -> None:
        """Apply CRDs and admission policies."""
        query = {"fieldManager": "user", "force": "true"}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda o: self._call("PATCH", self.path(o), query, o, "apply-patch+yaml"), objects))

    def find(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """Return an object or None."""
        with suppress(NotFound):
            return self.get(kind, namespace, name)
        return None

    def set_status(self, obj: Obj, status: Obj, by: str) -> None:
        """Write a status as one of the neighbours; an object that is gone takes none."""
        namespace, name = key_of(obj)
        with suppress(NotFound):
            self.apply(kind_of(obj).named(namespace, name) | {"status": status}, by, "status")


class Planes:
    """etcd, two API servers with their garbage collectors, and all CRDs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._undo = ExitStack()

    def _start(self, name: str, *argv: str, **env: str) -> None:
        log = self._undo.enter_context((self._folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **env}, start_new_session=True
        )
        self._undo.callback(process.wait)
        self._undo.callback(os.killpg, process.pid, signal.SIGKILL)  # throw-away: a graceful end takes 10 s

    def __enter__(self) -> Self:
        """Start everything and return when every CRD is served."""
        with ExitStack() as undo:
            undo.callback(self._undo.close)
            self._bring_up()
            undo.pop_all()
        return self

    def _bring_up(self) -> None:
        wanted, store = pins.load(ROOT / "pins.toml"), Store()
        found = {
            name: store.ensure(wanted, name, wanted.pin(name).default)
            for name in ("etcd", "kubernetes", "gateway-api", "envoy-gateway")
        }
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._start(
            "etcd", str(found["etcd"].binary("etcd")), f"--data-dir={self._folder}/etcd", "--unsafe-no-fsync",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}", "--log-level=warn",
        )  # fmt: skip
        kubernetes = found["kubernetes"]
        self._write_keys()
        self.upstream, self.downstream = (self._plane(name, client, kubernetes) for name in ("upstream", "downstream"))
        for plane in (self.upstream, self.downstream):
            wait_until(f"{plane.name} is ready", partial(self._is_ready, plane), deadline=90)
        self._apply_crds(found)
        for plane in (self.upstream, self.downstream):  # only now: its garbage collector learns of new kinds in 30 s
            self._start(
                f"controllers-{plane.name}", str(kubernetes.binary("kube-controller-manager")),
                f"--kubeconfig={self._folder}/{plane.name}.kubeconfig", "--leader-elect=false", "--secure-port=0",
                "--controllers=garbage-collector-controller,namespace-controller",
            )  # fmt: skip

    def __exit__(self, *_: object) -> None:
        """Kill everything."""
        self._undo.close()

    def _write_keys(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = serialization.Encoding.PEM
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self._folder / "sa.key").write_bytes(private)
        public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
        (self._folder / "sa.pub").write_bytes(public)
        (self._folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        chain, secret = certificate("127.0.0.1")
        (self._folder / "tls.crt").write_bytes(chain)
        (self._folder / "tls.key").write_bytes(secret)

    def _plane(self, name: str, etcd: str, kubernetes: Any) -> Plane:
        port, folder = free_port(), self._folder
        self._start(
            f"api-{name}", str(kubernetes.binary("kube-apiserver")), f"--etcd-servers={etcd}",
            f"--etcd-prefix=/{name}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--tls-cert-file={folder}/tls.crt", f"--tls-private-key-file={folder}/tls.key",
            "--service-account-issuer=https://kubernetes.default.svc", f"--token-auth-file={folder}/tokens.csv",
            f"--service-account-key-file={folder}/sa.pub", f"--service-account-signing-key-file={folder}/sa.key",
            "--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none", "--profiling=false", "--authorization-mode=RBAC",
            GOMEMLIMIT="600MiB",
        )  # fmt: skip
        server = {"server": f"https://127.0.0.1:{port}", "certificate-authority": f"{folder}/tls.crt"}
        data = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }  # fmt: skip
        path = folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(data))
        return Plane(name, path)

    @staticmethod
    def _is_ready(plane: Plane) -> bool:
        with suppress(ApiError):
            return bool(plane.list(kinds.NAMESPACE)[0])
        return False

    def _apply_crds(self, found: Any) -> None:
        own = [crd for path in sorted((ROOT / "manifests/crds").glob("*.yaml")) for crd in crds_in(path)]
        gateway = crds_in(found["gateway-api"].file("config/crd/experimental"))
        envoy = crds_in(found["envoy-gateway"].file("charts/gateway-crds-helm/templates/generated"))
        chosen = [c for c in gateway if c["spec"]["names"]["plural"] in NEEDED["gateway-api"]]
        chosen += [c for c in envoy if c["spec"]["names"]["plural"] in NEEDED["envoy-gateway"]]
        self.upstream.put_foundations(*own, *chosen)
        self.downstream.put_foundations(*own, *chosen, *map(loose_crd, LOOSE))
        policies = [
            document
            for path in sorted((ROOT / "manifests/admission").glob("*.yaml"))
            for document in yaml.safe_load_all(path.read_text())
        ]
        self.upstream.put_foundations(*policies)
        served = (kinds.HTTP_PROXY, kinds.DNS_RECORD_SET, kinds.HTTP_ROUTE, kinds.SECURITY_POLICY)
        for plane, more in ((self.upstream, ()), (self.downstream, LOOSE)):
            wait_until(f"CRDs of {plane.name}", partial(self._serves, plane, *served, *more), deadline=60)

    @staticmethod
    def _serves(plane: Plane, *wanted: Kind) -> bool:
        try:
            for kind in wanted:
                plane.list(kind)
        except ApiError:
            return False
        return True

    def kubeconfig(self, plane: Plane) -> str:
        """Return the file that leads to a plane."""
        return str(self._folder / f"{plane.name}.kubeconfig")


class Neighbour:
    """Follows kinds downstream and answers each change, as another controller would."""

    def __init__(self, plane: Plane, *followed: tuple[Kind, Callable[[Obj], None]]) -> None:
        self._plane, self._followed = plane, followed
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        """Start following."""
        for kind, answer in self._followed:
            items, version = self._plane.list(kind)
            watch = self._plane.watch(kind, version)
            thread = threading.Thread(target=self._follow, args=(items, watch, answer), daemon=True)
            thread.start()
            self._undo.callback(thread.join, 5)
            self._undo.callback(watch.close)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop following."""
        self._undo.close()

    @staticmethod
    def _follow(items: list[Obj], watch: Any, answer: Callable[[Obj], None]) -> None:
        for item in items:
            answer(item)
        with suppress(ApiError):
            for event, obj in watch:
                if event in ("ADDED", "MODIFIED") and "deletionTimestamp" not in obj["metadata"]:
                    answer(obj)


def _condition(kind: str, obj: Obj) -> Obj:
    head = {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return head | {"observedGeneration": obj["metadata"]["generation"]}


def envoy_gateway(plane: Plane) -> Neighbour:
    """Return a neighbour that accepts Gateways, routes and login policies."""

    def gateway(obj: Obj) -> None:
        conditions = [_condition(kind, obj) for kind in ("Accepted", "Programmed")]
        listeners = [
            {"name": item["name"], "attachedRoutes": 1, "supportedKinds": [], "conditions": conditions}
            for item in obj["spec"]["listeners"]
        ]
        addresses = [{"type": "IPAddress", "value": "192.0.2.10"}]
        status = {"addresses": addresses, "listeners": listeners, "conditions": conditions}
        plane.set_status(obj, status, "envoy-gateway")

    def route(obj: Obj) -> None:
        parent = {"parentRef": obj["spec"]["parentRefs"][0], "controllerName": "edge.test/envoy-gateway"}
        conditions = [_condition(kind, obj) for kind in ("Accepted", "ResolvedRefs")]
        plane.set_status(obj, {"parents": [parent | {"conditions": conditions}]}, "envoy-gateway")

    def policy(obj: Obj) -> None:
        ancestor = {"ancestorRef": obj["spec"]["targetRefs"][0], "controllerName": "edge.test/envoy-gateway"}
        status = {"ancestors": [ancestor | {"conditions": [_condition("Accepted", obj)]}]}
        plane.set_status(obj, status, "envoy-gateway")

    return Neighbour(plane, (kinds.GATEWAY, gateway), (kinds.HTTP_ROUTE, route), (kinds.SECURITY_POLICY, policy))


def cert_manager(plane: Plane) -> Neighbour:
    """Return a neighbour that issues every certificate at once."""

    def issue(obj: Obj) -> None:
        _, secret = certificate_for(obj["spec"]["secretName"], obj["spec"]["dnsNames"][0], time.time())
        labels = obj["spec"]["secretTemplate"]["labels"]
        made = kinds.SECRET.named(obj["metadata"]["namespace"], obj["spec"]["secretName"], labels=labels)
        plane.apply(made | {"data": secret["data"]}, "cert-manager")
        plane.set_status(obj, {"conditions": [_condition("Ready", obj)]}, "cert-manager")
        if plane.find(kinds.CERTIFICATE, *key_of(obj)) is None:  # deleted meanwhile: nobody would look at it again
            plane.delete(kinds.SECRET, made["metadata"]["namespace"], made["metadata"]["name"])

    return Neighbour(plane, (kinds.CERTIFICATE, issue))


class _PowerDnsHandler(BaseHTTPRequestHandler):
    zones: dict[str, dict[tuple[str, str], list[str]]]

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _zone(self) -> str:
        return self.path.rpartition("/")[2]

    def do_POST(self) -> None:
        self.zones.setdefault(self._body()["name"], {})
        self._answer(201)

    def do_DELETE(self) -> None:
        self._answer(204 if self.zones.pop(self._zone(), None) is not None else 404)

    def do_PATCH(self) -> None:
        changes, zone = self._body()["rrsets"], self.zones.get(self._zone())
        if zone is None:
            return self._answer(404)
        for change in changes:
            zone.pop((change["name"], change["type"]), None)
            if change["changetype"] == "REPLACE":
                zone[change["name"], change["type"]] = [record["content"] for record in change["records"]]
        return self._answer(204)

    def log_message(self, *args: object) -> None:
        """Stay quiet."""


class FakePowerDns:
    """Keeps zones as PowerDNS does, and nothing else of it."""

    def __init__(self) -> None:
        self.zones: dict[str, dict[tuple[str, str], list[str]]] = {}
        handler = type("Handler", (_PowerDnsHandler,), {"zones": self.zones})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Start answering."""
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
