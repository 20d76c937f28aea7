"""The operator under test as scenarios use it: what it can, and what only the lab can do for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgegate.clock import wait_until
from edgegate.clusters import kinds
from edgegate.clusters.access import refused
from edgegate.clusters.kinds import Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components import dns, operator
from edgegate.components.bring_up import plane_of
from edgegate.components.cert_manager import Issuer
from edgegate.components.control_plane import DOWNSTREAM
from edgegate.components.launch import Launch
from edgegate.components.operator_run import running
from edgegate.edge.customer import Customer
from edgegate.edge.tenant import tls_secret
from edgegate.edge.zone import Zone
from edgegate.errors import NotShown

REFERENCE = ("reference-operator", "operator-faults", "error-page", "quota-claims")
REAL = ("real-operator",)
SHARED = "shared-certificate"
"""Secret with the one certificate of `sharing_certificate`."""
ADMISSION = (kinds.ADMISSION_BINDING, kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)
"""What makes a control plane ask an operator, or its rules, before it stores an object."""


class Operator:
    """The operator of one edge."""

    def __init__(self, launch: Launch, upstream: ControlPlane) -> None:
        self._given, self._upstream = launch, upstream
        self.choice = launch.operator
        self.present = operator.NAME in launch.parts

    @property
    def _launch(self) -> Launch:
        return self._given

    def check(self) -> None:
        """Raise NotShown when the edge was made without one."""
        if not self.present:
            raise NotShown("this edge was made without the part 'operator', so nobody acts on customers' objects in it")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What only one of the operators has, by name; empty without an operator."""
        if not self.present:
            return ()
        return REFERENCE if self.choice.is_reference else REAL

    @property
    def kind(self) -> str:
        """Return `reference` or `real`, as budgets name it."""
        return "reference" if self.choice.is_reference else "real"

    @property
    def metrics(self) -> list[str]:
        """Where its processes have their metrics."""
        return operator.metrics_urls(self._launch)

    def zone_class(self, name: str) -> Manifest:
        """Return a further class of zones, served as the usual one is; it must exist on both planes."""
        return operator.zone_class(name)

    def restart(self) -> None:
        """Restart its process and return when it works again."""
        running(self._launch).restart()

    @contextmanager
    def issuing_by(self, issuer: Issuer) -> Iterator[None]:
        """Let another issuer than the usual one give certificates while a block runs; it is restarted for that."""
        with self._configured(gateway={"clusterIssuerMap": {**operator.issuers(), "auto": issuer.name}}):
            yield

    @contextmanager
    def sharing_certificate(self, customer: Customer) -> Iterator[None]:
        """Let one certificate serve all canonical names of a customer while a block runs, as a wildcard does.

        It is restarted for that. Whoever has a hundred proxies would wait for a hundred certificates else. The customer
        must have something already: the namespace on the edge cluster has labels that only the operator knows.
        """
        names = [f"*.{dns.EDGE_ZONE}"]
        customer.downstream.apply(tls_secret(customer.below, SHARED, self._launch.authority.issue(names)))
        with self._configured(gateway={"defaultListenerTLSSecretName": SHARED}):
            yield

    @contextmanager
    def branding(self) -> Iterator[None]:
        """Let the edge's own errors have a page while a block runs; it is restarted for that."""
        page = operator.error_page_settings(self._launch, enabled=True)
        downstream = plane_of(self._launch, DOWNSTREAM)
        try:
            with self._configured(gateway={"errorPage": page}):
                yield
        finally:
            downstream.delete_and_wait(operator.BRANDED, within=30)

    @contextmanager
    def counting_quota(self) -> Iterator[None]:
        """Let each object of a customer hold a claim of quota while a block runs; it is restarted for that.

        In production another service makes the claims. Ours stands in for it; beside the real operator nobody does.
        """
        if not self.choice.is_reference:
            yield
            return
        with self._configured(quota={"claims": True}):
            yield

    @contextmanager
    def _configured(self, **sections: Manifest) -> Iterator[None]:
        before = operator.configure(self._launch, self._upstream, **sections)
        try:
            yield
        finally:
            operator.reconfigure(self._launch, before, self._upstream)

    @contextmanager
    def serving(self, project: ControlPlane) -> Iterator[None]:
        """Let it serve a further project besides the first while a block runs; it is restarted for that.

        Raises:
            NotShown: it is the real one, whose way to find projects this edge does not have.
        """
        if not self.choice.is_reference:
            raise NotShown("the real operator serves one project here: it finds others by a service that is missing")
        operator.serve(self._launch, self._upstream, project)
        try:
            yield
        finally:
            operator.serve(self._launch, self._upstream)

    @contextmanager
    def without_admission(self, namespace: str, dry_run: Callable[[], object], within: float) -> Iterator[None]:
        """Let objects of one namespace past admission while a block runs, as those are that are older than a rule.

        Args:
            namespace: the others are not affected.
            dry_run: creates something that admission refuses; told by it that the rules are gone, and there again.
            within: seconds for either; a control plane learns of changed rules a moment later.

        Raises:
            NeverReady: it took longer.
        """
        before = {Ref(kind, one["metadata"]["name"]): one for kind in ADMISSION for one in self._upstream.list(kind)}
        try:
            for ref, one in before.items():
                self._upstream.patch(ref, _sparing(one, namespace))
            wait_until("no admission", lambda: not refused(dry_run), deadline=within, every=0.1)
            yield
        finally:
            for ref, one in before.items():
                self._upstream.patch(ref, _as_it_was(one))
            wait_until("admission again", lambda: refused(dry_run), deadline=within, every=0.1)

    def delegate(self, zone: Zone, within: float) -> None:
        """Return once a zone is served and its Domain is verified.

        Raises:
            NeverReady: not within that many seconds.
        """
        zone.wait_programmed(within)
        if not self.choice.is_reference:
            zone.register(within)
        zone.wait_verified(within)


def _sparing(rule: Manifest, namespace: str) -> Manifest:
    """Return the change that lets a binding or a webhook configuration leave one namespace alone."""
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]}
    selector = {"namespaceSelector": {"matchExpressions": [others]}}
    if "webhooks" in rule:
        return {"webhooks": [{**hook, **selector} for hook in rule["webhooks"]]}
    return {"spec": {"matchResources": selector}}


def _as_it_was(rule: Manifest) -> Manifest:
    """Return the change that takes it back."""
    if "webhooks" in rule:
        return {"webhooks": rule["webhooks"]}
    return {"spec": {"matchResources": rule["spec"].get("matchResources")}}
