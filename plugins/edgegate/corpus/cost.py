"""What the firewall costs: time added to a plain request, and memory. Measured within one run, without and with it."""

import re
import statistics
from dataclasses import dataclass

from edgegate.corpus.cases import Request
from edgegate.corpus.policies import ENFORCE
from edgegate.corpus.rig import Rig
from edgegate.corpus.wire import encode, exchange
from edgegate.errors import FirewallMissing

LOOKS = 300
"""Requests each way, in turn, so that both see the same machine."""
_REQUEST = Request(uri="/", headers={"Host": "localhost", "User-Agent": "edgegate", "Accept": "*/*"})
_RESIDENT = re.compile(r"^process_resident_memory_bytes (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """What one run measured; milliseconds and MiB."""

    without_p50: float
    """Half of the empty GETs were answered within this, where no firewall is."""
    without_p99: float
    """99 of 100."""
    with_p50: float
    """The same through the enforcing policy."""
    with_p99: float
    """The same."""
    resident_mib: float
    """Resident memory of the firewall at that moment."""

    @property
    def added_p50(self) -> float:
        """What the firewall adds to half of the requests at most."""
        return self.with_p50 - self.without_p50

    def as_data(self) -> dict[str, float]:
        """Return it as plain values."""
        found = {**vars(self), "added_p50": self.added_p50}
        return {name: round(value, 2) for name, value in found.items()}


def measure(rig: Rig) -> Cost:
    """Return what the firewall costs now.

    Raises:
        FirewallMissing: it does not tell its memory, or a request was not answered 200.
    """
    without: list[float] = []
    guarded: list[float] = []
    for _ in range(LOOKS):
        for door, into in ((rig.without, without), (rig.doors[ENFORCE], guarded)):
            answer = exchange(door, encode(_REQUEST, "cost"))
            if answer.status != 200:
                raise FirewallMissing("an empty GET must be answered 200", seen=str(answer.status or answer.error))
            into.append(answer.seconds * 1000)
    found = _RESIDENT.search(rig.metrics())
    if found is None:
        raise FirewallMissing("it does not tell its memory", seen="no process_resident_memory_bytes")
    return Cost(*_spread(without), *_spread(guarded), float(found[1]) / 1024**2)


def _spread(values: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]
