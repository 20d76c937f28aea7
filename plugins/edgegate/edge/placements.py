"""Attacks and leaks before, across and beyond each limit of the firewall: what is blocked, and what passes unseen.

To pass unseen is no fault as long as it is counted: whoever runs the firewall can see it. In silence it is one.
"""

from dataclasses import dataclass

from edgegate.probes.ladder import Body, Placed, Reply, Rung

LEAK = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version"
ATTACK = "<script>alert(document.cookie)</script>"
_KIB = 1024
TEXT_LIMIT = 128 * _KIB
"""Bytes of a request that is no upload."""
RESPONSE_LIMIT = 512 * _KIB
"""Bytes of a response that the rules see."""
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Placement:
    """One text at one place."""

    rung: Rung
    """The exchange that has it."""
    status: int
    """What must be answered: 403 and 413 by the firewall, 200 by the origin."""
    reason: str = ""
    """Why it passes: the reason under which that is counted."""


def placements() -> list[Placement]:
    """Return every placement."""
    return [
        _leak("leak at the beginning of a page", 100 * _KIB, 0, 403),
        _leak("leak at the end of a page", 100 * _KIB, 100 * _KIB - len(LEAK), 403),
        _leak("leak before the limit of a long page", 1024 * _KIB, RESPONSE_LIMIT - len(LEAK), 403),
        _leak("leak across that limit", 1024 * _KIB, RESPONSE_LIMIT - 20, 200, "response-size"),
        _leak("leak beyond that limit", 1024 * _KIB, RESPONSE_LIMIT + 1, 200, "response-size"),
        _leak("leak in a page as gzip", 10 * _KIB, 0, 200, "encoded", encoding="gzip"),
        _leak("leak in a page as brotli", 10 * _KIB, 0, 200, "encoded", encoding="br"),
        _leak("leak in chunks", 10 * _KIB, 5 * _KIB, 403, chunked=True),
        _attack("attack at the beginning of a form", 8 * _KIB, 10, 403),
        _attack("attack at the end of the longest form", TEXT_LIMIT, TEXT_LIMIT - len(ATTACK), 403),
        _attack("attack beyond that limit", TEXT_LIMIT + 64, TEXT_LIMIT + 1, 413),
        _attack("attack in a form in chunks", 8 * _KIB, 4 * _KIB, 403, chunked=True),
    ]


def _leak(
    name: str, size: int, at: int, status: int, reason: str = "", *, encoding: str = "identity", chunked: bool = False
) -> Placement:
    body = Body(size, "text/html", encoding, chunked=chunked, placed=(Placed(at, LEAK),))
    return Placement(Rung(name, "/answer/leak", answer=Reply(body)), status, reason)


def _attack(name: str, size: int, at: int, status: int, *, chunked: bool = False) -> Placement:
    # As one field: a text of many fields costs more than all the time that a request has.
    body = Body(size, _FORM, chunked=chunked, placed=(Placed(0, "q="), Placed(at, ATTACK)))
    return Placement(Rung(name, "/answer/attack", method="POST", body=body), status)
