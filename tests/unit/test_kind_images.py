"""Images as files: what is in them, that the same content has the same id, and how Debian's folders are merged."""

import errno
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from edgegate.artifacts import Quiet
from edgegate.artifacts.artifact import Artifact, Manifest
from edgegate.errors import CacheNotWritable, NotEnoughDisk
from edgegate.kind import archive, system
from edgegate.kind.archive import Command
from edgegate.kind.images import Images
from edgegate.kind.tree import Tree


def _layer(path: Path) -> tarfile.TarFile:
    with tarfile.open(path) as whole:
        content = whole.extractfile("layer.tar")
        assert content is not None
        return tarfile.open(fileobj=io.BytesIO(content.read()))


def _tree(source: Path) -> Tree:
    tree = Tree()
    tree.file("/usr/local/bin/tool", source, 0o755)
    tree.text("etc/motd", "hello")
    tree.merge_usr()
    return tree


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    place = tmp_path / "tool"
    place.write_bytes(b"x" * 1000)
    return place


def test_the_same_content_has_the_same_id_and_bytes(tmp_path: Path, tool: Path) -> None:
    ids = [archive.write(tmp_path / name, ["a/b:v1"], _tree(tool), Command(("/tool",))) for name in ("one", "two")]
    assert ids[0] == ids[1] == archive.read_id(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_archive_is_what_docker_load_reads(tmp_path: Path, tool: Path) -> None:
    identity = archive.write(tmp_path / "one", ["a/b:v1"], _tree(tool), Command(("/tool",), ("A=1",)))
    with tarfile.open(tmp_path / "one") as whole:
        names = whole.getnames()
        manifest, config = (json.load(whole.extractfile(name) or io.BytesIO()) for name in (names[2], names[1]))
    assert names == ["layer.tar", identity.removeprefix("sha256:") + ".json", "manifest.json"]
    assert manifest == [{"Config": names[1], "RepoTags": ["a/b:v1"], "Layers": ["layer.tar"]}]
    assert config["config"]["Entrypoint"] == ["/tool"]
    assert "A=1" in config["config"]["Env"]


def test_files_folders_and_links_are_in_the_layer(tmp_path: Path, tool: Path) -> None:
    archive.write(tmp_path / "one", ["a/b:v1"], _tree(tool), Command())
    with _layer(tmp_path / "one") as layer:
        members = {member.name: member for member in layer.getmembers()}
    assert members["usr/local/bin/tool"].size == 1000
    assert members["usr/local/bin/tool"].mode == 0o755
    assert members["usr/local/bin"].isdir()
    assert members["bin"].linkname == "usr/bin"
    assert {member.uid for member in members.values()} == {0}


def test_old_folders_go_into_usr_and_links_to_themselves_go() -> None:
    tree = Tree()
    tree.text("/bin/touch", "program")
    tree.link("/usr/bin/touch", "/bin/touch")
    tree.link("/sbin/ip", "/bin/ip")
    tree.link("/lib/x86_64-linux-gnu/libx.so", "libx.so.1")
    assert tree.paths() == [
        "usr", "usr/bin", "usr/bin/touch", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/libx.so",
        "usr/sbin", "usr/sbin/ip",
    ]  # fmt: skip


def test_a_copied_folder_keeps_links_and_leaves_out_what_is_to_be(tmp_path: Path) -> None:
    source = tmp_path / "packages"
    for path in ("usr/share/doc/x", "usr/bin/x", "etc/empty"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text("") if path != "etc/empty" else (source / path).mkdir()
    (source / "etc/link").symlink_to("empty")
    tree = Tree()
    tree.copy(source, skip=lambda path: path == "usr/share/doc")
    assert tree.paths() == ["etc", "etc/empty", "etc/link", "usr", "usr/bin", "usr/bin/x", "usr/share"]
    tree.remove(["etc"])
    assert "etc/link" not in tree.paths()


def test_a_node_has_no_boot_units_and_its_own_start(tmp_path: Path) -> None:
    packages, kind = tmp_path / "packages", tmp_path / "kind"
    boot = "lib/systemd/system/multi-user.target.wants/getty.target"
    for path in (boot, "usr/share/base-passwd/passwd.master", "usr/share/base-passwd/group.master", "usr/lib/cni/dhcp"):
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text(path)
    for path in system._FROM_KIND:
        (kind / path).parent.mkdir(parents=True, exist_ok=True)
        (kind / path).write_text(path)
    tree = Tree()
    system.add(tree, packages, kind, version="1.35.4", pause="registry.k8s.io/pause:3.10.1")
    paths = tree.paths()
    assert f"usr/{boot}" not in paths
    assert "usr/lib/cni/dhcp" not in paths
    assert {"usr/local/bin/entrypoint", "usr/local/bin/before-entrypoint", "usr/bin/sh", "kind/version"} <= set(paths)


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, NotEnoughDisk), (errno.EROFS, CacheNotWritable), (errno.EACCES, CacheNotWritable)],
)
def test_a_disk_that_refuses_is_named_and_nothing_half_stays(
    tmp_path: Path, tool: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: type[Exception]
) -> None:
    def refuse(out: Path, *rest: object) -> str:
        out.write_bytes(b"half")
        raise OSError(number, "no")

    monkeypatch.setattr(archive, "write", refuse)
    artifact = Artifact(tmp_path / "envoy-1", Manifest("envoy", "1.38.3", {"envoy": str(tool)}))
    base = Artifact(tmp_path / "base-1", Manifest("node-base", "12", {}))
    with pytest.raises(said, match="EDGEGATE_CACHE"):
        Images(tmp_path, {"envoy": artifact, "node-base": base}, Quiet()).component("envoy", ["a/b:v1"])
    assert [one.suffix for one in (tmp_path / "images").iterdir()] == [".lock"]


def test_a_read_only_cache_is_enough_where_all_is_made(
    tmp_path: Path, tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = Artifact(tmp_path / "envoy-1", Manifest("envoy", "1.38.3", {"envoy": str(tool)}))
    base = Artifact(tmp_path / "base-1", Manifest("node-base", "12", {}))
    images = Images(tmp_path, {"envoy": artifact, "node-base": base}, Quiet())
    made = images.component("envoy", ["a/b:v1"])
    made.path.with_suffix(".lock").unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert images.component("envoy", ["a/b:v1"]) == made
    assert not made.path.with_suffix(".lock").exists()
