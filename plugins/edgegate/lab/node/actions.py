"""What probes and hooks do: ask by HTTP, connect, run a command in the container, or let time pass."""

import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

from edgegate.errors import PodTrouble
from edgegate.lab.node.kube import Json

AGENT = "kube-probe/1.35"
"""What a kubelet calls itself; access logs and filters know it."""
Execute = Callable[[list[str], float | None], tuple[int, str]]
"""Runs a command in the container, within seconds."""


@dataclass(frozen=True)
class Outcome:
    """How an action went."""

    ok: bool
    """Whether it counts as success."""
    text: str
    """What was seen; part of the event on failure."""


@dataclass(frozen=True)
class Target:
    """The container that an action is for."""

    address: str
    """The pod's address."""
    container: Json
    """Its specification, for ports that are given by name."""
    execute: Execute
    """Runs a command in it."""


def supported(action: Json) -> str:
    """Return the word that says what an action does.

    Raises:
        PodTrouble: the lab cannot do it.
    """
    for word in ("httpGet", "tcpSocket", "exec", "sleep"):
        if action.get(word) is not None:
            return word
    said = next((word for word in action if isinstance(action[word], dict)), "no action")
    raise PodTrouble("Unsupported", f"the lab has no {said} probes and hooks; it has httpGet, tcpSocket, exec, sleep")


def perform(action: Json, target: Target, timeout: float | None, over: threading.Event) -> Outcome:
    """Do what an action says, within seconds, and tell how it went. `over` ends a `sleep` early."""
    word = supported(action)
    details = action[word]
    try:
        if word == "httpGet":
            return _http(details, target, timeout)
        if word == "tcpSocket":
            return _connect(details, target, timeout)
        if word == "sleep":
            over.wait(float(details["seconds"]))
            return Outcome(ok=True, text="")
        status, output = target.execute(list(details.get("command") or []), timeout)
        return Outcome(ok=status == 0, text=output.strip() or f"exit status {status}")
    except (OSError, http.client.HTTPException, ValueError) as trouble:
        return Outcome(ok=False, text=f"{type(trouble).__name__}: {trouble}")


def act(action: Json, target: Target, timeout: float | None, over: threading.Event) -> Outcome:
    """Do what a hook says; what the lab cannot do has failed."""
    try:
        return perform(action, target, timeout, over)
    except PodTrouble as trouble:
        return Outcome(ok=False, text=trouble.text)


def port_of(port: int | str, container: Json) -> int:
    """Return the number of a port that is given as one or by name; raises ValueError for an unknown name."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    for one in container.get("ports") or []:
        if one.get("name") == port:
            return int(one["containerPort"])
    raise ValueError(f"couldn't find port: {port}")


def _http(get: Json, target: Target, timeout: float | None) -> Outcome:
    host, port = get.get("host") or target.address, port_of(get["port"], target.container)
    headers = {"User-Agent": AGENT, "Accept": "*/*", "Connection": "close"}
    headers.update({entry["name"]: entry["value"] for entry in get.get("httpHeaders") or []})
    path = "/" + str(get.get("path") or "/").lstrip("/")
    connection: http.client.HTTPConnection
    if str(get.get("scheme") or "HTTP").upper() == "HTTPS":  # a kubelet does not verify either
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=_unverified())
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(10240).decode(errors="replace").strip()
    finally:
        connection.close()
    return Outcome(
        ok=200 <= answer.status < 400, text=f"HTTP probe failed with statuscode: {answer.status} {body[:200]}"
    )


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _connect(details: Json, target: Target, timeout: float | None) -> Outcome:
    where = (details.get("host") or target.address, port_of(details["port"], target.container))
    with socket.create_connection(where, timeout=timeout):
        return Outcome(ok=True, text="")
