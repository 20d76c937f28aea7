"""How pinned Debian packages become a folder, without root and without installing."""

from hashlib import sha256
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.errors import BuildFailed, DigestMismatch, NoNetwork, PackageGone, ToolMissing
from edgegate.pins import Pins
from fake_run import Call, Effect, FakeRun, Heard, absent, fails
from pin_file import SHA, spoiled, write

TOOL, LIBRARY = b"a package", b"a library"


def _digest(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


@pytest.fixture
def few(tmp_path: Path) -> Pins:
    """Return the pins of the small file; its tool needs a library."""
    lines = f'tool = "1:0.8-1 {_digest(TOOL)}"\n"lib1.0" = "2 {_digest(LIBRARY)}"'
    return pins.load(write(tmp_path, spoiled(f'tool = "1:0.8-1 {SHA}"', lines)))


def _fetched(call: Call) -> str:
    (call.cwd / "tool_1%3a0.8-1_amd64.deb").write_bytes(TOOL)
    (call.cwd / "lib1.0_2_amd64.deb").write_bytes(LIBRARY)
    return "Get:1 tool\nGet:2 lib1.0\nFetched 2 kB\n"


def _unpacked(call: Call) -> str:
    into = Path(call.argv[-1])
    name = "usr/bin/tool" if "tool" in call.argv[2].rpartition("/")[2] else "usr/lib/x86_64-linux-gnu/lib1.so.0"
    (into / name).parent.mkdir(parents=True, exist_ok=True)
    (into / name).write_text(name)
    return ""


def _store(folder: Path, **more: Effect) -> tuple[Store, FakeRun]:
    scripts: dict[str, Effect] = {"download": _fetched, "dpkg": _unpacked}
    runner = FakeRun(scripts | more)
    return Store(folder / "cache", runner=runner, free_mib=lambda where: 10_000), runner


def test_the_commands(tmp_path: Path, few: Pins) -> None:
    """apt-get keeps its state in our folder and reads the machine's sources; dpkg only unpacks."""
    store, runner = _store(tmp_path)
    made = store.ensure(few, "tool", "0.8")
    part = made.path.with_name(made.path.name + ".part")
    options = (
        "-o", f"Dir::State={part}/scratch/state", "-o", "Dir::State::status=/var/lib/dpkg/status",
        "-o", f"Dir::Cache={part}/scratch/cache", "-o", "Debug::NoLocking=true", "-o", "Acquire::Retries=2",
        "-o", "APT::Sandbox::User=root",
    )  # fmt: skip
    debs = part / "scratch" / "debs"
    assert [call.argv for call in runner.calls] == [
        ("apt-get", *options, "update", "-qq"),
        ("apt-get", *options, "download", "tool=1:0.8-1", "lib1.0=2"),
        ("dpkg", "-x", f"{debs}/tool_1%3a0.8-1_amd64.deb", f"{part}/artifact/files"),
        ("dpkg", "-x", f"{debs}/lib1.0_2_amd64.deb", f"{part}/artifact/files"),
    ]
    assert runner.calls[1].env["LC_ALL"] == "C.UTF-8", "its messages are read"


def test_libraries_are_found_by_the_binary(tmp_path: Path, few: Pins) -> None:
    """The environment leads to them."""
    made = _store(tmp_path)[0].ensure(few, "tool", "0.8")
    assert made.binary("tool").read_text() == "usr/bin/tool"
    assert made.env == {"LD_LIBRARY_PATH": str(made.path / "files/usr/lib/x86_64-linux-gnu")}


def test_progress(tmp_path: Path, few: Pins) -> None:
    """What, and how far."""
    heard = Heard()
    _store(tmp_path)[0].ensure(few, "tool", "0.8", heard)
    assert heard.lines == [
        "tool 0.8: reading the package lists",
        "tool 0.8: downloading packages 1/2",
        "tool 0.8: downloading packages 2/2",
        "tool 0.8: downloading packages 2/2",
        "tool 0.8: unpacking 1/2",
        "tool 0.8: unpacking 2/2",
        "tool 0.8: done",
    ]


def test_another_package_than_pinned(tmp_path: Path) -> None:
    """Nothing is unpacked and nothing is kept."""
    store, runner = _store(tmp_path)
    with pytest.raises(DigestMismatch) as caught:
        store.ensure(pins.load(write(tmp_path)), "tool", "0.8")
    assert (
        f"the package tool_1%3a0.8-1_amd64.deb has the digest {_digest(TOOL)}, but pins.toml [pin.tool.packages.0.8] "
        f"tool says {SHA}." in str(caught.value)
    )
    assert runner.said("dpkg") == []
    assert list((tmp_path / "cache" / "store").iterdir()) == []


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("E: Version '1:0.8-1' for 'tool' was not found", "tool 1:0.8-1"),
        ("E: Unable to locate package tool", "tool"),
    ],
)
def test_a_package_that_is_not_offered(tmp_path: Path, few: Pins, output: str, missing: str) -> None:
    """Another release, or replaced: say which, how to see what there is, and the way out."""
    store, _ = _store(tmp_path, download=fails(output))
    with pytest.raises(PackageGone) as caught:
        store.ensure(few, "tool", "0.8")
    assert str(caught.value) == (
        f"tool 0.8 needs the Debian package {missing}, which this machine's sources do not offer: it is another Debian "
        "release, or a newer version has replaced it. 'apt-cache madison tool' shows what they offer; raise the pin in "
        "pins.toml, or copy a cache folder that has it and set EDGEGATE_CACHE."
    )


def test_no_network(tmp_path: Path, few: Pins) -> None:
    """To apt-get unreachable lists are a warning, and then the package is unknown; we know better."""
    warned: Effect = lambda call: "W: Failed to fetch x  Temporary failure resolving 'deb.test'\n"  # noqa: E731
    store, _ = _store(tmp_path, update=warned, download=fails("E: Unable to locate package tool"))
    with pytest.raises(
        NoNetwork, match=r"tool 0\.8 needs Debian packages\. .* the Debian package source cannot be reached"
    ):
        store.ensure(few, "tool", "0.8")


def test_no_network_while_downloading(tmp_path: Path, few: Pins) -> None:
    """The connection broke after the lists were read."""
    store, _ = _store(tmp_path, download=fails("E: Failed to fetch x  Could not connect to deb.test:80"))
    with pytest.raises(NoNetwork, match=r"last seen: E: Failed to fetch x  Could not connect to deb\.test:80"):
        store.ensure(few, "tool", "0.8")


def test_another_failure(tmp_path: Path, few: Pins) -> None:
    """Its own words."""
    store, _ = _store(tmp_path, download=fails("E: something else"))
    with pytest.raises(BuildFailed, match="E: something else"):
        store.ensure(few, "tool", "0.8")


def test_apt_get_leaves_nothing(tmp_path: Path, few: Pins) -> None:
    """Success without a file is none."""
    store, _ = _store(tmp_path, download=lambda call: "")
    with pytest.raises(BuildFailed, match="apt-get left 0 files of tool, not one"):
        store.ensure(few, "tool", "0.8")


def test_no_debian(tmp_path: Path, few: Pins) -> None:
    """The fix is in the error."""
    store, _ = _store(tmp_path, update=absent)
    with pytest.raises(ToolMissing) as caught:
        store.ensure(few, "tool", "0.8")
    assert str(caught.value) == (
        "tool 0.8 needs apt-get: it is not on PATH. Debian packages need apt-get and dpkg, as on Debian 12."
    )
