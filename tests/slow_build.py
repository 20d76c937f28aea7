"""A build that takes as long as a test wants; run as a program, it builds the tool of the small pins.toml."""

import os
import sys
from pathlib import Path

from rich.console import Console

from edgegate import pins
from edgegate.artifacts import Lines, Store
from edgegate.artifacts.job import Job, Made
from edgegate.artifacts.store import Builder

# Tells its process id and goes on when the file `go` appears.
STEP = "echo $$ > {0}/pid.new; mv {0}/pid.new {0}/pid; while ! [ -e {0}/go ]; do sleep 0.02; done; echo whole > {1}"


def store(folder: Path) -> Store:
    """Return a store whose builder writes half of an artifact, notes that in the file `builds`, and waits."""

    def make(job: Job) -> Made:
        (job.into / "tool").write_text("half")
        with (folder / "builds").open("a") as builds:
            builds.write("x")
        step = STEP.format(folder, job.into / "tool")
        job.runner(["/bin/sh", "-c", step], env=dict(os.environ), cwd=job.scratch, log=job.log)
        return Made(binaries={"tool": "tool"})

    return Store(folder / "cache", builders={"deb": Builder(1, make)}, free_mib=lambda where: 1000)


if __name__ == "__main__":
    here = Path(sys.argv[1])
    listener = Lines(Console(soft_wrap=True))
    made = store(here).ensure(pins.load(here / "pins.toml"), "tool", "0.8", listener)
    listener.say(f"made {made.binary('tool').read_text()}")
