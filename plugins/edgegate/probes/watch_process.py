"""The process of a watch: reads targets and words from standard input, and answers on standard output.

It ends when its standard input does, so it never outlives the process that started it, however that ends.
"""

import pickle
import sys
from typing import IO

from edgegate.errors import WatchBroken
from edgegate.probes.watcher import Watcher
from edgegate.traffic import WatchReport

SWITCH = 0.0005
"""Seconds after which the thread that makes a report lets the watcher have Python's lock; 5 ms would be a gap."""

LOOKING = ("looking",)
"""The answer to the targets."""


def serve(words: IO[bytes], answers: IO[bytes]) -> None:
    """Watch until the words end. Answers are a report, or a text that says why there is none."""
    targets, timeout = pickle.load(words)  # noqa: S301 - what the process that started us writes
    watcher = Watcher(targets, timeout=timeout).start()
    answer: object = LOOKING
    while True:
        answers.write(pickle.dumps(answer))
        answers.flush()
        try:
            answer = _report(watcher, pickle.load(words))  # noqa: S301 - as above
        except EOFError:
            return


def _report(watcher: Watcher, word: str) -> WatchReport | str:
    try:
        return watcher.stop() if word == "stop" else watcher.report()
    except WatchBroken as broken:
        return broken.reason


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH)
    serve(sys.stdin.buffer, sys.stdout.buffer)
