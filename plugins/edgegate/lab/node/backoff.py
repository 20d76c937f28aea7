"""How long a container that ended waits for its next start. Pure; numbers of a kubelet."""

from dataclasses import dataclass

FIRST = 10.0
"""Seconds before the second restart; the first one comes at once."""
LONGEST = 300.0
"""Upper limit of the wait, in seconds; one that ran for twice as long starts from the beginning."""


@dataclass(frozen=True)
class Backoff:
    """The back-off of one container."""

    delay: float = 0.0
    """Seconds that a restart waits after the end of the last run; 0 before the first restart."""
    counted: float = 0.0
    """Monotonic second at which `delay` was set."""

    def left(self, ended: float, now: float) -> float:
        """Return the seconds that a container which ended then still has to wait."""
        if self.expired(ended):
            return 0.0
        return max(0.0, ended + self.delay - now)

    def expired(self, ended: float) -> bool:
        """Tell whether the last run was so long that the past is forgotten."""
        return ended - self.counted > 2 * LONGEST

    def after(self, ended: float, now: float) -> "Backoff":
        """Return the back-off once a restart has been made for a run that ended then."""
        if self.delay == 0 or self.expired(ended):
            return Backoff(FIRST, now)
        return Backoff(min(self.delay * 2, LONGEST), now)
