"""Whether the Envoy of a proxy has ended by itself.

Its node starts it again within seconds, so all that a test may see is that something took longer. Many see nothing.
"""

from contextlib import suppress

from edgegate.edge.proxies import Proxies
from edgegate.errors import EnvironmentFault
from edgegate.records import Finding, Source


class Crashes:
    """Counts the ends of every proxy's Envoy, from its first look on."""

    def __init__(self, proxies: Proxies) -> None:
        """Prepare; nobody is asked yet."""
        self._proxies = proxies
        self._known: dict[str, int] | None = None
        self._found: list[Finding] = []

    def look(self) -> None:
        """Note who has ended since the last look. The first look only counts: what was before it is not ours.

        Call it before a pod is thrown away, which cannot be asked later. Ends add up in a pod's status, so a look
        that fails loses nothing.
        """
        with suppress(EnvironmentFault):  # whoever asks the control plane next tells that it does not answer
            proxies = self._proxies.all()
            known = {one.uid: one.ends for one in proxies} if self._known is None else self._known
            for one in proxies:
                if (times := one.ends - known.get(one.uid, 0)) > 0:
                    self._found.append(_finding(one.name, times, one.last_end))
                    known[one.uid] = one.ends
            self._known = known

    def take(self) -> list[Finding]:
        """Return what was found since this was asked the last time, a proxy at a time."""
        self.look()
        found, self._found = self._found, []
        return found


def _finding(proxy: str, times: int, last: str) -> Finding:
    often = "once" if times == 1 else f"{times} times"
    return Finding(Source.DATA_PLANE, f"Envoy of {proxy}", "runs on", f"ended by itself {often}: {last}")
