"""How a pinned wheel becomes a binary."""

import sys
import zipfile
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.wheel import file_digest
from edgegate.errors import BuildFailed, DigestMismatch, NoNetwork, ToolMissing
from edgegate.pins import Pins
from fake_run import Call, Effect, FakeRun, absent, fails
from pin_file import SHA, spoiled, write


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Return a wheel with an executable and a text."""
    path = tmp_path / "proxy_server-2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode in (("proxy/bin/proxy", 0o755), ("proxy/README", 0o644)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, f"this is {name}")
    return path


def _pins(folder: Path, wheel: Path) -> Pins:
    return pins.load(write(folder, spoiled(f'"2.0" = "{SHA}"', f'"2.0" = "{file_digest(wheel)}"')))


def _served(*wheels: Path) -> Effect:
    def effect(call: Call) -> str:
        for wheel in wheels:
            (Path(call.option("--dest")) / wheel.name).write_bytes(wheel.read_bytes())
        return ""

    return effect


def _store(folder: Path, effect: Effect) -> tuple[Store, FakeRun]:
    runner = FakeRun({"pip": effect})
    return Store(folder / "cache", runner=runner, free_mib=lambda where: 10_000), runner


def test_the_command_and_the_result(tmp_path: Path, wheel: Path) -> None:
    """Exactly the pinned version, no dependencies, no build; modes are kept."""
    store, runner = _store(tmp_path, _served(wheel))
    made = store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")
    scratch = made.path.with_name(made.path.name + ".part") / "scratch"
    assert [call.argv for call in runner.calls] == [
        (
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
            "--disable-pip-version-check", "--retries", "2", "--dest", str(scratch), "proxy-server==2.0",
        )
    ]  # fmt: skip
    assert made.binary("proxy").read_text() == "this is proxy/bin/proxy"
    assert made.binary("proxy").stat().st_mode & 0o111
    assert not made.file("proxy/README").stat().st_mode & 0o111


def test_another_wheel_than_pinned(tmp_path: Path, wheel: Path) -> None:
    """It is not even unpacked."""
    store, _ = _store(tmp_path, _served(wheel))
    few = pins.load(write(tmp_path))
    with pytest.raises(DigestMismatch) as caught:
        store.ensure(few, "proxy", "2.0")
    assert f"the wheel {wheel.name} has the digest {file_digest(wheel)}, but pins.toml [pin.proxy.digests] 2.0" in str(
        caught.value
    )
    assert list((tmp_path / "cache" / "store").iterdir()) == []


def test_no_network(tmp_path: Path, wheel: Path) -> None:
    """pip's own words for it."""
    output = "WARNING: Retrying: Failed to establish a new connection\nERROR: No matching distribution found"
    store, _ = _store(tmp_path, fails(output))
    with pytest.raises(NoNetwork, match=r"needs the wheel proxy-server==2\.0\. .* the Python package index cannot be"):
        store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")


def test_a_version_that_is_not_served(tmp_path: Path, wheel: Path) -> None:
    """That is no network fault."""
    store, _ = _store(tmp_path, fails("ERROR: No matching distribution found for proxy-server==2.0"))
    with pytest.raises(BuildFailed, match=r"ERROR: No matching distribution found"):
        store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")


def test_pip_leaves_nothing(tmp_path: Path, wheel: Path) -> None:
    """Success without a file is none."""
    store, _ = _store(tmp_path, _served())
    with pytest.raises(BuildFailed, match="pip left 0 wheels, not one"):
        store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")


def test_no_interpreter(tmp_path: Path, wheel: Path) -> None:
    """The fix is in the error."""
    store, _ = _store(tmp_path, absent)
    with pytest.raises(ToolMissing, match=r"it is not on PATH\. Install pip for the Python that runs edgegate"):
        store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")


def test_an_interpreter_without_pip(tmp_path: Path, wheel: Path) -> None:
    """Debian's python3 has none unless it is asked for."""
    store, _ = _store(tmp_path, fails(f"{sys.executable}: No module named pip"))
    with pytest.raises(ToolMissing, match=r"proxy 2\.0 needs pip: .* No module named pip\. Install pip for the Python"):
        store.ensure(_pins(tmp_path, wheel), "proxy", "2.0")
