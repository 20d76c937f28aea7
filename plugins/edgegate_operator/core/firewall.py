"""The part of the firewall's HTTP API that the operator uses."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import urllib3

TIMEOUT = urllib3.Timeout(connect=2, read=10)
"""Seconds for one call; to build fifty policies takes the firewall 2."""


class FirewallError(Exception):
    """The firewall refused a call, or could not be reached."""

    def __init__(self, call: str, status: int, text: str) -> None:
        super().__init__(f"firewall: {call}: {status or 'no answer'}: {text}")


@dataclass(frozen=True)
class InForce:
    """What the firewall says about one policy."""

    generation: int
    """The generation that is in force; 0 for none."""
    mistake: str = ""
    """What is wrong with the one that was asked for."""


class Firewall:
    """One firewall; it serves the policies of every namespace."""

    def __init__(self, url: str, faults: Sequence[str] = ()) -> None:
        """Call nobody yet.

        Args:
            url: its admin address; empty for no firewall.
            faults: the defects that it is to have.
        """
        self.present = bool(url)
        self._url, self._faults = url.rstrip("/"), tuple(faults)
        self._pool = urllib3.PoolManager(maxsize=4, retries=False)
        self._lock = threading.Lock()
        self._told = False

    def put(self, namespace: str, config: Mapping[str, Any]) -> dict[str, InForce]:
        """Let these be the policies of a namespace, and return what is in force there now, by name.

        Raises:
            FirewallError: it refused, or could not be reached.
        """
        with self._lock:
            if not self._told:
                self._call("/faults", ",".join(self._faults).encode())
                self._told = True
        found = json.loads(self._call(f"/policies/{namespace}", json.dumps(config).encode()))
        return {
            one["name"].partition("/")[2]: InForce(
                one["appliedGeneration"], (one.get("mistake") or {}).get("message", "")
            )
            for one in found["policies"]
        }

    def _call(self, path: str, body: bytes) -> bytes:
        call = f"PUT {path}"
        try:
            answer = self._pool.request("PUT", self._url + path, body=body, timeout=TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            raise FirewallError(call, 0, type(error).__name__) from error
        if answer.status >= 300:
            raise FirewallError(call, answer.status, answer.data[:200].decode(errors="replace").strip())
        return bytes(answer.data)
