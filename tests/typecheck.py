"""Which class is meant to fit which Protocol. Nothing here is run: `mypy` reads it, and fails where one does not fit.

Factories that fixtures return are checked where they are returned; here is what meets its Protocol elsewhere.
"""

from _pytest.terminal import TerminalReporter

from edgegate.artifacts import Drawn, Lines, Progress, Quiet
from edgegate.artifacts.process import Run, run_step
from edgegate.clock import MONOTONIC, Clock
from edgegate.edge import Edge
from edgegate.edge.backends import EdgeBackend, Opener
from edgegate.edge.backends.attach import AttachBackend
from edgegate.edge.backends.attach import open_backend as open_attach
from edgegate.edge.backends.host import HostBackend
from edgegate.edge.backends.host import open_backend as open_host
from edgegate.fixtures.edge import EdgeHandle, EdgeOpener, HowOpened
from edgegate.fixtures.sources import Told
from edgegate.lab.node.box import Box, Host
from edgegate.lab.node.container import Process
from edgegate.lab.node.ending import Killable
from edgegate.lab.node.prober import Listener
from edgegate.lab.node.worker import PodWorker
from edgegate.probes.convergence import StageClock
from edgegate.records import DiagnosticSource
from edgegate.report.gate import HasCourse
from edgegate.report.terminal import Terminal
from fakes import FakeClock


def edges(edge: Edge, backend: EdgeBackend) -> tuple[EdgeHandle, EdgeOpener, HowOpened]:
    """A real edge is what the plugin needs, and opening one is how it gets it."""
    return edge, Edge.open, backend


def backends(host: HostBackend, attach: AttachBackend) -> tuple[EdgeBackend, EdgeBackend]:
    """An edge is told by its backend alone where it runs."""
    return host, attach


def openers() -> tuple[Opener, Opener]:
    """Each backend's module opens its edges."""
    return open_host, open_attach


def clocks(fake: FakeClock) -> tuple[Clock, Clock]:
    """Waits take the real clock and the tests' own."""
    return MONOTONIC, fake


def progresses(quiet: Quiet, lines: Lines, drawn: Drawn) -> tuple[Progress, Progress, Progress]:
    """The store tells its progress to any of them."""
    return quiet, lines, drawn


def runners() -> Run:
    """Builders run their steps with it."""
    return run_step


def reports(told: Told, clock: StageClock, terminal: TerminalReporter) -> tuple[DiagnosticSource, HasCourse, Terminal]:
    """Bundles, gates and the summary take them."""
    return told, clock, terminal


def pods(worker: PodWorker, box: Box, process: Process) -> tuple[Host, Listener, Killable]:
    """The node agent's parts know each other by these only."""
    return worker, box, process
