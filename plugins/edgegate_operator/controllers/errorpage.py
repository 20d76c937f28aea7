"""The branded error page: what the proxy itself answers with a status from a certain one on has its body.

One EnvoyPatchPolicy for the class puts it into every listener that its Gateways have, those that come later too.
"""

import logging
from functools import cache
from pathlib import Path

from edgegate_operator import faults
from edgegate_operator.core.controller import Request
from edgegate_operator.core.plan import Apply, Delete, Plan, Plane
from edgegate_operator.kinds import ENVOY_PATCH_POLICY, GATEWAY, GATEWAY_CLASS, Obj
from edgegate_operator.settings import ErrorPage, Settings
from edgegate_operator.site import Controller, Do, Names, Site, Watch

NAME = "branded-error-page"
PLAIN = "<!doctype html><title>Error</title><p>This site cannot be reached at the moment.</p>\n"
"""The page when the file cannot be read: an edge without a page of its own is better than none."""
_TYPE = "type.googleapis.com/envoy.config.listener.v3.Listener"
_MANAGER = "filters[?(@.name=='envoy.filters.network.http_connection_manager')].typed_config"

_log = logging.getLogger("edgegate_operator.errorpage")


def listening(gateways: list[Obj], settings: Settings) -> list[tuple[int, bool]]:
    """Return each port that a Gateway of our class listens at, and whether it speaks TLS there."""
    ours = (
        one for one in gateways if one["spec"]["gatewayClassName"] == settings.gateway.downstream_gateway_class_name
    )
    return sorted({(at["port"], at["protocol"] == "HTTPS") for one in ours for at in one["spec"]["listeners"]})


def local_reply(body: str, settings: Settings) -> Obj:
    """Return what each HTTP connection manager is told.

    Envoy takes what stands between two `%` for a command, and refuses the listener over one that it does not know.
    """
    page = settings.gateway.error_page
    text = body if settings.has(faults.ERROR_PAGE_UNESCAPED) else body.replace("%", "%%")
    status = {"default_value": page.min_status_code, "runtime_key": page.runtime_key}
    return {
        "mappers": [
            {
                "filter": {"status_code_filter": {"comparison": {"op": "GE", "value": status}}},
                "body_format_override": {
                    "text_format_source": {"inline_string": text},
                    "content_type": page.content_type,
                },
            }
        ]
    }


def policy(body: str, ports: list[tuple[int, bool]], settings: Settings) -> Obj:
    """Return the policy; a port with TLS has a filter chain a host name, one without has the default one."""
    klass = settings.gateway.downstream_gateway_class_name
    value = local_reply(body, settings)
    made = ENVOY_PATCH_POLICY.named(settings.gateway.error_page.namespace, NAME)
    chains = {True: "..filter_chains[*].", False: "..default_filter_chain."}
    made["spec"] = {
        "targetRef": {"group": GATEWAY_CLASS.group, "kind": GATEWAY_CLASS.kind, "name": klass},
        "type": "JSONPatch",
        "jsonPatches": [
            {
                "type": _TYPE,
                "name": f"tcp-{port}",
                "operation": {
                    "op": "add",
                    "jsonPath": f"{chains[tls]}{_MANAGER}",
                    "path": "local_reply_config",
                    "value": value,
                },
            }
            for port, tls in ports
        ],
    }
    return made


def decide(body: str, gateways: list[Obj], settings: Settings) -> Plan:
    """Return the policy, or its removal when nobody listens: Envoy Gateway refuses one that finds nothing to patch."""
    ports = listening(gateways, settings)
    if not ports:
        return Plan((Delete(Plane.DOWN, ENVOY_PATCH_POLICY, settings.gateway.error_page.namespace, NAME),))
    return Plan((Apply(Plane.DOWN, policy(body, ports, settings)),))


@cache
def body_of(page: ErrorPage) -> str:
    """Return the page; the one that is built in when the file cannot be read."""
    try:
        return Path(page.body_path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as trouble:
        _log.warning("%s cannot be read (%s); a plain page is used", page.body_path, trouble)
        return PLAIN


def _reconcile(site: Site, _request: Request, _do: Do) -> Plan:
    return decide(body_of(site.settings.gateway.error_page), site.down(GATEWAY).all(), site.settings)


def _the_page(_site: Site, _gateway: Obj) -> Names:
    yield "", NAME


def _shape(gateway: Obj) -> object:
    listeners = gateway["spec"]["listeners"]
    return gateway["spec"]["gatewayClassName"], [(at["port"], at["protocol"]) for at in listeners]


def controller(_settings: Settings) -> Controller:
    """Return the controller."""
    watches = (Watch(Plane.DOWN, GATEWAY, _the_page, about=_shape),)
    return Controller("errorpage", _reconcile, watches, downstream_only=True)
