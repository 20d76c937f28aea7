"""The Kubernetes kinds that the edge is made of, each named once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind as an object's `apiVersion` and `kind` spell it."""

    api_version: str
    """Group and version, as `gateway.networking.k8s.io/v1`."""
    name: str
    """The kind, as `Gateway`."""

    @property
    def group_path(self) -> str:
        """Return the API path of the group: `/api/v1` for the core group, `/apis/GROUP/VERSION` else."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


@dataclass(frozen=True)
class Ref:
    """One object: kind, name, and namespace (empty for cluster-scoped kinds)."""

    kind: Kind
    name: str
    namespace: str = ""

    @classmethod
    def of(cls, manifest: dict[str, object]) -> "Ref":
        """Return the reference to the object that a manifest describes."""
        metadata = manifest["metadata"]
        assert isinstance(metadata, dict)
        kind = Kind(str(manifest["apiVersion"]), str(manifest["kind"]))
        return cls(kind, str(metadata["name"]), str(metadata.get("namespace") or ""))

    def manifest(self, spec: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Return the object's manifest, with a spec and further top-level fields where given."""
        metadata = {"name": self.name} | ({"namespace": self.namespace} if self.namespace else {})
        head = {"apiVersion": self.kind.api_version, "kind": self.kind.name, "metadata": metadata}
        return {**head, **({} if spec is None else {"spec": dict(spec)}), **more}

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.name} {where}{self.name}"


_GATEWAY = "gateway.networking.k8s.io"
_ENVOY = "gateway.envoyproxy.io/v1alpha1"
_DATUM = "networking.datumapis.com/v1alpha"
_DNS = "dns.networking.miloapis.com/v1alpha1"

NAMESPACE = Kind("v1", "Namespace")
SECRET = Kind("v1", "Secret")
CONFIG_MAP = Kind("v1", "ConfigMap")
SERVICE = Kind("v1", "Service")
POD = Kind("v1", "Pod")
NODE = Kind("v1", "Node")
EVENT = Kind("v1", "Event")
DEPLOYMENT = Kind("apps/v1", "Deployment")
ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice")
CRD = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
GATEWAY_CLASS = Kind(f"{_GATEWAY}/v1", "GatewayClass")
GATEWAY = Kind(f"{_GATEWAY}/v1", "Gateway")
REFERENCE_GRANT = Kind(f"{_GATEWAY}/v1beta1", "ReferenceGrant")
HTTP_ROUTE_FILTER = Kind(_ENVOY, "HTTPRouteFilter")
HTTP_ROUTE = Kind(f"{_GATEWAY}/v1", "HTTPRoute")
ENVOY_PROXY = Kind(_ENVOY, "EnvoyProxy")
SECURITY_POLICY = Kind(_ENVOY, "SecurityPolicy")
BACKEND = Kind(_ENVOY, "Backend")
ENVOY_PATCH_POLICY = Kind(_ENVOY, "EnvoyPatchPolicy")
ENVOY_EXTENSION_POLICY = Kind(_ENVOY, "EnvoyExtensionPolicy")
HTTP_PROXY = Kind(_DATUM, "HTTPProxy")
DOMAIN = Kind(_DATUM, "Domain")
TRAFFIC_PROTECTION_POLICY = Kind(_DATUM, "TrafficProtectionPolicy")
CONNECTOR = Kind(f"{_DATUM}1", "Connector")
DNS_ZONE_CLASS = Kind(_DNS, "DNSZoneClass")
DNS_ZONE = Kind(_DNS, "DNSZone")
DNS_RECORD_SET = Kind(_DNS, "DNSRecordSet")
RESOURCE_CLAIM = Kind("quota.miloapis.com/v1alpha1", "ResourceClaim")
CLUSTER_ISSUER = Kind("cert-manager.io/v1", "ClusterIssuer")
CERTIFICATE = Kind("cert-manager.io/v1", "Certificate")
CHALLENGE = Kind("acme.cert-manager.io/v1", "Challenge")
ORDER = Kind("acme.cert-manager.io/v1", "Order")
DNS_ENDPOINT = Kind("externaldns.k8s.io/v1alpha1", "DNSEndpoint")
ADMISSION_BINDING = Kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding")
VALIDATING_WEBHOOKS = Kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
MUTATING_WEBHOOKS = Kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
