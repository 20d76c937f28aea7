"""The system of a node: Debian packages without a package manager, kind's own start-up files, and ours."""

import json
from pathlib import Path

from edgegate.kind.tree import Tree

POD_CNI = "/kind/pods.conflist"
_LEFT_OUT = (
    "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/share/bug",
    "usr/share/bash-completion", "usr/share/zsh", "usr/share/perl5", "usr/bin/containerd-shim",
    "usr/bin/containerd-shim-runc-v1", "usr/bin/containerd-stress", "lib/udev", "boot", "var/cache", "lib/systemd/boot",
)  # fmt: skip
_CNI = {"usr/lib/cni/host-local", "usr/lib/cni/loopback", "usr/lib/cni/portmap", "usr/lib/cni/ptp"}
_BOOT = (
    "multi-user.target.wants", "local-fs.target.wants", "basic.target.wants", "timers.target.wants",
    "sysinit.target.wants/systemd-tmpfiles-setup.service", "sysinit.target.wants/systemd-binfmt.service",
    "sysinit.target.wants/systemd-sysusers.service", "sysinit.target.wants/systemd-firstboot.service",
    "sockets.target.wants/systemd-initctl.socket", "sockets.target.wants/systemd-udevd-control.socket",
)  # fmt: skip
"""What systemd would start on a machine of its own and must not in a container."""
_FROM_KIND = (
    "usr/local/bin/entrypoint", "kind/bin/create-kubelet-cgroup-v2.sh", "etc/systemd/system/kubelet.service",
    "etc/systemd/system/kubelet.slice", "etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "etc/systemd/system/kubelet.service.d/11-kind.conf", "etc/default/kubelet",
    "etc/sysctl.d/10-network-magic.conf",
)  # fmt: skip

# kind's entry point lets systemd loose on /proc/cgroups. On cgroup v1 systemd then mounts the controllers that nobody
# has mounted, and that changes the machine's own hierarchies. So it sees only those that the container was given.
_BEFORE_ENTRYPOINT = """#!/bin/bash
if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then
  head -1 /proc/cgroups > /run/cgroups
  while read -r name rest; do
    findmnt --noheadings --types cgroup --output OPTIONS | tr , '\\n' | grep -qx "$name" &&
      printf '%s\\t%s\\n' "$name" "$rest" >> /run/cgroups
  done < <(tail -n +2 /proc/cgroups)
  mount --bind /run/cgroups /proc/cgroups
fi
exec /usr/local/bin/entrypoint "$@"
"""

# Alternatives of a package manager that is not there; kind's entry point calls it for iptables and ip6tables.
_ALTERNATIVES = """#!/bin/bash
[ "$1" = --set ] || exit 2
for verb in "" -save -restore; do ln -sf "$3$verb" "/usr/sbin/$2$verb"; done
"""

# A pod that starts before kube-proxy has written its rules sends its first packets to a service address that nothing
# translates yet; connection tracking remembers that, and CoreDNS hung for 30 s. So pods have to wait for kube-proxy.
_NETWORK = """#!/bin/bash
kubectl() { /usr/bin/kubectl --kubeconfig=/etc/kubernetes/kubelet.conf "$@"; }
healthy() {
  exec 3<>/dev/tcp/127.0.0.1/10256 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 &&
    read -r _ status _ <&3 && [ "$status" = 200 ]
}
until healthy 2>/dev/null; do sleep .2; done
until range=$(kubectl get node "$(hostname)" -o 'jsonpath={.spec.podCIDR}') && [ -n "$range" ]; do sleep .2; done
sed "s#POD_RANGE#$range#" POD_CNI > /run/pods.conflist && mv /run/pods.conflist /etc/cni/net.d/10-pods.conflist
""".replace("POD_CNI", POD_CNI)

_STORAGE = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
"""

_UNIT = """[Unit]
Description=pods get a network once kube-proxy is healthy
[Service]
ExecStart=/usr/local/bin/pod-network
[Install]
WantedBy=multi-user.target
"""


def add(tree: Tree, packages: Path, kind: Path, *, version: str, pause: str) -> None:
    """Add the system of a node to an image.

    Args:
        tree: the image.
        packages: unpacked Debian packages.
        kind: `images/base/files` of kind's module.
        version: of Kubernetes, without a leading v.
        pause: image that holds the namespaces of pods.
    """
    tree.copy(packages, skip=_left_out)
    tree.merge_usr()
    for path in ("tmp", "var/tmp"):
        tree.folder(path, 0o1777)
    for path in ("kind/manifests", "etc/kubernetes/manifests", "etc/cni/net.d", "opt/cni/bin", "var/log", "root"):
        tree.folder(path)
    for path in _FROM_KIND:
        tree.file(path, kind / path, 0o755 if "bin/" in path else 0o644)
    _accounts(tree, packages)
    _links(tree)
    _services(tree)
    tree.text("kind/version", f"v{version}")
    tree.text("kind/manifests/default-storage.yaml", _STORAGE)
    tree.text("etc/containerd/config.toml", _containerd(pause))
    tree.text(POD_CNI, json.dumps(_cni(), indent=1))


def _left_out(path: str) -> bool:
    if path.startswith("usr/lib/cni/"):
        return path not in _CNI
    return path in _LEFT_OUT or any(path.startswith(f"lib/systemd/system/{unit}") for unit in _BOOT)


def _accounts(tree: Tree, packages: Path) -> None:
    """Add what the maintainer scripts of base-passwd and base-files write."""
    for name in ("passwd", "group"):
        tree.file(f"etc/{name}", packages / f"usr/share/base-passwd/{name}.master", 0o644)
    tree.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n")
    tree.text("etc/shadow", "root:*:::::::\n", 0o640)
    tree.text("etc/machine-id", "")


def _links(tree: Tree) -> None:
    """Add the links that other maintainer scripts make."""
    tree.link("usr/bin/sh", "bash")
    tree.link("usr/bin/awk", "mawk")
    tree.link("usr/bin/which", "which.debianutils")
    tree.link("usr/sbin/init", "/lib/systemd/systemd")
    for family in ("iptables", "ip6tables"):
        for verb in ("", "-save", "-restore"):
            tree.link(f"usr/sbin/{family}{verb}", f"{family}-nft{verb}")
    tree.text("usr/local/bin/update-alternatives", _ALTERNATIVES, 0o755)


def _services(tree: Tree) -> None:
    tree.text("usr/local/bin/before-entrypoint", _BEFORE_ENTRYPOINT, 0o755)
    tree.text("usr/local/bin/pod-network", _NETWORK, 0o755)
    tree.text("etc/systemd/system/pod-network.service", _UNIT)
    tree.text("etc/systemd/journald.conf.d/node.conf", "[Journal]\nReadKMsg=no\n")
    wanted = "etc/systemd/system/multi-user.target.wants"
    for unit in ("/etc/systemd/system/kubelet.service", "/etc/systemd/system/pod-network.service"):
        tree.link(f"{wanted}/{Path(unit).name}", unit)
    tree.link(f"{wanted}/containerd.service", "/lib/systemd/system/containerd.service")
    tree.link("etc/systemd/system/getty.target", "/dev/null")


def _containerd(pause: str) -> str:
    # Proxies listen on ports below 1024 and are not root; newer versions of containerd allow that by default.
    # restrict_oom_score_adj: a machine may lack the capability to lower the score; it is harmless where it does not.
    return f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  tolerate_missing_hugetlb_controller = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = true
"""


def _cni() -> dict[str, object]:
    # ptp as kind's own CNI has it: a bridge would need br_netfilter for pods that reach each other by a Service.
    addresses = {"type": "host-local", "ranges": [[{"subnet": "POD_RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {"type": "ptp", "ipMasq": True, "ipam": addresses},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
