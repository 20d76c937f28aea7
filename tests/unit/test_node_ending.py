"""How a container is ended."""

from threading import Event

from edgegate.lab.node.actions import Target
from edgegate.lab.node.ending import Ending
from node_parts import StepActor

HOOK = {"exec": {"command": ["hook"]}}


class Victim:
    """A process that notes what is done to it."""

    def __init__(self) -> None:
        self.actor = StepActor()
        self.done: list[tuple[str, float]] = []
        self.hook_takes, self.hook_status = 0.0, 0

    def note(self, what: str) -> None:
        self.done.append((what, self.actor.fake.time - 1000))

    def terminate(self) -> None:
        self.note("TERM")

    def kill(self) -> None:
        self.note("KILL")

    def execute(self, argv: list[str], timeout: float | None) -> tuple[int, str]:
        self.note(f"{argv[0]} within {timeout:g}")
        return self.hook_status, "said"

    def end(self, grace: float, *, hook: bool = False, held: bool = False) -> Ending:
        ending = Ending(self.actor, self, held=held)
        ending.begin(grace, HOOK if hook else None, Target("", {}, self.execute), Event())
        return ending


def test_sigterm_then_sigkill_after_the_grace() -> None:
    victim = Victim()
    victim.end(30)
    victim.actor.advance(60)
    assert victim.done == [("TERM", 0), ("KILL", 30)]


def test_nothing_is_killed_once_it_has_ended() -> None:
    victim = Victim()
    ending = victim.end(30)
    victim.actor.advance(1)
    ending.finish()
    victim.actor.advance(60)
    assert victim.done == [("TERM", 0)]


def test_the_hook_comes_first_and_has_the_whole_grace() -> None:
    victim = Victim()
    victim.end(30, hook=True)
    victim.actor.advance(1)
    assert victim.done == [("hook within 30", 0), ("TERM", 0)]


def test_without_grace_there_is_no_hook_and_two_seconds_remain() -> None:
    victim = Victim()
    victim.end(0, hook=True)
    victim.actor.advance(5)
    assert victim.done == [("TERM", 0), ("KILL", 2)]


def test_a_hook_that_failed_is_told_and_changes_nothing() -> None:
    victim = Victim()
    victim.hook_status = 1
    ending = victim.end(30, hook=True)
    victim.actor.advance()
    assert ending.trouble == "said"
    assert victim.done[-1] == ("TERM", 0)


def test_what_is_held_waits_for_its_turn() -> None:
    victim = Victim()
    ending = victim.end(30, held=True)
    victim.actor.advance(5)
    assert victim.done == []
    ending.release()
    victim.actor.advance(60)
    assert victim.done == [("TERM", 5), ("KILL", 30)]


def test_what_is_held_for_too_long_is_ended_all_the_same() -> None:
    victim = Victim()
    victim.end(10, held=True)
    victim.actor.advance(60)
    assert victim.done == [("TERM", 10), ("KILL", 12)]


def test_a_second_request_can_only_hasten() -> None:
    victim = Victim()
    ending = victim.end(30)
    victim.actor.advance(1)
    ending.hasten(60)
    ending.hasten(3)
    victim.actor.advance(60)
    assert victim.done == [("TERM", 0), ("KILL", 4)]
