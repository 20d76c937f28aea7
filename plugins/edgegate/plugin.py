"""The pytest hooks of edgegate; nothing else. What a hook does is in `options`, `report`, `diagnostics`, `fixtures`."""

import os
import uuid
from collections.abc import Generator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from edgegate import forms, options
from edgegate.diagnostics import DIAGNOSTICS, Diagnostics
from edgegate.errors import RunFolderUnwritable, UsageFault
from edgegate.forms import REFERENCE
from edgegate.records import Verdict
from edgegate.report import marking
from edgegate.report.folder import Document, RunFolder, new_run_dir
from edgegate.report.run import RUN, Run, gate_name, is_asked_for, parts_of, uses_edge
from edgegate.settings import Settings

pytest_plugins = (
    "edgegate.fixtures.budgets",
    "edgegate.fixtures.crowd",
    "edgegate.fixtures.edge",
    "edgegate.fixtures.firewall",
    "edgegate.fixtures.objects",
    "edgegate.fixtures.policies",
    "edgegate.fixtures.proxies",
    "edgegate.fixtures.tenants",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--edge-*` flags and the `edge_*` ini keys."""
    options.register(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the settings, so that a wrong one is refused before anything starts; `--help` works nevertheless."""
    config.addinivalue_line("markers", "edge_gate(name): the test belongs to that gate; its verdict is reported")
    config.addinivalue_line(
        "markers", "edge_exclusive: no other edge test runs meanwhile, on any worker, as for timings"
    )
    config.addinivalue_line(
        "markers", "edge_parts(name, ...): the test needs an edge with these parts beyond the default"
    )
    config.addinivalue_line("markers", "edge_by_name: the test runs only when its file is named on the command line")
    if not any(config.getoption(name, False) for name in ("help", "version", "markers", "showfixtures")):
        _configure(config)


def _configure(config: pytest.Config) -> None:
    from edgegate.fixtures.budgets import SLO
    from edgegate.fixtures.edge import SETTINGS

    settings = options.read(config)
    told: dict[str, Any] = getattr(config, "workerinput", {})
    if not told:
        _check_operator(settings)
    config.stash[SETTINGS] = settings
    config.stash[SLO] = options.slo(settings)
    config.stash[DIAGNOSTICS] = Diagnostics()
    config.stash[RUN] = Run(
        key=told.get("testrunuid", uuid.uuid4().hex),
        folder=RunFolder(Path(told.get("edgegate_run_dir") or settings.run_dir or new_run_dir(config.rootpath))),
        asked=options.asked(config, settings, None if told else options.select(settings)),
        waivers=options.waivers(settings),
        operator=forms.whose(settings.operator),
        worker=bool(told),
    )
    if not told:
        config.pluginmanager.register(Arrivals(config, settings), "edgegate-arrivals")


def _check_operator(settings: Settings) -> None:
    """Refuse faults and CRDs that cannot be meant now, not when the first test wants an edge."""
    if settings.fault or settings.operator != REFERENCE:
        from edgegate.components.operator_choice import OperatorChoice

        try:
            OperatorChoice.of(settings)
        except UsageFault as fault:
            raise pytest.UsageError(str(fault)) from fault


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let other runs use the run folder."""
    if (run := config.stash.get(RUN, None)) is not None:
        run.folder.release()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Without root, enter the namespaces in which we are root before there are workers: they come along.

    A worker cannot do it by itself, because the kernel lets only a process with one thread in. An edge that somebody
    else runs is out here.
    """
    from edgegate.fixtures.edge import SETTINGS

    if os.geteuid() != 0 and config.stash[SETTINGS].backend != forms.ATTACH:
        from edgegate.lab.privileges import ensure_privileges

        ensure_privileges()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker which run folder is ours."""
    node.workerinput["edgegate_run_dir"] = str(node.config.stash[RUN].folder.path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a mark that cannot be meant, before anything runs, and leave out what runs by name only."""
    for item in items:
        gate_name(item)
        parts_of(item)
    unasked = [item for item in items if not is_asked_for(item)]
    if unasked:
        config.hook.pytest_deselected(items=unasked)
        items[:] = [item for item in items if item not in unasked]
    if config.stash[RUN].worker:
        # Who runs alone keeps all other workers waiting, so all that may run side by side does so before.
        items.sort(key=_runs_alone)


def _runs_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("edge_exclusive") is not None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember which parts the tests need that are really run; an edge is brought up with all of them, or none."""
    from edgegate.fixtures.edge import PARTS

    needed = [parts_of(item) for item in session.items]
    session.config.stash[PARTS] = tuple(name for name in forms.PARTS if any(name in parts for parts in needed))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Remember which test runs. Among workers, wait for its turn before any time limit of the test begins."""
    run = item.config.stash[RUN]
    run.current = item.nodeid
    alone = _runs_alone(item)
    with run.folder.turn(alone=alone) if run.worker and (alone or uses_edge(item)) else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Do not begin on an edge that is known to be broken, and tell its root cause rather than what came of it."""
    __tracebackhide__ = True
    marking.check_edge(item)
    return (yield from _rooted(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Tell the root cause when a broken edge does not let a test tidy up, and what crashed while it did."""
    __tracebackhide__ = True
    result = yield from _rooted(item)
    if (crash := marking.crashed(item)) is not None:
        raise crash
    return result


def _rooted(item: pytest.Item) -> Generator[None, object, object]:
    __tracebackhide__ = True
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        ended = marking.rooted(item, error)
        if ended is error:
            raise
        raise ended from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End a test with all that its gate found."""
    __tracebackhide__ = True
    try:
        result = yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        ended = marking.settle(item, error)
        if ended is None or ended is error:
            raise
        raise ended from error
    ended = marking.settle(item, None)
    if ended is not None:
        raise ended
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give each report its verdict, and keep what there is to see while the edge is still as it was."""
    report = marking.mark(item, call, (yield))
    limit = item.config.stash[RUN].asked.diagnostics_limit
    marking.keep(item, call, report, partial(item.config.stash[DIAGNOSTICS].bundle, limit=limit))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: object) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show an inconclusive test, and one that is known to fail, as what it is."""
    return _SHOWN.get(marking.verdict_of(report))


_SHOWN: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    Verdict.INCONCLUSIVE: ("inconclusive", "I", ("INCONCLUSIVE", {"yellow": True})),
    Verdict.WAIVED: ("waived", "W", ("WAIVED", {"cyan": True})),
}
"""Verdict to category, letter and word, as pytest wants them; what is missing here is shown as ever."""


class Arrivals:
    """The hooks of the process where all reports arrive: the only one, or xdist's controller."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._run: Run = config.stash[RUN]
        self._named = settings.run_dir is not None
        self._document: Document = {}

    def pytest_report_header(self) -> list[str]:
        """Show what is asked for, and by whom."""
        return options.header(self._run)

    def pytest_sessionstart(self) -> None:
        """Claim a run folder that the user has named before anything starts; one of our own is made when needed."""
        if self._named and not self._config.getoption("collectonly"):
            self._claim()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test's report into the run; the first one that knows a running edge says so."""
        marking.add(self._run, report)
        if self._run.edge and not self._run.edge_shown:
            self._run.edge_shown = True
            self._say_up()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what could not be collected as failed."""
        self._run.outcomes[Verdict.FAIL] += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Say 75 when nothing failed and something was inconclusive, and write the report."""
        session.exitstatus = self._run.exit_status(exitstatus)
        if self._run.tested:
            from edgegate.report.document import build, write

            self._claim()
            self._document = build(self._run, exit_status=session.exitstatus)
            write(self._document, self._run.folder.path)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the verdicts."""
        if self._document:
            from edgegate.report.terminal import summary

            summary(terminalreporter, self._document, _near(self._run.folder.path))

    def _claim(self) -> None:
        try:
            self._run.folder.claim()
        except (UsageFault, RunFolderUnwritable) as fault:
            raise pytest.UsageError(str(fault)) from fault

    def _say_up(self) -> None:
        from edgegate.report.terminal import edge_is_up

        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self._config.get_verbosity() >= 0:
            terminal.ensure_newline()
            terminal.write_line(edge_is_up(self._run.edge, self._run.asked.versions))


def _near(path: Path) -> str:
    """Return a path as a user would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
