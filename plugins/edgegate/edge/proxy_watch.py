"""Continuous looks at HTTPProxies while something happens: those that must go on, and those that must stay shut."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from edgegate.clock import MONOTONIC
from edgegate.edge.doors import Door
from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.proxies import Proxy
from edgegate.edge.proxy_log import ProxyLog
from edgegate.edge.refusals import Refusals
from edgegate.errors import WatchBroken
from edgegate.probes.target import Target, both
from edgegate.probes.watch import Watch
from edgegate.records import Source
from edgegate.report.gate import Gate
from edgegate.traffic import WatchReport

BLIND = 0.25
"""Share of the time in which nobody looked, from which on a watch proves nothing."""

AFTER = 0.5
"""Seconds for which a watch goes on after what it is about. The last change is on the wire a translation later: with
few proxies 0.25 s at the median and 0.51 s at the most (docs/measurements.md)."""


@contextmanager
def unharmed(
    gate: Gate, doors: Sequence[Door], logs: Mapping[Proxy, ProxyLog], *served: tuple[HttpProxy, str, bool]
) -> Iterator[None]:
    """Watch some host names while the block runs; whatever was wrong becomes a finding.

    Right is: each look was answered with 200 by way of its own HTTPProxy, over TLS with a certificate for the name; and
    no proxy refused an update.

    Args:
        gate: gets the findings.
        doors: the ways in, each of which is watched.
        logs: each Envoy that serves, and what it writes; there it says why it refuses an update.
        served: HTTPProxy, host name, and whether over TLS.
    """
    targets = [_target(one, host, door, tls) for door in doors for one, host, tls in served]
    with ExitStack() as opened:
        with right(gate, [look for target in targets for look in both(target)]):
            refusals = [
                Refusals(opened.enter_context(proxy.admin()), log, name=proxy.name if len(logs) > 1 else "")
                for proxy, log in logs.items()
            ]
            yield
        # After the traffic was judged: an Envoy that has ended does not answer, and what visitors saw must be told.
        for one in refusals:
            one.judge(gate)


@contextmanager
def right(gate: Gate, targets: Sequence[Target]) -> Iterator[None]:
    """Demand that every look at some targets is right while the block runs."""
    with Watch(targets) as watch:
        yield
        watched = _watched(watch)
    for target in watched.targets:
        seen = "; ".join(outage.describe(watched.began) for outage in target.outages)
        gate.check(Source.TRAFFIC, target.name, f"right in all {target.looks} looks", seen, right=target.ok)
    gate.note(watched.describe())


@contextmanager
def shut(gate: Gate, doors: Sequence[Door], proxy: HttpProxy, host: str) -> Iterator[None]:
    """Watch a host name while the block runs: not one look may get the content of its origin."""
    with Watch([_target(proxy, host, door, tls=False) for door in doors]) as watch:
        yield
        watched = _watched(watch)
    for target in watched.targets:
        open_looks = target.looks - len(target.wrong)
        expected = f"no content without login in any of {target.looks} looks"
        seen = f"{open_looks} looks were answered 200 by its origin"
        gate.check(Source.TRAFFIC, f"{target.name} shut", expected, seen, right=not open_looks)


def _target(proxy: HttpProxy, host: str, door: Door, tls: bool) -> Target:
    name = door.of(f"{proxy.name} {'https' if tls else 'http'}://{host}")
    return Target(name, door.address, host, marker=proxy.marker, tls=tls)


def _watched(watch: Watch) -> WatchReport:
    """Return what was seen until the last change had its effect. Raises WatchBroken when nobody looked often enough."""
    MONOTONIC.sleep(AFTER)
    watched = watch.stop()
    if watched.blind > BLIND * (watched.ended - watched.began):
        raise WatchBroken(f"it could not look often enough: {watched.describe()}")
    return watched
