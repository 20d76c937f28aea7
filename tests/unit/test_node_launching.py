"""How a container is started, and the files that a kubelet writes."""

from pathlib import Path
from typing import Any

import pytest

from edgegate.errors import PodTrouble
from edgegate.lab.node.config import Image, Images, Network
from edgegate.lab.node.container import Launch, Mount, environment_options, root_options
from edgegate.lab.node.kube import Json
from edgegate.lab.node.launching import Places, hostname, image_of, launch, pod_files
from node_parts import FACTS, nothing, pod

NET = Network("pods", "10.88.7.129", "10.88.7.128/25", "10.96.0.10")
PLACES = Places(Path("/pod"), Path("/logs"), Path("/run/netns/pod-1"))
IMAGE = Image("/store/envoy", entry=("envoy",), env={"A": "1"}, files={"/share": "/store/share"})


def _launch(container: Json, **spec: Any) -> Launch:
    container = {"name": "c", "image": "i", **container}
    return launch(pod(container, **spec), container, IMAGE, PLACES, FACTS, nothing, NET)


def test_command_and_arguments_expand_and_the_entry_point_stands_in() -> None:
    env = [{"name": "N", "value": "x"}]
    assert _launch({"command": ["run", "$(N)"], "args": ["$$(N)", "$(N)"], "env": env}).argv == (
        "run",
        "x",
        "$(N)",
        "x",
    )
    assert _launch({"args": ["-v"]}).argv == ("envoy", "-v")
    image = Image("/store/echo", at="/echo")
    assert launch(pod(), {"name": "c"}, image, PLACES, FACTS, nothing, NET).argv == ("/echo",)


def test_the_environment_has_what_every_container_has() -> None:
    assert _launch({}).env == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": "web-1",
        "HOME": "/root",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "A": "1",
    }


def test_mounts_are_those_of_image_pod_and_container() -> None:
    volumes: list[Json] = [{"name": "s", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}}]
    mounts = [
        {"name": "s", "mountPath": "/certs"},
        {"name": "e", "mountPath": "/data", "subPathExpr": "$(HOSTNAME)"},
        {"name": "e", "mountPath": "/ro", "readOnly": True},
    ]
    made = _launch({"volumeMounts": mounts}, volumes=volumes).mounts
    assert made == (
        Mount("/store/envoy", "/usr/local/bin/envoy"),
        Mount("/store/share", "/share"),
        Mount("/pod/hosts", "/etc/hosts"),
        Mount("/pod/resolv.conf", "/etc/resolv.conf"),
        Mount("/pod/hostname", "/etc/hostname"),
        Mount("/pod/containers/c/termination-log", "/dev/termination-log", read_only=False),
        Mount("/pod/volumes/s", "/certs"),
        Mount("/pod/volumes/e/web-1", "/data", read_only=False),
        Mount("/pod/volumes/e", "/ro"),
    )


@pytest.mark.parametrize("path", ["../x", "/x"])
def test_a_sub_path_cannot_leave_its_volume(path: str) -> None:
    mounts = [{"name": "e", "mountPath": "/d", "subPath": path}]
    with pytest.raises(PodTrouble, match="must be relative and without"):
        _launch({"volumeMounts": mounts}, volumes=[{"name": "e", "emptyDir": {}}])


def test_the_rest_of_a_launch() -> None:
    made = _launch({"workingDir": "/srv", "securityContext": {"readOnlyRootFilesystem": True}})
    assert (made.cwd, made.read_only_root, made.hostname) == ("/srv", True, "web-1")
    assert (made.log, made.netns) == (Path("/logs/c.log"), Path("/run/netns/pod-1"))


def test_the_options_of_bubblewrap_are_complete() -> None:
    made = Launch(
        ("x",), {}, (Mount("/a", "/b"), Mount("/c", "/d", read_only=False)), Path("/l"), None, "h", "/w", True
    )
    words = " ".join(root_options(made))
    assert words.startswith("--unshare-pid --as-pid-1 --unshare-ipc --unshare-uts --hostname h --die-with-parent")
    assert "--ro-bind /usr /usr" in words
    assert "--tmpfs /usr/local --perms 1777 --dir /tmp --dir /var/tmp" in words
    assert words.endswith("--ro-bind /a /b --bind /c /d --dir /w --remount-ro / --chdir /w")


def test_what_bubblewrap_needs_stays_out_of_the_container() -> None:
    assert environment_options({"A": "1"}, {"LD_LIBRARY_PATH": "/store/lib"}) == ["--unsetenv", "LD_LIBRARY_PATH"]
    options = environment_options({"LD_LIBRARY_PATH": "/own"}, {"LD_LIBRARY_PATH": "/store/lib"})
    assert options == ["--setenv", "LD_LIBRARY_PATH", "/own"]


def test_an_image_without_a_pin_is_named(tmp_path: Path) -> None:
    class Empty(Images):
        def find(self, reference: str) -> Image | None:
            return None

    with pytest.raises(PodTrouble) as caught:
        image_of(Empty(tmp_path), "example.org/x:v9")
    assert caught.value.reason == "ErrImagePull"
    assert caught.value.text == 'image "example.org/x:v9": pins.toml has no pin for it, and the lab pulls nothing'


def test_host_names_are_cut_as_in_a_cluster() -> None:
    long = pod()
    long["metadata"]["name"] = "x" * 62 + "-y"
    assert hostname(long) == "x" * 62
    assert hostname(pod(hostname="given")) == "given"


def test_the_hosts_file_has_the_pod_and_its_aliases() -> None:
    made = pod(hostname="a", subdomain="sub", hostAliases=[{"ip": "10.0.0.1", "hostnames": ["x", "y"]}])
    lines = pod_files(made, NET, "10.88.7.130", "")["hosts"].splitlines()
    assert lines[0] == "127.0.0.1\tlocalhost"
    assert lines[2:] == ["10.88.7.130\ta.sub.shop.svc.cluster.local a", "10.0.0.1\tx y"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {},
            "nameserver 10.96.0.10\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n",
        ),
        ({"dnsPolicy": "Default"}, "nameserver 1.1.1.1\n"),
        ({"hostNetwork": True}, "nameserver 1.1.1.1\n"),
        (
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["9.9.9.9"], "options": [{"name": "edns0"}]}},
            "nameserver 9.9.9.9\noptions edns0\n",
        ),
        (
            {"dnsConfig": {"searches": ["x.test"], "options": [{"name": "ndots", "value": "2"}]}},
            "nameserver 10.96.0.10\nsearch shop.svc.cluster.local svc.cluster.local cluster.local x.test\n"
            "options ndots:2\n",
        ),
    ],
)
def test_the_resolver_follows_the_dns_policy(spec: dict[str, Any], expected: str) -> None:
    assert pod_files(pod(**spec), NET, "10.88.7.130", "nameserver 1.1.1.1\n")["resolv.conf"] == expected
