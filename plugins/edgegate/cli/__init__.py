"""The `edgegate` command: one module of this package a subcommand, found by its name.

Every subcommand takes `--json`: one object on standard output, progress on standard error. Exit statuses: 0 done,
1 verdict fail (or drift, or a finding), 2 usage, 75 inconclusive because the surroundings broke, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from edgegate.cli.talk import EXIT_DONE, EXIT_INTERRUPTED, EXIT_UNAVAILABLE, EXIT_USAGE, Talk
from edgegate.errors import EdgegateError, UsageFault

COMMANDS = {
    "build": "Build or download what a run needs",
    "images": "Make the images that kind clusters need",
    "engine": "Run a Docker engine of our own",
    "pins": "Show every pinned version, its age, and why it is pinned",
    "doctor": "Check this machine and say how to fix what is missing",
    "up": "Start an edge and keep it",
    "down": "Stop a kept edge; nothing of it stays",
    "status": "Show the running edges and their parts",
    "logs": "Show the log of a part",
    "exec": "Run a command inside the edge",
    "matrix": "Run one gate over several version pairs and print the table",
    "corpus": "Show what the firewall's rules block, case by case",
    "compare": "Show two runs of the same gates side by side",
    "prove": "Show each gate red on each of its faults and green without",
    "bench": "Measure start, reuse, stop and memory of the edge",
}


class _Parser(argparse.ArgumentParser):
    """A parser that tells a program too what cannot be meant."""

    talk = Talk(as_json=False)
    """Where it is told."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end."""
        self.print_usage(sys.stderr)
        if self.prog == "edgegate":  # whoever names no command, or one that there is not, does not know them yet
            sys.stderr.writelines(f"  {name:<10} {summary}\n" for name, summary in COMMANDS.items())
        self.talk.error(UsageFault(message))
        self.exit(EXIT_USAGE)


def _parser(chosen: str | None, talk: Talk) -> argparse.ArgumentParser:
    """Return the parser; only the chosen command's module is imported, so that `--help` stays quick."""
    parser = _Parser(prog="edgegate", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.talk = talk
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False)
        command.talk = talk
        command.add_argument("--json", action="store_true", help="One JSON object on stdout, progress on stderr")
        if name == chosen:
            import_module(f"edgegate.cli.{name}").arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if word in COMMANDS), None)
    talk = Talk(as_json="--json" in words)  # for what is said before the words are understood
    try:
        args = _parser(chosen, talk).parse_args(words)
        talk = Talk(as_json=args.json)
        status: int = import_module(f"edgegate.cli.{args.command}").run(args, talk)
        sys.stdout.flush()
    except EdgegateError as error:
        talk.error(error)
        return EXIT_USAGE if isinstance(error, UsageFault) else EXIT_UNAVAILABLE
    except KeyboardInterrupt:
        talk.interrupted()
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `edgegate logs etcd | head`: whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left when it ends
        return EXIT_DONE
    return status
