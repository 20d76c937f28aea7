"""A command runs to its end, with the environment and input that it was given and no other."""

import sys
from pathlib import Path

import pytest

from edgegate import command
from edgegate.clock import wait_until
from edgegate.errors import CommandFailed, EnvironmentFault

PYTHON = sys.executable


def _script(text: str, *words: str) -> list[str]:
    return [PYTHON, "-S", "-c", text, *words]


def test_it_tells_how_it_ended() -> None:
    argv = _script("import sys; print('out'); print('err', file=sys.stderr)")
    done = command.run(argv)
    assert (done.argv, done.status, done.stdout, done.stderr) == (tuple(argv), 0, "out\n", "err\n")


def test_the_environment_is_the_whole_one() -> None:
    done = command.run(_script("import os; print(sorted(os.environ.items()))"), env={"LC_ALL": "C"})
    assert done.stdout == "[('LC_ALL', 'C')]\n"


def test_the_environment_is_inherited_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "yes")
    assert command.run(_script("import os; print(os.environ['OURS'])")).stdout == "yes\n"


def test_words_are_not_read_by_a_shell() -> None:
    done = command.run(_script("import sys; print(sys.argv[1:])", "$HOME; exit 3", "*"))
    assert done.stdout == "['$HOME; exit 3', '*']\n"


def test_standard_input_is_the_text_or_empty() -> None:
    assert command.run(_script("print(input())"), stdin="text").stdout == "text\n"
    assert command.run(_script("import sys; print(repr(sys.stdin.read()))")).stdout == "''\n"


def test_it_runs_where_it_is_told(tmp_path: Path) -> None:
    assert command.run(_script("import os; print(os.getcwd())"), cwd=tmp_path).stdout == f"{tmp_path}\n"


def test_another_status_is_an_error_with_everything_it_said() -> None:
    argv = _script("import sys; print('half'); sys.exit('no such route')")
    with pytest.raises(CommandFailed) as raised:
        command.run(argv)
    assert str(raised.value) == f"command ended with status 1: {' '.join(argv)}\nhalf\nno such route"
    assert (raised.value.status, raised.value.argv) == (1, argv)
    assert isinstance(raised.value, EnvironmentFault)


def test_another_status_may_be_asked_for() -> None:
    assert command.run(_script("raise SystemExit(7)"), check=False).status == 7
    assert command.run(_script("import os; os.kill(os.getpid(), 9)"), check=False).status == -9


def test_a_program_that_is_not_there_is_127_as_in_a_shell() -> None:
    with pytest.raises(CommandFailed) as raised:
        command.run(["/nowhere/ip", "link"], check=False)
    assert str(raised.value) == (
        "command ended with status 127: /nowhere/ip link\n[Errno 2] No such file or directory: '/nowhere/ip'"
    )


def test_a_program_that_may_not_be_run_is_126_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "ip").touch(mode=0o600)
    with pytest.raises(CommandFailed, match="Permission denied") as raised:
        command.run([str(tmp_path / "ip")])
    assert raised.value.status == 126


def test_what_takes_too_long_is_killed() -> None:
    with pytest.raises(CommandFailed) as raised:
        command.run(_script("import signal; signal.pause()"), timeout=0.3)
    assert str(raised.value).endswith("\nkilled after 0.3 s")
    assert raised.value.status == -9


def test_what_it_has_started_is_killed_with_it(tmp_path: Path) -> None:
    told, sleep = tmp_path / "pid", "import signal; signal.pause()"
    text = (
        "import pathlib, subprocess, sys;"
        f"child = subprocess.Popen([sys.executable, '-S', '-c', {sleep!r}]);"
        "pathlib.Path(sys.argv[1]).write_text(str(child.pid)); child.wait()"
    )
    with pytest.raises(CommandFailed, match="killed after 1 s"):
        command.run(_script(text, str(told)), timeout=1)
    wait_until("its child gone", lambda: not _runs(int(told.read_text())), deadline=2)


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_output_that_is_no_text_is_no_trouble() -> None:
    done = command.run(_script("import sys; sys.stdout.buffer.write(b'a\\xff\\n')"))
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}\n"
