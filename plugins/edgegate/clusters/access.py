"""What the holder of a kubeconfig may do on a control plane, asked of the control plane itself."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from edgegate.clusters.kinds import Kind
from edgegate.clusters.plane import ControlPlane
from edgegate.errors import PlaneRefused

_REVIEWS = Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview")
_AT_ONCE = 8
"""Reviews that are asked at the same time: forty take 0.2 s on a near cluster and stay below 1 s at 100 ms."""


@dataclass(frozen=True)
class Need:
    """Something that must be allowed."""

    verb: str
    """`get`, `list`, `create` …"""
    kind: Kind
    """Of which kind of object."""
    namespace: str = ""
    """In which namespace; empty for all of them."""
    subresource: str = ""
    """As `log` or `proxy`."""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        what = f"{self.kind.name}/{self.subresource}" if self.subresource else self.kind.name
        return f"{self.verb} {what}{where}"


def forbidden(plane: ControlPlane, needs: Iterable[Need]) -> list[Need]:
    """Return what is not allowed, in the order of the needs.

    Raises:
        PlaneRefused: a kind is not served, or the control plane does not answer reviews.
        PlaneUnreachable: there was no answer.
    """
    asked = list(needs)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        allowed = list(threads.map(lambda need: _allowed(plane, need), asked))
    return [need for need, yes in zip(asked, allowed, strict=True) if not yes]


def refused(do: Callable[[], object], status: int | None = None) -> bool:
    """Do something, and tell whether a control plane refused it.

    Raises:
        PlaneRefused: it was refused with another status than the one that was asked about.
    """
    try:
        do()
    except PlaneRefused as refusal:
        if status not in (None, refusal.status):
            raise
        return True
    return False


def _allowed(plane: ControlPlane, need: Need) -> bool:
    group, slash, version = need.kind.api_version.rpartition("/")
    wanted = {
        "verb": need.verb,
        "group": group if slash else "",
        "version": version,
        "resource": plane.collection(need.kind).rpartition("/")[2],
        "subresource": need.subresource,
        "namespace": need.namespace,
    }
    body = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.name, "spec": {"resourceAttributes": wanted}}
    path = f"{_REVIEWS.group_path}/selfsubjectaccessreviews"
    answer = plane.request("POST", path, body=body, within=3)
    return bool((answer.get("status") or {}).get("allowed"))
