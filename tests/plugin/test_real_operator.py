"""Binaries and CRDs of a real operator that cannot be meant are refused before anything starts."""

import stat
import sys
from pathlib import Path

import pytest

from edgegate.components.operator_choice import NEEDED, OperatorChoice
from sample import Suite

_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}}}
spec: {{group: {group}, names: {{kind: {kind}}}}}
"""


@pytest.fixture
def crds(pytester: pytest.Pytester) -> Path:
    """A folder with a CRD of each kind that is needed."""
    folder = pytester.mkdir("crds")
    kinds = [(kind, group) for group, found in NEEDED.items() for kind in found]
    for kind, group in kinds:
        (folder / f"{kind}.yaml").write_text(_CRD.format(name=f"{kind.lower()}s.{group}", group=group, kind=kind))
    return folder


def _program(path: Path, content: bytes = b"#!/bin/sh\n", *, executable: bool = True) -> Path:
    path.write_bytes(content)
    path.chmod(stat.S_IRUSR | (stat.S_IXUSR if executable else 0))
    return path


def _elf(machine: int) -> bytes:
    """Return the head of an x86 program that says it is for another machine."""
    head = bytearray(Path(sys.executable).resolve().read_bytes()[:64])
    head[18:20] = machine.to_bytes(2, "little")
    return bytes(head)


def _refused(suite: Suite, said: str, *, binary: Path | str, dns: Path | str, crds: Path | str) -> None:
    words = (f"--edge-operator=nso:{binary}", f"--edge-dns-operator={dns}", f"--edge-operator-crds={crds}")
    result = suite("shown_settings", *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said} Nothing was started."])


def test_no_program(suite: Suite, pytester: pytest.Pytester, crds: Path) -> None:
    good = _program(pytester.path / "good")
    bad = pytester.path / "bad"
    said = f"--edge-operator: {bad} {{}} Accepted: the path of a program for this machine."

    _refused(suite, said.format("does not exist."), binary=bad, dns=good, crds=crds)
    _program(bad, executable=False)
    _refused(suite, said.format(f"is not executable; try: chmod +x {bad}."), binary=bad, dns=good, crds=crds)
    _program(bad, b"hello, I am a text\n")
    _refused(suite, said.format("is no program for Linux (*)."), binary=bad, dns=good, crds=crds)


def test_program_of_another_machine(suite: Suite, pytester: pytest.Pytester, crds: Path) -> None:
    good, foreign = _program(pytester.path / "good"), _program(pytester.path / "foreign", _elf(40))

    said = f"--edge-dns-operator: {foreign} is made for arm, this machine is *. Accepted: *."
    _refused(suite, said, binary=good, dns=foreign, crds=crds)


def test_kinds_missing(suite: Suite, pytester: pytest.Pytester, crds: Path) -> None:
    good = _program(pytester.path / "good")
    for kind in ("Domain", "DNSZone"):
        (crds / f"{kind}.yaml").unlink()

    missing = "Domain.networking.datumapis.com, DNSZone.dns.networking.miloapis.com"
    said = f"--edge-operator-crds: {crds} has no CRD for {missing}. Accepted: * of the Gateway API of *."
    _refused(suite, said, binary=good, dns=good, crds=crds)


def test_no_folder(suite: Suite, pytester: pytest.Pytester) -> None:
    good, empty = _program(pytester.path / "good"), pytester.mkdir("empty")

    for bad, said in ((pytester.path / "none", "does not exist"), (empty, "is no folder with YAML files")):
        text = f"--edge-operator-crds: {bad} {said}. Accepted: a folder with the operator's CRDs."
        _refused(suite, text, binary=good, dns=good, crds=bad)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [b", "cannot be read as YAML: while parsing a flow sequence *."),
        (b"\xff\xfe", "cannot be read as YAML: *."),
        (
            b"kind: CustomResourceDefinition\nmetadata: {}\n",
            "has a CRD without a name, a group, or the name of its kind.",
        ),
    ],
)
def test_unreadable_crds(suite: Suite, pytester: pytest.Pytester, crds: Path, content: bytes, said: str) -> None:
    good, file = _program(pytester.path / "good"), crds / "bad.yaml"
    file.write_bytes(content)

    said = f"--edge-operator-crds: {file} {said} Accepted: a folder with the operators' CRDs."
    _refused(suite, said, binary=good, dns=good, crds=crds)


def test_one_word_without_the_others(suite: Suite, pytester: pytest.Pytester) -> None:
    good = _program(pytester.path / "good")

    result = suite("shown_settings", f"--edge-operator=nso:{good}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --edge-operator: the real operator needs --edge-dns-operator too.*"])


def test_an_archive_that_is_no_image(suite: Suite, pytester: pytest.Pytester, crds: Path) -> None:
    text = pytester.path / "text.tar"
    text.write_text("hello")
    words = ("--edge-backend=kind", "--edge-dns-operator-image=a/dns:v1", f"--edge-operator-crds={crds}")

    result = suite("shown_settings", f"--edge-operator=nso-image:docker-archive:{text}", *words)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"ERROR: --edge-operator: {text} is no archive of an image (*). Accepted: one image for Linux and this *"
    result.stderr.fnmatch_lines([said])


def test_another_build_uses_the_same_base_state(pytester: pytest.Pytester, crds: Path) -> None:
    """What an edge is made of changes with the program, its CRDs and classes do not."""
    programs = [_program(pytester.path / name, name.encode()) for name in ("one", "two")]
    one, two = (OperatorChoice(program, program, crds) for program in programs)

    assert one.digest != two.digest
    assert one.base_digest == two.base_digest
    assert one.base_digest != OperatorChoice(crds=crds).base_digest
