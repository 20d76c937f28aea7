"""What a proxy refused is a finding, unless all that it refused was to hear which secrets have gone."""

from pathlib import Path
from typing import Any

import pytest

from edgegate.edge.proxy_log import FileLog
from edgegate.edge.refusals import Refusals
from edgegate.probes.envoy import Rejection, UpdateKey
from fakes import notebook

NEIGHBOUR, ROUTES = UpdateKey("sds", "ns-1/neighbour-default-https"), UpdateKey("rds", "http-80")
# Captured from Envoy 1.38.3; the same line comes once for each subscription of a secret.
EMPTY = (
    "[2026-11-30 18:11:31.307][1][warning][config] [source/extensions/config_subscription/grpc/x.cc:138] gRPC config "
    "for type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret rejected: Unexpected SDS secrets length "
    "for oauth2/hmac_secret/securitypolicy/ns-2/guarded-login, number of added resources 0, number of removed "
    "resources 2. Expected sum is 1\n\n"
)
BROKEN = EMPTY.replace("added resources 0", "added resources 1")
OTHER = EMPTY.replace("Unexpected SDS", "Failed to load certificate chain, then Unexpected SDS")


class FakeAdmin:
    """Has refused as many updates as the test says."""

    def __init__(self) -> None:
        self.counts: dict[UpdateKey, int] = {NEIGHBOUR: 3, ROUTES: 0}

    def rejected(self) -> dict[UpdateKey, int]:
        return dict(self.counts)

    def rejection_texts(self) -> tuple[Rejection, ...]:
        return ()


def judged(log: Path, said: str, *grown: UpdateKey, before: str = "") -> Any:
    """Return what a gate holds after Envoy has said something and refused some updates once."""
    log.write_text(before)
    admin, gate = FakeAdmin(), notebook()
    refusals = Refusals(admin, FileLog(log))  # type: ignore[arg-type]
    log.write_text(before + said)
    for key in grown:
        admin.counts[key] += 1
    refusals.judge(gate)
    return gate.evidence


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "envoy.log"


def test_nothing_refused_is_right(log: Path) -> None:
    assert judged(log, "", before=BROKEN).findings == []


def test_that_it_would_not_hear_which_secrets_have_gone_is_told_and_no_finding(log: Path) -> None:
    evidence = judged(log, EMPTY * 3, NEIGHBOUR)
    assert evidence.findings == []
    (note,) = evidence.notes
    assert note.startswith("Envoy refused to hear which secrets have gone, after it took what was new: Unexpected SDS ")
    assert note.endswith("removed resources 2. Expected sum is 1")


@pytest.mark.parametrize(
    ("said", "grown"),
    [
        ("", (NEIGHBOUR,)),
        (BROKEN, (NEIGHBOUR,)),
        (OTHER, (NEIGHBOUR,)),
        (EMPTY + BROKEN, (NEIGHBOUR,)),
        (EMPTY, (NEIGHBOUR, ROUTES)),
        (EMPTY, (ROUTES,)),
    ],
)
def test_anything_else_is_a_finding(log: Path, said: str, grown: tuple[UpdateKey, ...]) -> None:
    (finding,) = judged(log, said, *grown).findings
    assert finding.subject == "Envoy's configuration"
    assert finding.seen.startswith(", ".join(sorted(f"{key}: 1" for key in grown)))


def test_a_proxy_that_has_just_started_has_all_its_log_read(log: Path) -> None:
    log.write_text(BROKEN)
    gate, admin = notebook(), FakeAdmin()
    Refusals(admin, FileLog(log), since_start=True).judge(gate)  # type: ignore[arg-type]
    assert "added resources 1" in gate.evidence.findings[0].seen
