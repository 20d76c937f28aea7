"""`python -m edgegate_operator --config FILE`."""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from edgegate_operator import faults
from edgegate_operator.config import ConfigFault, load
from edgegate_operator.settings import Settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="edgegate-operator", description="Reference operator of pytest-edgegate")
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML; see docs/operator.md")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="Switch a defect on; repeatable")
    parser.add_argument("--list-faults", action="store_true", help="Print every defect with one line, and end")
    parser.add_argument("--log-level", default="info", choices=["debug", "info", "warning"])
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; return the exit status: 0 done, 1 not started, 2 usage."""
    options = _parser().parse_args(argv)
    if options.list_faults:
        sys.stdout.writelines(f"{fault.name:28s} {fault.text}\n" for fault in faults.known())
        return 0
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    logging.getLogger("edgegate_operator").setLevel(options.log_level.upper())
    try:
        if options.config is None:
            raise ConfigFault("--config FILE is needed")
        settings = load(options.config, tuple(options.fault))
    except ConfigFault as fault:
        sys.stderr.write(f"edgegate-operator: {fault}\n")
        return 2
    return _run(settings)


def _run(settings: Settings) -> int:
    from edgegate_operator.core.kube import BadKubeconfig  # noqa: PLC0415 the client takes 0.3 s to import
    from edgegate_operator.manager import Manager, SamePlane  # noqa: PLC0415

    stopped = threading.Event()
    try:
        manager = Manager(settings)
        manager.start()
    except (BadKubeconfig, SamePlane, TimeoutError, OSError) as error:
        sys.stderr.write(f"edgegate-operator: not started: {error}\n")
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):  # only now: a start that hangs must end at the first signal
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    manager.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
