"""What can be configured, with units, meaning and defaults. `config` reads it from a file."""

from dataclasses import dataclass, field
from typing import Annotated

Seconds = Annotated[float, "written as a number and a unit, as in 250ms, 5s, 2m or 24h"]
"""A duration."""


@dataclass(frozen=True)
class Project:
    """One upstream control plane."""

    name: str
    """Name of the project; `single` if there is only one."""
    kubeconfig: str
    """File that leads to it."""


@dataclass(frozen=True)
class Downstream:
    """The edge cluster."""

    kubeconfig: str
    """File that leads to it."""


@dataclass(frozen=True)
class Server:
    """Where /metrics, /healthz and /readyz answer."""

    host: str = "127.0.0.1"
    """Address."""
    port: int = 0
    """Port; 0: any free one, which is logged."""


@dataclass(frozen=True)
class Reissuance:
    """How a certificate whose issuance failed is tried anew."""

    retry_interval: Seconds = 300.0
    """Time since the failure."""
    max_retries: int = 3
    """Attempts after the first one."""


@dataclass(frozen=True)
class ErrorPage:
    """The page that stands in for what the proxy itself answers."""

    enabled: bool = False
    """Whether there is one."""
    body_path: str = ""
    """File with the page, UTF-8; a plain page stands in for one that cannot be read."""
    min_status_code: int = 500
    """Lowest status that it is sent with."""
    runtime_key: str = "local_reply_5xx"
    """Key of Envoy's runtime that overrides the status."""
    content_type: str = "text/html; charset=utf-8"
    """Its type."""
    namespace: str = "datum-downstream-gateway"
    """Downstream namespace of the policy that carries it: that of the class's settings."""


@dataclass(frozen=True)
class Gateways:
    """Gateways, upstream and downstream."""

    controller_name: str = "gateway.networking.datumapis.com/external-global-proxy-controller"
    """Controller name of the upstream classes that we manage."""
    downstream_gateway_class_name: str = "edge"
    """Class of the downstream Gateways."""
    target_domain: str = "edge.test"
    """Domain under which each Gateway gets its canonical host name."""
    ip_families: tuple[str, ...] = ("IPv4", "IPv6")
    """Families for which the edge has addresses."""
    cluster_issuer_map: dict[str, str] = field(default_factory=dict)
    """ClusterIssuer for each issuer name that listeners may use; `auto` is the default one."""
    listener_tls_options: dict[str, str] = field(
        default_factory=lambda: {"gateway.networking.datumapis.com/certificate-issuer": "auto"}
    )
    """TLS options of listeners that the operator writes."""
    permitted_tls_options: tuple[str, ...] = ("gateway.networking.datumapis.com/certificate-issuer",)
    """TLS options that users may set; empty: any."""
    default_listener_tls_secret_name: str = ""
    """Shared certificate for host names under the target domain; empty: one certificate each."""
    downstream_hostname_accounting_namespace: str = "datum-downstream-gateway-hostnames"
    """Downstream namespace of the claims; must exist."""
    disable_hostname_verification: bool = False
    """Serve every host name that is declared."""
    enable_dns_integration: bool = True
    """Write DNSRecordSets for custom host names."""
    enable_downstream_certificate_solver: bool = True
    """Answer HTTP-01 challenges with routes of our own."""
    delete_errored_challenges: bool = True
    """Delete challenges in state `errored`, so that cert-manager tries again."""
    allow_service_backends: bool = False
    """Whether upstream routes may refer to Services."""
    error_page: ErrorPage = ErrorPage()
    """What the proxy answers by itself."""
    certificate_reissuance: Reissuance = Reissuance()
    """Failed certificates."""
    max_concurrent_reconciles: int = 5
    """Workers."""


@dataclass(frozen=True)
class Proxies:
    """HTTPProxies."""

    gateway_class_name: str = "datum-external-global-proxy"
    """Class of the Gateways made for them."""
    max_concurrent_reconciles: int = 5
    """Workers."""


@dataclass(frozen=True)
class Retry:
    """One step of the verification schedule."""

    until: Seconds
    """Time since verification began up to which this step is used."""
    interval: Seconds
    """Time between two attempts."""


@dataclass(frozen=True)
class Domains:
    """Verification and registration of Domains."""

    dns_verification_record_prefix: str = "datum-custom-hostname"
    """First label of the TXT record."""
    http_verification_token_path: str = ".well-known/datum-custom-hostname-challenge"  # noqa: S105 a path
    """Path of the token."""
    resolver: str = ""
    """Address or address:port to ask; empty: what the system uses."""
    retry_intervals: tuple[Retry, ...] = (
        Retry(300.0, 5.0),
        Retry(900.0, 60.0),
        Retry(float("inf"), 300.0),
    )
    """Schedule; the last step holds for ever."""
    jitter: float = 0.25
    """Share of an interval that is added at random."""
    attempt_timeout: Seconds = 5.0
    """Limit of one attempt, TXT and HTTP together."""
    registration_interval: Seconds = 86400.0
    """Time between two registration look-ups."""
    registration_retry: Seconds = 3600.0
    """Time after one that failed."""
    max_concurrent_verifications: int = 20
    """Workers."""


@dataclass(frozen=True)
class Connectors:
    """Connectors."""

    lease_duration_seconds: int = 30
    """Length of a lease."""


@dataclass(frozen=True)
class Replicator:
    """Copies of policies, filters, backends and secrets."""

    kinds: tuple[str, ...] = (
        "ConfigMap", "Secret", "Backend", "BackendTrafficPolicy", "SecurityPolicy", "HTTPRouteFilter",
        "BackendTLSPolicy", "TrafficProtectionPolicy", "Connector",
    )  # fmt: skip
    """Kinds to copy. Production copies HTTPProxy too, for its extension server, which a lab does not have."""
    max_concurrent_reconciles: int = 2
    """Workers."""


@dataclass(frozen=True)
class Dns:
    """Zones and records."""

    accounting_namespace: str = "dns-zone-accounting"
    """Downstream namespace of zone claims; made on demand."""
    pdns_url: str = ""
    """PowerDNS API; empty: this process runs no agent."""
    pdns_key: str = ""
    """API key."""
    pdns_key_file: str = ""
    """File with the API key, if `pdnsKey` is empty."""
    max_concurrent_reconciles: int = 4
    """Workers that write record sets."""
    rate_limiter_base_delay: Seconds = 1.0
    """First wait after PowerDNS refused a write."""
    rate_limiter_max_delay: Seconds = 30.0
    """Longest such wait."""


@dataclass(frozen=True)
class FirewallPlace:
    """The firewall that TrafficProtectionPolicies are carried out by."""

    url: str = ""
    """Where it is told of policies; empty: there is none, and policies are only judged."""
    host: str = ""
    """Address at which the proxy finds it."""
    port: int = 9002
    """Port."""


@dataclass(frozen=True)
class Quota:
    """Quota, which in production is the work of another service."""

    claims: bool = False
    """Whether each object of a project holds a claim of quota."""


@dataclass(frozen=True)
class Webhook:
    """The admission webhook, for what neither schema nor policy can say."""

    host: str = ""
    """Address to listen on, and that API servers dial; empty: no webhook."""
    port: int = 9443
    """Port."""


@dataclass(frozen=True)
class Settings:
    """Everything."""

    projects: tuple[Project, ...]
    """Upstream control planes, at least one."""
    downstream: Downstream
    """The edge cluster."""
    server: Server = Server()
    """Metrics and probes."""
    webhook: Webhook = Webhook()
    """Admission."""
    gateway: Gateways = Gateways()
    """Gateways."""
    http_proxy: Proxies = Proxies()
    """HTTPProxies."""
    domain: Domains = Domains()
    """Domains."""
    connector: Connectors = Connectors()
    """Connectors."""
    replicator: Replicator = Replicator()
    """Copies."""
    dns: Dns = Dns()
    """DNS."""
    firewall: FirewallPlace = FirewallPlace()
    """Firewall."""
    quota: Quota = Quota()
    """Quota."""
    faults: tuple[str, ...] = ()
    """Defects to switch on."""

    def has(self, fault: str) -> bool:
        """Return whether that defect is switched on."""
        return fault in self.faults
