"""The store: found by what it was made from, published whole, and nothing half-made stays."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.store import Builder, free_disk_mib
from edgegate.errors import (
    ArtifactFault,
    BuildFailed,
    CacheNotWritable,
    NotEnoughDisk,
    UnknownComponent,
    UnknownVersion,
)
from edgegate.pins import Pins
from fake_run import Heard
from pin_file import SHA, spoiled, write

Make = Callable[[Job], Made]


@pytest.fixture
def few(tmp_path: Path) -> Pins:
    """Return the pins of the small file."""
    return pins.load(write(tmp_path))


def _make(job: Job) -> Made:
    """Be a builder that writes its version."""
    job.step("writing")
    job.files.mkdir()
    (job.files / job.pin.name).write_text(job.version)
    return Made(binaries={job.pin.name: f"files/{job.pin.name}"}, libraries=("files/lib",), built_with="1.26.8")


def _store(root: Path, make: Make = _make, free: int = 10_000) -> Store:
    builders = {source: Builder(1, make) for source in ("go", "pypi", "deb")}
    return Store(root / "cache", builders=builders, free_mib=lambda folder: free)


def _left(root: Path) -> list[str]:
    return [path.name for path in (root / "cache" / "store").iterdir()]


def test_made_once_and_found_again(tmp_path: Path, few: Pins) -> None:
    """The second time nothing is built, by another store object neither."""
    heard = Heard()
    made = _store(tmp_path).ensure(few, "tool", "0.8", heard)
    assert heard.lines == ["tool 0.8: writing", "tool 0.8: done"]
    again = _store(tmp_path, make=lambda job: pytest.fail("built again")).ensure(few, "tool", "0.8")
    assert again == made
    assert made.binary("tool").read_text() == "0.8"
    assert made.binary("tool").stat().st_mode & 0o777 == 0o755
    assert _left(tmp_path) == [made.path.name]


def test_nothing_is_written_before_something_is_built(tmp_path: Path, few: Pins) -> None:
    """A look into a store that is not there leaves none."""
    assert _store(tmp_path).find(few, "tool", "0.8") is None
    assert not (tmp_path / "cache").exists()


def test_an_artifact_knows_what_it_is(tmp_path: Path, few: Pins) -> None:
    """The manifest tells what it was made from and with."""
    made = _store(tmp_path).ensure(few, "server", "1.0.0")
    assert (made.name, made.version, made.manifest.built_with) == ("server", "1.0.0", "1.26.8")
    assert made.env == {"LD_LIBRARY_PATH": str(made.path / "files/lib")}
    assert made.manifest.recipe["digest"] == few.pin("server").digests["1.0.0"]
    assert made.file("server").read_text() == "1.0.0"


def test_a_copied_store_works_elsewhere(tmp_path: Path, few: Pins) -> None:
    """Preloading is copying: no path in an artifact is absolute."""
    made = _store(tmp_path).ensure(few, "tool", "0.8")
    (tmp_path / "other").mkdir()
    (tmp_path / "cache").rename(tmp_path / "other" / "cache")
    copied = _store(tmp_path / "other", make=lambda job: pytest.fail("built again")).ensure(few, "tool", "0.8")
    assert copied.path != made.path
    assert copied.binary("tool").read_text() == "0.8"
    assert copied.env == {"LD_LIBRARY_PATH": str(copied.path / "files/lib")}


def test_what_an_artifact_lacks(tmp_path: Path, few: Pins) -> None:
    """A binary or file that is not there is named, and the ones that are."""
    made = _store(tmp_path).ensure(few, "tool", "0.8")
    with pytest.raises(ArtifactFault, match=r"tool 0\.8 has no binary 'tol'\. It has: tool\."):
        made.binary("tol")
    with pytest.raises(
        ArtifactFault, match=r"tool 0\.8 has no file 'crds' in .*/files\. Add its folder to \[pin\.tool\]"
    ):
        made.file("crds")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"1:0.8-1 {SHA}", f"1:0.8-2 {SHA}"),
        (f"1:0.8-1 {SHA}", "1:0.8-1 sha256:" + "1" * 64),
        ('"usr/bin/tool"', '"usr/sbin/tool"'),
    ],
)
def test_the_key_follows_what_decides_the_result(tmp_path: Path, few: Pins, old: str, new: str) -> None:
    """Another package version, digest or binary is another artifact."""
    other = pins.load(write(tmp_path, spoiled(old, new)))
    store = _store(tmp_path)
    assert store.key(other.pin("tool"), "0.8") != store.key(few.pin("tool"), "0.8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('why = "because"', 'why = "for another reason"'),
        ('versions = ["1.0.0", "2.0.0"]', 'versions = ["2.0.0", "1.0.0"]'),
        ("disk-mib = 700", 'disk-mib = 800\nsums = { "1.0.0" = "' + SHA + '" }'),
    ],
)
def test_the_key_ignores_the_rest(tmp_path: Path, few: Pins, old: str, new: str) -> None:
    """A review or a further version must not cost a build."""
    other = pins.load(write(tmp_path, spoiled(old, new)))
    store = _store(tmp_path)
    assert store.key(other.pin("server"), "2.0.0") == store.key(few.pin("server"), "2.0.0")


MORE = {"requires": {"more.test/m": "1.2.3"}}


def test_the_key_holds_the_flags_and_the_sums(tmp_path: Path, few: Pins) -> None:
    """Linker flags, further modules and their digest decide what a Go build gives."""
    store, server = _store(tmp_path), few.pin("server")
    assert isinstance(server.recipe, pins.GoRecipe)
    for change in ({"ldflags": "-X a.b=c"}, {"sums": {"2.0.0": SHA}}, {"staging": True}, {"files": ("crds",)}, MORE):
        other = replace(server, recipe=replace(server.recipe, **change))
        assert store.key(other, "2.0.0") != store.key(server, "2.0.0"), change


def test_a_younger_key_of_a_recipe_changes_no_old_artifact(tmp_path: Path, few: Pins) -> None:
    """What was compiled before there was such a key is found again."""
    parts = _store(tmp_path)._ingredients(few.pin("server"), "2.0.0")
    assert "requires" not in str(parts)


def test_the_key_holds_our_own_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed thin main is another artifact."""
    main = tmp_path / "native" / "server" / "main.go"
    main.parent.mkdir(parents=True)
    monkeypatch.setattr("edgegate.artifacts.store.resource", lambda name: tmp_path / name)
    native = pins.load(write(tmp_path, spoiled('binaries = { server = "cmd/server" }', 'native = "server"')))
    store = _store(tmp_path)
    main.write_text("package main")
    before = store.key(native.pin("server"), "2.0.0")
    main.with_name("main_test.go").write_text("package main")
    assert store.key(native.pin("server"), "2.0.0") == before
    main.write_text("package main // changed")
    assert store.key(native.pin("server"), "2.0.0") != before


def test_a_failed_build_leaves_its_log_only(tmp_path: Path, few: Pins) -> None:
    """The next try begins from nothing; the log is where the error says."""

    def make(job: Job) -> Made:
        (job.into / "half").write_text("half")
        job.log.write_text("what the compiler said")
        raise job.failed("line\n" * 40 + "undefined: x")

    with pytest.raises(BuildFailed) as caught:
        _store(tmp_path, make).ensure(few, "tool", "0.8")
    assert str(caught.value).startswith(
        f"tool 0.8 could not be built. The end of its log ({caught.value.log}):\nline\n"
    )
    assert str(caught.value).endswith("undefined: x")
    assert caught.value.tail.count("\n") == 29
    assert caught.value.log.read_text() == "what the compiler said"
    assert _left(tmp_path) == []


def test_the_log_goes_with_the_artifact(tmp_path: Path, few: Pins) -> None:
    """How it was built can be read later."""

    def make(job: Job) -> Made:
        job.log.write_text("compiled")
        return _make(job)

    made = _store(tmp_path, make).ensure(few, "tool", "0.8")
    assert (made.path / "build.log").read_text() == "compiled"


def test_a_binary_that_is_not_where_the_pin_says(tmp_path: Path, few: Pins) -> None:
    """The archive has another layout than the pin thinks."""
    make: Make = lambda job: Made(binaries={"tool": "files/usr/bin/tool"})  # noqa: E731 - one line a case
    with pytest.raises(
        BuildFailed, match=r"the binary 'tool' is not at 'files/usr/bin/tool', as \[pin\.tool\.binaries\]"
    ):
        _store(tmp_path, make).ensure(few, "tool", "0.8")
    assert _left(tmp_path) == []


def test_too_little_disk_is_said_before_anything_is_done(tmp_path: Path, few: Pins) -> None:
    """What it needs, what there is, where, and how to change that."""
    store = _store(tmp_path, make=lambda job: pytest.fail("built"), free=699)
    with pytest.raises(NotEnoughDisk) as caught:
        store.ensure(few, "server", "2.0.0")
    assert str(caught.value) == (
        f"server 2.0.0 needs 700 MiB of free disk, but {tmp_path / 'cache'} has 699 MiB. "
        "Free some, or set EDGEGATE_CACHE to a folder on a larger disk."
    )


def test_a_disk_that_fills_up_during_a_build(tmp_path: Path, few: Pins) -> None:
    """The same words, whoever filled it."""

    def make(job: Job) -> Made:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NotEnoughDisk, match=r"tool 0\.8 needs 200 MiB of free disk"):
        _store(tmp_path, make).ensure(few, "tool", "0.8")
    assert _left(tmp_path) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path, few: Pins) -> None:
    """Something else is in the way of the folder."""
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(CacheNotWritable) as caught:
        _store(tmp_path).ensure(few, "tool", "0.8")
    assert f"tool 0.8 has to be built, and {tmp_path / 'cache'} cannot be written to (Not a directory)." in str(
        caught.value
    )
    assert "set EDGEGATE_CACHE to another folder" in str(caught.value)


def test_an_error_of_another_kind_is_not_dressed_up(tmp_path: Path, few: Pins) -> None:
    """A defect must look like one."""

    def make(job: Job) -> Made:
        raise OSError(errno.EBADF, "Bad file descriptor")

    with pytest.raises(OSError, match="Bad file descriptor"):
        _store(tmp_path, make).ensure(few, "tool", "0.8")


def test_caches_that_share_a_store_share_its_locks(tmp_path: Path, few: Pins) -> None:
    """A build in one cache clears nothing of a build that runs in another, when both link to one store.

    Without that, a compiler lost its files while it ran.
    """
    other = tmp_path / "other" / "cache"
    other.mkdir(parents=True)

    def make(job: Job) -> Made:
        (other / "store").symlink_to(job.into.parent.parent)
        _store(other.parent).ensure(few, "server", "1.0.0")
        assert job.scratch.is_dir()
        return _make(job)

    assert _store(tmp_path, make).ensure(few, "tool", "0.8")


def test_what_a_killed_build_left_is_cleared(tmp_path: Path, few: Pins) -> None:
    """Its own leftovers, and those of other artifacts whose builder is gone."""
    store = _store(tmp_path)
    made = store.ensure(few, "tool", "0.8")
    made.path.rename(made.path.with_name(made.path.name + ".part"))
    (made.path.parent / "other-1.0-00.part").mkdir()
    store.ensure(few, "tool", "0.8")
    assert _left(tmp_path) == [made.path.name]


@pytest.mark.parametrize("text", ["", "{}", '{"name": "tool"}', '{"libraries": 1}'])
def test_an_artifact_that_cannot_be_read_is_made_again(tmp_path: Path, few: Pins, text: str) -> None:
    """Another edgegate wrote it, or the disk is broken."""
    store = _store(tmp_path)
    made = store.ensure(few, "tool", "0.8")
    (made.path / "manifest.json").write_text(text)
    assert store.find(few, "tool", "0.8") is None
    assert store.ensure(few, "tool", "0.8").binary("tool").read_text() == "0.8"


def test_several_are_made_in_order_and_counted(tmp_path: Path, few: Pins) -> None:
    """What is there is not counted."""
    store, heard = _store(tmp_path), Heard()
    store.ensure(few, "tool", "0.8")
    found = store.ensure_all(few, few.select({"server": "1.0.0"}), ["server", "tool", "proxy"], heard)
    assert {name: artifact.version for name, artifact in found.items()} == {
        "server": "1.0.0",
        "tool": "0.8",
        "proxy": "1.0",
    }
    assert [line for line in heard.lines if " of " in line] == ["1 of 2: server 1.0.0", "2 of 2: proxy 1.0"]


def test_unknown_names_are_refused(tmp_path: Path, few: Pins) -> None:
    """As everywhere."""
    with pytest.raises(UnknownComponent):
        _store(tmp_path).ensure(few, "xyzzy", "1")
    with pytest.raises(UnknownVersion):
        _store(tmp_path).ensure(few, "tool", "0.9")


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment decides, else the user's cache folder; a given folder beats both."""
    monkeypatch.setenv("EDGEGATE_CACHE", str(tmp_path / "env"))
    assert Store().root == tmp_path / "env"
    assert Store(tmp_path / "given").root == tmp_path / "given"
    monkeypatch.delenv("EDGEGATE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().root == tmp_path / ".cache" / "edgegate"


def test_free_disk_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    """The store's folder need not exist yet."""
    assert abs(free_disk_mib(tmp_path / "a" / "b") - free_disk_mib(tmp_path)) < 100


def test_the_manifest_is_plain_json(tmp_path: Path, few: Pins) -> None:
    """Other programs may read it."""
    made = _store(tmp_path).ensure(few, "tool", "0.8")
    data = json.loads((made.path / "manifest.json").read_text())
    assert (data["name"], data["version"], data["binaries"]) == ("tool", "0.8", {"tool": "files/tool"})
    assert data["recipe"]["recipe"]["packages"] == [{"name": "tool", "version": "1:0.8-1", "digest": SHA}]
