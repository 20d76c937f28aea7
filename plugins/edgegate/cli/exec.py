"""`edgegate exec -- COMMAND`: run a command inside the edge's namespaces."""

import argparse
import subprocess

from edgegate.cli import labs
from edgegate.cli.talk import Talk
from edgegate.lab import Tools, sandbox
from edgegate.lab.control import enter_argv


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    labs.add_name(parser)
    parser.add_argument("argv", nargs="+", metavar="COMMAND", help="Program and arguments, after --")


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Run the command with our terminal and return its exit status; with `--json` its output is captured."""
    lab = labs.chosen(args.name)
    sandbox.ensure_privileges(lab.record.launcher_pid)
    argv = [*enter_argv(lab, Tools()), *args.argv]
    if not talk.as_json:
        return _status(subprocess.run(argv, check=False).returncode)
    done = subprocess.run(argv, check=False, capture_output=True, encoding="utf-8", errors="replace")
    status = _status(done.returncode)
    talk.result({"status": status, "stdout": done.stdout, "stderr": done.stderr}, "")
    return status


def _status(returned: int) -> int:
    """Return an exit status; one that a signal ended has 128 and the signal's number, as in a shell."""
    return 128 - returned if returned < 0 else returned
