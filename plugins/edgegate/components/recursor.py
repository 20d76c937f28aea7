"""The recursor: the lab's resolver for every name outside the cluster.

What is below `test` it asks the authoritative server for, as if the world had delegated it. Caches are on, with their
defaults, as at any resolver that a customer or a certificate authority uses.
"""

from edgegate.components.launch import DATA, Launch
from edgegate.components.pki import random_token
from edgegate.lab import ProcessSpec, Ready

NAME = "pdns-recursor"
DOMAIN = "test"
"""Everything below is the lab's own; the name is reserved for such use (RFC 2606)."""
_PORT = 8083
_SOCKETS = f"{DATA}/config/{NAME}"


def spec(launch: Launch) -> ProcessSpec:
    """Return how the recursor is run."""
    net, key = launch.lab.net, random_token()
    config = {
        "local-address": net.recursor_ip,
        "local-port": 53,
        "allow-from": "0.0.0.0/0",
        # Whatever else is asked for goes there too, and is refused at once: no root server can be reached from here.
        "forward-zones": f"{DOMAIN}={net.authoritative_ip}, .={net.authoritative_ip}",
        # By default it would not ask private addresses, and tell the makers its version.
        "dont-query": "",
        "security-poll-suffix": "",
        "dnssec": "off",
        "threads": 1,
        "webserver": "yes",
        "webserver-address": net.recursor_ip,
        "webserver-port": _PORT,
        "webserver-allow-from": "0.0.0.0/0",
        "api-key": key,
        "socket-dir": _SOCKETS,
        "daemon": "no",
        "disable-syslog": "yes",
        "write-pid": "no",
        "export-etc-hosts": "off",
        "hint-file": "no",
    }
    text = "".join(f"{key}={value}\n" for key, value in config.items())
    launch.config(f"{NAME}/recursor.conf", text)
    argv = (str(launch.artifacts[NAME].binary("pdns_recursor")), f"--config-dir={_SOCKETS}")
    url = f"http://{net.recursor_ip}:{_PORT}/api/v1/servers/localhost"
    ready = Ready(kind="http", address=url, header={"X-API-Key": key}, limit=30)
    return ProcessSpec(NAME, argv, env=launch.environment(NAME), ready=ready)


def forget(launch: Launch, name: str) -> None:
    """Let the recursor forget what it knows of a name and of all names below it, absences included."""
    control = str(launch.artifacts[NAME].binary("rec_control"))
    argv = [control, f"--config-dir={_SOCKETS}", f"--socket-dir={_SOCKETS}", "wipe-cache", f"{name}$"]
    launch.lab.run(argv, env=launch.environment(NAME))
