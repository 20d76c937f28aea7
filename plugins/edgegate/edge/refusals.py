"""What a proxy refused while something happened, and whether that means anything."""

import re

from edgegate.edge.proxy_log import ProxyLog
from edgegate.probes.envoy import EnvoyAdmin, RejectionDelta, rejections_in_log
from edgegate.records import Source
from edgegate.report.gate import Gate

_REMOVALS = re.compile(r"Unexpected SDS secrets length for \S+, number of added resources 0, ")
"""Why Envoy refuses a message about secrets because of what it takes away.

Measured on Envoy Gateway 1.8.3 × Envoy 1.38.3, once in 12 removals of a login policy on a saturated machine: the
message says that both secrets of the policy have gone, Envoy hands both to the subscription of one of them, and that
one accepts only one. Envoy refuses the whole message, and counts and logs that for *every* subscription of a secret,
those of other tenants too (`WatchMap::onConfigUpdateFailed` in watch_map.cc). Nobody misses anything: what a message
adds is delivered before anything that it takes away (`WatchMap::onConfigUpdate`), and Envoy ignores that a secret is
taken away (`SdsApi::onConfigUpdate` in sds_api.cc).
"""


class Refusals:
    """Looks at a proxy's counters and log from one moment on."""

    def __init__(self, admin: EnvoyAdmin, log: ProxyLog, *, since_start: bool = False, name: str = "") -> None:
        """Begin now, or with the start of the proxy. `log` is what its Envoy writes, see `Edge.log_of`.

        With a `name`, findings say which of several proxies it was.
        """
        self._subject = f"Envoy's configuration of {name}" if name else "Envoy's configuration"
        self._admin, self._log = admin, log
        self._before = {} if since_start else admin.rejected()
        self._known = "" if since_start else log.mark()

    def judge(self, gate: Gate) -> None:
        """Add to the gate that no update was refused, or which ones and why."""
        refused = RejectionDelta.between(self._before, self._admin.rejected())
        logged = self._logged()
        harmless = self._harmless(refused, logged)
        if harmless:
            gate.note(f"Envoy refused to hear which secrets have gone, after it took what was new: {'; '.join(logged)}")
        texts = [f"{one.resource}: {one.details}" for one in self._admin.rejection_texts()] if refused.grown else []
        seen = f"{refused.describe()} ({'; '.join([*texts, *logged]) or 'no text kept'})"
        right = harmless or not refused.grown
        gate.check(Source.DATA_PLANE, self._subject, "no update refused", seen, right=right)

    def _harmless(self, refused: RejectionDelta, logged: list[str]) -> bool:
        """Tell whether messages about secrets were refused, and all of them because of what they took away."""
        of_secrets = bool(refused.grown) and all(key.xds == "sds" for key in refused.grown)
        return of_secrets and bool(logged) and all(_REMOVALS.match(text) for text in logged)

    def _logged(self) -> list[str]:
        """Return why updates were refused since the beginning, each reason once."""
        text = self._log.since(self._known)
        return list(dict.fromkeys(one.details for one in rejections_in_log(text)))
