"""A file that cannot be run here is told from the file alone, before anything is started."""

import struct
import sys
from pathlib import Path

import pytest

from edgegate import forms, programs
from edgegate.errors import BadSetting
from edgegate.settings import Settings, resolve


def _elf(path: Path, machine: int, order: str = "<") -> Path:
    head = b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + bytes(12) + struct.pack(f"{order}H", machine)
    path.write_bytes(head)
    path.chmod(0o755)
    return path


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    script = tmp_path / "network-services"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script


@pytest.fixture
def crds(tmp_path: Path) -> Path:
    (tmp_path / "crds" / "bases").mkdir(parents=True)
    (tmp_path / "crds" / "bases" / "one.yaml").touch()
    return tmp_path / "crds"


def test_programs_that_run(binary: Path) -> None:
    assert programs.trouble_with(binary) == ""
    assert programs.trouble_with(Path(sys.executable)) == ""


@pytest.mark.parametrize(
    ("machine", "order", "said"),
    [(183, "<", "is made for aarch64, this machine is "), (22, ">", "is made for s390x, "), (999, "<", "machine 999")],
)
def test_another_architecture(tmp_path: Path, machine: int, order: str, said: str) -> None:
    assert said in programs.trouble_with(_elf(tmp_path / "p", machine, order))


def test_no_program_at_all(tmp_path: Path) -> None:
    empty, text = tmp_path / "empty", tmp_path / "text"
    empty.touch(0o755)
    text.write_text("kind: Operator\napiVersion: v1\n")

    assert programs.trouble_with(empty) == "is no program for Linux (neither an ELF file nor a script)"
    assert programs.trouble_with(text) == f"is not executable; try: chmod +x {text}"
    assert programs.trouble_with(tmp_path) == "is no file"
    assert programs.trouble_with(tmp_path / "none") == "does not exist"


def test_the_real_operator_is_chosen(binary: Path, crds: Path) -> None:
    settings = resolve(
        {"operator": f"nso:{binary}"}, {"EDGEGATE_DNS_OPERATOR": str(binary)}, {"operator_crds": str(crds)}
    )

    assert (settings.operator, settings.dns_operator, settings.operator_crds) == (f"nso:{binary}", binary, crds)
    assert settings.origin("dns_operator") == "EDGEGATE_DNS_OPERATOR"


def test_images_of_the_real_operator_are_chosen(tmp_path: Path, crds: Path) -> None:
    (tmp_path / "dns.tar").touch()
    number = "a" * 64
    for image in ("ghcr.io/a/b:v1", "localhost:5000/a_b/c", f"a/b@sha256:{number}", f"sha256:{number}"):
        settings = resolve(
            {"operator": f"nso-image:{image}", "backend": "kind", "operator_crds": str(crds)},
            {"EDGEGATE_DNS_OPERATOR_IMAGE": f"docker-archive:{tmp_path}/dns.tar"},
            {},
        )
        assert settings.operator == f"nso-image:{image}"
        assert settings.dns_operator_image == f"docker-archive:{tmp_path / 'dns.tar'}"


def test_whose_operator_it_is_does_not_depend_on_how_it_is_named() -> None:
    assert [forms.whose(text) for text in ("reference", "nso:/x", "nso-image:a/b")] == ["reference", "nso", "nso"]


def test_faults_of_the_strongest_source_count() -> None:
    settings = resolve({"fault": None}, {"EDGEGATE_FAULT": "stale-records, claim-kept,stale-records"}, {"fault": ["x"]})

    assert settings.fault == ("stale-records", "claim-kept")
    assert settings.shown("fault") == "stale-records, claim-kept"
    assert (Settings().operator, Settings().fault, Settings().shown("fault")) == ("reference", (), "")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            {"operator": "mine"},
            "--edge-operator: 'mine' is no operator. Accepted: reference, nso:PATH of its binary, or nso-im",
        ),
        ({"operator": "nso:"}, "--edge-operator: an empty path."),
        ({"operator": "nso:/none"}, "--edge-operator: /none does not exist. Accepted: the path of a program for this"),
        ({"dns_operator": "/none"}, "--edge-dns-operator: /none does not exist."),
        (
            {"dns_operator": sys.executable},
            "--edge-dns-operator: our operator needs none. Leave it out, or name nso:PAT",
        ),
        ({"operator": f"nso:{sys.executable}"}, "--edge-operator: the real operator needs --edge-dns-operator too."),
        (
            {"operator_crds": "/none"},
            "--edge-operator-crds: /none does not exist. Accepted: a folder with",
        ),
        (
            {"operator": "nso-image:Not An Image"},
            "--edge-operator: 'Not An Image' names no image. Accepted: a reference as in registry.example/operator:v1, "
            "or docker-archive:FILE or oci-archive:FILE.",
        ),
        (
            {"dns_operator_image": "docker-archive:/none.tar"},
            "--edge-dns-operator-image: /none.tar does not exist. Accepted: what `docker save IMAGE -o FILE` writes.",
        ),
        (
            {"operator": "nso-image:a/b"},
            "--edge-operator: images run in pods, which only --edge-backend kind has. Add that, or name the binary: "
            "nso:PATH.",
        ),
        (
            {"operator": "nso-image:a/b", "backend": "kind"},
            "--edge-operator: the real operator needs --edge-dns-operator-image too.",
        ),
        (
            {"operator": "nso-image:a/b", "backend": "kind", "dns_operator_image": "a/c"},
            "--edge-operator: the real operator needs --edge-operator-crds too.",
        ),
        (
            {"operator": "nso-image:a/b", "backend": "kind", "dns_operator": sys.executable},
            "--edge-dns-operator: nso-image: has no use for it. It needs --edge-dns-operator-image instead.",
        ),
        (
            {"operator": f"nso:{sys.executable}", "dns_operator_image": "a/c"},
            "--edge-dns-operator-image: nso: has no use for it. It needs --edge-dns-operator instead.",
        ),
        (
            {"dns_operator_image": "a/c"},
            "--edge-dns-operator-image: our operator needs none.",
        ),
        (
            {"fault": ["Stale Records"]},
            "--edge-fault: 'Stale Records' is no name of a fault. Accepted: words such as re",
        ),
        (
            {"operator": f"nso:{sys.executable}", "fault": ["claim-kept"]},
            "--edge-fault: only the reference operator has faults that can be switched on.",
        ),
    ],
)
def test_refused(flags: dict[str, object], said: str) -> None:
    with pytest.raises(BadSetting) as refused:
        resolve(flags, {}, {})

    assert str(refused.value).startswith(said)
