"""Put images into the content store of a containerd that will run later, inside a node."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from edgegate import command
from edgegate.artifacts import Artifact
from edgegate.artifacts.process import tied
from edgegate.clock import wait_until
from edgegate.errors import CommandFailed

_CONFIG = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'


def import_images(packages: Artifact, archives: Sequence[Path], *, into: Path, scratch: Path) -> None:
    """Import archives, without unpacking them, into what becomes /var/lib/containerd of a node. Needs root.

    Raises:
        CommandFailed: containerd or ctr failed.
        NeverReady: containerd does not answer.
    """
    with _containerd(packages, into, scratch) as ctr:
        for archive in archives:
            pinned = "--label=io.cri-containerd.pinned=pinned"
            command.run([*ctr, "--namespace=k8s.io", "images", "import", pinned, "--no-unpack", str(archive)])
            archive.unlink()


@contextmanager
def _containerd(packages: Artifact, root: Path, scratch: Path) -> Iterator[list[str]]:
    """Run the node's own containerd over a folder while a block runs; gives the words of its client."""
    config, address, log = scratch / "containerd.toml", scratch / "containerd.sock", scratch / "containerd.log"
    config.write_text(_CONFIG)
    environment = {"PATH": os.defpath, **packages.env}
    words = [str(packages.binary("containerd")), f"--config={config}", f"--root={root}", f"--state={scratch}/state"]
    ctr = [str(packages.binary("ctr")), f"--address={address}"]
    with log.open("wb") as said:
        # Tied: after `kill -9` of a build it would run for ever.
        running = subprocess.Popen(tied([*words, f"--address={address}"]), env=environment, stdout=said, stderr=said)
        try:

            def failed() -> Exception | None:
                status = running.poll()
                return None if status is None else CommandFailed(words, status=status, output=log.read_text()[-2000:])

            wait_until(
                "containerd answers",
                lambda: address.exists() and command.run([*ctr, "version"], check=False).status == 0,
                deadline=20.0,
                failed=failed,
                every=0.1,
            )
            yield ctr
        finally:
            running.terminate()
            running.wait(timeout=20)
