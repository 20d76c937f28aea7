"""`edgegate engine`: a Docker engine of edgegate's own, for machines where none runs, as in continuous integration."""

import argparse
import os
import shutil
from pathlib import Path

from edgegate import arguments as table
from edgegate import pins as pin_files
from edgegate.artifacts import Store
from edgegate.cli.talk import EXIT_DONE, Talk


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("verb", choices=("start", "stop"), help="Start it, or stop it with all that it runs")
    parser.add_argument("--data", type=Path, metavar="DIR", help="Its folder (built-in: `engine` in the cache)")
    parser.add_argument("--keep-data", action="store_true", help="With stop: let its images stay on the disk")
    table.add_arguments(parser, ("pins",))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Start or stop the engine; both can be called twice. A shell evaluates what a start says."""
    from edgegate.kind.daemon import Daemon

    settings = table.from_arguments(args, os.environ)
    daemon = Daemon((args.data or settings.cache / "engine").absolute())
    if args.verb == "stop":
        daemon.stop(keep_data=args.keep_data)
        talk.result({"stopped": daemon.host}, f"stopped {daemon.host}")
        return EXIT_DONE
    pins = pin_files.load(settings.pins)
    with talk.progress() as progress:
        engine = Store(settings.cache).ensure(pins, "docker-engine", pins.pin("docker-engine").default, progress)
    daemon.start(engine)
    variables = {"DOCKER_HOST": daemon.host}
    if shutil.which("docker") is None:
        variables["PATH"] = f"{engine.binary('docker').parent}:{os.environ.get('PATH', os.defpath)}"
    talk.result({"environment": variables}, "\n".join(f"export {key}={value}" for key, value in variables.items()))
    return EXIT_DONE
