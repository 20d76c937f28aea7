"""`edgegate logs PART`: the log of a part of the edge."""

import argparse
import sys
from pathlib import Path

from edgegate.cli import labs
from edgegate.cli.talk import EXIT_DONE, Talk
from edgegate.errors import NoSuchPart
from edgegate.lab import Lab


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    labs.add_name(parser)
    parser.add_argument("part", nargs="?", help="Component, or POD/CONTAINER; without it the parts are listed")
    parser.add_argument("--tail", type=_count, metavar="LINES", help="Only that many lines from the end")


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Print a log to standard output, or list what there is."""
    logs = _logs(labs.chosen(args.name))
    if args.part is None:
        talk.result({"parts": sorted(logs)}, "\n".join(sorted(logs)))
        return EXIT_DONE
    if args.part not in logs:
        raise NoSuchPart(args.part, sorted(logs))
    lines = logs[args.part].read_text(errors="replace").splitlines()
    lines = lines if args.tail is None else lines[max(0, len(lines) - args.tail) :]
    if talk.as_json:
        talk.result({"part": args.part, "lines": lines}, "")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return EXIT_DONE


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no number of lines. Accepted: 0, 1, 2 …")
    return int(text)


def _logs(lab: Lab) -> dict[str, Path]:
    """Return the log files by the names that users give: a component, or pod/container."""
    folder = lab.log("x").parent
    components = {file.stem: file for file in folder.glob("*.log")}
    containers = {f"{file.parent.name}/{file.stem}": file for file in folder.glob("pods/*/*.log")}
    return components | containers
