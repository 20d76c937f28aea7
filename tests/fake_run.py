"""Commands that are not run: what was called is kept, what they would do is scripted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgegate.command import Completed
from edgegate.errors import CommandFailed


@dataclass(frozen=True)
class Call:
    """One command that was asked for."""

    argv: tuple[str, ...]
    """Program and arguments."""
    env: Mapping[str, str]
    """Its whole environment."""
    cwd: Path
    """Its working directory."""

    def option(self, name: str) -> str:
        """Return the word after an option."""
        return self.argv[self.argv.index(name) + 1]


Effect = Callable[[Call], str]
"""What a command does; returns its standard output."""


def fails(output: str) -> Effect:
    """Return the effect of a command that ends with status 1."""

    def effect(call: Call) -> str:
        raise CommandFailed(list(call.argv), status=1, output=output)

    return effect


def absent(call: Call) -> str:
    """Be a program that is not there."""
    raise FileNotFoundError(call.argv[0])


@dataclass
class FakeRun:
    """Stands for `run_step`; the first script whose words are all in the command decides."""

    scripts: dict[str, Effect] = field(default_factory=dict)
    """Words, separated by blanks, to effect."""
    calls: list[Call] = field(default_factory=list)
    """What was called, in order."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        """Remember the command, and do what is scripted for it."""
        call = Call(tuple(argv), dict(env), cwd)
        self.calls.append(call)
        stdout = next((do(call) for words, do in self.scripts.items() if set(words.split()) <= set(argv)), "")
        with log.open("a", encoding="utf-8") as file:
            file.write(stdout)
        if on_line is not None:
            for line in stdout.splitlines():
                on_line(line)
        return Completed(tuple(argv), 0, stdout, "")

    def said(self, *words: str) -> list[Call]:
        """Return the calls that have all these words."""
        return [call for call in self.calls if set(words) <= set(call.argv)]


@dataclass
class Heard:
    """A listener that remembers."""

    lines: list[str] = field(default_factory=list)
    """Everything that was told."""

    def say(self, text: str) -> None:
        """Remember a line."""
        self.lines.append(text)

    def step(self, what: str, doing: str, at: int | None = None, of: int | None = None) -> None:
        """Remember a step."""
        self.lines.append(f"{what}: {doing}" + (f" {at}/{of}" if of else ""))

    def done(self, what: str, seconds: float) -> None:
        """Remember an end."""
        self.lines.append(f"{what}: done")
