"""How a container is started: program, environment, mounts, and the three files that a kubelet writes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgegate.errors import PodTrouble
from edgegate.lab.node.config import Image, Images, Network, base_path
from edgegate.lab.node.container import Launch, Mount
from edgegate.lab.node.environment import Facts, Lookup, environment, expand
from edgegate.lab.node.kube import Json
from edgegate.lab.node.volumes import FILLED, kind_of

MESSAGE_PATH = "/dev/termination-log"


@dataclass(frozen=True)
class Places:
    """Where the files of a pod are in the lab."""

    root: Path
    """Folder for volumes and the files below."""
    logs: Path
    """Folder of its logs."""
    netns: Path | None
    """Its network namespace; None for the lab's own."""

    def volume(self, name: str) -> Path:
        """Return the folder of a volume."""
        return self.root / "volumes" / name

    def message(self, container: str) -> Path:
        """Return the file that a container may leave a message in."""
        return self.root / "containers" / container / "termination-log"


def image_of(images: Images, reference: str) -> Image:
    """Return what stands for an image.

    Raises:
        PodTrouble: ErrImagePull; names the image and where to add it.
    """
    found = images.find(reference)
    if found is None:
        raise PodTrouble("ErrImagePull", f'image "{reference}": pins.toml has no pin for it, and the lab pulls nothing')
    return found


def launch(
    pod: Json, container: Json, image: Image, places: Places, facts: Facts, lookup: Lookup, net: Network
) -> Launch:
    """Return how a container is started.

    Raises:
        PodTrouble: CreateContainerConfigError; something that its environment quotes is missing.
    """
    env = environment(pod, container, facts, lookup, _base(pod, image, net))
    command = [expand(word, env) for word in container.get("command") or []]
    words = [expand(word, env) for word in container.get("args") or []]
    security = container.get("securityContext") or {}
    return Launch(
        argv=(*(command or image.entry or (image.target,)), *words),
        env=env,
        mounts=tuple(_mounts(pod, container, image, places, env)),
        log=places.logs / f"{container['name']}.log",
        netns=places.netns,
        hostname=hostname(pod),
        cwd=container.get("workingDir") or "/",
        read_only_root=bool(security.get("readOnlyRootFilesystem")),
    )


def _base(pod: Json, image: Image, net: Network) -> dict[str, str]:
    cluster = {"KUBERNETES_SERVICE_HOST": net.service_ip, "KUBERNETES_SERVICE_PORT": "443"}
    return {"PATH": base_path(), "HOSTNAME": hostname(pod), "HOME": "/root", **cluster, **image.env}


def hostname(pod: Json) -> str:
    """Return what a pod sees as its host name."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")


def _mounts(pod: Json, container: Json, image: Image, places: Places, env: Mapping[str, str]) -> list[Mount]:
    mounts = [Mount(image.binary, image.target)]
    mounts += [Mount(source, target) for target, source in image.files.items()]
    mounts += [Mount(str(places.root / name), f"/etc/{name}") for name in ("hosts", "resolv.conf", "hostname")]
    message = container.get("terminationMessagePath") or MESSAGE_PATH
    mounts.append(Mount(str(places.message(container["name"])), message, read_only=False))
    kinds = {volume["name"]: kind_of(volume) for volume in pod["spec"].get("volumes") or []}
    for entry in container.get("volumeMounts") or []:
        read_only = bool(entry.get("readOnly")) or kinds[entry["name"]] in FILLED
        mounts.append(Mount(str(_source(entry, places, env)), entry["mountPath"], read_only=read_only))
    return mounts


def _source(entry: Json, places: Places, env: Mapping[str, str]) -> Path:
    below = entry.get("subPath") or expand(entry.get("subPathExpr") or "", env)
    folder = places.volume(entry["name"])
    if not below:
        return folder
    if below.startswith("/") or ".." in Path(below).parts:
        raise PodTrouble("CreateContainerConfigError", f"subPath {below!r} must be relative and without '..'")
    return (folder / below).resolve()


def pod_files(pod: Json, net: Network, address: str, own_resolver: str) -> dict[str, str]:
    """Return the text of `hosts`, `resolv.conf` and `hostname` as a pod sees them; `own_resolver` is the lab's."""
    return {
        "hosts": _hosts(pod, net, address),
        "resolv.conf": _resolver(pod, net, own_resolver),
        "hostname": f"{hostname(pod)}\n",
    }


def _hosts(pod: Json, net: Network, address: str) -> str:
    names = hostname(pod)
    if subdomain := pod["spec"].get("subdomain"):
        names = f"{names}.{subdomain}.{pod['metadata']['namespace']}.svc.{net.domain} {names}"
    lines = ["127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback", f"{address}\t{names}"]
    aliases = pod["spec"].get("hostAliases") or []
    lines += [f"{alias['ip']}\t{' '.join(alias.get('hostnames') or [])}" for alias in aliases]
    return "\n".join(lines) + "\n"


def _resolver(pod: Json, net: Network, own_resolver: str) -> str:
    spec = pod["spec"]
    servers: list[str] = []
    searches: list[str] = []
    options: dict[str, str] = {}
    rest: list[str] = []
    policy, more = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig") or {}
    if policy == "Default" or (policy == "ClusterFirst" and spec.get("hostNetwork")):
        rest = own_resolver.splitlines()
    elif policy != "None":
        space = pod["metadata"]["namespace"]
        searches = [f"{space}.svc.{net.domain}", f"svc.{net.domain}", net.domain]
        servers, options = [net.dns_ip], {"ndots": "5"}
    servers = servers + list(more.get("nameservers") or [])
    searches = searches + list(more.get("searches") or [])
    options |= {option["name"]: option.get("value", "") for option in more.get("options") or []}
    lines = rest + [f"nameserver {server}" for server in servers]
    lines += [f"search {' '.join(searches)}"] if searches else []
    lines += (
        ["options " + " ".join(f"{key}:{value}" if value else key for key, value in options.items())] if options else []
    )
    return "\n".join(lines) + "\n"
