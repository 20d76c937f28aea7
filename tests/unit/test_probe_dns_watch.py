"""A watched name is asked closely, and every answer without an address is told."""

import threading
from dataclasses import dataclass, field

from edgegate.clock import RESOLUTION
from edgegate.probes.dns import DnsAnswer, DnsProbe
from edgegate.probes.dns_watch import DnsWatch

GAP = range(5, 9)


@dataclass(frozen=True)
class FakeProbe(DnsProbe):
    """A server that has no address for the name in its sixth to ninth answer."""

    answers: list[DnsAnswer] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)

    def query(self, name: str, type: str = "A") -> DnsAnswer:  # noqa: A002
        there = len(self.answers) not in GAP
        values = ("10.0.0.1",) if there else ()
        rcode = "NOERROR" if there else "NXDOMAIN"
        self.answers.append(DnsAnswer(name, type, self.title, self.clock.now(), 0.001, rcode, values))
        if len(self.answers) > max(GAP) + 3:
            self.enough.set()
        return self.answers[-1]


def watched(probe: FakeProbe) -> DnsWatch:
    with DnsWatch(probe, "www.shop.test", right=lambda answer: answer.found) as watch:
        assert probe.enough.wait(10)
    return watch


def test_a_gap_is_told() -> None:
    probe = FakeProbe("192.0.2.1")
    watch = watched(probe)
    seen = watch.report()
    assert (seen.looks, len(watch.wrong), seen.ok) == (len(probe.answers), len(GAP), False)
    assert [(outage.looks, outage.faults) for outage in seen.outages] == [(4, (("NXDOMAIN", 4),))]


def test_it_asks_closely() -> None:
    assert watched(FakeProbe("192.0.2.1")).report().gaps.p50 <= RESOLUTION
