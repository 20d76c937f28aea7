"""`edgegate prove`: show each gate red on each of its faults and green without."""

import argparse
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.table import Table

from edgegate import arguments as table
from edgegate.cli.faults import FAULTS
from edgegate.cli.gates import GATES, GateRun, run_gate, scenario_file, try_gate
from edgegate.cli.talk import EXIT_DONE, EXIT_FAIL, EXIT_UNAVAILABLE, Talk
from edgegate.records import Verdict
from edgegate.report.folder import new_run_dir

NO_FAULT = "none"


@dataclass(frozen=True)
class Proof:
    """One line of the table."""

    gate: str
    """The gate."""
    fault: str
    """The fault, or `none`."""
    wanted: Verdict
    """What the gate must say."""
    run: GateRun
    """What it said."""

    @property
    def holds(self) -> bool:
        """Whether the gate said what it must. With a fault every single scenario must be red."""
        every = {test["verdict"] for test in self.run.report["tests"]}
        return every == {self.wanted.value}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("gates", nargs="*", metavar="GATE", help=f"Gates to prove (built-in: {', '.join(GATES)})")
    table.add_arguments(parser, ("run_dir", "keep"))


def run(args: argparse.Namespace, talk: Talk) -> int:
    """Run every gate without a fault and with each; exit status 1 when one of them did not say what it must.

    It is 75 when each of those was inconclusive.
    """
    for gate in args.gates:
        scenario_file(gate)  # a wrong name must not be refused after hours
    settings = table.from_arguments(args, os.environ)
    folder = settings.run_dir or new_run_dir(Path.cwd())
    proofs = [proof for gate in args.gates or GATES for proof in prove(gate, folder, talk, keep=settings.keep)]
    talk.result({"proofs": [_data(proof) for proof in proofs]}, _drawn(proofs))
    wrong = {proof.run.verdict for proof in proofs if not proof.holds}
    if wrong == {Verdict.INCONCLUSIVE}:
        return EXIT_UNAVAILABLE
    return EXIT_FAIL if wrong else EXIT_DONE


def prove(gate: str, folder: Path, talk: Talk, *, keep: bool = False) -> list[Proof]:
    """Return the proofs of one gate; with `keep` on one edge as far as the versions are the same, which is quicker.

    Raises:
        UnknownGate: there is none of that name.
    """
    sound = try_gate(partial(run_gate, gate, {}, folder / f"{gate}-{NO_FAULT}", talk, keep=keep), talk)
    proofs = [Proof(gate, NO_FAULT, Verdict.PASS, sound)]
    for fault in FAULTS.get(gate, ()):
        own = folder / f"{gate}-{fault.name}"
        faulty = partial(run_gate, gate, fault.versions, own, talk, options=fault.options, keep=keep)
        proofs.append(Proof(gate, fault.name, Verdict.FAIL, try_gate(faulty, talk)))
    return proofs


def _data(proof: Proof) -> dict[str, object]:
    return {
        "gate": proof.gate,
        "fault": proof.fault,
        "wanted": proof.wanted,
        "verdict": proof.run.verdict,
        "holds": proof.holds,
        "running": proof.run.running,
        "folder": str(proof.run.folder),
    }


def _drawn(proofs: list[Proof]) -> Table:
    drawn = Table("gate", "fault", "must be", "was", "proven", "what is wrong", title="proof", title_justify="left")
    texts = {(gate, fault.name): fault.what for gate, faults in FAULTS.items() for fault in faults}
    for proof in proofs:
        proven = "[green]yes[/]" if proof.holds else "[red]NO[/]"
        was = f"{proof.run.verdict} on {proof.run.running.get('envoy-gateway')} × {proof.run.running.get('envoy')}"
        drawn.add_row(proof.gate, proof.fault, proof.wanted, was, proven, texts.get((proof.gate, proof.fault), ""))
    return drawn
