"""Whoever may not make namespaces is told why, and what would help."""

import errno
import os
from pathlib import Path

import pytest

from edgegate.errors import SandboxNotPermitted
from edgegate.lab import privileges, syscalls

EPERM = "unshare: unshare failed: Operation not permitted\n"


def _setting(root: Path, name: str, value: str) -> None:
    file = root / "proc/sys" / name.replace(".", "/")
    file.parent.mkdir(parents=True)
    file.write_text(f"{value}\n")


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user.max_user_namespaces", "0", "10000"),
    ],
)
def test_a_setting_that_forbids_is_named(tmp_path: Path, name: str, value: str, fix: str) -> None:
    _setting(tmp_path, name, value)
    assert str(privileges.refused(EPERM, root=tmp_path)) == (
        f"the sandbox of the lab cannot be made: unshare: unshare failed: Operation not permitted: {name} is {value}. "
        f"Run as root, or `sysctl -w {name}={fix}` as root."
    )


def test_a_setting_that_permits_is_not_blamed(tmp_path: Path) -> None:
    _setting(tmp_path, "user.max_user_namespaces", "96365")
    assert "sysctl" not in str(privileges.refused(EPERM, root=tmp_path))


def test_a_container_is_told_how_to_be_started(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    assert str(privileges.refused(EPERM, root=tmp_path)) == (
        "the sandbox of the lab cannot be made: unshare: unshare failed: Operation not permitted: "
        "this is a container without the permission. Start the container with --privileged, or with "
        "--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined."
    )


def test_an_unknown_reason_is_told_as_it_is(tmp_path: Path) -> None:
    assert str(privileges.refused("warning\nunshare: mount /proc failed: No such device\n", root=tmp_path)) == (
        "the sandbox of the lab cannot be made: unshare: mount /proc failed: No such device. "
        "Run as root, or where ordinary users may make user namespaces."
    )


def test_several_threads_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privileges, "_threads", lambda: 3)
    assert str(privileges.refused("[Errno 22] Invalid argument", root=tmp_path)) == (
        "the sandbox of the lab cannot be made: [Errno 22] Invalid argument: this process has 3 threads. "
        "Run as root, or without what starts threads before the lab is made."
    )


def test_a_refusal_by_the_kernel_becomes_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(flags: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(privileges, "_may", lambda: False)
    monkeypatch.setattr(syscalls, "unshare", refuse)
    with pytest.raises(SandboxNotPermitted, match=r"cannot be made: \[Errno 1\] Operation not permitted"):
        privileges.ensure_privileges()


def test_nothing_is_entered_when_nothing_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privileges, "_may", lambda: True)
    monkeypatch.setattr(syscalls, "unshare", lambda flags: pytest.fail("entered a namespace"))
    privileges.ensure_privileges()
