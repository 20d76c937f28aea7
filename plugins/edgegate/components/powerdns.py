"""PowerDNS, the authoritative server: one with production's settings, and one with default caches on the same data.

The records come in by the API of the first one, as in production. The second one learns of them from the database, as
a server does that gets its data by replication: it shows what the caches, which production switches off, would do.
"""

import sys
from collections.abc import Mapping

from edgegate.components.launch import DATA, Launch
from edgegate.components.pki import random_token
from edgegate.lab import Lab, LabNet, ProcessSpec, Ready

NAME = "powerdns"
CACHED = "powerdns-cached"
LMDB, SQLITE = "lmdb", "sqlite"
API_PORT = 8082
_KEY = f"{DATA}/secrets/{NAME}.key"
_FOLDER = f"{DATA}/{NAME}"
_SQLITE_FILE = f"{_FOLDER}/pdns.sqlite3"
_MODULES = "usr/lib/x86_64-linux-gnu/pdns"
_SCHEMA = "usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
# WAL lets the second server read while the first one writes.
_CREATE = (
    "import sqlite3, sys, pathlib; db = sqlite3.connect(sys.argv[1]); db.execute('pragma journal_mode=wal');"
    "db.executescript(pathlib.Path(sys.argv[2]).read_text())"
)

Config = Mapping[str, object]


def prepare(launch: Launch) -> None:
    """Make the data folder and the API key, and the database where the backend does not make it itself."""
    launch.secret(f"{NAME}.key", random_token())
    launch.lab.run(["mkdir", "-p", _FOLDER])
    if launch.parts["dns"] == SQLITE:
        schema = str(launch.artifacts[NAME].file(_SCHEMA))
        launch.lab.run([sys.executable, "-S", "-c", _CREATE, _SQLITE_FILE, schema])


def api_key(lab: Lab) -> str:
    """Return the key that the API of this lab's server asks for."""
    return lab.get(_KEY).decode()


def api_url(net: LabNet) -> str:
    """Return where the API is; inside and outside the lab."""
    return f"http://{net.authoritative_ip}:{API_PORT}"


def spec(launch: Launch) -> ProcessSpec:
    """Return how the server with production's settings is run."""
    net, key = launch.lab.net, api_key(launch.lab)
    config = {
        **_common(launch, net.authoritative_ip),
        "primary": "yes",
        "secondary": "yes",
        "api": "yes",
        "api-key": key,
        "webserver": "yes",
        "webserver-address": net.authoritative_ip,
        "webserver-port": API_PORT,
        "webserver-allow-from": "0.0.0.0/0",
        # Production switches these off, because its data comes by replication too.
        "zone-cache-refresh-interval": 0,
        "zone-metadata-cache-ttl": 0,
        "log-dns-queries": "yes",
    }
    url = f"{api_url(net)}/api/v1/servers/localhost"
    return _process(launch, NAME, config, Ready(kind="http", address=url, header={"X-API-Key": key}, limit=30))


def cached_spec(launch: Launch) -> ProcessSpec:
    """Return how the server with default caches is run; it has no API, and its zones are those that exist now."""
    address = launch.lab.net.cached_ip
    return _process(launch, CACHED, _common(launch, address), Ready(kind="tcp", address=f"{address}:53", limit=30))


def _common(launch: Launch, address: str) -> Config:
    backend = launch.parts["dns"]
    return {
        "module-dir": launch.artifacts[NAME].file(_MODULES),
        **(_SQLITE if backend == SQLITE else _LMDB),
        "local-address": address,
        "local-port": 53,
        # ALIAS records are looked up while a query waits.
        "expand-alias": "yes",
        "resolver": f"{launch.lab.net.recursor_ip}:53",
        "security-poll-suffix": "",
        "daemon": "no",
        "guardian": "no",
        "disable-syslog": "yes",
    }


_SQLITE: Config = {
    "launch": "gsqlite3",
    "gsqlite3-database": f"{_FOLDER}/pdns.sqlite3",
    "gsqlite3-pragma-synchronous": 0,
}
# Production has lmdb-flag-deleted and lmdb-lightning-stream too, which this version does not know.
_LMDB: Config = {
    "launch": "lmdb",
    "lmdb-filename": f"{_FOLDER}/pdns.lmdb",
    "lmdb-shards": 1,
    "lmdb-random-ids": "yes",
    "lmdb-map-size": 1000,
}


def _process(launch: Launch, name: str, config: Config, ready: Ready) -> ProcessSpec:
    folder = f"{DATA}/config/{name}"
    text = "\n".join(f"{key}={value}" for key, value in {**config, "socket-dir": folder}.items())
    launch.config(f"{name}/pdns.conf", f"{text}\n")
    argv = (str(launch.artifacts[NAME].binary("pdns_server")), f"--config-dir={folder}")
    return ProcessSpec(name, argv, env=launch.environment(NAME), ready=ready)
