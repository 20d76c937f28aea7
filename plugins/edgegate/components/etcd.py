"""etcd: one process for all control planes, each with a key prefix of its own."""

from edgegate.components.launch import DATA, Launch
from edgegate.lab import ProcessSpec, Ready

NAME = "etcd"
CLIENT_URL = "http://127.0.0.1:2379"
DATA_FOLDER = f"{DATA}/etcd"


def spec(launch: Launch) -> ProcessSpec:
    """Return how etcd is run; its data is on the lab's tmpfs, so it never waits for a disk."""
    peer = "http://127.0.0.1:2380"
    argv = (
        str(launch.artifacts["etcd"].binary("etcd")),
        f"--data-dir={DATA_FOLDER}",
        f"--listen-client-urls={CLIENT_URL}",
        f"--advertise-client-urls={CLIENT_URL}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--auto-compaction-retention=5m",
        "--log-level=warn",
    )
    ready = Ready(kind="http", address=f"{CLIENT_URL}/readyz", limit=30)
    return ProcessSpec(
        name=NAME, argv=argv, env=launch.environment("etcd", GOMEMLIMIT="400MiB", GOGC="300"), ready=ready
    )
