"""What Envoy's admin interface and log tell, as values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

_COUNTERS = (
    ("lds", re.compile(r"listener_manager\.lds\.update_rejected")),
    ("cds", re.compile(r"cluster_manager\.cds\.update_rejected")),
    ("rds", re.compile(r"http\..+?\.(?:scoped_)?rds\.(?P<scope>.+)\.update_rejected")),
    ("sds", re.compile(r"(?:.+\.)?sds\.(?P<scope>.+)\.update_rejected")),
    ("rtds", re.compile(r"runtime\.(?P<scope>.+)\.update_rejected")),
    ("eds", re.compile(r"cluster\.(?P<scope>.+)\.update_rejected")),
)
"""Order matters: the name of a cluster may contain anything, so it comes last."""

_LOGGED = re.compile(
    r"\[(?P<time>\d{4}-[\d-]+ [\d:.]+)\][^\n]*?"
    r"(?:(?P<via>gRPC|delta|REST) config for (?P<type>\S+)|Filesystem config update) rejected: (?P<details>.*)",
    re.DOTALL,
)
_LOG_LINE = re.compile(r"^(?=\[\d{4}-|\{\")", re.MULTILINE)
"""Where a message begins, or a request: the proxy writes both to one file."""
_RESOURCE = re.compile(r"Error adding/updating (?P<kind>listener|cluster)\(s\) (?P<resource>\S+): ")
_TYPES = {
    "Listener": "lds",
    "Cluster": "cds",
    "RouteConfiguration": "rds",
    "ClusterLoadAssignment": "eds",
    "Secret": "sds",
    "Runtime": "rtds",
}


class UpdateKey(NamedTuple):
    """Which kind of configuration, and whose."""

    xds: str
    """`lds`, `cds`, `rds`, `eds`, `sds`, `rtds`, or `other`."""
    scope: str
    """Name of the route configuration, cluster or secret; empty for listeners and clusters as a whole."""

    def __str__(self) -> str:
        """Return it as in `rds default/eg/http`."""
        return f"{self.xds} {self.scope}".rstrip()


@dataclass(frozen=True)
class Rejection:
    """An update that Envoy refused, in its own words."""

    xds: str
    """Kind of configuration, as in `UpdateKey`."""
    resource: str
    """Name of what was refused; empty when only the log tells and does not name it."""
    details: str
    """Why."""
    attempted: str
    """When, as Envoy wrote it; empty when it did not."""


@dataclass(frozen=True)
class Chain:
    """A filter chain: the part of a listener that serves certain server names."""

    name: str
    """Its name."""
    server_names: tuple[str, ...]
    """Server names it is for; empty means any."""


@dataclass(frozen=True)
class Listener:
    """A listener as Envoy has it now."""

    name: str
    """Its name."""
    address: str
    """Where it is bound, as `0.0.0.0:10443`; empty when that is no address and port."""
    state: str
    """`static`, `active`, `warming`, `draining`, or `refused` when no version of it ever was accepted."""
    chains: tuple[Chain, ...]
    """Its filter chains, the default one last."""

    @property
    def server_names(self) -> frozenset[str]:
        """Every server name that some chain is for."""
        return frozenset(name for chain in self.chains for name in chain.server_names)


@dataclass(frozen=True)
class ServerInfo:
    """What Envoy says about itself."""

    version: str
    """As `1.38.3`."""
    build: str
    """The whole version text, with commit and TLS library."""
    state: str
    """`LIVE`, `DRAINING`, `PRE_INITIALIZING` or `INITIALIZING`."""
    uptime: float
    """Seconds since this process started."""
    concurrency: int
    """Worker threads."""


@dataclass(frozen=True)
class RejectionDelta:
    """What was refused between two looks at the counters."""

    grown: Mapping[UpdateKey, int]
    """Only what grew, and by how much. Empty is right."""

    @classmethod
    def between(cls, before: Mapping[UpdateKey, int], after: Mapping[UpdateKey, int]) -> "RejectionDelta":
        """Compare two answers of `EnvoyAdmin.rejected`.

        A counter that went down belongs to a process that started in between: all that it shows is new.
        """
        grown = {}
        for key, count in after.items():
            known = before.get(key, 0)
            more = count - known if count >= known else count
            if more:
                grown[key] = more
        return cls(grown)

    def describe(self) -> str:
        """Return one line for a person, as in `lds: 1, rds default/eg/http: 2`."""
        return ", ".join(f"{key}: {count}" for key, count in sorted(self.grown.items())) or "nothing was refused"


def key_of(counter: str) -> UpdateKey:
    """Return which update a counter such as `http.x.rds.default/eg.update_rejected` counts."""
    for xds, pattern in _COUNTERS:
        found = pattern.fullmatch(counter)
        if found:
            return UpdateKey(xds, found.groupdict().get("scope") or "")
    return UpdateKey("other", counter.removesuffix(".update_rejected"))


def read_info(said: Mapping[str, Any]) -> ServerInfo:
    """Return the facts of `/server_info`. Raises KeyError, TypeError or IndexError when it is something else."""
    return ServerInfo(
        version=said["version"].split("/")[1],
        build=said["version"],
        state=said["state"],
        uptime=float(said["uptime_current_epoch"].removesuffix("s")),
        concurrency=int(said["command_line_options"].get("concurrency", 0)),
    )


def read_listeners(static: list[dict[str, Any]], dynamic: list[dict[str, Any]]) -> tuple[Listener, ...]:
    """Return the listeners of a configuration dump, static ones first, in Envoy's order."""
    fixed = [_listener(entry["listener"], "static") for entry in static]
    return (*fixed, *(_dynamic(entry) for entry in dynamic if entry.get("name")))


def read_rejections(dynamic: list[dict[str, Any]]) -> tuple[Rejection, ...]:
    """Return the refusals that the listeners of a configuration dump carry.

    Envoy lists one twice: with the listener, and again without name and time. The first is kept.
    """
    found = [_rejection(entry) for entry in dynamic if "error_state" in entry]
    merged: dict[tuple[str, str], Rejection] = {}
    for rejection in sorted(found, key=lambda each: not each.attempted):
        merged.setdefault((rejection.resource, rejection.details), rejection)
    return tuple(merged.values())


def rejections_in_log(text: str) -> tuple[Rejection, ...]:
    """Return every refusal that Envoy logged (level warning), oldest first.

    Incremental xDS logs each twice, as `delta config` and directly after it as `gRPC config`; the first is kept.
    """
    found: list[Rejection] = []
    before = ""
    for line in filter(None, map(_LOGGED.match, _LOG_LINE.split(text))):
        refused, via = _logged(line), line["via"] or ""
        again = (before, via) == ("delta", "gRPC") and refused.details == found[-1].details
        if not again:
            found.append(refused)
        before = via
    return tuple(found)


def _logged(line: re.Match[str]) -> Rejection:
    named = _RESOURCE.match(line["details"])
    kind = line["type"] or (named["kind"].title() if named else "")
    return Rejection(
        xds=_TYPES.get(kind.rpartition(".")[2], "other"),
        resource=named["resource"] if named else "",
        details=line["details"].strip(),
        attempted=line["time"],
    )


def _rejection(entry: Mapping[str, Any]) -> Rejection:
    error = entry["error_state"]
    name = entry.get("name") or error.get("failed_configuration", {}).get("name", "")
    return Rejection("lds", name, error.get("details", ""), error.get("last_update_attempt", ""))


def _dynamic(entry: Mapping[str, Any]) -> Listener:
    for state in ("active", "warming", "draining"):
        if f"{state}_state" in entry:
            return _listener(entry[f"{state}_state"]["listener"], state)
    return _listener({"name": entry["name"], **entry.get("error_state", {}).get("failed_configuration", {})}, "refused")


def _listener(config: Mapping[str, Any], state: str) -> Listener:
    at = config.get("address", {}).get("socket_address", {})
    chains = list(config.get("filter_chains", []))
    if "default_filter_chain" in config:
        chains.append(config["default_filter_chain"])
    return Listener(
        name=config.get("name", ""),
        address=f"{at['address']}:{at.get('port_value', 0)}" if at else "",
        state=state,
        chains=tuple(map(_chain, chains)),
    )


def _chain(config: Mapping[str, Any]) -> Chain:
    return Chain(config.get("name", ""), tuple(config.get("filter_chain_match", {}).get("server_names", ())))
