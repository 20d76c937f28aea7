"""The proxies of the edge: find them, read them, restart them with nothing cached."""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from edgegate.clock import Deadline, wait_until
from edgegate.clusters.kinds import ENVOY_PROXY, GATEWAY_CLASS, POD, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.clusters.status import ends_of, times_ended
from edgegate.components.envoy_gateway import ADMIN_PORT, CLASS_NAME, NAMESPACE_NAME
from edgegate.errors import AdminUnreachable
from edgegate.probes.envoy import EnvoyAdmin

LABELS = "app.kubernetes.io/managed-by=envoy-gateway,app.kubernetes.io/component=proxy"
"""Of every proxy that an Envoy Gateway runs."""
ENVOY = "envoy"
"""The container of a proxy's pod that serves."""
_SIGNALS = {128 + one.value: one.name for one in signal.Signals}
"""Exit status to the signal that it stands for."""
_ATTEMPTS = r"^listener_manager\.lds\.update_(success|rejected)$"


Reach = Callable[["Proxy"], EnvoyAdmin]
"""How a proxy's admin interface is reached."""


def by_address(proxy: "Proxy") -> EnvoyAdmin:
    """Reach an admin interface that answers at the pod's own address, as in a lab."""
    return EnvoyAdmin(f"http://{proxy.address}:{ADMIN_PORT}")


@dataclass(frozen=True)
class Proxy:
    """One proxy pod."""

    name: str
    """Name of the pod."""
    uid: str
    """Its unique id; a restart gives another one."""
    address: str
    """Address of the pod."""
    ready: bool
    """Whether Kubernetes says it is ready."""
    ended: tuple[tuple[str, int], ...] = ()
    """Containers that do not run because they have ended, each with its exit status."""
    reach: Reach = field(default=by_address, repr=False, compare=False)
    """How its admin interface is reached."""
    ends: int = field(default=0, compare=False)
    """How often its Envoy has ended in this pod. Its node starts it again."""
    last_end: str = field(default="", compare=False)
    """How its Envoy ended the last time, as `status 139, SIGSEGV`; empty when it never has."""

    @classmethod
    def of(cls, pod: Manifest, reach: Reach = by_address) -> "Proxy":
        """Return the proxy that a pod is."""
        metadata, status = pod["metadata"], pod.get("status") or {}
        containers = status.get("containerStatuses", [])
        ends, last_end = _ends(next((one for one in containers if one["name"] == ENVOY), None))
        return cls(
            metadata["name"],
            metadata["uid"],
            status.get("podIP", ""),
            is_true(pod, "Ready"),
            tuple(_ended(containers)),
            reach,
            ends,
            last_end,
        )

    def describe(self) -> str:
        """Return its state in a few words."""
        ended = "".join(f", {name} ended with status {code}" for name, code in self.ended)
        return f"{self.name} ({'ready' if self.ready else 'not ready'}, {self.address or 'no address'}{ended})"

    def admin(self) -> EnvoyAdmin:
        """Return the admin interface of its Envoy."""
        return self.reach(self)


def _ended(containers: Sequence[Manifest]) -> Iterator[tuple[str, int]]:
    for container in containers:
        if (ends := ends_of(container)) and "running" not in container["state"]:
            yield container["name"], ends[0]["exitCode"]


def _ends(container: Manifest | None) -> tuple[int, str]:
    """Return how often a container has ended, and how the last time."""
    if container is None or not (ends := ends_of(container)):
        return 0, ""
    return times_ended(container), _told(ends[0])


def _told(end: Manifest) -> str:
    """Return the status of an end, with the signal or the reason where that says more."""
    status, reason = end["exitCode"], end.get("reason", "")
    why = _SIGNALS.get(status, "") if reason in ("", "Error") else reason
    return f"status {status}, {why}" if why else f"status {status}"


class Proxies:
    """All proxy pods of the downstream plane."""

    def __init__(
        self,
        plane: ControlPlane,
        *,
        namespace: str = NAMESPACE_NAME,
        labels: str = LABELS,
        reach: Reach = by_address,
    ) -> None:
        """Look in one namespace for pods with these labels; `reach` tells how to talk to their Envoys."""
        self.namespace = namespace
        self._plane, self._labels, self._reach = plane, labels, reach

    def all(self) -> list[Proxy]:
        """Return the proxies that are not being deleted, with an address or without."""
        pods = self._plane.list(POD, self.namespace, labels=self._labels)
        return [Proxy.of(pod, self._reach) for pod in pods if not pod["metadata"].get("deletionTimestamp")]

    def one(self, within: float) -> Proxy:
        """Return the proxy that serves, as soon as its Envoy has heard from Envoy Gateway.

        Raises:
            NeverReady: none did within that many seconds.
        """
        return self.several(1, within)[0]

    def several(self, count: int, within: float) -> list[Proxy]:
        """Return the proxies that serve, as soon as so many have heard from Envoy Gateway.

        Raises:
            NeverReady: fewer did within that many seconds.
        """
        return self._heard(lambda proxy: True, count, within)

    def cold_restart(self, within: float) -> list[Proxy]:
        """Throw every proxy away at once and return as many new ones, as soon as they have heard from Envoy Gateway.

        Nothing is handed over: a new process has no listener, secret or route until it is told. It may refuse
        what it is told; then it is returned too, and dark. Use it to tell a frozen edge from a sound one.

        Raises:
            NeverReady: no new proxy heard anything within that many seconds.
        """
        old = {proxy.uid for proxy in self.all()}
        for proxy in self.all():
            self._plane.delete(Ref(POD, proxy.name, self.namespace), grace=0)
        return self._heard(lambda proxy: proxy.uid not in old, len(old) or 1, within)

    def _heard(self, wanted: Callable[[Proxy], bool], count: int, within: float) -> list[Proxy]:
        seen: list[Proxy] = []

        def look() -> list[Proxy] | None:
            seen[:] = self.all()
            found = [proxy for proxy in seen if wanted(proxy) and _has_heard(proxy)]
            return found if len(found) >= count else None

        def last() -> str:
            return ", ".join(proxy.describe() for proxy in seen) or "no proxy pod"

        what = "a proxy that has its listeners" if count == 1 else f"{count} proxies that have their listeners"
        return wait_until(what, look, deadline=Deadline.after(within), last=last, every=0.05)


def scale(plane: ControlPlane, count: int) -> None:
    """Let Envoy Gateway run so many pods of its merged proxy; the class names the settings of that."""
    klass = plane.get(Ref(GATEWAY_CLASS, CLASS_NAME))
    assert klass is not None, "every edge of ours has the class"
    named = klass["spec"]["parametersRef"]
    deployment = {"provider": {"kubernetes": {"envoyDeployment": {"replicas": count}}}}
    plane.patch(Ref(ENVOY_PROXY, named["name"], named["namespace"]), {"spec": deployment})


def _has_heard(proxy: Proxy) -> bool:
    """Tell whether the proxy's Envoy has taken or refused at least one set of listeners."""
    if not proxy.address:
        return False
    try:
        with proxy.admin() as admin:
            return any(admin.stats(_ATTEMPTS).values())
    except AdminUnreachable:  # it has not started yet: whoever waits asks again
        return False
