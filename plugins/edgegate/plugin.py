"""The pytest hooks of edgegate; nothing else."""

import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from edgegate import options
from edgegate.records import Verdict
from edgegate.report import marking
from edgegate.report.folder import RunFolder, new_run_dir
from edgegate.report.run import RUN, Asked, Run

pytest_plugins = ("edgegate.fixtures.edge",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--edge-*` flags and the `edge_*` ini keys."""
    options.register(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings, so that a wrong one is refused before anything starts."""
    config.addinivalue_line("markers", "edge_gate(name): the test belongs to that gate; its verdict is reported")
    config.addinivalue_line("markers", "edge_exclusive: no other edge test runs meanwhile, on any worker; for timings")
    from edgegate.fixtures.edge import SETTINGS

    settings = options.read(config)
    told = getattr(config, "workerinput", {})
    config.stash[SETTINGS] = settings
    config.stash[RUN] = Run(
        key=told.get("testrunuid", uuid.uuid4().hex),
        folder=RunFolder(Path(told.get("edgegate_run_dir") or settings.run_dir or new_run_dir(config.rootpath))),
        asked=Asked(),
        worker=bool(told),
    )
    if not told:
        config.pluginmanager.register(Arrivals(config), "edgegate-arrivals")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker which run folder is ours."""
    node.workerinput["edgegate_run_dir"] = str(node.config.stash[RUN].folder.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Remember which test runs."""
    item.config.stash[RUN].current = item.nodeid
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End a test with all that its gate found."""
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
    """Give each report its verdict."""
    return marking.mark(item, call, (yield))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: object) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show an inconclusive test as what it is."""
    if marking.is_inconclusive(report):
        return "inconclusive", "I", ("INCONCLUSIVE", {"yellow": True})
    return None


class Arrivals:
    """The hooks of the process where all reports arrive: the only one, or xdist's controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._run = config.stash[RUN]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test's report into the run."""
        marking.add(self._run, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what could not be collected as failed."""
        self._run.outcomes[Verdict.FAIL] += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Say 75 when nothing failed and something was inconclusive."""
        session.exitstatus = self._run.exit_status(exitstatus)
