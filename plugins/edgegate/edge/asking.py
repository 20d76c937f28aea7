"""Ask until the answer is right: the wait that reads traffic."""

from collections.abc import Callable, Mapping

from edgegate.clock import Deadline, wait_until
from edgegate.probes.http import HttpProbe
from edgegate.records import Answer


def wait_for_answer(
    probe: HttpProbe,
    right: Callable[[Answer], bool],
    *,
    what: str,
    within: float | Deadline,
    in_a_row: int = 1,
    path: str = "/",
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return the answer as soon as `in_a_row` right ones came one after the other.

    Raises:
        NeverReady: they did not come within that many seconds; describes the last answer.
    """
    seen: list[Answer] = []

    def look() -> Answer | None:
        seen[:] = [probe.request(method, path, headers=headers)]
        return seen[0] if right(seen[0]) else None

    return wait_until(
        what, look, deadline=within, in_a_row=in_a_row, last=lambda: seen[0].describe() if seen else "nothing"
    )
