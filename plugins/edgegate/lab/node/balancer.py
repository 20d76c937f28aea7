"""The load-balancer controller: an address of the lab for each Service of type LoadBalancer."""

import threading
from functools import partial
from typing import Protocol

from edgegate.errors import PlaneRefused, PlaneUnreachable
from edgegate.lab.node.actor import Actor
from edgegate.lab.node.addresses import balancer_address, shown_addresses, wants_balancer
from edgegate.lab.node.config import Network
from edgegate.lab.node.events import Recorder
from edgegate.lab.node.kube import Api, Json, Reflector


class Addresses(Protocol):
    """Sees to it that packets to an address come to this node."""

    def held_addresses(self) -> set[str]:
        """Return what an earlier agent has left."""
        ...

    def add_address(self, address: str) -> None:
        """Have an address."""
        ...

    def drop_address(self, address: str) -> None:
        """Have it no more."""
        ...


AGAIN = 0.3
"""Seconds until a status that the control plane did not take is sent again."""


class Balancer(Actor):
    """Gives, keeps and takes back addresses; the uplink answers for those that are given.

    Each settling compares all that is wanted with all that is held, so an address that is freed goes on to whoever
    waits for one, and what an earlier agent gave is kept.
    """

    def __init__(
        self, api: Api, net: Network, namespaces: Addresses, recorder: Recorder, stop: threading.Event
    ) -> None:
        super().__init__(name="load balancer")
        self._api, self._namespaces, self._recorder = api, namespaces, recorder
        self._pool = net.balancer_addresses()
        self._services: dict[str, Json] = {}
        self._held: dict[str, str] = {}
        self._without: set[str] = set()
        self.reflector = Reflector(api, "/api/v1/services", self._seen, stop)
        """What keeps it informed; to be started by the agent."""
        self.post(self._recall)

    def _recall(self) -> None:
        """Wait until all Services are known; drop what an earlier agent gave to one that is gone."""
        self.reflector.synced.wait()
        shown = {address for service in self.reflector.known() for address in shown_addresses(service)}
        for address in self._namespaces.held_addresses() & (set(self._pool) - shown):
            self._namespaces.drop_address(address)

    def _seen(self, event: str, service: Json) -> None:
        self.post(partial(self._take, event, service))

    def _take(self, event: str, service: Json) -> None:
        uid = service["metadata"]["uid"]
        if event == "DELETED":
            self._services.pop(uid, None)
        else:
            self._services[uid] = service

    def settle(self) -> None:
        """Bring addresses and statuses in line with the Services that there are."""
        if not self._pool:
            return
        wanted = {uid: service for uid, service in self._services.items() if wants_balancer(service)}
        for uid in self._held.keys() - wanted.keys():
            self._namespaces.drop_address(self._held.pop(uid))
            if (service := self._services.get(uid)) is not None:
                self._show(service, None)
        for uid, service in sorted(wanted.items(), key=lambda item: not shown_addresses(item[1])):
            self._give(uid, service)
        self._without &= wanted.keys()

    def _give(self, uid: str, service: Json) -> None:
        address, former = balancer_address(service, self._held, self._pool), self._held.get(uid)
        if address is None:
            if uid not in self._without:
                text = f"no load-balancer address is free: all {len(self._pool)} of the lab are taken"
                self._recorder.note({**service, "kind": "Service"}, "AllocationFailed", text, warning=True)
            self._without.add(uid)
            return
        self._without.discard(uid)
        if former != address:
            self._held[uid] = address
            self._namespaces.add_address(address)
            if former:
                self._namespaces.drop_address(former)
        self._show(service, address)

    def _show(self, service: Json, address: str | None) -> None:
        """Write the address into the status, unless it is there."""
        metadata = service["metadata"]
        wanted = [{"ip": address, "ipMode": "VIP"}] if address else None
        if shown_addresses(service) == ([address] if address else []):
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}/status"
        change = {"metadata": {"uid": metadata["uid"]}, "status": {"loadBalancer": {"ingress": wanted}}}
        try:
            self._services[metadata["uid"]] = self._api.patch(path, change, kind="merge")
        except PlaneRefused as refusal:
            if refusal.status not in (404, 409):  # gone, or another one by now: its own event follows
                raise
        except PlaneUnreachable:
            self.later(AGAIN, lambda: None)
