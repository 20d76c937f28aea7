"""What is in a pod's volumes (pure), and how it gets there: all at once, as a kubelet's atomic writer does it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgegate.errors import PodTrouble
from edgegate.lab.node.environment import Facts, Lookup, content, field, resource
from edgegate.lab.node.kube import Json

Token = Callable[[str, int], str]
"""Gives a service account token for an audience (empty: the API server's own) that lives that many seconds."""

FILLED = ("secret", "configMap", "projected", "downwardAPI")
"""Volume sources whose content comes from the API."""
TOKEN_SECONDS = 3600
"""Life of a token when its projection does not say."""


@dataclass(frozen=True)
class File:
    """One file of a volume."""

    data: bytes
    """Its content."""
    mode: int
    """Its permission bits."""


@dataclass(frozen=True)
class Sources:
    """Where the content of volumes comes from."""

    pod: Json
    """The pod."""
    facts: Facts
    """What it knows about itself."""
    lookup: Lookup
    """Secrets and ConfigMaps."""
    token: Token
    """Service account tokens."""


def kind_of(volume: Json) -> str:
    """Return the source of a volume.

    Raises:
        PodTrouble: the lab has no such volumes.
    """
    kind = next((word for word in volume if word != "name"), "emptyDir")
    if kind == "hostPath":
        raise PodTrouble("FailedMount", _setup(volume, "hostPath is refused: the lab's own files are not a node's"))
    if kind not in (*FILLED, "emptyDir"):
        raise PodTrouble("FailedMount", _setup(volume, f"the lab has no {kind} volumes"))
    return kind


def _setup(volume: Json, reason: str) -> str:
    return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {reason}'


def files_of(volume: Json, sources: Sources) -> dict[str, File]:
    """Return the files of a volume by relative path.

    Raises:
        PodTrouble: FailedMount, when an object or key that is not optional is missing.
    """
    kind = kind_of(volume)
    source = volume.get(kind) or {}
    mode = source.get("defaultMode", 0o644)
    parts = source.get("sources", []) if kind == "projected" else [{kind: source}]
    files: dict[str, File] = {}
    try:
        for part in parts:
            files.update(_part(part, mode, sources))
    except PodTrouble as trouble:
        raise PodTrouble("FailedMount", _setup(volume, trouble.text)) from trouble
    return files


def _part(part: Json, mode: int, sources: Sources) -> dict[str, File]:
    if "secret" in part:
        ref = part["secret"]
        return _of_object("Secret", ref.get("secretName") or ref.get("name"), ref, mode, sources.lookup)
    if "configMap" in part:
        return _of_object("ConfigMap", part["configMap"]["name"], part["configMap"], mode, sources.lookup)
    if "downwardAPI" in part:
        return dict(_of_pod(part["downwardAPI"].get("items") or [], mode, sources))
    if "serviceAccountToken" in part:
        ref = part["serviceAccountToken"]
        text = sources.token(ref.get("audience", ""), ref.get("expirationSeconds", TOKEN_SECONDS))
        return {ref["path"]: File(text.encode(), mode)}
    raise PodTrouble("FailedMount", f"the lab has no {', '.join(part)} projection")


def _of_object(kind: str, name: str, ref: Json, mode: int, lookup: Lookup) -> dict[str, File]:
    found = lookup(kind, name)
    if found is None:
        if ref.get("optional"):
            return {}
        raise PodTrouble("FailedMount", f'{kind.lower()} "{name}" not found')
    values = content(found)
    if not ref.get("items"):
        return {key: File(value, mode) for key, value in values.items()}
    files = {}
    for item in ref["items"]:
        if item["key"] in values:
            files[item["path"]] = File(values[item["key"]], item.get("mode", mode))
        elif not ref.get("optional"):
            raise PodTrouble("FailedMount", f"references non-existent {kind.lower()} key: {item['key']}")
    return files


def _of_pod(items: list[Json], mode: int, sources: Sources) -> Iterator[tuple[str, File]]:
    for item in items:
        if "fieldRef" in item:
            text = field(sources.pod, item["fieldRef"]["fieldPath"], sources.facts)
        else:
            text = resource(sources.pod, {}, item["resourceFieldRef"], sources.facts)
        yield item["path"], File(text.encode(), item.get("mode", mode))


def references(volumes: list[Json]) -> set[tuple[str, str]]:
    """Return `(kind, name)` of each Secret and ConfigMap that volumes show."""
    found = set()
    for volume in volumes:
        for part in [volume, *(volume.get("projected") or {}).get("sources", [])]:
            if ref := part.get("secret"):
                found.add(("Secret", ref.get("secretName") or ref.get("name")))
            if ref := part.get("configMap"):
                found.add(("ConfigMap", ref["name"]))
    return found


def write(folder: Path, files: dict[str, File]) -> bool:
    """Make a volume show exactly these files; return whether anything changed.

    Readers see all the old files or all the new ones: they look through the link `..data`, which is replaced by a
    rename. Whoever watches the folder sees the same moves as under a kubelet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "..data"
    if data.exists() and _read(data.resolve()) == files:
        return False
    old = data.resolve() if data.exists() else None
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    fresh.chmod(0o755)
    for name, file in files.items():
        _write_file(fresh / name, file)
    link = folder / "..data_tmp"
    link.unlink(missing_ok=True)
    link.symlink_to(fresh.name)
    link.rename(data)
    _link_names(folder, {name.split("/")[0] for name in files})
    if old is not None:
        shutil.rmtree(old)
    return True


def _write_file(path: Path, file: File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data)
    path.chmod(file.mode)


def _read(folder: Path) -> dict[str, File]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): File(path.read_bytes(), path.stat().st_mode & 0o7777) for path in found}


def _link_names(folder: Path, names: set[str]) -> None:
    for name in names:
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(f"..data/{name}")
    for path in folder.iterdir():
        if path.is_symlink() and not path.name.startswith("..") and path.name not in names:
            path.unlink()
