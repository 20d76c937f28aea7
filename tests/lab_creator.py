"""Makes a lab with a few children and holds it until its standard input ends; meant to be killed meanwhile.

Arguments: folder of the lab, name. Writes `up` when everything runs.
"""

import sys
from pathlib import Path

from edgegate.lab import Ready, sandbox
from lab_parts import SERVER, SLEEP, child


def main() -> None:
    """Create, start, hold."""
    lab = sandbox.create(Path(sys.argv[1]), sys.argv[2], needs_mib=0)
    for n in range(3):
        lab.start(child(f"sleeper-{n}", SLEEP, sys.argv[2]))
    lab.start(child("web", SERVER, "80", sys.argv[2], ready=Ready("tcp", "127.0.0.1:80")))
    sys.stdout.write("up\n")
    sys.stdout.flush()
    sys.stdin.read()
    lab.release()


if __name__ == "__main__":
    main()
