"""A site behind a firewall, as scenarios begin with it."""

from dataclasses import dataclass

from edgegate.edge.http_proxy import HttpProxy
from edgegate.edge.waf_policy import WafPolicy
from edgegate.records import Answer


@dataclass(frozen=True)
class Guarded:
    """An HTTPProxy whose requests the firewall inspects; made by the fixture `guarded`."""

    proxy: HttpProxy
    """The proxy."""
    host: str
    """Its canonical host name."""
    policy: WafPolicy
    """The policy for its Gateway."""
    before: Answer
    """What a harmless request was answered before there was a firewall."""
