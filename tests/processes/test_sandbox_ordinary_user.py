"""A lab without root: in a user namespace, out of which only the lab can be reached.

As root the tests become another user first. That user may not be able to read where Python and edgegate are (a home
folder of root), so both are bound to a place that everybody can read, in a mount namespace of the test's own.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import edgegate
from edgegate.lab import registry

Run = Callable[..., "subprocess.CompletedProcess[str]"]
STAGE = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/python /mnt/edgegate
mkdir -m 777 /mnt/home
mount --bind "$1" /mnt/python
mount --bind "$2" /mnt/edgegate
mount --bind "$3" /mnt/home
chown 65534:65534 /mnt/home
shift 3
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"""
IS_ROOT = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"] and os.geteuid() == 0

POWERLESS = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""Root of a user namespace, as who an ordinary user runs these tests, becomes like an ordinary user again."""


@pytest.fixture
def run(privileged: None, tmp_path: Path) -> Iterator[Run]:
    """Return a function that runs scripts one by one as one ordinary user; each gets a folder of that user."""
    home, package, python = tmp_path / "home", Path(edgegate.__file__).parents[1], Path(sys.base_prefix)
    home.mkdir()
    env = {**os.environ, "SCRIPTS_PYTHON": sys.executable, "SCRIPTS_HOME": str(home)}
    become = list(POWERLESS)
    if IS_ROOT:
        become = ["unshare", "--mount", "sh", "-c", STAGE, "stage", str(python), str(package), str(home)]
        interpreter = f"/mnt/python/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
        env |= {"SCRIPTS_PYTHON": interpreter, "SCRIPTS_HOME": "/mnt/home"}
        env |= {"PYTHONPATH": "/mnt/edgegate", "LD_LIBRARY_PATH": "/mnt/python/lib"}

    def run_scripts(*scripts: str, before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        argv = [*become, *before, "sh", "-ec", EACH, "each", *scripts]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=30)

    yield run_scripts
    for _, record in registry.labs(home):  # kept by a test that failed
        os.kill(record.init_pid, signal.SIGKILL)


EACH = 'for script; do "$SCRIPTS_PYTHON" -B -c "$script" "$SCRIPTS_HOME"; done'
WHOLE_LIFE = """
import http.client, os, pathlib, sys
from edgegate.lab import ProcessSpec, Ready, registry, sandbox
assert os.geteuid() != 0 or "4294967295" not in open("/proc/self/uid_map").read()
sandbox.ensure_privileges()
lab = sandbox.create(pathlib.Path(sys.argv[1]) / "labs/lab", "lab", needs_mib=0, keep=True)
web = (sys.executable, "-m", "http.server", "80", "--directory", "/etc")
lab.start(ProcessSpec("web", web, dict(os.environ), ready=Ready("http", "http://127.0.0.1/hosts")))
lab.run(["ip", "netns", "add", "pod"])
lab.run(["ip", "netns", "exec", "pod", "ip", "link", "set", "lo", "up"])
connection = http.client.HTTPConnection(lab.net.lab_ip, 80)
connection.request("GET", "/hosts")
print(connection.getresponse().status, lab.run(["id", "-u"]).stdout.strip())
connection.close()
lab.release()
"""
COME_BACK = """
import http.client, pathlib, subprocess, sys
from edgegate.lab import Tools, registry, sandbox
from edgegate.lab.control import enter_argv
lab = registry.attach(pathlib.Path(sys.argv[1]) / "labs/lab")
inside = subprocess.run([*enter_argv(lab, Tools()), "id", "-u"], capture_output=True, text=True, check=True)
sandbox.ensure_privileges(lab.record.launcher_pid)
connection = http.client.HTTPConnection(lab.net.lab_ip, 80)
connection.request("GET", "/hosts")
print(connection.getresponse().status, inside.stdout.strip())
connection.close()
lab.down()
print(registry.alive(lab.folder))
"""


def test_a_kept_lab_is_made_and_used_again(run: Run) -> None:
    done = run(WHOLE_LIFE, COME_BACK)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["200 0", "200 0", "False"]


CREATE = """
import pathlib, sys
from edgegate.lab import sandbox
sandbox.create(pathlib.Path(sys.argv[1]) / "labs/lab", "lab", needs_mib=0)
"""


def test_without_privileges_a_lab_is_refused(run: Run) -> None:
    refused = run(CREATE)
    assert refused.stderr.splitlines()[-1].startswith(
        "edgegate.errors.SandboxNotPermitted: the sandbox of the lab cannot be made: "
        "unshare: unshare failed: Operation not permitted"
    )


ENSURE = "from edgegate.lab import sandbox; sandbox.ensure_privileges()"


def test_a_kernel_that_allows_no_user_namespaces(run: Run) -> None:
    """The limit counts for each user namespace, so the test makes one in which it is 0."""
    limit = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all "$@"'
    forbid = ("unshare", "--user", "--map-root-user", "sh", "-c", limit, "forbid")
    refused = run(ENSURE, before=forbid)
    assert refused.stderr.splitlines()[-1] == (
        "edgegate.errors.SandboxNotPermitted: the sandbox of the lab cannot be made: [Errno 28] No space left on "
        "device: user.max_user_namespaces is 0. Run as root, or `sysctl -w user.max_user_namespaces=10000` as root."
    )


def test_a_process_with_threads_is_refused(run: Run) -> None:
    threads = "import threading; threading.Thread(target=threading.Event().wait, args=(5,), daemon=True).start()\n"
    refused = run(threads + ENSURE)
    assert refused.stderr.splitlines()[-1] == (
        "edgegate.errors.SandboxNotPermitted: the sandbox of the lab cannot be made: [Errno 22] Invalid argument: "
        "this process has 2 threads. Run as root, or without what starts threads before the lab is made."
    )
