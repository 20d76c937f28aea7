"""The API of the authoritative server, called as the operators do (contract.md 5.5)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from edgegate.components import powerdns
from edgegate.errors import ServerRefused, ServerUnreachable
from edgegate.lab import Lab

_ZONES = "/api/v1/servers/localhost/zones"


@dataclass(frozen=True)
class RecordSet:
    """All records of one name and type in a zone."""

    name: str
    """Full name without the final dot."""
    type: str
    """As in `CNAME`."""
    ttl: int
    """Seconds that a resolver may keep it."""
    contents: tuple[str, ...]
    """What each record says, as in a zone file, sorted."""


class PowerDnsApi:
    """Zones and records of the authoritative server.

    Names are given without their final dot. Each method raises ServerRefused when the server says no (a wrong key,
    a record beside a CNAME) and ServerUnreachable when it does not answer.
    """

    def __init__(self, lab: Lab) -> None:
        self.url = powerdns.api_url(lab.net)
        self.key = powerdns.api_key(lab)
        self._http = httpx.Client(base_url=self.url, headers={"X-API-Key": self.key}, trust_env=False, timeout=10)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def version(self) -> str:
        """Return the version that the running server reports."""
        return str(self._ask("GET", "/api/v1/servers/localhost").json()["version"])

    def create_zone(self, zone: str, nameservers: Sequence[str], soa: str = "") -> None:
        """Create a zone with its NS records, and with this SOA where given; one that exists stays as it is."""
        body: dict[str, Any] = {"name": f"{zone}.", "kind": "Native", "nameservers": [f"{ns}." for ns in nameservers]}
        if soa:
            body["rrsets"] = [_replace(f"{zone}.", "SOA", [soa], 3600)]
        self._ask("POST", _ZONES, body, also=(409,))

    def delete_zone(self, zone: str) -> None:
        """Delete a zone with all its records; one that is gone already is fine."""
        self._ask("DELETE", f"{_ZONES}/{zone}.", also=(404,))

    def zones(self) -> list[str]:
        """Return the names of all zones, sorted."""
        return sorted(zone["name"].rstrip(".") for zone in self._ask("GET", _ZONES).json())

    def records(self, zone: str) -> list[RecordSet]:
        """Return every record set of a zone that is not disabled, sorted by name and type."""
        found = self._ask("GET", f"{_ZONES}/{zone}.").json()["rrsets"]
        return sorted((made for made in map(_record_set, found) if made.contents), key=lambda one: (one.name, one.type))

    def replace(self, zone: str, name: str, type: str, contents: Sequence[str], ttl: int = 300) -> None:  # noqa: A002
        """Let a name have exactly these records of a type; names in contents keep their final dot."""
        self._ask("PATCH", f"{_ZONES}/{zone}.", {"rrsets": [_replace(f"{name}.", type, contents, ttl)]})

    def remove(self, zone: str, name: str, type: str) -> None:  # noqa: A002 - the word of DNS
        """Let a name have no records of a type."""
        self._ask(
            "PATCH", f"{_ZONES}/{zone}.", {"rrsets": [{"name": f"{name}.", "type": type, "changetype": "DELETE"}]}
        )

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, also: Sequence[int] = ()
    ) -> httpx.Response:
        with _translated(f"{method} {path}"):
            answer = self._http.request(method, path, json=body)
        if answer.status_code >= 400 and answer.status_code not in also:
            raise ServerRefused(
                powerdns.NAME, f"{method} {path}", status=answer.status_code, text=answer.text.strip()[:300]
            )
        return answer


def _replace(name: str, type: str, contents: Sequence[str], ttl: int) -> dict[str, Any]:  # noqa: A002
    records = [{"content": content, "disabled": False} for content in contents]
    return {"name": name, "type": type, "ttl": ttl, "changetype": "REPLACE", "records": records}


def _record_set(found: Mapping[str, Any]) -> RecordSet:
    contents = sorted(record["content"] for record in found["records"] if not record["disabled"])
    return RecordSet(found["name"].rstrip("."), found["type"], found["ttl"], tuple(contents))


@contextmanager
def _translated(request: str) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as trouble:
        raise ServerUnreachable(powerdns.NAME, request, text=str(trouble) or type(trouble).__name__) from trouble
