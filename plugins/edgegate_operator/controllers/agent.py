"""The agent beside PowerDNS: who owns which name of a zone, and what PowerDNS must be told and was told."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from edgegate_operator.controllers import rdata
from edgegate_operator.core.powerdns import PowerDns, PowerDnsError
from edgegate_operator.kinds import Obj

SATURATED_WRITE = 0.05
"""Seconds that one write takes with the fault `agent-saturation`: what LMDB with Lightningstream takes."""

Place = tuple[str, str]
"""Owner name in full, and type."""


def _age(record: Obj) -> tuple[str, str]:
    return record["metadata"]["creationTimestamp"], record["metadata"]["name"]


def places(record: Obj, zone: str) -> dict[Place, list[Obj]]:
    """Return the entries of a record set by owner name; however a name is written, it is one place."""
    found: dict[Place, list[Obj]] = {}
    for entry in record["spec"]["records"]:
        found.setdefault((rdata.fqdn(entry["name"], zone), record["spec"]["recordType"]), []).append(entry)
    return found


def owners(records: Iterable[Obj], zone: str) -> dict[Place, Obj]:
    """Return who owns each place: the oldest record set, then the first by name. A CNAME tolerates no other type."""
    found: dict[Place, Obj] = {}
    alone: dict[str, bool] = {}
    for record in sorted(records, key=_age):
        for name, kind in places(record, zone):
            if (name, kind) not in found and alone.setdefault(name, kind == "CNAME") == (kind == "CNAME"):
                found[name, kind] = record
    return found


def lookups(record: Obj) -> Iterator[str]:
    """Yield index values under which record sets that may share an owner name are found."""
    head = f"{record['metadata'].get('namespace')}/{record['spec']['dnsZoneRef']['name']}/"
    for entry in record["spec"]["records"]:
        labels = entry["name"].lower().removesuffix(".").split(".")
        if entry["name"].endswith("."):  # absolute: where the zone begins is not known here
            yield from (head + (".".join(labels[:count]) or "@") for count in range(len(labels)))
        else:
            yield head + ".".join(labels)


@dataclass(frozen=True)
class Outcome:
    """What became of one owner name."""

    reason: str
    """Programmed, NotOwner, Conflict or PDNSError."""
    text: str
    """For people."""


@dataclass(frozen=True)
class Changes:
    """What PowerDNS must be told."""

    removals: list[Obj]
    """Values that nobody wants any more."""
    replacements: list[Obj]
    """Values that are wanted."""
    lost: dict[Place, Outcome]
    """Places that the record set names and does not get."""


def changes_for(record: Obj, records: Iterable[Obj], zone: str, written: dict[Place, Obj]) -> Changes:
    """Return what PowerDNS must be told for the owner names of a record set.

    `records` are the living record sets that may share such a name, `written` what PowerDNS was told so far.
    """
    held, own = owners(records, zone), places(record, zone)
    before = {rdata.fqdn(item["name"], zone) for item in (record.get("status") or {}).get("recordSets") or []}
    names = before | {name for name, _ in own}
    kinds = {kind for name, kind in (*held, *written) if name in names} | {record["spec"]["recordType"]}
    found = Changes([], [], {})
    for place in ((name, kind) for name in sorted(names) for kind in sorted(kinds)):
        owner, told = held.get(place), written.get(place)
        mine = owner is not None and owner["metadata"]["uid"] == record["metadata"]["uid"]
        if owner is not None:
            change = rdata.replace(*place, places(owner, zone)[place])
            if told != change and (mine or told):
                found.replacements.append(change)
        elif _must_go(record, place, told):
            found.removals.append(rdata.delete(*place))
        if place in own and owner is None:
            found.lost[place] = Outcome("Conflict", "A CNAME and other records cannot share a name")
        elif place in own and not mine:
            found.lost[place] = Outcome("NotOwner", f"{owner['metadata']['name'] if owner else ''} owns this name")
    return found


def _must_go(record: Obj, place: Place, told: Obj | None) -> bool:
    """Return whether PowerDNS may still hold values that nobody wants; after a restart we do not know what it holds."""
    if told is not None:
        return bool(told["changetype"] == "REPLACE")
    return bool(place[1] == record["spec"]["recordType"])


@dataclass
class Agent:
    """What the agent knows of PowerDNS beyond the API server: what it wrote last."""

    pdns: PowerDns
    """The server."""
    slow: bool = False
    """Whether the fault `agent-saturation` is on."""
    gap: bool = False
    """Whether the fault `swap-gap` is on."""
    written: dict[str, dict[Place, Obj]] = field(default_factory=dict)
    """Changes that PowerDNS has taken, by zone."""
    pause: Callable[[float], object] = threading.Event().wait
    """How the two defects let time pass, in seconds."""
    locks: dict[str, threading.Lock] = field(default_factory=dict)
    """One for each zone: two workers must not write the same name from different views."""

    def lock(self, zone: str) -> threading.Lock:
        """Return the lock of a zone."""
        return self.locks.setdefault(zone, threading.Lock())

    def create(self, zone: str, nameservers: list[str]) -> None:
        """Let a zone be in PowerDNS; asked for once in the life of this process."""
        with self.lock(zone):
            if zone not in self.written:
                self.pdns.create_zone(zone, nameservers)
                self.written[zone] = {}

    def remove(self, zone: str) -> None:
        """Take a zone out of PowerDNS."""
        with self.lock(zone):
            self.pdns.delete_zone(zone)
            self.written.pop(zone, None)

    def tell(self, zone: str, changes: Changes) -> dict[Place, Outcome]:
        """Write changes; return what became of each."""
        both = [*changes.removals, *changes.replacements]
        return self._write(zone, both) if both else {}

    def _write(self, zone: str, changes: list[Obj]) -> dict[Place, Outcome]:
        """Write changes in one call; if PowerDNS refuses them, one by one, to learn which it refuses."""
        try:
            self._change(zone, changes)
        except PowerDnsError as error:
            if len(changes) > 1 and error.status == 422:
                return {k: v for change in changes for k, v in self._write(zone, [change]).items()}
            reason = "Conflict" if error.is_conflict else "PDNSError"
            return {(c["name"], c["type"]): Outcome(reason, str(error)) for c in changes}
        return {(c["name"], c["type"]): Outcome("Programmed", "Served") for c in changes}

    def _change(self, zone: str, changes: list[Obj]) -> None:
        if self.slow:
            for _ in changes:
                self.pause(SATURATED_WRITE)
        removals = [change for change in changes if change["changetype"] == "DELETE"]
        if self.gap and removals and len(removals) < len(changes):
            self.pdns.change(zone, removals)
            self.pause(1.0)
            changes = [change for change in changes if change not in removals]
        self.pdns.change(zone, changes)
        memory = self.written.setdefault(zone, {})
        for change in changes:
            memory[change["name"], change["type"]] = change
