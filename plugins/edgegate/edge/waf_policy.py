"""Firewall policies of customers, as scenarios hold them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import Manifest
from edgegate.edge.customer import Customer


class WafPolicy:
    """One TrafficProtectionPolicy; made by the fixture `waf_policy`."""

    def __init__(self, name: str, customer: Customer, targets: Sequence[Ref], spec: Manifest) -> None:
        self.customer, self.ref = customer, customer.ref(kinds.TRAFFIC_PROTECTION_POLICY, name)
        refs = [{"group": "gateway.networking.k8s.io", "kind": one.kind.name, "name": one.name} for one in targets]
        self.spec: Manifest = {"targetRefs": refs, **spec}

    def __repr__(self) -> str:
        return f"policy {self.ref.namespace}/{self.ref.name}"

    @property
    def manifest(self) -> Manifest:
        """What is created."""
        return self.ref.manifest(self.spec)

    def create(self) -> None:
        """Create it."""
        self.customer.upstream.create(self.manifest)

    def edit(self, **changes: object) -> int:
        """Let the customer want something else, such as `mode`; return the generation that has it."""
        self.spec |= changes
        return int(self.customer.upstream.patch(self.ref, {"spec": changes})["metadata"]["generation"])

    def remove(self, within: float) -> None:
        """Delete it and return when it is gone."""
        self.customer.upstream.delete_and_wait(self.ref, within=within)

    def wait_older(self) -> None:
        """Return once an object that is created now is younger: control planes write whole seconds."""
        created = self.customer.upstream.get(self.ref) or {}
        born = datetime.fromisoformat(created["metadata"]["creationTimestamp"])
        wait_until("a younger second", lambda: (datetime.now(UTC) - born).total_seconds() >= 2, deadline=5, every=0.1)

    def wait_told(self, condition: str, status: str, within: float, *, reason: str = "") -> Manifest:
        """Return the policy as soon as it says so of its present generation, for every target. Raises NeverReady."""

        def told(found: Manifest | None) -> bool:
            generation = (found or {}).get("metadata", {}).get("generation")
            seen = [
                one
                for ancestor in ((found or {}).get("status") or {}).get("ancestors") or []
                for one in ancestor.get("conditions") or []
                if one["type"] == condition and one.get("observedGeneration") == generation
            ]
            return bool(seen) and all(one["status"] == status and reason in ("", one["reason"]) for one in seen)

        what = f"{self!r} says {condition}={status} {reason}".strip()
        return self.customer.upstream.wait(self.ref, told, what=what, within=within) or {}
