"""A process with binds sees them, nobody else does, and nothing of them is left on the machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate import pins as pin_files
from edgegate.artifacts import Store
from edgegate.clock import wait_until
from edgegate.lab import Bind, Lab, Tools, sandbox
from edgegate.resources import resource
from lab_parts import POLITE, SLEEP, child

TARGETS = ("/edgegate-test/certs", "/etc/edgegate-test/certs", "/run/edgegate-test/certs")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Return a lab that has bubblewrap."""
    pins = pin_files.load(resource("pins.toml"))
    bubblewrap = Store().ensure(pins, "bubblewrap", pins.pin("bubblewrap").default)
    sandbox.ensure_privileges()
    tools = Tools(bwrap=str(bubblewrap.binary("bwrap")), bwrap_env=bubblewrap.env)
    made = sandbox.create(tmp_path_factory.mktemp("mounts") / "lab", "mounts", tools=tools, needs_mib=0)
    yield made
    made.down()


def _seen(lab: Lab, name: str, script: str, *binds: Bind) -> str:
    """Return what a process with these binds writes."""
    lab.start(child(name, f"{script}\nprint('end')", binds=binds))
    wait_until("its end", lambda: "end\n" in lab.log(name).read_text(), deadline=5)
    return lab.log(name).read_text().removesuffix("end\n")


@pytest.mark.parametrize("target", TARGETS)
def test_a_folder_appears_where_none_was(lab: Lab, target: str) -> None:
    lab.put("/run/certs/tls.crt", b"certificate")
    told = _seen(
        lab, f"reader-{TARGETS.index(target)}", f"print(open('{target}/tls.crt').read())", Bind("/run/certs", target)
    )
    assert told == "certificate\n"
    assert not Path(target).parent.exists()
    assert lab.run(["ls", target], check=False).status == 2 or target.startswith("/run")


def test_a_file_is_bound_over_another(lab: Lab) -> None:
    lab.put("/run/resolv.conf", b"nameserver 10.96.0.10\n")
    told = _seen(
        lab, "resolver", "print(open('/etc/resolv.conf').read(), end='')", Bind("/run/resolv.conf", "/etc/resolv.conf")
    )
    assert told == "nameserver 10.96.0.10\n"


def test_a_bind_is_read_only_unless_it_is_not(lab: Lab) -> None:
    lab.put("/run/shared/file", b"old")
    write = "try:\n  open('/data/file', 'w').write('new')\nexcept OSError as no: print(no.strerror)"
    assert _seen(lab, "writer", write, Bind("/run/shared", "/data")) == "Read-only file system\n"
    assert _seen(lab, "owner", write, Bind("/run/shared", "/data", read_only=False)) == ""
    assert lab.get("/run/shared/file") == b"new"


def test_other_files_stay_as_they_are(lab: Lab) -> None:
    names = _seen(
        lab, "lister", "import os; print(sorted(os.listdir('/')), sorted(os.listdir('/etc')))", Bind("/run", "/new/a")
    )
    there = lab.run(
        ["python3", "-c", "import os; print(sorted([*os.listdir('/'), 'new']), sorted(os.listdir('/etc')))"]
    )
    assert names == there.stdout


def test_its_environment_is_its_specs(lab: Lab) -> None:
    told = _seen(lab, "env", "import os; print(sorted(os.environ))", Bind("/run", "/new"))
    assert told == "['LC_CTYPE', 'PATH', 'PWD']\n"


def test_stop_reaches_the_process_behind_bubblewrap(lab: Lab) -> None:
    lab.start(child("polite", POLITE, binds=(Bind("/run", "/new"),), stop_grace=3))
    wait_until("its word", lambda: lab.log("polite").read_text() == "up\n", deadline=5)
    lab.stop("polite")
    assert lab.log("polite").read_text() == "up\nbye\n"


def test_its_memory_counts_what_is_behind_bubblewrap(lab: Lab) -> None:
    lab.start(child("large", f"held = b'x' * (64 << 20)\n{SLEEP}", binds=(Bind("/run", "/new"),)))
    wait_until("its word", lambda: lab.log("large").read_text() == "up\n", deadline=5)
    assert next(status for status in lab.status() if status.name == "large").rss_bytes > 64 << 20
