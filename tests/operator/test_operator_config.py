"""The configuration file: strict, and each refusal names the key."""

from pathlib import Path
from typing import Any

import pytest

from edgegate_operator import faults
from edgegate_operator.config import ConfigFault, load, settings_from

LEAST: dict[str, Any] = {"projects": [{"name": "single", "kubeconfig": "up"}], "downstream": {"kubeconfig": "down"}}


def test_the_least_that_is_needed() -> None:
    settings = settings_from(LEAST)
    assert settings.gateway.target_domain == "edge.test"
    assert settings.domain.retry_intervals[0].interval == 5
    assert not settings.has(faults.REQUEUE_FLOOR)


def test_keys_are_in_camel_case_and_durations_have_units() -> None:
    more = {
        "gateway": {"certificateReissuance": {"retryInterval": "1500ms", "maxRetries": 1}},
        "faults": ["claim-kept"],
    }
    settings = settings_from(LEAST | more)
    assert settings.gateway.certificate_reissuance.retry_interval == 1.5
    assert settings.has(faults.CLAIM_KEPT)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"gatway": {}}, r"gatway: no such key; accepted: connector, dns, domain"),
        ({"gateway": {"target_domain": "x"}}, r"gateway.target_domain: no such key; accepted: allowServiceBackends"),
        ({"gateway": {"targetDomain": 5}}, r"gateway.targetDomain: 5 is not of type str"),
        ({"gateway": {"ipFamilies": "IPv4"}}, r"gateway.ipFamilies: 'IPv4' is not a list"),
        ({"gateway": {"clusterIssuerMap": ["a"]}}, r"gateway.clusterIssuerMap: \['a'\] is not a mapping"),
        ({"gateway": []}, r"gateway: \[\] is not a mapping"),
        ({"domain": {"attemptTimeout": "5"}}, r"domain.attemptTimeout: '5' is not a duration; accepted: a number and"),
        ({"projects": []}, r"projects: at least one is needed"),
        ({"projects": [{"name": "a"}]}, r"projects\[0\].kubeconfig: missing"),
        ({"projects": LEAST["projects"] * 2}, r"projects: two have the same name"),
        ({"faults": ["nonsense"]}, r"faults: 'nonsense' is unknown; accepted: address-late, "),
    ],
)
def test_what_cannot_be_meant_is_refused(more: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigFault, match=f"^{text}"):
        settings_from(LEAST | more)


def test_a_file_is_named_in_the_refusal(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("projects: []\ndownstream: {kubeconfig: down}\n")
    with pytest.raises(ConfigFault, match=r"operator\.yaml: projects: at least one is needed$"):
        load(path)
    with pytest.raises(ConfigFault, match=r"missing\.yaml: .*No such file"):
        load(tmp_path / "missing.yaml")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("")
    with pytest.raises(ConfigFault, match="top level: None is not a mapping"):
        load(path)


def test_faults_of_the_command_line_are_added(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("projects: [{name: a, kubeconfig: up}]\ndownstream: {kubeconfig: down}\nfaults: [claim-kept]\n")
    assert load(path, ("swap-gap",)).faults == ("claim-kept", "swap-gap")
