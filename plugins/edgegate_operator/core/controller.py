"""Workers that take keys from a queue, let a controller decide, and carry the decision out."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from edgegate_operator.core.kube import ApiError, Conflict
from edgegate_operator.core.metrics import Metrics
from edgegate_operator.core.queue import WorkQueue

LOG = logging.getLogger("edgegate_operator.controller")


@dataclass(frozen=True, order=True)
class Request:
    """One object that somebody should look at."""

    project: str
    """Name of the project; empty for controllers of the downstream cluster."""
    namespace: str
    """Namespace, empty for cluster-wide objects."""
    name: str
    """Name."""

    def __str__(self) -> str:
        return f"{self.project}:{self.namespace}/{self.name}"


Reconcile = Callable[[Request], float | None]
"""Looks at one object; returns the seconds until the next look, or None."""


class Runner:
    """The workers of one controller."""

    def __init__(
        self, name: str, workers: int, queue: WorkQueue[Request], reconcile: Reconcile, metrics: Metrics
    ) -> None:
        self.name, self.queue = name, queue
        self._reconcile, self._metrics = reconcile, metrics
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(workers)]
        metrics.declare("controller_runtime_reconcile_total", "counter", "Looks at an object, by how they ended")
        metrics.declare("controller_runtime_reconcile_errors_total", "counter", "Looks that failed")
        metrics.declare("controller_runtime_reconcile_time_seconds", "histogram", "Length of one look")
        metrics.declare("controller_runtime_active_workers", "gauge", "Workers that are busy")
        metrics.declare("controller_runtime_max_concurrent_reconciles", "gauge", "Workers in all")
        for result in ("success", "error", "requeue_after"):
            metrics.add("controller_runtime_reconcile_total", 0, controller=name, result=result)
        metrics.add("controller_runtime_reconcile_errors_total", 0, controller=name)
        metrics.set("controller_runtime_max_concurrent_reconciles", workers, controller=name)

    def start(self) -> None:
        """Start the workers."""
        for thread in self._threads:
            thread.start()

    def stop(self, limit: float = 2.0) -> None:
        """Let the workers finish what they do, and wait for them, all together so many seconds at most."""
        self.queue.shut()
        end = time.monotonic() + limit
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while (request := self.queue.get()) is not None:
            began = time.monotonic()
            self._metrics.add("controller_runtime_active_workers", controller=self.name)
            result = self._look(request)
            took = time.monotonic() - began
            self._metrics.add("controller_runtime_active_workers", -1, controller=self.name)
            self._metrics.add("controller_runtime_reconcile_total", controller=self.name, result=result)
            self._metrics.observe("controller_runtime_reconcile_time_seconds", took, controller=self.name)
            self.queue.done(request, took)
            LOG.debug("%s %s: %s in %.0f ms", self.name, request, result, took * 1000)

    def _look(self, request: Request) -> str:
        try:
            after = self._reconcile(request)
        except Exception as error:  # a worker must outlive whatever one object does to it
            self._metrics.add("controller_runtime_reconcile_errors_total", controller=self.name)
            expected = isinstance(error, ApiError)
            level = logging.INFO if isinstance(error, Conflict) else logging.WARNING
            LOG.log(level, "%s %s: %s", self.name, request, error, exc_info=None if expected else error)
            self.queue.retry(request)
            return "error"
        self.queue.forget(request)
        if after is None:
            return "success"
        self.queue.add_after(request, after)
        return "requeue_after"
