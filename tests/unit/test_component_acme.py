"""How the certificate authority and cert-manager are run, and what issuers look like."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.clusters.kinds import CLUSTER_ISSUER, Ref
from edgegate.components import cert_manager, pebble
from edgegate.components.images import image_table
from edgegate.components.launch import Launch
from edgegate.edge.acme import Acme
from edgegate.errors import NotShown
from edgegate.pins import load
from edgegate.resources import resource
from fakes import FakeLab, artifact, launch

CONFIG = "/run/edgegate/data/config"


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path / "lab")


@pytest.fixture
def launched(lab: FakeLab) -> Launch:
    default = launch(lab, acmesolver="1.21.2")
    more = {name: artifact(name) for name in ("pebble", "cert-manager")}
    return replace(default, artifacts={**default.artifacts, **more}, parts={"dns": "lmdb", "acme": ""})


def test_the_authority_resolves_by_the_recursor_and_validates_at_port_80(lab: FakeLab, launched: Launch) -> None:
    spec = pebble.spec(launched, pebble.SERVER)
    said = json.loads(lab.files[f"{CONFIG}/pebble.json"])
    assert said["resolver"] == "10.88.7.5:53"
    assert (said["pebble"]["listenAddress"], said["pebble"]["httpPort"]) == ("10.88.7.1:14000", 80)
    assert said["patient"] == {"listenAddress": "10.88.7.1:14002", "resolver": "10.88.7.3:53", "limit": 15000}
    sound = ("PEBBLE_VA_NOSLEEP", "PEBBLE_WFE_NONCEREJECT", "PEBBLE_AUTHZREUSE")
    assert [spec.env[name] for name in sound] == ["1", "0", "0"]
    assert spec.ready is not None
    assert spec.ready.header["User-Agent"], "Pebble answers nobody without"


def test_the_hostile_authority_is_a_process_of_its_own(lab: FakeLab, launched: Launch) -> None:
    spec = pebble.spec(launched, pebble.HOSTILE_SERVER)
    assert spec.name == "pebble-hostile"
    assert "PEBBLE_VA_NOSLEEP" not in spec.env
    assert json.loads(lab.files[f"{CONFIG}/pebble-hostile.json"])["pebble"]["listenAddress"] == "10.88.7.1:14010"
    assert not pebble.runs(lab, pebble.HOSTILE_SERVER)
    lab.start(spec)
    assert pebble.runs(lab, pebble.HOSTILE_SERVER)


def test_the_controllers_check_by_the_recursor_and_run_the_pinned_solver(launched: Launch) -> None:
    words = cert_manager.spec(launched).argv
    assert "--acme-http01-solver-nameservers=10.88.7.5:53" in words
    assert "--acme-http01-solver-image=quay.io/jetstack/cert-manager-acmesolver:v1.21.2" in words


def test_the_solver_is_an_image_that_pods_can_run() -> None:
    pins = load(resource("pins.toml"))
    assert pins.pin("cert-manager").companions["1.21.2"] == {"acmesolver": "1.21.2"}
    assert pins.pin("acmesolver").digests == pins.pin("cert-manager").digests
    table = image_table(pins, [artifact("acmesolver", "1.21.2")])
    assert table["quay.io/jetstack/cert-manager-acmesolver:v1.21.2"]["entry"] == ["acmesolver"]


@pytest.mark.parametrize(
    ("issuer", "directory", "waits"),
    [
        (cert_manager.FAST, "https://10.88.7.1:14002/dir", {"waitInsteadOfSelfCheck": "0s"}),
        (cert_manager.SELF_CHECK, "https://10.88.7.1:14000/dir", {}),
        (cert_manager.HOSTILE, "https://10.88.7.1:14010/dir", {}),
    ],
    ids=["fast", "self check", "hostile"],
)
def test_issuers_solve_by_a_route_on_the_gateway_beside(
    lab: FakeLab, issuer: cert_manager.Issuer, directory: str, waits: dict[str, str]
) -> None:
    made = cert_manager.manifest(Ref(CLUSTER_ISSUER, issuer.name), issuer, lab.net, "Q0E=")
    acme = made["spec"]["acme"]
    solver = {"http01": {"gatewayHTTPRoute": {"parentRefs": [{"kind": "Gateway", "name": "edge"}]}}, **waits}
    assert (acme["server"], acme["caBundle"], acme["solvers"]) == (directory, "Q0E=", [solver])


def test_an_edge_without_the_part_says_so(lab: FakeLab) -> None:
    with pytest.raises(NotShown, match="made without the part 'acme', so nobody issues certificates in it"):
        Acme(launch(lab), None)  # type: ignore[arg-type]
