"""The kinds that the operator reads and writes, and how an object of each is addressed."""

from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object as the API shows it."""


@dataclass(frozen=True)
class Kind:
    """One kind in one version."""

    group: str
    """API group; empty for the core group."""
    version: str
    """Version that we read and write."""
    kind: str
    """Name of the kind."""
    plural: str
    """Name in addresses."""
    namespaced: bool = True
    """Whether its objects live in namespaces."""

    @property
    def api_version(self) -> str:
        """Return what stands in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """Return the address of the collection, of one object, or of a subresource of it."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return root + scope + "/" + self.plural + (f"/{name}" if name else "") + (f"/{sub}" if sub else "")

    def named(self, namespace: str, name: str, **metadata: Any) -> Obj:
        """Return the beginning of an object: type, name and what else its metadata should hold."""
        place = {"namespace": namespace} if self.namespaced else {}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name, **place, **metadata}}


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
SERVICE = Kind("", "v1", "Service", "services")
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")

_GATEWAY = "gateway.networking.k8s.io"
GATEWAY_CLASS = Kind(_GATEWAY, "v1", "GatewayClass", "gatewayclasses", namespaced=False)
GATEWAY = Kind(_GATEWAY, "v1", "Gateway", "gateways")
HTTP_ROUTE = Kind(_GATEWAY, "v1", "HTTPRoute", "httproutes")
BACKEND_TLS_UP = Kind(_GATEWAY, "v1alpha3", "BackendTLSPolicy", "backendtlspolicies")
BACKEND_TLS = Kind(_GATEWAY, "v1", "BackendTLSPolicy", "backendtlspolicies")

_ENVOY = "gateway.envoyproxy.io"
BACKEND = Kind(_ENVOY, "v1alpha1", "Backend", "backends")
BACKEND_TRAFFIC_POLICY = Kind(_ENVOY, "v1alpha1", "BackendTrafficPolicy", "backendtrafficpolicies")
ENVOY_EXTENSION_POLICY = Kind(_ENVOY, "v1alpha1", "EnvoyExtensionPolicy", "envoyextensionpolicies")
SECURITY_POLICY = Kind(_ENVOY, "v1alpha1", "SecurityPolicy", "securitypolicies")
ENVOY_PATCH_POLICY = Kind(_ENVOY, "v1alpha1", "EnvoyPatchPolicy", "envoypatchpolicies")
HTTP_ROUTE_FILTER = Kind(_ENVOY, "v1alpha1", "HTTPRouteFilter", "httproutefilters")

_DATUM = "networking.datumapis.com"
HTTP_PROXY = Kind(_DATUM, "v1alpha", "HTTPProxy", "httpproxies")
DOMAIN = Kind(_DATUM, "v1alpha", "Domain", "domains")
TRAFFIC_PROTECTION_POLICY = Kind(_DATUM, "v1alpha", "TrafficProtectionPolicy", "trafficprotectionpolicies")
CONNECTOR = Kind(_DATUM, "v1alpha1", "Connector", "connectors")
CONNECTOR_ADVERTISEMENT = Kind(_DATUM, "v1alpha1", "ConnectorAdvertisement", "connectoradvertisements")
CONNECTOR_CLASS = Kind(_DATUM, "v1alpha1", "ConnectorClass", "connectorclasses", namespaced=False)

_DNS = "dns.networking.miloapis.com"
DNS_ZONE_CLASS = Kind(_DNS, "v1alpha1", "DNSZoneClass", "dnszoneclasses", namespaced=False)
DNS_ZONE = Kind(_DNS, "v1alpha1", "DNSZone", "dnszones")
DNS_RECORD_SET = Kind(_DNS, "v1alpha1", "DNSRecordSet", "dnsrecordsets")
DNS_ENDPOINT = Kind("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")

RESOURCE_CLAIM = Kind("quota.miloapis.com", "v1alpha1", "ResourceClaim", "resourceclaims")

CERTIFICATE = Kind("cert-manager.io", "v1", "Certificate", "certificates")
CHALLENGE = Kind("acme.cert-manager.io", "v1", "Challenge", "challenges")
ORDER = Kind("acme.cert-manager.io", "v1", "Order", "orders")

_ADMISSION = "admissionregistration.k8s.io"
VALIDATING_HOOKS = Kind(
    _ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
MUTATING_HOOKS = Kind(
    _ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)

_BY_TYPE = {(kind.api_version, kind.kind): kind for kind in list(globals().values()) if isinstance(kind, Kind)}


def kind_of(obj: Obj) -> Kind:
    """Return the kind that an object says it is.

    Raises:
        KeyError: the operator has nothing to do with that kind.
    """
    return _BY_TYPE[obj["apiVersion"], obj["kind"]]


def key_of(obj: Obj) -> tuple[str, str]:
    """Return namespace (empty for cluster-wide objects) and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
