"""How closely the watcher looks on this machine, and what that costs: `python -m edgegate.probes.measure --help`."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from edgegate.clock import MONOTONIC
from edgegate.probes.target import Target, both
from edgegate.probes.watch import Watch
from edgegate.traffic import WatchReport

DESCRIPTION = "Watch an address for a while and print as JSON how closely it was looked and what that cost."


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print one JSON object to standard output, and return 0; 1 when answers were wrong."""
    parser = argparse.ArgumentParser(prog="python -m edgegate.probes.measure", description=DESCRIPTION)
    parser.add_argument("--http", type=_place, metavar="ADDRESS:PORT", help="Where HTTP is served")
    parser.add_argument("--https", type=_place, metavar="ADDRESS:PORT", help="Where HTTPS is served")
    parser.add_argument("--host", required=True, help="Host name to ask for")
    parser.add_argument("--copies", type=int, default=4, help="Targets at each address, %(default)s by default")
    parser.add_argument("--seconds", type=float, default=10.0, help="How long, %(default)s by default")
    chosen = parser.parse_args(argv)
    targets = [*_targets(chosen.http, chosen, tls=False), *_targets(chosen.https, chosen, tls=True)]
    if not targets:
        parser.error("--http, --https or both are needed")
    with Watch(targets) as watch:
        MONOTONIC.sleep(chosen.seconds)
    report = watch.report()
    sys.stdout.write(json.dumps(summary(report)) + "\n")
    return 0 if report.ok else 1


def _place(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    if not address or not port.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not ADDRESS:PORT, as in 10.88.1.8:443 or [::1]:443")
    return address.strip("[]"), int(port)


def _targets(where: tuple[str, int] | None, chosen: argparse.Namespace, *, tls: bool) -> Iterator[Target]:
    if where is None:
        return
    address, port = where
    for number in range(chosen.copies):
        name = f"{'https' if tls else 'http'} {number}"
        yield from both(Target(name, address, chosen.host, port=port, tls=tls))


def summary(report: WatchReport) -> dict[str, Any]:
    """Return what a benchmark keeps of a report; times in seconds."""
    seconds = report.ended - report.began
    return {
        "seconds": seconds,
        "targets": len(report.targets),
        "looks_per_second": sum(target.looks for target in report.targets) / seconds,
        "fewest_looks_per_second": min(target.looks for target in report.closely) / seconds,
        "gap_p50": max(target.gaps.p50 for target in report.closely),
        "gap_p95": report.resolution,
        "gap_max": report.longest_gap.seconds,
        "blind": report.blind,
        "cpu": report.cpu,
        "scheduling": report.scheduling,
        "wrong": sum(len(target.wrong) for target in report.targets),
        "outages": [outage.describe(report.began) for outage in report.outages],
        "machine": {**asdict(report.load), "saturated": report.load.saturated},
    }


if __name__ == "__main__":
    sys.exit(main())
