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
        return subprocess.run(argv, check=False).returncode
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    talk.result({"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}, "")
    return done.returncode
