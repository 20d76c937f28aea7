"""Name resolution as scenarios use it: three servers to ask, and the zones of one of them."""

from functools import cached_property

from edgegate.components import recursor
from edgegate.components.dns import NAMESERVERS
from edgegate.components.launch import Launch
from edgegate.components.powerdns_api import PowerDnsApi
from edgegate.errors import NotShown
from edgegate.probes.dns import DnsAnswer, DnsProbe, wait_for_record


class Dns:
    """The name servers of one edge."""

    nameservers = NAMESERVERS
    """What a zone of the lab is delegated to."""

    def __init__(self, launch: Launch) -> None:
        """Raise NotShown when the edge was made without the part `dns`."""
        if "dns" not in launch.parts:
            raise NotShown("this edge was made without the part 'dns', so no names outside the cluster exist in it")
        self._launch = launch
        net = launch.lab.net
        self.authoritative = DnsProbe(net.authoritative_ip, name="authoritative", afresh=True)
        self.cached = DnsProbe(net.cached_ip, name="authoritative with default caches")
        self.recursor = DnsProbe(net.recursor_ip, name="recursor", recursor=True)

    @cached_property
    def api(self) -> PowerDnsApi:
        """Zones and records of the authoritative server."""
        return PowerDnsApi(self._launch.lab)

    def publish(self, zone: str, name: str, *texts: str, within: float) -> None:
        """Let a name have these TXT records, and return when the recursor says so too: its memory ends after 1 s.

        Raises:
            NeverReady: not within that many seconds.
        """
        quoted = sorted(f'"{text}"' for text in texts)
        self.api.replace(zone, name, "TXT", quoted, ttl=1)

        def right(answer: DnsAnswer) -> bool:
            return answer.values == tuple(quoted)

        told = wait_for_record(self.authoritative, name, "TXT", right, within=within)
        wait_for_record(self.recursor, name, "TXT", right, within=within, after=told)

    def forget(self, name: str) -> None:
        """Let the recursor forget what it knows of a name and of all names below it, absences included."""
        recursor.forget(self._launch, name)
