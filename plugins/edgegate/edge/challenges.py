"""Challenge requests that reached the edge, read from the access logs of its proxies."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from edgegate.clock import wait_until
from edgegate.components.envoy_gateway import LOG_EVERY
from edgegate.edge.proxy_log import ProxyLog

PREFIX = "/.well-known/acme-challenge/"
"""Below it are the answers to HTTP-01 challenges."""
FLUSHED = 3 * LOG_EVERY
"""Seconds after which a request is in the log for certain."""
AUTHORITY = "LetsEncrypt-Pebble-VA"
"""How the certificate authority's own validation names itself."""
CHECKER = "cert-manager-challenges"
"""How the self check of cert-manager names itself."""


@dataclass(frozen=True)
class ChallengeRequest:
    """One request for the answer to a challenge, as a proxy saw it."""

    host: str
    """The host name, without port."""
    token: str
    """The token of the challenge."""
    status: int
    """What was answered."""
    agent: str
    """Who asked: the authority, cert-manager's self check, or anybody else."""
    route: str
    """The proxy's name of the route that answered; empty when none did."""
    at: str
    """When it came, as ISO 8601 in UTC."""

    @property
    def by_authority(self) -> bool:
        """Whether it was the authority that asked."""
        return self.agent.startswith(AUTHORITY)


def challenge_requests(logs: Iterable[ProxyLog], host: str) -> list[ChallengeRequest]:
    """Return the challenge requests for a host that the proxies have written to their logs, oldest first."""
    found = [request for log in logs for request in _read(log.since("")) if request.host == host]
    return sorted(found, key=lambda request: request.at)


def wait_for_answered(
    logs: Sequence[ProxyLog], host: str, agents: Sequence[str] = (AUTHORITY,), within: float = FLUSHED
) -> list[ChallengeRequest]:
    """Return the challenge requests for a host as soon as each of some agents was answered at least once.

    Args:
        logs: what each proxy writes.
        host: the host name.
        agents: how each of those who ask names itself, from the beginning.
        within: seconds.

    Raises:
        NeverReady: one of them was not, within that many seconds; shows the requests that there are.
    """

    def look() -> list[ChallengeRequest] | None:
        found = challenge_requests(logs, host)
        answered = [request.agent for request in found if request.status == 200]
        return found if all(any(one.startswith(agent) for one in answered) for agent in agents) else None

    what = f"challenge requests of {', '.join(agents)} for {host}, answered, in the log of a proxy"
    return wait_until(what, look, deadline=within, every=0.1, last=lambda: challenge_requests(logs, host))


def _read(text: str) -> Iterator[ChallengeRequest]:
    for line in text.splitlines():
        if PREFIX not in line:
            continue
        try:
            seen = json.loads(line)
        except ValueError:  # Envoy's own messages are in the same log, and the last line may be half written
            continue
        yield ChallengeRequest(
            host=str(seen[":authority"]).partition(":")[0],
            token=str(seen["x-envoy-origin-path"]).removeprefix(PREFIX),
            status=int(seen["response_code"]),
            agent=str(seen["user-agent"]),
            route=str(seen.get("route_name") or ""),
            at=str(seen["start_time"]),
        )
