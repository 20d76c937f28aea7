"""Ask a running Envoy what it is, what it serves, and what it refused.

Measured on 1.37.0 and 1.38.3: counters of refused updates exist for each kind of xDS; the text of a refusal is in the
configuration dump for listeners only (`error_state`), and there until the next update of that listener succeeds. For
the other kinds the text is in Envoy's log alone, see `rejections_in_log`.
"""

from collections.abc import Mapping
from typing import Any, Self

import httpx

from edgegate.errors import AdminUnreachable
from edgegate.probes.envoy_facts import (
    Chain,
    Listener,
    Rejection,
    RejectionDelta,
    ServerInfo,
    UpdateKey,
    key_of,
    read_info,
    read_listeners,
    read_rejections,
    rejections_in_log,
)
from edgegate.probes.trouble import name_of

__all__ = [
    "Chain",
    "EnvoyAdmin",
    "Listener",
    "Rejection",
    "RejectionDelta",
    "ServerInfo",
    "UpdateKey",
    "rejections_in_log",
]

TIMEOUT = 5.0
"""Seconds; the admin interface answers in a few milliseconds unless the machine or Envoy stands still."""


class EnvoyAdmin:
    """The admin interface of one Envoy.

    Every method raises AdminUnreachable when it does not answer, or answers something else than it should.
    """

    def __init__(self, base_url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        """Prepare; nothing is opened. `base_url` is as `http://10.88.1.140:19000`."""
        self.base_url = base_url.rstrip("/")
        self._client = httpx.Client(base_url=self.base_url, timeout=TIMEOUT, trust_env=False, transport=transport)

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection; the object cannot be used afterwards."""
        self._client.close()

    def info(self) -> ServerInfo:
        """Return what runs there, since when and in which state."""
        said = self._json("/server_info")
        try:
            return read_info(said)
        except (KeyError, TypeError, IndexError) as wrong:
            reason = f"not what Envoy says there: {str(said)[:80]}"
            raise AdminUnreachable(f"{self.base_url}/server_info", reason=reason) from wrong

    def version(self) -> str:
        """Return the running version, as `1.38.3`."""
        return self.info().version

    def draining(self) -> bool:
        """Say whether it tells load balancers to send nothing more."""
        return self.info().state == "DRAINING"

    def live(self) -> bool:
        """Say whether it is ready for traffic: configured, and not draining."""
        return self._get("/ready", accept=(200, 503)).status_code == 200

    def stats(self, pattern: str) -> dict[str, int]:
        """Return counters and gauges whose name matches a regular expression."""
        found = {}
        for line in self._get("/stats", {"filter": pattern}).text.splitlines():
            name, _, value = line.rpartition(": ")
            if name and value.isdigit():
                found[name] = int(value)
        return found

    def allocated(self) -> int:
        """Return how many bytes its heap has allocated now."""
        return int(self._json("/memory")["allocated"])

    def rejected(self) -> dict[UpdateKey, int]:
        """Return how many updates were refused since the start; kinds that were never asked for are absent."""
        counts: dict[UpdateKey, int] = {}
        for name, count in self.stats(r"update_rejected$").items():
            # Two listeners may share one route configuration; each has a counter of its own.
            counts[key_of(name)] = counts.get(key_of(name), 0) + count
        return counts

    def rejection_texts(self) -> tuple[Rejection, ...]:
        """Return the refusals that are in force: listeners whose newest version was not accepted."""
        return read_rejections(self._part("dynamic_listeners"))

    def listeners(self) -> tuple[Listener, ...]:
        """Return static listeners, then dynamic ones, in Envoy's order."""
        return read_listeners(self._part("static_listeners"), self._part("dynamic_listeners"))

    def config_dump(self) -> dict[str, Any]:
        """Return the entire configuration dump, endpoints included; megabytes on a busy edge."""
        whole: dict[str, Any] = self._json("/config_dump", {"include_eds": ""})
        return whole

    def _part(self, resource: str) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = self._json("/config_dump", {"resource": resource}).get("configs", [])
        return parts

    def _json(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        answer = self._get(path, query)
        try:
            return answer.json()
        except ValueError as wrong:
            raise AdminUnreachable(self.base_url + path, reason=f"no JSON but {answer.text[:80]!r}") from wrong

    def _get(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: tuple[int, ...] = (200,)
    ) -> httpx.Response:
        try:
            answer = self._client.get(path, params=query)
        except httpx.TransportError as failed:
            raise AdminUnreachable(self.base_url + path, reason=name_of(failed)) from failed
        if answer.status_code not in accept:
            raise AdminUnreachable(self.base_url + path, reason=f"status {answer.status_code}: {answer.text[:80]}")
        return answer
