"""Envoy's configuration for a corpus: one door a policy, and one without a firewall, all on Unix sockets.

It has the shape that Envoy Gateway gives its own: the filter is in the chain but disabled, and a route enables it. So
what Envoy refuses itself, with 400, does not go to the firewall, and its answer reaches the client.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TYPE = "type.googleapis.com/envoy."
_FILTER = "envoy.filters.http.ext_proc"
DUPLEX = "FULL_DUPLEX_STREAMED"
ROUTE = "corpus/{}/"
"""Name of the route behind a door; by it the firewall chooses the policy."""
ATTRIBUTES = ["xds.route_name", "source.address", "request.protocol"]
"""What the firewall has to be told of each request."""


def bootstrap(doors: Mapping[str, Path], *, without: Path, origin: Path, firewall: Path, admin: Path) -> str:
    """Return the configuration as JSON.

    Args:
        doors: policy to the socket that is guarded by it.
        without: the socket without a firewall.
        origin: socket of the origin.
        firewall: socket of the firewall.
        admin: socket of Envoy's admin interface.
    """
    listeners = [_listener(name, path, guarded=True) for name, path in doors.items()]
    listeners.append(_listener("none", without, guarded=False))
    clusters = [_cluster("origin", origin), _cluster("firewall", firewall, http2=True)]
    return json.dumps(
        {
            "admin": {"address": _pipe(admin)},
            "static_resources": {"listeners": listeners, "clusters": clusters},
        }
    )


def _pipe(path: Path) -> dict[str, Any]:
    return {"pipe": {"path": str(path)}}


def _listener(name: str, path: Path, *, guarded: bool) -> dict[str, Any]:
    enabled = {_FILTER: {"@type": f"{_TYPE}config.route.v3.FilterConfig", "config": {}}}
    route = {
        "name": ROUTE.format(name),
        "match": {"prefix": "/"},
        "route": {"cluster": "origin", "timeout": "0s"},
        **({"typed_per_filter_config": enabled} if guarded else {}),
    }
    manager = {
        "@type": f"{_TYPE}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        # The corpus has methods that do not exist, and HTTP/1.0 without a host.
        "http_protocol_options": {
            "accept_http_10": True, "allow_custom_methods": True, "default_host_for_http_10": "localhost",
        },
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "route_config": {"virtual_hosts": [{"name": name, "domains": ["*"], "routes": [route]}]},
        "http_filters": [_filter(), {"name": "router", "typed_config": {
            "@type": f"{_TYPE}extensions.filters.http.router.v3.Router",
        }}],
    }  # fmt: skip
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    return {"name": name, "address": _pipe(path), "filter_chains": [chain]}


def _filter() -> dict[str, Any]:
    modes = {
        "request_header_mode": "SEND", "response_header_mode": "SEND",
        "request_body_mode": DUPLEX, "response_body_mode": DUPLEX,
        "request_trailer_mode": "SEND", "response_trailer_mode": "SEND",
    }  # fmt: skip
    processor = {
        "@type": f"{_TYPE}extensions.filters.http.ext_proc.v3.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": "firewall"}, "timeout": "60s"},
        "processing_mode": modes,
        # Longer than the firewall's own limit, so that it is the firewall that answers.
        "message_timeout": "30s",
        "request_attributes": ATTRIBUTES,
    }
    return {"name": _FILTER, "disabled": True, "typed_config": processor}


def _cluster(name: str, path: Path, *, http2: bool = False) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": _pipe(path)}}
    cluster: dict[str, Any] = {
        "name": name, "connect_timeout": "1s", "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }  # fmt: skip
    if http2:
        options = f"{_TYPE}extensions.upstreams.http.v3.HttpProtocolOptions"
        explicit: dict[str, Any] = {"explicit_http_config": {"http2_protocol_options": {}}}
        cluster["typed_extension_protocol_options"] = {
            options.removeprefix("type.googleapis.com/"): {"@type": options, **explicit}
        }
    return cluster
