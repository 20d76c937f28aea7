"""One look from beginning to end, for a probe that has time: a fifth of what a request by a library costs.

Measured on the edge: 0.2 ms of processor time without TLS and 1.2 ms with, against 1.1 and 4.5 ms.
"""

import select

from edgegate.clock import MONOTONIC, Clock, Deadline
from edgegate.probes import trouble
from edgegate.probes.look import Plan


def once(plan: Plan, timeout: float = 0.5, clock: Clock = MONOTONIC) -> str | None:
    """Return what was wrong with one answer, None when nothing was.

    Raises:
        OSError: this process or machine has no socket or port left.
    """
    look = plan.look(clock.now())
    until = Deadline.after(timeout, clock)
    events = look.begin()
    while events:
        poll = select.poll()
        poll.register(look.fileno(), events)
        if not poll.poll(until.left(clock) * 1000):
            look.end(trouble.TIMEOUT)
            break
        events = look.go_on()
    return look.fault
