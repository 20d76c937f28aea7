"""The Docker engine as its command line shows it: what it is, what it runs, what it has to load."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgegate import command
from edgegate.command import Completed
from edgegate.errors import CommandFailed, EngineMissing, EngineSilent

_ANSWERS_WITHIN = 10.0
_PULLED_WITHIN = 300.0
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""kind's own label on the containers of a cluster."""
ROLE_LABEL = "io.x-k8s.kind.role"
"""And on each what it is: `control-plane` or `worker`."""


@dataclass(frozen=True)
class Facts:
    """What an engine says about itself."""

    version: str
    """Its version, as in 20.10.24."""
    cgroups: int
    """1 or 2."""
    root: Path
    """Where it keeps images and containers."""


@dataclass(frozen=True)
class Engine:
    """The engine that `docker` talks to."""

    docker: str
    """The command."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """What the command gets; DOCKER_HOST or a context in it decides which engine it is."""

    @classmethod
    def find(cls) -> "Engine":
        """Return the engine of the command on PATH.

        Raises:
            EngineMissing: there is no such command.
        """
        docker = shutil.which("docker")
        if docker is None:
            raise EngineMissing
        return cls(docker)

    def facts(self) -> Facts:
        """Return what it is.

        Raises:
            EngineSilent: it does not answer within 10 s, or refuses.
        """
        host = self.environment.get("DOCKER_HOST", "its default socket")
        try:
            done = self.run("info", "--format", "{{json .}}", check=False, within=_ANSWERS_WITHIN)
        except CommandFailed as failed:  # it hangs, or is no program at all
            raise EngineSilent(host, f"{self.docker} info: {failed.output}") from failed
        try:
            said: dict[str, Any] = json.loads(done.stdout)
            trouble = [*(said.get("ServerErrors") or ()), *([done.stderr.strip()] if done.status else [])]
        except (ValueError, AttributeError):
            said, trouble = {}, [done.stderr.strip()] if done.stderr.strip() else []
        if trouble or not said.get("ServerVersion"):
            raise EngineSilent(host, "; ".join(map(str, trouble)) or "no version in its answer")
        try:
            return Facts(said["ServerVersion"], int(said.get("CgroupVersion") or 1), Path(said["DockerRootDir"]))
        except (KeyError, TypeError, ValueError) as strange:
            what = f"{self.docker} info tells no DockerRootDir, or a CgroupVersion that is none: is it Docker?"
            raise EngineSilent(host, what) from strange

    def run(self, *words: str, check: bool = True, within: float = 60.0) -> Completed:
        """Run the command.

        Raises:
            CommandFailed: it failed, or took too long.
            EngineSilent: it is not there any more.
        """
        return command.run([self.docker, *words], env=self.environment, timeout=within, check=check)

    def image_id(self, reference: str) -> str:
        """Return the id of an image that the engine has; empty when it has none of that name."""
        done = self.run("image", "inspect", "--format", "{{.Id}}", reference, check=False)
        return done.stdout.strip() if done.status == 0 else ""

    def manifest(self, reference: str) -> str:
        """Return the digest by which a registry knows an image that the engine has pulled; empty when none does."""
        done = self.run("image", "inspect", "--format", "{{json .RepoDigests}}", reference, check=False)
        known = (json.loads(done.stdout) if done.status == 0 else None) or [""]
        return str(known[0]).rpartition("@")[2]

    def pull(self, reference: str) -> str:
        """Pull an image from its registry; return why that cannot be, an empty text when it was.

        Raises:
            CommandFailed: it took longer than five minutes.
        """
        done = self.run("pull", "--quiet", reference, check=False, within=_PULLED_WITHIN)
        return done.stderr.strip() or "no reason given" if done.status else ""

    def save(self, reference: str, out: Path) -> None:
        """Write an image that the engine has as an archive. Raises CommandFailed."""
        self.run("save", "--output", str(out), reference, within=300)

    def load(self, archive: Path) -> None:
        """Load an image's archive. Raises CommandFailed."""
        self.run("load", "--quiet", "--input", str(archive), within=300)

    def containers(self, cluster: str) -> list[str]:
        """Return the ids of a kind cluster's containers, running or not."""
        words = ("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={CLUSTER_LABEL}={cluster}")
        return self.run(*words).stdout.split()

    def inspect(self, names: Sequence[str], *, kind: str = "container") -> list[dict[str, Any]]:
        """Return what is known of containers or networks; those that are gone are left out."""
        if not names:
            return []
        done = self.run(kind, "inspect", *names, check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
        return found

    def networks(self, label: str) -> list[dict[str, Any]]:
        """Return the networks with a label, inspected."""
        names = self.run("network", "ls", "--quiet", "--filter", f"label={label}").stdout.split()
        return self.inspect(names, kind="network")

    def make_network(self, name: str, *, subnet: str, nodes: str, labels: Mapping[str, str]) -> None:
        """Make a network; `nodes` is the part of the subnet from which containers get addresses.

        Raises:
            CommandFailed: the engine refuses, as it does when the subnet is in use.
        """
        words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        self.run("network", "create", "--subnet", subnet, "--ip-range", nodes, *words, name)

    def remove_containers(self, ids: Iterable[str]) -> None:
        """Remove containers with their volumes; those that are gone are fine."""
        found = list(ids)
        if found:
            self.run("rm", "--force", "--volumes", *found, check=False, within=60)

    def remove_network(self, name: str) -> None:
        """Remove a network; one that is gone is fine.

        Raises:
            CommandFailed: something is attached to it.
        """
        done = self.run("network", "rm", name, check=False)
        if done.status and "not found" not in done.stderr.lower() and "no such network" not in done.stderr.lower():
            raise CommandFailed([self.docker, "network", "rm", name], status=done.status, output=done.stderr)
