"""The memory that is available is the least of what machine and control groups have left."""

from pathlib import Path

import pytest

from edgegate.errors import NotEnoughMemory
from edgegate.lab import memory

MIB = 1 << 20


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the root of a machine that has 8 GiB available."""
    _write(tmp_path / "proc/meminfo", f"MemTotal: 1 kB\nMemAvailable:  {8 << 20} kB\n")
    _write(tmp_path / "proc/self/cgroup", "0::/user/run\n")
    return tmp_path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _group(folder: Path, limit: str, used_mib: int, cached_mib: int = 0) -> None:
    _write(folder / "memory.max", f"{limit}\n")
    _write(folder / "memory.current", f"{used_mib * MIB}\n")
    _write(folder / "memory.stat", f"anon 1\ninactive_file {cached_mib * MIB}\n")


def test_the_machine_alone(machine: Path) -> None:
    assert memory.available_mib(machine) == 8192


def test_a_group_without_a_limit(machine: Path) -> None:
    _group(machine / "sys/fs/cgroup/user/run", "max", 100)
    assert memory.available_mib(machine) == 8192


def test_our_group_has_less(machine: Path) -> None:
    _group(machine / "sys/fs/cgroup/user/run", str(2048 * MIB), 1500, cached_mib=500)
    assert memory.available_mib(machine) == 1048


def test_a_group_around_ours_has_less(machine: Path) -> None:
    _group(machine / "sys/fs/cgroup/user/run", "max", 100)
    _group(machine / "sys/fs/cgroup/user", str(1024 * MIB), 1000)
    assert memory.available_mib(machine) == 24


def test_the_first_version_of_control_groups(machine: Path) -> None:
    _write(machine / "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/run\n0::/\n")
    group = machine / "sys/fs/cgroup/memory/run"
    _write(group / "memory.limit_in_bytes", f"{512 * MIB}\n")
    _write(group / "memory.usage_in_bytes", f"{500 * MIB}\n")
    _write(group / "memory.stat", f"total_inactive_file {100 * MIB}\n")
    assert memory.available_mib(machine) == 112


def test_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_mib", lambda: 700)
    with pytest.raises(NotEnoughMemory) as raised:
        memory.require(3072)
    assert str(raised.value) == (
        "a lab needs 3072 MiB of memory, and 700 MiB are available. Nothing was started. "
        "End what uses the memory (`edgegate status` lists kept labs, `edgegate down` ends one)."
    )


def test_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_mib", lambda: 3072)
    memory.require(3072)
