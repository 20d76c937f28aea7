"""Counters, gauges and histograms in the text form that Prometheus reads."""

import threading
from bisect import bisect_left
from collections.abc import Mapping

BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds in seconds; the last ones are there to see a saturated queue (incident: 79 s)."""

_Labels = tuple[tuple[str, str], ...]


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _shown(labels: _Labels) -> str:
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in labels) + "}" if labels else ""


class _Family:
    def __init__(self, name: str, kind: str, text: str) -> None:
        self.name, self.kind, self.text = name, kind, text
        self.values: dict[_Labels, float] = {}
        self.buckets: dict[_Labels, list[int]] = {}

    def lines(self) -> list[str]:
        head = [f"# HELP {self.name} {self.text}", f"# TYPE {self.name} {self.kind}"]
        if self.kind != "histogram":
            return head + [f"{self.name}{_shown(labels)} {value:.17g}" for labels, value in sorted(self.values.items())]
        for labels, counts in sorted(self.buckets.items()):
            seen = 0
            for bound, count in zip((*(f"{b:g}" for b in BUCKETS), "+Inf"), counts, strict=True):
                seen += count
                head.append(f"{self.name}_bucket{_shown((*labels, ('le', bound)))} {seen}")
            head.append(f"{self.name}_sum{_shown(labels)} {self.values[labels]:.17g}")
            head.append(f"{self.name}_count{_shown(labels)} {seen}")
        return head


class Metrics:
    """Every family of one process; safe to use from several threads."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}
        self._lock = threading.Lock()

    def declare(self, name: str, kind: str, text: str) -> None:
        """Make a family known; `kind` is `counter`, `gauge` or `histogram`. Twice is harmless."""
        with self._lock:
            self._families.setdefault(name, _Family(name, kind, text))

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Add to a counter or a gauge."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            values = self._families[name].values
            values[key] = values.get(key, 0.0) + amount

    def set(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._families[name].values[tuple(sorted(labels.items()))] = value

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Count one observation of a histogram."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            family = self._families[name]
            counts = family.buckets.setdefault(key, [0] * (len(BUCKETS) + 1))
            counts[bisect_left(BUCKETS, seconds)] += 1
            family.values[key] = family.values.get(key, 0.0) + seconds

    def clear(self, name: str, match: Mapping[str, str]) -> None:
        """Drop every series of a family whose labels contain those."""
        wanted = set(match.items())
        with self._lock:
            values = self._families[name].values
            for key in [key for key in values if wanted <= set(key)]:
                del values[key]

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the value of one series, or None if it has no sample."""
        with self._lock:
            return self._families[name].values.get(tuple(sorted(labels.items())))

    def text(self) -> str:
        """Return all families that have samples, in exposition format 0.0.4."""
        with self._lock:
            families = [family for _, family in sorted(self._families.items()) if family.values]
            return "\n".join(line for family in families for line in family.lines()) + "\n"
