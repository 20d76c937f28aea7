"""The load-balancer controller: an address of the lab for each Service of type LoadBalancer."""

import threading
from functools import partial

from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.actor import Actor
from edgegate.lab.node.addresses import balancer_address, wants_balancer
from edgegate.lab.node.config import Network
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json, Reflector
from edgegate.lab.node.netns import Namespaces

AGAIN = 0.3
"""Seconds until a status that the control plane did not take is sent again."""


class Balancer(Actor):
    """Gives, keeps and takes back addresses; the uplink answers for those that are given."""

    def __init__(
        self, api: Api, net: Network, namespaces: Namespaces, recorder: Recorder, stop: threading.Event
    ) -> None:
        super().__init__(name="load balancer")
        self._api, self._namespaces, self._recorder = api, namespaces, recorder
        self._pool = net.balancer_addresses()
        self._services: dict[str, Json] = {}
        self._held: dict[str, str] = {}
        self._without: set[str] = set()
        self.reflector = Reflector(api, "/api/v1/services", self._seen, stop)
        """What keeps it informed; to be started by the agent."""

    def _seen(self, event: str, service: Json) -> None:
        self.post(partial(self._take, event, service))

    def _take(self, event: str, service: Json) -> None:
        uid = service["metadata"]["uid"]
        if event == "DELETED":
            self._services.pop(uid, None)
        else:
            self._services[uid] = service
        if not self._pool:
            return
        if event == "DELETED" or not wants_balancer(service):
            self._free(uid, service, there=event != "DELETED")
        else:
            self._give(uid, service)

    def _give(self, uid: str, service: Json) -> None:
        address = balancer_address(service, self._held, self._pool)
        if address is None:
            if uid not in self._without:
                text = f"no load-balancer address is free: all {len(self._pool)} of the lab are taken"
                self._recorder.note({**service, "kind": "Service"}, "AllocationFailed", text, warning=True)
            self._without.add(uid)
            return
        self._without.discard(uid)
        former = self._held.get(uid)
        if former != address:
            self._held[uid] = address
            self._namespaces.add_address(address)
            if former:
                self._namespaces.drop_address(former)
        self._show(service, [{"ip": address, "ipMode": "VIP"}])

    def _free(self, uid: str, service: Json, *, there: bool) -> None:
        self._without.discard(uid)
        address = self._held.pop(uid, None)
        if address is None:
            return
        self._namespaces.drop_address(address)
        if there:
            self._show(service, [])
        for other in list(self._without):
            if other in self._services:
                self._give(other, self._services[other])

    def _show(self, service: Json, ingress: list[Json]) -> None:
        metadata = service["metadata"]
        shown = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
        if [(one.get("ip"), one.get("ipMode")) for one in shown] == [(one["ip"], one["ipMode"]) for one in ingress]:
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}/status"
        change = {"metadata": {"uid": metadata["uid"]}, "status": {"loadBalancer": {"ingress": ingress or None}}}
        try:
            self._api.patch(path, change, kind="merge")
        except PlaneRefused as refusal:
            if refusal.status not in (404, 409):  # gone, or another one by now: its own event follows
                raise
        except PlaneUnreachable:
            self.later(AGAIN, lambda: self._show(service, ingress))
