"""`edgegate doctor`: each finding with its fix, and what stops a run."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.cli import checks, main
from edgegate.cli.checks import Finding, examine
from edgegate.cli.machine import Machine, attempt, which
from edgegate.command import Completed
from pin_file import write

Captured = pytest.CaptureFixture[str]

FILES = {
    "proc/self/cgroup": "0::/\n",
    "proc/filesystems": "nodev\tsysfs\nnodev\ttmpfs\n",
    "proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:    8388608 kB\n",
    "proc/sys/kernel/osrelease": "6.1.0\n",
    "proc/modules": "nf_tables 1 0 - Live\n",
}


def _answers(refused: dict[str, str]) -> Callable[[Sequence[str]], Completed]:
    """Return what runs a command: one that has a word of `refused` fails with that text."""

    def attempt(argv: Sequence[str]) -> Completed:
        for word, text in refused.items():
            if word in argv:
                return Completed(tuple(argv), 1, "", text)
        return Completed(tuple(argv), 0, "pip 23.2.1 from x\n", "")

    return attempt


@pytest.fixture
def healthy(tmp_path: Path) -> Machine:
    """Return a machine with nothing to complain about, and everything built."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Machine(
        cache=tmp_path / "cache",
        root=tmp_path,
        architecture="x86_64",
        is_root=True,
        attempt=_answers({}),
        which=lambda program: None if program == "nft" else f"/usr/bin/{program}",
        go=lambda: "1.26.8",
        free_mib=lambda folder: 20_000,
    )


def _bad(machine: Machine) -> dict[str, Finding]:
    return {found.what: found for found in examine(machine) if not found.ok}


def test_a_healthy_machine(healthy: Machine) -> None:
    """Everything is looked at, and nothing is wrong."""
    assert [(found.what, found.seen) for found in examine(healthy)] == [
        ("architecture", "x86_64"),
        ("namespaces", "pid, net and mount can be made as root"),
        ("kernel: veth", "can be made"),
        ("kernel: bridge", "can be made"),
        ("kernel: nf_tables", "kernel 6.1.0 has the module"),
        ("kernel: tmpfs", "in /proc/filesystems"),
        ("memory", "8192 MiB available"),
        ("disk", f"20000 MiB free at {healthy.cache}"),
        ("tool: go", "1.26.8 on PATH; the pin 'go' is used where a module asks for a newer one"),
        ("tool: pip", "pip 23.2.1"),
        ("tool: ip", "/usr/bin/ip"),
        ("tool: unshare", "/usr/bin/unshare"),
        ("tool: setsid", "/usr/bin/setsid"),
        ("tool: nsenter", "/usr/bin/nsenter"),
        ("tool: apt-get", "/usr/bin/apt-get"),
        ("tool: dpkg", "/usr/bin/dpkg"),
    ]
    assert _bad(healthy) == {}


def test_nothing_is_tried_outside_of_throw_away_namespaces(healthy: Machine) -> None:
    """The doctor changes nothing; an ordinary user gets a user namespace for it."""
    ran: list[tuple[str, ...]] = []

    def attempt(argv: Sequence[str]) -> Completed:
        ran.append(tuple(argv))
        return Completed(tuple(argv), 0, "pip 1 x", "")

    nft = healthy.root / "nft"
    examine(replace(healthy, attempt=attempt, is_root=False, nft=nft, nft_env={"LD_LIBRARY_PATH": "/l"}))
    sandbox = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")
    assert ran[:4] == [
        (*sandbox, "true"),
        (*sandbox, "ip", "link", "add", "name", "edgegate0", "type", "veth"),
        (*sandbox, "ip", "link", "add", "name", "edgegate0", "type", "bridge"),
        (*sandbox, "env", "LD_LIBRARY_PATH=/l", str(nft), "add", "table", "ip", "edgegate"),
    ]


def test_another_architecture(healthy: Machine) -> None:
    """The digests are those of one."""
    found = _bad(replace(healthy, architecture="aarch64"))["architecture"]
    assert (found.seen, found.fix, found.stops) == (
        "aarch64",
        "All pins are for linux/amd64; use an x86_64 machine.",
        True,
    )


def test_user_namespaces_are_forbidden(healthy: Machine) -> None:
    """The setting that forbids them is named."""
    setting = healthy.root / "proc/sys/kernel/unprivileged_userns_clone"
    setting.write_text("0\n")
    refused = _answers({"unshare": "unshare: unshare failed: Operation not permitted"})
    found = _bad(replace(healthy, attempt=refused, is_root=False))["namespaces"]
    assert found.seen == "unshare: unshare failed: Operation not permitted: kernel.unprivileged_userns_clone is 0"
    assert found.fix == "Run as root, or `sysctl -w kernel.unprivileged_userns_clone=1` as root."
    assert found.stops


def test_without_unshare_nothing_can_be_tried(healthy: Machine) -> None:
    """The package that has it is named."""
    bad = _bad(replace(healthy, which=lambda program: None if program == "unshare" else "/usr/bin/x"))
    assert bad["namespaces"].seen == "there is no unshare to try it with"
    assert bad["namespaces"].fix == "Install the package util-linux: `apt-get install util-linux` as root on Debian."
    assert bad["tool: unshare"].seen == "not found"


@pytest.mark.parametrize("kind", ["veth", "bridge"])
def test_a_kernel_without_links(healthy: Machine, kind: str) -> None:
    """The kernel's words, and the module."""
    found = _bad(replace(healthy, attempt=_answers({kind: "Error: Unknown device type."})))[f"kernel: {kind}"]
    assert found.seen == "Error: Unknown device type."
    assert found.fix == f"Load the kernel module: `modprobe {kind}` as root, on the host where this is a container."


def test_a_kernel_without_nf_tables(healthy: Machine) -> None:
    """Tried with the pinned nft where it is there."""
    machine = replace(
        healthy, nft=Path("/store/nft"), attempt=_answers({"/store/nft": "netlink: Protocol not supported"})
    )
    found = _bad(machine)["kernel: nf_tables"]
    assert (found.seen, found.stops) == ("netlink: Protocol not supported", True)
    assert found.fix == "Load the kernel module: `modprobe nf_tables` as root."


def test_nf_tables_cannot_be_told(healthy: Machine) -> None:
    """No nft and no list of modules: not known is not broken."""
    (healthy.root / "proc/modules").write_text("")
    found = _bad(healthy)["kernel: nf_tables"]
    assert (found.seen, found.stops) == ("cannot be told without nft", False)
    assert found.fix.startswith("Run `edgegate build nftables`, then `edgegate doctor` again")


def test_a_kernel_without_tmpfs(healthy: Machine) -> None:
    """There is no way round it."""
    (healthy.root / "proc/filesystems").write_text("nodev\tdevtmpfs\n")
    found = _bad(healthy)["kernel: tmpfs"]
    assert (found.seen, found.fix) == ("not in /proc/filesystems", "Use a kernel with CONFIG_TMPFS.")


@pytest.mark.parametrize(("kib", "seen", "stops"), [(4193280, "4095", False), (3144704, "3071", True)])
def test_too_little_memory(healthy: Machine, kib: int, seen: str, stops: bool) -> None:
    """An edge starts with less than it is comfortable with, but not with less than it takes."""
    (healthy.root / "proc/meminfo").write_text(f"MemAvailable:    {kib} kB\n")
    found = _bad(healthy)["memory"]
    assert (found.seen, found.stops) == (f"{seen} MiB available", stops)
    assert found.fix == ("End what uses it, or give the machine more; an edge needs 3072 MiB, tests with it 4096.")


def test_a_container_with_too_little_memory(healthy: Machine) -> None:
    """The machine has enough, the container may not use it; the files that the kernel keeps for it are no use."""
    folder = healthy.root / "sys/fs/cgroup"
    folder.mkdir(parents=True)
    (folder / "memory.max").write_text(f"{4096 * 2**20}\n")
    (folder / "memory.current").write_text(f"{3096 * 2**20}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {500 * 2**20}\n")
    assert _bad(healthy)["memory"].seen == "1500 MiB available"


def test_too_little_disk(healthy: Machine, tmp_path: Path) -> None:
    """A first build needs much more than a run."""
    few = pins.load(write(tmp_path))
    empty = replace(healthy, free_mib=lambda folder: 15_359, missing=[few.pin("server"), few.pin("tool")])
    assert _bad(empty)["disk"].fix == (
        "15360 MiB are needed to build server, tool. Free some, or set EDGEGATE_CACHE to a folder on a larger disk."
    )
    full = _bad(replace(healthy, free_mib=lambda folder: 1023))["disk"]
    assert full.seen == f"1023 MiB free at {healthy.cache}"
    assert full.fix.startswith("1024 MiB are needed for logs and reports.")


@pytest.mark.parametrize(
    ("version", "seen"),
    [(None, "not on PATH; the pin 'go' is used"), ("1.20.14", "1.20.14 on PATH is too old; the pin 'go' is used")],
)
def test_go_may_be_missing(healthy: Machine, version: str | None, seen: str) -> None:
    """The pinned one stands in for it."""
    findings = {found.what: found for found in examine(replace(healthy, go=lambda: version))}
    assert (findings["tool: go"].ok, findings["tool: go"].seen) == (True, seen)


def test_tools_stop_a_run_only_where_they_are_needed(healthy: Machine, tmp_path: Path) -> None:
    """apt-get and pip fetch what is missing, and nothing is missing once everything is built."""
    few = pins.load(write(tmp_path))
    bare = replace(healthy, which=lambda program: None, attempt=_answers({"pip": "No module named pip"}))
    built, empty = _bad(bare), _bad(replace(bare, missing=[few.pin("server"), few.pin("tool")]))
    names = ("tool: ip", "tool: setsid", "tool: nsenter", "tool: apt-get", "tool: dpkg", "tool: pip")
    assert [built[name].stops for name in names] == [True, True, True, False, False, False]
    assert [empty[name].stops for name in names] == [True, True, True, True, True, True]
    assert built["tool: pip"].seen == "No module named pip"
    assert "python3 -m venv" in built["tool: pip"].fix
    assert built["tool: ip"].fix == "Install the package iproute2: `apt-get install iproute2` as root on Debian."


@pytest.mark.parametrize(
    ("finding", "status", "said"),
    [
        (Finding("disk", True, "much"), 0, "An edge can run here."),
        (Finding("disk", False, "little", "Free some.", stops=False), 0, "An edge can run here."),
        (Finding("disk", False, "none", "Free some."), 1, "An edge cannot run here as long as a finding says 'stops'."),
    ],
)
def test_only_what_stops_a_run_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, finding: Finding, status: int, said: str
) -> None:
    """A note is shown with its fix all the same."""
    monkeypatch.setattr("edgegate.cli.doctor.examine", lambda machine: [finding])
    assert main(["doctor"]) == status
    shown = capsys.readouterr()
    assert shown.err == said + "\n"
    assert ("→ Free some." in shown.out) is not finding.ok
    assert main(["doctor", "--json"]) == status
    data = json.loads(capsys.readouterr().out)
    assert data["ready"] is (status == 0)
    assert data["findings"][0]["what"] == "disk"


def test_every_finding_that_can_be_bad_has_a_fix(healthy: Machine) -> None:
    """The worst machine: whatever is not right says what to do."""
    worst = replace(
        healthy,
        root=healthy.root / "nowhere",
        architecture="riscv64",
        which=lambda program: None,
        attempt=lambda argv: Completed(tuple(argv), 1, "", ""),
        free_mib=lambda folder: 0,
    )
    bad = _bad(worst)
    assert len(bad) >= len(checks.CHECKS)
    assert [found.what for found in bad.values() if not (found.fix and found.seen)] == []


def test_a_program_is_looked_for_where_the_lab_will(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `ip` in an sbin folder that is not on PATH is none for a lab."""
    (tmp_path / "ip").write_text("#!/bin/sh")
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert which("ip") is None
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}")
    assert which("ip") == f"{tmp_path}/ip"


def test_commands_are_tried_with_the_sbin_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian leaves them out of an ordinary user's PATH; a program that is not there is an answer, not a crash."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert which("no-such-program") is None
    assert attempt(["sh", "-c", "echo $PATH"]).stdout.strip() == "/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    assert attempt(["no-such-program"]).status == 127
