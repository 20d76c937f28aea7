"""The command itself: what it knows, how it ends, and what it prints where."""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest

from edgegate import cli
from edgegate.cli import COMMANDS, main
from edgegate.cli.talk import Talk
from edgegate.errors import LabFault, UsageFault

Captured = pytest.CaptureFixture[str]
Run = Callable[[Namespace, Talk], int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Return a function that makes a command named `fake` of a function."""

    def make(run: Run) -> None:
        module = ModuleType("edgegate.cli.fake")
        vars(module).update(run=run, arguments=lambda parser: parser.add_argument("--long-option"))
        monkeypatch.setitem(sys.modules, "edgegate.cli.fake", module)
        monkeypatch.setitem(COMMANDS, "fake", "Do nothing")

    return make


def _raising(error: BaseException) -> Run:
    def run(args: Namespace, talk: Talk) -> int:
        raise error

    return run


def test_help_names_every_command(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--help"])
    said = capsys.readouterr().out
    assert raised.value.code == 0
    assert [name for name, summary in COMMANDS.items() if name not in said or summary not in said] == []


def test_whoever_names_no_command_is_told_them(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as raised:
        main([])
    said = capsys.readouterr()
    assert (raised.value.code, said.out) == (2, "")
    assert [name for name, summary in COMMANDS.items() if f"  {name} " not in said.err or summary not in said.err] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_a_json_form(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as raised:
        main([name, "--help"])
    assert raised.value.code == 0
    assert "One JSON object on stdout, progress on stderr" in " ".join(capsys.readouterr().out.split())
    assert callable(import_module(f"edgegate.cli.{name}").run)


def test_help_of_one_command_imports_no_other(capsys: Captured) -> None:
    script = """if True:
        import sys
        from edgegate.cli import main
        try:
            main(["down", "--help"])
        except SystemExit:
            heavy = {"kubernetes", "httpx", "edgegate.edge", "edgegate.cli.bench"} & set(sys.modules)
            sys.exit(" ".join(heavy))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("words", [[], ["upp"], ["status", "--jso"], ["fake", "--long"], ["--json", "status"]])
def test_what_cannot_be_meant_is_2(words: list[str], command: Callable[[Run], None], capsys: Captured) -> None:
    command(lambda args, talk: 0)
    with pytest.raises(SystemExit) as raised:
        main(words)
    assert raised.value.code == 2
    assert capsys.readouterr().err.startswith("usage: edgegate")


@pytest.mark.parametrize("words", [["--json"], ["upp", "--json"], ["status", "--json", "--name"]])
def test_what_cannot_be_meant_is_one_object_for_a_program(words: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(words)
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert answer["error"] == "UsageFault"
    assert said.err.endswith(f"edgegate: {answer['text']}\n")


@pytest.mark.parametrize("status", [0, 1, 75])
def test_the_status_is_the_commands(status: int, command: Callable[[Run], None]) -> None:
    command(lambda args, talk: status)
    assert main(["fake"]) == status


@pytest.mark.parametrize(("error", "status"), [(UsageFault("no such gate"), 2), (LabFault("no [lab] here"), 75)])
def test_an_error_is_told_on_stderr(
    error: Exception, status: int, command: Callable[[Run], None], capsys: Captured
) -> None:
    command(_raising(error))
    assert main(["fake"]) == status
    assert capsys.readouterr() == ("", f"edgegate: {error}\n")


def test_an_error_is_one_object_for_a_program(command: Callable[[Run], None], capsys: Captured) -> None:
    command(_raising(LabFault("no lab")))
    assert main(["fake", "--json"]) == 75
    said = capsys.readouterr()
    assert json.loads(said.out) == {"error": "LabFault", "text": "no lab"}
    assert said.err == "edgegate: no lab\n"


def test_an_interruption_is_130(command: Callable[[Run], None], capsys: Captured) -> None:
    command(_raising(KeyboardInterrupt()))
    assert main(["fake"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")
    assert main(["fake", "--json"]) == 130
    assert json.loads(capsys.readouterr().out) == {"error": "Interrupted", "text": "interrupted"}


def test_an_interruption_while_the_command_is_still_being_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Loading takes a second on a busy machine."""

    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", interrupted)
    assert main(["up"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_an_error_of_ours_is_not_hidden(command: Callable[[Run], None]) -> None:
    command(_raising(ValueError("a bug")))
    with pytest.raises(ValueError, match="a bug"):
        main(["fake"])


def test_a_result_is_told_once(command: Callable[[Run], None], capsys: Captured) -> None:
    def run(args: Namespace, talk: Talk) -> int:
        talk.say("working")
        talk.result({"done": True}, "it is done")
        return 0

    command(run)
    main(["fake"])
    assert capsys.readouterr() == ("it is done\n", "working\n")
    main(["fake", "--json"])
    assert capsys.readouterr() == ('{"done": true}\n', "working\n")


def test_progress_of_a_build_is_lines_on_stderr(capsys: Captured) -> None:
    with Talk(as_json=True).progress() as progress:
        progress.say("1 of 2: etcd 3.6.16")
    assert capsys.readouterr() == ("", "1 of 2: etcd 3.6.16\n")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """`edgegate … | head -1`."""
    script = """if True:
        import sys
        from types import ModuleType
        from edgegate import cli
        fake = ModuleType("fake")
        fake.arguments = lambda parser: None
        fake.run = lambda args, talk: sys.stdout.write("line\\n" * 100_000) and 0
        sys.modules["edgegate.cli.fake"] = fake
        cli.COMMANDS["fake"] = "Do"
        sys.exit(cli.main(["fake"]))
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=20)) == (b"", 0)


def test_the_package_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "edgegate.cli", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: edgegate")
    assert cli.__doc__
