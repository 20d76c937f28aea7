"""The files of an image before they are written: nothing is copied, so it needs no root and no room."""

import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into /usr on every Debian of today; packages still name them."""


@dataclass(frozen=True)
class _Entry:
    mode: int
    source: Path | None = None
    content: bytes = b""
    target: str = ""
    folder: bool = False


class Tree:
    """Paths of an image, each with where its content comes from; a later one replaces an earlier one."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Have a folder."""
        self._put(path, _Entry(mode, folder=True))

    def text(self, path: str, content: str, mode: int = 0o644) -> None:
        """Have a file with this text."""
        self._put(path, _Entry(mode, content=content.encode()))

    def file(self, path: str, source: Path, mode: int | None = None) -> None:
        """Have a file with the content of one on this machine; links are followed."""
        real = source.resolve()
        self._put(path, _Entry(stat.S_IMODE(real.stat().st_mode) if mode is None else mode, source=real))

    def link(self, path: str, target: str) -> None:
        """Have a symbolic link; one that would lead to itself once /usr is merged is left out."""
        leads_to = target if target.startswith("/") else f"{Path(path).parent}/{target}"
        if _merged(os.path.normpath(leads_to)) != _merged(path):
            self._put(path, _Entry(0o777, target=target))

    def copy(self, source: Path, at: str = "", *, skip: Callable[[str], bool] = lambda path: False) -> None:
        """Have what is in a folder of this machine, except paths that `skip` says; links stay links."""
        for here, folders, files in os.walk(source):
            relative = Path(here).relative_to(source)
            kept = [name for name in sorted(folders) if not skip(str(relative / name))]
            folders[:] = [name for name in kept if not (Path(here) / name).is_symlink()]
            for name in folders:
                self._put(f"{at}/{relative / name}", _Entry(_mode(Path(here) / name), folder=True), weak=True)
            links = [name for name in kept if name not in folders]
            for name in [*links, *(name for name in sorted(files) if not skip(str(relative / name)))]:
                self._copy_file(Path(here) / name, f"{at}/{relative / name}")

    def _copy_file(self, source: Path, path: str) -> None:
        if source.is_symlink():
            self.link(path, str(source.readlink()))
        elif source.is_file():
            self._put(path, _Entry(_mode(source), source=source))

    def remove(self, paths: Iterable[str]) -> None:
        """Have these paths, and what is below them, no more."""
        gone = tuple(_merged(path) for path in paths)
        below = tuple(f"{path}/" for path in gone)
        self._entries = {
            path: entry for path, entry in self._entries.items() if path not in gone and not path.startswith(below)
        }

    def merge_usr(self) -> None:
        """Have the links of the merged folders; call it for a whole system only."""
        for name in _MERGED:
            self._entries[name] = _Entry(0o777, target=f"usr/{name}")

    def _put(self, path: str, entry: _Entry, *, weak: bool = False) -> None:
        where = _merged(path)
        if weak and where in self._entries:
            return
        for parent in list(Path(where).parents)[:-1]:
            self._entries.setdefault(str(parent), _Entry(0o755, folder=True))
        self._entries[where] = entry

    def paths(self) -> list[str]:
        """Return every path, without a leading slash."""
        return sorted(self._entries)

    def write(self, tar: tarfile.TarFile) -> None:
        """Write everything, owned by root, with the time 0."""
        for path in self.paths():
            entry = self._entries[path]
            info = tarfile.TarInfo(path)
            info.mode, info.uname, info.gname = entry.mode, "root", "root"
            if entry.folder:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            elif entry.target:
                info.type, info.linkname = tarfile.SYMTYPE, entry.target
                tar.addfile(info)
            elif entry.source is not None:
                with entry.source.open("rb") as content:
                    info.size = os.fstat(content.fileno()).st_size
                    tar.addfile(info, content)
            else:
                info.size = len(entry.content)
                tar.addfile(info, io.BytesIO(entry.content))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _merged(path: str) -> str:
    """Return where a path is in a system with a merged /usr, without a leading slash."""
    parts = [part for part in Path(path).parts if part not in ("/", ".")]
    if len(parts) > 1 and parts[0] in _MERGED:
        parts.insert(0, "usr")
    return "/".join(parts)
