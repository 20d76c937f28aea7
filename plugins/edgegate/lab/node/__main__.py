"""`python -m edgegate.lab.node --config FILE`: run the node agent until it is told to stop."""

import argparse
import logging
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from shutil import which

from edgegate.errors import EdgegateError, ToolMissing
from edgegate.lab.node.agent import Agent
from edgegate.lab.node.config import Images, NodeConfig, Tools
from edgegate.lab.node.health import serve


def main() -> int:
    """Run the agent; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m edgegate.lab.node", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file, see edgegate.lab.node.config")
    options = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s")
    # A blocked signal would stay blocked in every container, where Envoy would never see its SIGTERM.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    try:
        config = NodeConfig.load(options.config)
        agent = Agent(replace(config, tools=_found(config.tools)), Images(options.config))
        serve(config.health, agent.missing)
        agent.begin()
    except EdgegateError as fault:
        logging.getLogger("edgegate.lab.node").error("%s", fault)
        return 1
    # Containers are tied to this process by the kernel, so there is nothing to put in order.
    told.wait()
    return 0


def _found(tools: Tools) -> Tools:
    """Return the tools with whole paths: a container's PATH must not decide what starts it."""
    found = {}
    for name in ("bwrap", "ip", "nsenter"):
        path = which(getattr(tools, name))
        if path is None:
            raise ToolMissing(
                getattr(tools, name),
                what="the node agent",
                problem="it is not on PATH",
                fix="`edgegate doctor` says where it comes from.",
            )
        found[name] = path
    return replace(tools, **found)


if __name__ == "__main__":
    sys.exit(main())
