"""A running operator gets other settings and then its own again; it counts when it says so itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from edgegate.clusters.kinds import GATEWAY_CLASS, Ref
from edgegate.clusters.plane import ControlPlane
from edgegate.components import operator
from edgegate.components.launch import DATA
from fakes import FakeLab, launch
from kube_api import KubeApi, condition, serve

FILE = f"{DATA}/config/{operator.CONFIG}"
BEFORE = yaml.safe_dump({"gateway": {"clusterIssuerMap": {"auto": "fast"}, "targetDomain": "edge.test"}})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path, "upstream") as made:
        yield made


@pytest.fixture
def lab(served: tuple[KubeApi, ControlPlane], tmp_path: Path) -> FakeLab:
    """Return a lab with an operator that accepts its class when it is started."""
    api, made = served[0], FakeLab(tmp_path)
    klass = Ref(GATEWAY_CLASS, operator.CLASS_NAME).manifest({})
    condition(klass, "Accepted")
    api.write(klass)
    made.files[FILE] = BEFORE.encode()

    def restart(_: object) -> None:
        made.asked.append(("restart", str(api.objects[Ref.of(klass)].get("status"))))
        condition(klass, "Accepted")
        api.write(klass)

    made.answers["kill"] = lambda _: made.asked.append(("kill",))
    made.answers["restart"] = restart
    return made


def test_it_is_stopped_while_its_file_changes(served: tuple[KubeApi, ControlPlane], lab: FakeLab) -> None:
    before = operator.configure(launch(lab), served[1], gateway={"clusterIssuerMap": {"auto": "slow"}})

    assert before == BEFORE
    held = yaml.safe_load(lab.files[FILE])
    assert held == {"gateway": {"clusterIssuerMap": {"auto": "slow"}, "targetDomain": "edge.test"}}
    assert lab.asked == [("kill",), ("restart", "{'conditions': []}")]


def test_a_section_that_it_did_not_have_is_added(served: tuple[KubeApi, ControlPlane], lab: FakeLab) -> None:
    operator.configure(launch(lab), served[1], quota={"claims": True})

    assert yaml.safe_load(lab.files[FILE]) == {**yaml.safe_load(BEFORE), "quota": {"claims": True}}


def test_it_gets_its_own_file_again(served: tuple[KubeApi, ControlPlane], lab: FakeLab) -> None:
    before = operator.configure(launch(lab), served[1], gateway={"targetDomain": "other.test"})
    operator.reconfigure(launch(lab), before, served[1])

    assert lab.files[FILE].decode() == BEFORE


def test_where_its_metrics_are(lab: FakeLab) -> None:
    assert operator.metrics_urls(launch(lab)) == ["http://10.88.7.1:8090/metrics"]
