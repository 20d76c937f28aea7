"""How the name servers of an edge are run, and in which order."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.components import cluster_dns, dns, external_dns, powerdns, recursor
from edgegate.components.launch import Launch
from edgegate.edge.dns import Dns
from edgegate.errors import NotShown
from edgegate.lab import ProcessSpec
from fakes import FakeLab, artifact, launch

CONFIG = "/run/edgegate/data/config"
KEY = "/run/edgegate/data/secrets/powerdns.key"


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path / "lab")


@pytest.fixture
def launched(lab: FakeLab, tmp_path: Path) -> Callable[[str], Launch]:
    """Return a launch with the part `dns`, in one of its variants."""
    folder = tmp_path / "powerdns"
    (folder / "files/usr/lib/x86_64-linux-gnu/pdns").mkdir(parents=True)
    schema = folder / "files/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
    schema.parent.mkdir(parents=True)
    schema.touch()

    def make(variant: str) -> Launch:
        default = launch(lab)
        more = {name: artifact(name, path=folder) for name in ("powerdns", "pdns-recursor", "external-dns")}
        return replace(default, artifacts={**default.artifacts, **more}, parts={"dns": variant})

    return make


def settings(lab: FakeLab, file: str) -> dict[str, str]:
    """Return what a configuration file of PowerDNS says."""
    lines = lab.files[f"{CONFIG}/{file}"].decode().splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def test_production_settings(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    with_lmdb = launched("lmdb")
    powerdns.prepare(with_lmdb)
    spec = powerdns.spec(with_lmdb)
    said = settings(lab, "powerdns/pdns.conf")
    production = {
        "launch": "lmdb",
        "lmdb-shards": "1",
        "lmdb-random-ids": "yes",
        "lmdb-map-size": "1000",
        "primary": "yes",
        "secondary": "yes",
        "expand-alias": "yes",
        "resolver": "10.88.7.5:53",
        "zone-cache-refresh-interval": "0",
        "zone-metadata-cache-ttl": "0",
        "log-dns-queries": "yes",
        "webserver-port": "8082",
        "local-port": "53",
    }
    assert {key: said.get(key) for key in production} == production
    assert said["api-key"] == lab.files[KEY].decode()
    assert spec.ready is not None
    assert spec.ready.address == "http://10.88.7.3:8082/api/v1/servers/localhost"
    assert lab.commands == [["mkdir", "-p", "/run/edgegate/data/powerdns"]]


def test_the_second_server_has_default_caches_and_no_api(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    powerdns.cached_spec(launched("lmdb"))
    said = settings(lab, "powerdns-cached/pdns.conf")
    assert said["local-address"] == "10.88.7.4"
    assert said["lmdb-filename"] == "/run/edgegate/data/powerdns/pdns.lmdb"
    assert not {key for key in said if "cache" in key or "api" in key or "webserver" in key}


def test_sqlite_gets_its_tables_first(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    with_sqlite = launched("sqlite")
    powerdns.prepare(with_sqlite)
    powerdns.spec(with_sqlite)
    said = settings(lab, "powerdns/pdns.conf")
    assert (said["launch"], said["gsqlite3-database"]) == ("gsqlite3", "/run/edgegate/data/powerdns/pdns.sqlite3")
    assert not {key for key in said if key.startswith("lmdb")}
    created = lab.commands[-1]
    assert "journal_mode=wal" in created[3]
    assert created[4] == "/run/edgegate/data/powerdns/pdns.sqlite3"
    assert created[5].endswith("schema.sqlite3.sql")


def test_each_lab_has_a_key_of_its_own(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    powerdns.prepare(launched("lmdb"))
    first = powerdns.api_key(lab)
    powerdns.prepare(launched("lmdb"))
    assert powerdns.api_key(lab) != first
    assert len(first) > 40


def test_the_recursor_sends_everything_to_the_lab(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    recursor.spec(launched("lmdb"))
    said = settings(lab, "pdns-recursor/recursor.conf")
    assert said["forward-zones"] == "test=10.88.7.3, .=10.88.7.3"
    assert (said["dont-query"], said["security-poll-suffix"], said["hint-file"]) == ("", "", "no")
    assert not {key for key in said if "ttl" in key}, "its memory is that of any resolver"


def test_forgetting_names_everything_below(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    recursor.forget(launched("lmdb"), "shop.test")
    assert lab.commands[-1][-2:] == ["wipe-cache", "shop.test$"]


def test_external_dns_keeps_its_key_off_the_command_line(lab: FakeLab, launched: Callable[[str], Launch]) -> None:
    with_dns = launched("lmdb")
    powerdns.prepare(with_dns)
    spec: ProcessSpec = external_dns.spec(with_dns, "edge.test")
    assert spec.env["EXTERNAL_DNS_PDNS_API_KEY"] == powerdns.api_key(lab)
    assert not any(powerdns.api_key(lab) in word for word in spec.argv)
    assert {"--domain-filter=edge.test", "--policy=sync", "--registry=txt", "--events"} <= set(spec.argv)
    assert spec.restart == "always"


def test_the_cluster_dns_forwards_only_where_there_is_a_recursor(
    lab: FakeLab, launched: Callable[[str], Launch]
) -> None:
    cluster_dns.spec(launched("lmdb"))
    assert "\n    forward . 10.88.7.5\n" in lab.files[f"{CONFIG}/Corefile"].decode()
    cluster_dns.spec(launch(lab))
    assert "forward" not in lab.files[f"{CONFIG}/Corefile"].decode()


def test_only_external_dns_waits_for_a_control_plane(launched: Callable[[str], Launch]) -> None:
    """The servers are ready long before anybody can ask them, so they cost the start nothing."""
    steps = {step.name: step.needs for step in dns.steps(launched("lmdb"), None)}  # type: ignore[arg-type]
    assert {name for name, needs in steps.items() if "base" in needs} == {"external-dns"}
    assert steps["powerdns-cached"] == ("zones",), "it knows those zones only that exist when it starts"


def test_an_edge_without_the_part_says_so(lab: FakeLab) -> None:
    with pytest.raises(NotShown, match="made without the part 'dns', so no names outside the cluster exist in it"):
        Dns(launch(lab))
