"""Whether an edge that somebody else runs can be used as it is, told in seconds and before anything is changed."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgegate.clock import Deadline
from edgegate.clusters import kinds
from edgegate.clusters.access import Need, forbidden, refused
from edgegate.clusters.kinds import Kind, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.edge.backends import COLD_RESTART
from edgegate.errors import AttachRefused, EnvironmentFault

ANSWER = 2.0
"""Seconds in which a control plane has to say its version."""
CONTROLLER = "gateway.envoyproxy.io/"
"""How the name of every Envoy Gateway's controller begins."""
_HANGS = (
    "its control plane did not answer within {:g} s. Is its address reachable from here? Where the kubeconfig has a "
    "program for logins (exec), it must end by itself: log in first."
)
_USE = ("get", "list", "watch", "create", "patch", "delete")
_READ = ("get", "list", "watch")
MADE = (
    kinds.NAMESPACE,
    kinds.SECRET,
    kinds.GATEWAY,
    kinds.HTTP_ROUTE,
    kinds.REFERENCE_GRANT,
    kinds.SECURITY_POLICY,
    kinds.HTTP_ROUTE_FILTER,
)
"""What tenants and their policies are made of."""
CUSTOMERS = (kinds.NAMESPACE, kinds.SECRET, kinds.HTTP_PROXY, kinds.SECURITY_POLICY)
"""What customers create."""
DERIVED = (kinds.GATEWAY, kinds.HTTP_ROUTE)
"""What the operator derives from it."""


@dataclass(frozen=True)
class Found:
    """What there is to work with."""

    gateway_class: str
    """Class of the tenants' Gateways."""
    operator: bool
    """Whether an operator's kinds are served upstream."""


def check(
    downstream: ControlPlane, upstream: ControlPlane | None, *, gateway_class: str, allow: frozenset[str]
) -> Found:
    """Look at everything that a run needs, and return what there is.

    Args:
        downstream: the cluster with the edge.
        upstream: the cluster with the customers' objects; None where the user has named none.
        gateway_class: the class that the user has named; empty for the only one.
        allow: what scenarios may do, which needs rights too.

    Raises:
        AttachRefused: names everything that is missing at once.
    """
    planes = [plane for plane in (downstream, upstream) if plane is not None]
    _raise(planes, [problem for problem in _each(planes, _silence) if problem])
    operator = upstream is not None and _serves(upstream, kinds.HTTP_PROXY)
    problems = [*_missing_kinds(downstream)]
    _raise(planes, problems)
    more = [Need("delete", kinds.POD)] if COLD_RESTART in allow else []
    problems += _denied(downstream, [*_needs(MADE, _USE), *_needs((kinds.POD,), _READ), *more])
    if operator and upstream is not None:
        problems += _denied(upstream, [*_needs(CUSTOMERS, _USE), *_needs(DERIVED, _READ)])
    chosen, trouble = _class(downstream, gateway_class)
    _raise(planes, [*problems, *trouble])
    return Found(chosen, operator)


def _raise(planes: Sequence[ControlPlane], problems: Sequence[str]) -> None:
    if problems:
        raise AttachRefused(" and ".join(f"{one.name} ({one.kubeconfig})" for one in planes), problems)


def _each(planes: Sequence[ControlPlane], look: Callable[[ControlPlane], str]) -> Iterator[str]:
    """Look at all planes at once. What hangs, as a look-up of a name or a program for logins, is left behind."""
    found: dict[int, str] = {}

    def one(number: int, plane: ControlPlane) -> None:
        found[number] = look(plane)

    # Daemons: Python would wait at its end for threads of a pool, and a program for logins may hang for ever.
    looks = [threading.Thread(target=one, args=pair, daemon=True) for pair in enumerate(planes)]
    for thread in looks:
        thread.start()
    ends = Deadline.after(ANSWER + 0.5)
    for thread in looks:
        thread.join(ends.left())
    for number, plane in enumerate(planes):
        yield found.get(number, f"{plane.name}: {_HANGS.format(ANSWER)}")


def _silence(plane: ControlPlane) -> str:
    """Return why a control plane does not answer; empty when it does."""
    try:
        plane.request("GET", "/version", within=ANSWER)
    except EnvironmentFault as fault:
        return f"{plane.name}: {fault}. Is its address reachable from here, and is the kubeconfig that of this cluster?"
    except Exception as error:  # the client raises whatever a wrong certificate, key or plugin makes it raise
        return f"{plane.name}: its kubeconfig cannot be used: {error}"
    return ""


def _serves(plane: ControlPlane, kind: Kind) -> bool:
    return not refused(lambda: plane.collection(kind))


def _missing_kinds(plane: ControlPlane) -> list[str]:
    wanted = (*MADE, kinds.GATEWAY_CLASS, kinds.ENVOY_PROXY)
    missing = [f"{one.name} ({one.api_version})" for one in wanted if not _serves(plane, one)]
    cure = "Is this the cluster with the edge, and are the CRDs of Gateway API and Envoy Gateway installed?"
    return [f"{plane.name} does not serve {', '.join(missing)}. {cure}"] if missing else []


def _needs(of: Sequence[Kind], verbs: Sequence[str]) -> list[Need]:
    return [Need(verb, kind) for kind in of for verb in verbs]


def _denied(plane: ControlPlane, needs: Sequence[Need]) -> list[str]:
    try:
        missing = [str(need) for need in forbidden(plane, needs)]
    except EnvironmentFault as fault:
        return [f"{plane.name} does not tell what is allowed: {fault}"]
    cure = "Bind the ClusterRole in docs/backends.md to this user."
    return [f"{plane.name} forbids: {', '.join(missing)}. {cure}"] if missing else []


def _class(plane: ControlPlane, wanted: str) -> tuple[str, list[str]]:
    """Return the class to use, and what keeps it from being used."""
    every = {one["metadata"]["name"]: one for one in plane.list(kinds.GATEWAY_CLASS)}
    if wanted and wanted not in every:
        return "", [f"{plane.name} has no GatewayClass '{wanted}', only: {', '.join(every) or 'none'}"]
    unfit = {name: _unfit(plane, one) for name, one in every.items() if wanted in ("", name)}
    fit = [name for name, why in unfit.items() if not why]
    if len(fit) == 1:
        return fit[0], []
    if fit:
        return "", [f"{plane.name} has several GatewayClasses, take one by --edge-gateway-class: {', '.join(fit)}"]
    told = "; ".join(f"{name} {why}" for name, why in unfit.items()) or "there is none"
    return "", [f"{plane.name} has no GatewayClass that can be used: {told}"]


def _unfit(plane: ControlPlane, found: Manifest) -> str:
    """Return why a class cannot be used; empty when it can."""
    if not found["spec"]["controllerName"].startswith(CONTROLLER):
        return f"belongs to {found['spec']['controllerName']}, which is no Envoy Gateway"
    if not is_true(found, "Accepted"):
        return "is not accepted: no Envoy Gateway serves it"
    given = found["spec"].get("parametersRef") or {}
    settings = None
    if given.get("kind") == kinds.ENVOY_PROXY.name:
        settings = plane.get(Ref(kinds.ENVOY_PROXY, given["name"], given.get("namespace", "")))
    merges = ((settings or {}).get("spec") or {}).get("mergeGateways")
    return "" if merges else "gives each Gateway a proxy of its own (mergeGateways is not set), so tenants share none"
