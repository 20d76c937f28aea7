"""The part of the PowerDNS HTTP API that the agent uses."""

import json
from pathlib import Path
from typing import Any

import urllib3

TIMEOUT = urllib3.Timeout(connect=2, read=10)
"""Seconds for one call."""


class PowerDnsError(Exception):
    """PowerDNS refused a call, or could not be reached (status 0)."""

    def __init__(self, call: str, status: int, text: str) -> None:
        super().__init__(f"PowerDNS: {call}: {status or 'no answer'}: {text}")
        self.status, self.text = status, text

    @property
    def is_conflict(self) -> bool:
        """Return whether other records of that name, which are not ours, stand in the way."""
        return self.status == 422 and "onflicts with" in self.text


class PowerDns:
    """One server."""

    def __init__(self, url: str, key: str, key_file: str = "") -> None:
        self._root = url.rstrip("/") + "/api/v1/servers/localhost/zones"
        self._key = key or Path(key_file).read_text().strip()
        self._pool = urllib3.PoolManager(maxsize=8, retries=False)

    def _call(self, verb: str, path: str, body: Any = None, fine: tuple[int, ...] = ()) -> None:
        headers = {"X-API-Key": self._key, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        call = f"{verb} {path or '/'}"
        try:
            answer = self._pool.request(verb, self._root + path, body=data, headers=headers, timeout=TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            raise PowerDnsError(call, 0, type(error).__name__) from error
        if answer.status >= 300 and answer.status not in fine:
            raise PowerDnsError(call, answer.status, _text(answer.data))

    def create_zone(self, zone: str, nameservers: list[str]) -> None:
        """Let a zone be there. One that exists keeps what it has."""
        servers = [server if server.endswith(".") else server + "." for server in nameservers]
        self._call("POST", "", {"name": f"{zone}.", "kind": "Native", "nameservers": servers}, fine=(409,))

    def delete_zone(self, zone: str) -> None:
        """Let a zone be gone."""
        self._call("DELETE", f"/{zone}.", fine=(404,))

    def change(self, zone: str, changes: list[Any]) -> None:
        """Make all those changes at once, or none.

        Raises:
            PowerDnsError: refused; `is_conflict` tells whether foreign records are the reason.
        """
        self._call("PATCH", f"/{zone}.", {"rrsets": changes})


def _text(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
