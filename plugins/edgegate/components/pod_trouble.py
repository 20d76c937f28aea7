"""What keeps a pod of ours from running, and whether one has ended by itself."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from edgegate.clusters.kinds import POD, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.clusters.status import ends_of, times_ended
from edgegate.components import pods
from edgegate.components.pki import write_private
from edgegate.errors import ComponentExited, CrashedUnderTest, LabFault, PlaneUnreachable, PodNotStarted

_HOPELESS = {
    "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImageInspectError",
    "ImagePullBackOff", "InvalidImageName", "RunContainerError",
}  # fmt: skip
"""Reasons for which a kubelet lets a container wait, and waiting does not help."""
_NEVER_RAN = ("StartError", "ContainerCannotRun")
_TAIL, _HEAD = 20, 16 * 1024


def of_start(plane: ControlPlane, namespace: str, name: str, logs: Path) -> LabFault | None:
    """Return why a Deployment's pod will not be ready, None while it may be.

    What an ended container wrote is put into `logs`.
    """
    for pod in pods.of(plane, namespace, name):
        for status in _statuses(pod):
            if waits := _hopeless(status):
                return PodNotStarted(name, cluster=plane.name, why=waits)
            if end := next(iter(ends_of(status)), None):
                tail, log = _last_words(plane, pod, status["name"], logs)
                return ComponentExited(name, status=end.get("exitCode"), log=log, tail=tail)
    return None


def ends(found: Iterable[Manifest]) -> dict[str, int]:
    """Return how often each container of these pods has ended, by the pod's uid and its name."""
    return {_key(pod, status): times_ended(status) for pod in found for status in _statuses(pod)}


def news(found: Iterable[Manifest], before: Mapping[str, int]) -> Iterator[tuple[Manifest, Manifest]]:
    """Yield pod and status of each container that has ended by itself since `ends` counted `before`.

    Its kubelet starts it again, so it may run by now.
    """
    for pod in found:
        for status in _statuses(pod):
            if times_ended(status) > before.get(_key(pod, status), 0) and "deletionTimestamp" not in pod["metadata"]:
                yield pod, status


def of_run(
    plane: ControlPlane, found: Iterable[Manifest], logs: Path, before: Mapping[str, int]
) -> CrashedUnderTest | None:
    """Return the error for the first container of these pods that is `news`, None when none is."""
    for pod, status in news(found, before):
        end = ends_of(status)[0]
        tail, log = _last_words(plane, pod, status["name"], logs)
        what = f"ended with status {end.get('exitCode')} ({end.get('reason', 'no reason given')})"
        return CrashedUnderTest(status["name"], what=what, log=log, tail=tail)
    return None


def _key(pod: Manifest, status: Manifest) -> str:
    return f"{pod['metadata']['uid']}/{status['name']}"


def log(plane: ControlPlane, pod: Manifest, container: str, **query: str) -> str:
    """Return what a container has written; nothing where its node does not tell."""
    path = f"{plane.path(Ref(POD, pod['metadata']['name'], pod['metadata']['namespace']))}/log"
    try:
        answer = plane.send("GET", path, query={"container": container, **query}, timeout=(3.0, 10.0))
    except PlaneUnreachable:
        return ""
    return answer.data.decode(errors="replace") if answer.status == 200 else ""


def head(plane: ControlPlane, pod: Manifest, container: str) -> str:
    """Return the first 16 KiB of it, which have the line that tells a program's version."""
    return log(plane, pod, container, limitBytes=str(_HEAD))


def _statuses(pod: Manifest) -> Iterator[Manifest]:
    yield from pod.get("status", {}).get("containerStatuses", ())


def _hopeless(status: Manifest) -> str:
    waiting: dict[str, Any] = status.get("state", {}).get("waiting") or {}
    if waiting.get("reason") in _HOPELESS:
        return f"{waiting['reason']}: {waiting.get('message', 'no message')}"
    end: Manifest = next(iter(ends_of(status)), {})
    if end.get("reason") in _NEVER_RAN:
        return f"{end['reason']}: {end.get('message', 'no message')}"
    return ""


def _last_words(plane: ControlPlane, pod: Manifest, container: str, logs: Path) -> tuple[str, Path]:
    """Return the end of what an ended container wrote, and the file with all of it."""
    said = log(plane, pod, container, previous="true") or log(plane, pod, container)
    place = write_private(logs / f"{plane.name}-{container}.log", said)
    return "\n".join(said.splitlines()[-_TAIL:]), place
