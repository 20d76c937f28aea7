"""What a late stage waited for is asked of queues, of the issuer and of the resolver's memory; never of all for all."""

from types import SimpleNamespace
from typing import Any

import pytest

from edgegate.edge import waits
from edgegate.edge.waits import CONTROLLERS, Waits
from edgegate.errors import MetricsUnreachable
from edgegate.probes.dns import DnsAnswer, Soa
from edgegate.stages import Course, Stage

HOST = "www.shop.test"


class _Queues:
    """Tells whom it was asked for."""

    def __init__(self, *urls: str) -> None:
        self.urls = urls

    def waited(self, *names: str) -> str:
        return f"the queues of {', '.join(names)}"


def _answer(*values: str) -> DnsAnswer:
    soa = None if values else Soa("shop.test", 1, ttl=3600, minimum=1800)
    return DnsAnswer(HOST, "A", "server", at=0, took=0, rcode="NOERROR", values=values, soa=soa)


def _dns(authoritative: DnsAnswer, recursor: DnsAnswer) -> Any:
    ask = {"authoritative": authoritative, "recursor": recursor}
    return SimpleNamespace(**{name: SimpleNamespace(query=lambda _, said=said: said) for name, said in ask.items()})


SOUND = _dns(_answer("10.88.7.8"), _answer("10.88.7.8"))
FORGETFUL = _dns(_answer("10.88.7.8"), _answer())


@pytest.fixture(autouse=True)
def _queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "Queues", _Queues)


def _ask(made: Waits, stage: Stage) -> str:
    return made.explain[stage](Course(HOST, (), ()))


@pytest.mark.parametrize("stage", CONTROLLERS)
def test_each_stage_asks_its_own_queues(stage: Stage) -> None:
    assert _ask(Waits(["http://x/metrics"], SOUND), stage) == f"the queues of {', '.join(CONTROLLERS[stage])}"


def test_every_stage_that_an_operator_can_hold_up_is_known() -> None:
    assert set(Stage) - set(CONTROLLERS) == {Stage.CREATED, Stage.IN_A_ROW}


def test_an_absence_that_the_recursor_remembers() -> None:
    """The name is there, and whoever asks the recursor is told that it is not: for half an hour."""
    told = _ask(Waits([], FORGETFUL), Stage.CHALLENGE_SOLVED)
    assert told.startswith(f"the recursor's cache: it remembers for 1800 s that {HOST} does not exist; ")
    assert "recursor" not in _ask(Waits([], FORGETFUL), Stage.RECORD_PROGRAMMED)


def test_a_name_that_really_does_not_exist_is_no_memory() -> None:
    assert "recursor" not in _ask(Waits([], _dns(_answer(), _answer())), Stage.CHALLENGE_SOLVED)


def test_what_the_issuer_says_of_a_challenge() -> None:
    made = Waits([], SOUND)
    made.challenges[HOST] = "no such host"
    assert "a challenge of which the issuer says 'no such host'; the queues" in _ask(made, Stage.CERTIFICATE_READY)
    assert "issuer" not in _ask(made, Stage.FIRST_200)


def test_an_operator_without_metrics_is_told_on_a_breach_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*urls: str) -> None:
        raise MetricsUnreachable(urls[0], reason="refused")

    monkeypatch.setattr(waits, "Queues", silent)
    made = Waits(["http://x/metrics"], SOUND)
    with pytest.raises(MetricsUnreachable, match="http://x/metrics"):
        _ask(made, Stage.PROGRAMMED)
