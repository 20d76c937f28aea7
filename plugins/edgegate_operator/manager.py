"""Puts API servers, caches, queues and workers together, and takes them apart again."""

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from edgegate_operator import admission, faults
from edgegate_operator.controllers import controllers_for
from edgegate_operator.core.cache import Cache, Handler
from edgegate_operator.core.controller import Request, Runner
from edgegate_operator.core.executor import Executor, Planes, Vanished
from edgegate_operator.core.kube import ApiError, Cluster
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.plan import Plane
from edgegate_operator.core.queue import Backoff, WorkQueue
from edgegate_operator.core.serve import StatusServer
from edgegate_operator.core.webhook import WebhookServer
from edgegate_operator.kinds import (
    CONFIG_MAP,
    ENDPOINT_SLICE,
    MUTATING_HOOKS,
    NAMESPACE,
    SECRET,
    SERVICE,
    VALIDATING_HOOKS,
    Kind,
    Obj,
)
from edgegate_operator.names import CLUSTER_LABEL, origins
from edgegate_operator.settings import Settings
from edgegate_operator.site import Controller, Site, Watch

LOG = logging.getLogger("edgegate_operator")

SELECTORS = {(Plane.DOWN, kind): CLUSTER_LABEL for kind in (CONFIG_MAP, SECRET, SERVICE, ENDPOINT_SLICE)}
"""Of these kinds the downstream cluster holds many that are none of our business."""


LAST_WORK = 2.0
"""Seconds for workers to finish; a look at a Domain can take 5, and loses nothing if it is cut off."""


class SamePlane(Exception):
    """Two kubeconfigs lead to one control plane."""


class Manager:
    """The running operator."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.metrics = settings, Metrics()
        controllers = controllers_for(settings)
        self._down = Cluster("downstream", Path(settings.downstream.kubeconfig))
        self._ups = {project.name: Cluster(project.name, Path(project.kubeconfig)) for project in settings.projects}
        shared = {
            (Plane.DOWN, kind): self._cache(self._down, Plane.DOWN, kind) for kind in _kinds(controllers, Plane.DOWN)
        }
        self.sites = {"": Site("", Planes({Plane.DOWN: self._down}, shared), settings, self.metrics)}
        for name, cluster in self._ups.items():
            own = {(Plane.UP, kind): self._cache(cluster, Plane.UP, kind) for kind in _kinds(controllers, Plane.UP)}
            planes = Planes({Plane.UP: cluster, Plane.DOWN: self._down}, own | shared)
            self.sites[name] = Site(name, planes, settings, self.metrics)
        self.caches = list({id(c): c for site in self.sites.values() for c in site.planes.caches.values()}.values())
        self._runners = [self._runner(controller) for controller in controllers]
        self._threads = [
            threading.Thread(target=c.run, name=f"cache-{c.kind.plural}", daemon=True) for c in self.caches
        ]
        self.ready = threading.Event()
        self.server: StatusServer | None = None
        self.webhook: WebhookServer | None = None

    @staticmethod
    def _cache(cluster: Cluster, plane: Plane, kind: Kind) -> Cache:
        cache = Cache(cluster, kind, SELECTORS.get((plane, kind), ""))
        if plane is Plane.DOWN:
            cache.index("origin", origins)
        return cache

    def _runner(self, controller: Controller) -> Runner:
        insists = self.settings.has(faults.CONFLICT_BACKOFF)
        backoff = Backoff(5, 1000) if insists else controller.backoff
        queue: WorkQueue[Request] = WorkQueue(controller.name, backoff, self.metrics, stubborn=insists)
        executor = Executor(controller.name, insists=insists)

        def reconcile(request: Request) -> float | None:
            site = self.sites[request.project]
            try:
                plan = controller.reconcile(site, request, lambda first: executor.run(site.planes, first))
                executor.run(site.planes, plan)
            except Vanished:
                return None
            return plan.after

        for site in self.sites.values():
            if bool(site.project) != controller.downstream_only:
                for plane, kind, name, values in controller.indexes:
                    site.planes.caches[plane, kind].index(name, values)
                for watch in controller.watches:
                    site.planes.caches[watch.plane, watch.kind].subscribe(_feeder(site, watch, queue))
        return Runner(controller.name, controller.workers, queue, reconcile, self.metrics)

    def start(self, limit: float = 60.0) -> None:
        """Fill the caches and start the workers.

        Args:
            limit: seconds until we give up.

        Raises:
            TimeoutError: a cache was not filled in time; the text names it.
            SamePlane: two kubeconfigs lead to one control plane.
        """
        self.server = StatusServer(
            self.settings.server.host, self.settings.server.port, self.metrics, self.ready.is_set
        )
        LOG.info("metrics and probes on port %d", self.server.port)
        for thread in self._threads:
            thread.start()
        end = time.monotonic() + limit
        for cache in self.caches:
            if not cache.synced.wait(max(0.0, end - time.monotonic())):
                where = f"{cache.kind.plural} on {cache.cluster.name}"
                raise TimeoutError(f"{where}: not listed within {limit:.0f} s; last error: {cache.trouble or 'none'}")
        self._check_planes()
        self._open_webhook()
        for runner in self._runners:
            runner.start()
        self.ready.set()
        LOG.info("%d controllers for %d projects are at work", len(self._runners), len(self._ups))

    def _check_planes(self) -> None:
        """Refuse to take our own copies for users' objects, or one project for two."""
        seen: dict[str, str] = {}
        for name, site in self.sites.items():
            space = (site.up if name else site.down)(NAMESPACE).get("", "kube-system")
            uid = space["metadata"]["uid"] if space else name
            if uid in seen:
                raise SamePlane(f"{name} is the same control plane as {seen[uid] or 'downstream'}; give each its own")
            seen[uid] = name

    def _open_webhook(self) -> None:
        """Let API servers ask us; only now, when the caches can answer."""
        place = self.settings.webhook
        if not place.host:
            return
        answer = partial(admission.review, self.sites, self.settings)
        self.webhook = WebhookServer(place.host, place.port, answer)
        for name, cluster in self._ups.items():
            for obj in admission.configurations(name, self.webhook, self.settings):
                cluster.apply(obj, "edgegate-webhook")

    def _close_webhook(self) -> None:
        """Let API servers ask nobody, or they refuse everything once we are gone; what a successor wrote stays."""
        if self.webhook is None:
            return
        for cluster in self._ups.values():
            for kind in (VALIDATING_HOOKS, MUTATING_HOOKS):
                with suppress(ApiError):  # a control plane that is down asks nobody either
                    held = cluster.get(kind, "", admission.NAME)
                    if held["webhooks"][0]["clientConfig"]["caBundle"] == self.webhook.ca_bundle:
                        cluster.delete(kind, "", admission.NAME, held["metadata"]["uid"])
        self.webhook.close()

    def stop(self) -> None:
        """Stop everything; what a worker has begun is finished first."""
        self._close_webhook()
        for runner in self._runners:
            runner.queue.shut()
        end = time.monotonic() + LAST_WORK
        for runner in self._runners:
            runner.stop(max(0.0, end - time.monotonic()))
        for cache in self.caches:
            cache.stop()
        for thread in self._threads:
            thread.join(timeout=5)
        for cluster in (self._down, *self._ups.values()):
            cluster.close()
        if self.server:
            self.server.close()


def _feeder(site: Site, watch: Watch, queue: WorkQueue[Request]) -> Handler:
    def changed(before: Obj | None, after: Obj | None) -> None:
        if watch.about and before is not None and after is not None and watch.about(before) == watch.about(after):
            return
        names = {name for obj in (before, after) if obj is not None for name in watch.wake(site, obj)}
        for namespace, name in sorted(names):
            queue.add(Request(site.project, namespace, name))

    return changed


def _kinds(controllers: tuple[Controller, ...], plane: Plane) -> list[Kind]:
    watched = {watch.kind for c in controllers for watch in c.watches if watch.plane == plane}
    read = {kind for c in controllers for where, kind in c.reads if where == plane}
    return sorted(watched | read, key=lambda kind: (kind.group, kind.kind, kind.version))
