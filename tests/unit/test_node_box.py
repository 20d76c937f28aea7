"""One container over all its runs."""

from pathlib import Path
from typing import Any, cast

from edgegate.errors import PodTrouble
from edgegate.lab.node.actor import Actor
from edgegate.lab.node.box import Box
from edgegate.lab.node.config import Image
from edgegate.lab.node.container import Launch, Process
from edgegate.lab.node.kube import Json
from edgegate.lab.node.lifecycle import Ended, Role, Running, Waiting
from node_parts import StepActor, facts


class FakeProcess:
    """A process whose end is said by the test."""

    def __init__(self, host: "FakeHost") -> None:
        self._host = host
        self.pid = 7
        self.signals: list[str] = []

    def wait(self) -> int:
        return 0

    def terminate(self) -> None:
        self.signals.append("TERM")

    def kill(self) -> None:
        self.signals.append("KILL")

    def execute(self, argv: list[str], timeout: float | None) -> tuple[int, str]:
        return self._host.answers.get(argv[0], 0), "said"


class FakeHost:
    """A pod that starts nothing."""

    eager = False

    def __init__(self, tmp_path: Path) -> None:
        self.step = StepActor()
        self.actor: Actor = self.step
        self.message = tmp_path / "termination-log"
        self.log = tmp_path / "c.log"
        self.launch_trouble: PodTrouble | None = None
        self.start_trouble: PodTrouble | None = None
        self.processes: list[FakeProcess] = []
        self.events: list[tuple[str, str]] = []
        self.answers: dict[str, int] = {}
        self.endings: list[Any] = []
        aside = self.step.aside

        def hold_ends(work: Any, then: Any) -> None:
            """Keep the ends of processes for the test to say; do everything else."""
            if getattr(work, "__name__", "") == "wait":
                self.endings.append(then)
            else:
                aside(work, then)

        self.step.aside = hold_ends  # type: ignore[method-assign]

    def box(self, **spec: Any) -> Box:
        return Box(self, {"name": "c", "image": "i", **spec}, facts())

    def launch(self, container: Json) -> tuple[Launch, Image, Path]:
        if self.launch_trouble:
            raise self.launch_trouble
        self.message.write_bytes(b"")
        return Launch(("x",), {}, (), self.log, None, "h"), Image("/store/x", id="pin"), self.message

    def execute(self, launch: Launch) -> Process:
        if self.start_trouble:
            raise self.start_trouble
        self.processes.append(FakeProcess(self))
        return cast(Process, self.processes[-1])

    def ended(self, process: Process) -> None:
        self.events.append(("gone", str(process.pid)))

    def address(self) -> str:
        return "10.88.7.130"

    def title(self) -> str:
        return "web-1_shop(u)"

    def grace(self) -> float:
        return 30

    def note(self, reason: str, message: str, *, warning: bool = False, container: str = "") -> None:
        self.events.append((reason, message))

    def end(self, code: int) -> None:
        """Let the newest process end."""
        self.endings.pop()(code)
        self.step.advance()


def test_a_container_starts_and_is_ready(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box()
    box.start()
    box.start()
    assert len(host.processes) == 1
    assert isinstance(box.facts.state, Running)
    assert (box.facts.ready, box.facts.started, box.facts.image_id, box.alive) == (True, True, "pin", True)
    assert host.events == [("Started", "Container started: c")]


def test_how_it_ended_is_kept_with_what_it_left(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box()
    box.start()
    host.message.write_text("out of luck")
    host.end(3)
    assert isinstance(box.facts.state, Ended)
    assert (box.facts.state.code, box.facts.state.reason, box.facts.state.message) == (3, "Error", "out of luck")
    assert (box.facts.ready, box.facts.started, box.alive) == (False, False, False)


def test_the_end_of_the_log_can_stand_in_for_a_message(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box(terminationMessagePolicy="FallbackToLogsOnError")
    host.log.write_text("one\ntwo\n")
    box.start()
    host.end(1)
    assert isinstance(box.facts.state, Ended)
    assert box.facts.state.message == "one\ntwo"


def test_restarts_back_off(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box()
    box.start()
    host.end(1)
    box.start()
    assert (len(host.processes), box.facts.restarts) == (2, 1)
    host.end(1)
    box.start()
    assert box.facts.state == Waiting(
        "CrashLoopBackOff", "back-off 10s restarting failed container=c pod=web-1_shop(u)"
    )
    assert box.facts.last
    assert host.events[-1] == ("BackOff", "Back-off restarting failed container c in pod web-1_shop(u)")
    host.step.advance(9.9)
    assert len(host.processes) == 2
    host.step.advance(0.2)
    assert (len(host.processes), box.facts.restarts) == (3, 2)


def test_what_it_lacks_is_told_once_and_tried_again(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.launch_trouble = PodTrouble("CreateContainerConfigError", 'secret "s" not found')
    box = host.box()
    box.start()
    assert box.facts.state == Waiting("CreateContainerConfigError", 'secret "s" not found')
    host.step.advance(25)
    told = ("Failed", 'Error: CreateContainerConfigError: secret "s" not found')
    assert host.events == [told]
    host.launch_trouble = None
    box.retry()
    box.start()
    assert box.alive
    assert box.facts.restarts == 0


def test_an_unknown_image_goes_from_error_to_back_off(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.launch_trouble = PodTrouble("ErrImagePull", "no pin")
    box = host.box()
    box.start()
    assert box.facts.state == Waiting("ErrImagePull", "no pin")
    host.step.advance(30)
    assert box.facts.state == Waiting("ImagePullBackOff", "no pin")


def test_a_program_that_cannot_be_executed_has_ended_with_128(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.start_trouble = PodTrouble("RunContainerError", "bwrap: execvp x: No such file or directory")
    box = host.box()
    box.start()
    assert isinstance(box.facts.state, Ended)
    assert (box.facts.state.code, box.facts.state.reason) == (128, "StartError")
    assert box.facts.state.message == "bwrap: execvp x: No such file or directory"


def test_it_is_not_running_before_its_post_start_hook_is_done(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box(lifecycle={"postStart": {"exec": {"command": ["hook"]}}})
    box.start()
    assert isinstance(box.facts.state, Waiting)
    host.step.advance()
    assert isinstance(box.facts.state, Running)


def test_a_post_start_hook_that_fails_ends_it(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.answers["hook"] = 1
    box = host.box(lifecycle={"postStart": {"exec": {"command": ["hook"]}}})
    box.start()
    host.step.advance()
    assert ("FailedPostStartHook", "said") in host.events
    assert host.processes[0].signals == ["TERM"]


def test_a_pre_stop_hook_that_fails_is_told(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.answers["hook"] = 1
    box = host.box(lifecycle={"preStop": {"exec": {"command": ["hook"]}}})
    box.start()
    box.stop(30)
    host.step.advance()
    host.end(0)
    assert ("FailedPreStopHook", "said") in host.events


def test_a_failed_liveness_probe_ends_the_run_and_says_why(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.answers["live"] = 1
    probe = {"exec": {"command": ["live"]}, "failureThreshold": 1, "terminationGracePeriodSeconds": 5}
    box = host.box(livenessProbe=probe)
    box.start()
    host.step.advance(4)
    assert ("Unhealthy", "Liveness probe failed: said") in host.events
    assert ("Killing", "Container c failed liveness probe, will be restarted") in host.events
    assert host.processes[0].signals == ["TERM"]
    host.step.advance(2)
    assert host.processes[0].signals == ["TERM", "KILL"]


def test_stopping_what_waits_for_its_back_off_cancels_the_restart(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = host.box()
    for _ in range(2):
        box.start()
        host.end(1)
    box.start()
    box.stop(30)
    host.step.advance(60)
    assert len(host.processes) == 2


def test_an_init_container_that_is_done_counts_as_ready(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    box = Box(host, {"name": "i", "image": "x"}, facts("i", Role.INIT))
    box.start()
    host.end(0)
    assert box.facts.ready
