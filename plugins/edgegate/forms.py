"""What the text of each setting may say; each parser takes origin and text, returns the value or raises BadSetting."""

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from edgegate.clock import parse_duration
from edgegate.errors import BadSetting, NotADuration, UnknownLimit
from edgegate.limits import Limits
from edgegate.programs import trouble_with


class Reuse(StrEnum):
    """When a kept edge is used again."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


BACKENDS = (HOST, KIND, ATTACH) = ("host", "kind", "attach")
ALLOWABLE = ("cold-restart", "cluster-objects")
"""What scenarios do to an edge that others feel: all proxies away at once, objects of no namespace."""


def backend(origin: str, text: str) -> str:
    """Return where the edge runs."""
    if text not in BACKENDS:
        raise BadSetting(origin, f"'{text}' is no backend. Accepted: {', '.join(BACKENDS)}.")
    return text


def kubeconfig(origin: str, text: str) -> Path:
    """Return the absolute path of a file by which a cluster can be asked."""
    found = path(origin, text)
    from edgegate.kubeconfigs import trouble_with as trouble_of  # noqa: PLC0415 - YAML is slow to import

    if trouble := trouble_of(found):
        raise BadSetting(origin, f"{found} {trouble}. Accepted: a kubeconfig with a current context.")
    return found


def count(origin: str, text: str) -> int:
    """Return how many of something."""
    if not re.fullmatch(r"[1-4]", text):
        raise BadSetting(origin, f"'{text}' cannot be meant. Accepted: a number from 1 to 4.")
    return int(text)


def word(origin: str, text: str) -> str:
    """Return a name of an object."""
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", text):
        raise BadSetting(origin, f"'{text}' is no name of an object. Accepted: words such as my-gateway-class.")
    return text


def url(origin: str, text: str) -> str:
    """Return the URL of an origin."""
    if not re.fullmatch(r"https?://[^/?#\s]+", text):
        raise BadSetting(origin, f"'{text}' is no origin. Accepted: scheme, host and port, as in http://10.0.0.7:8080.")
    return text


def allowed(origin: str, text: str) -> str:
    """Return the name of something that scenarios may do."""
    if text not in ALLOWABLE:
        raise BadSetting(origin, f"'{text}' cannot be allowed. Accepted: {', '.join(ALLOWABLE)}.")
    return text


_SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def switch(origin: str, text: str) -> bool:
    """Return yes or no."""
    if text.strip().lower() not in _SWITCH:
        raise BadSetting(origin, f"'{text}' is neither yes nor no. Accepted: 1, true, yes, on, 0, false, no, off.")
    return _SWITCH[text.strip().lower()]


def reuse(origin: str, text: str) -> Reuse:
    """Return when a kept edge is used again."""
    if text not in list(Reuse):
        raise BadSetting(origin, f"'{text}' says nothing about reuse. Accepted: auto, always, never.")
    return Reuse(text)


def replicas(origin: str, text: str) -> int:
    """Return how many pods the proxy shall have."""
    if text not in ("1", "2", "3", "4", "5"):
        raise BadSetting(origin, f"'{text}' is no number of proxies. Accepted: 1 to 5.")
    return int(text)


def path(origin: str, text: str) -> Path:
    """Return an absolute path, whether something is there or not."""
    if not text.strip():
        raise BadSetting(origin, "an empty path. Accepted: a path, relative to where you are or absolute.")
    return Path(text).expanduser().absolute()


def file_like(example: str) -> Callable[[str, str], Path]:
    """Return what reads the absolute path of a file that exists; `example` is the project's own file of that kind."""

    def file(origin: str, text: str) -> Path:
        found = path(origin, text)
        if not found.is_file():
            raise BadSetting(origin, f"there is no file {found}. Accepted: a file like the project's {example}.")
        return found

    return file


def _pair(origin: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise BadSetting(origin, f"'{text}' is no pair. Accepted: name=value, as in {example}.")
    return name, value


def component(origin: str, text: str) -> tuple[str, str]:
    """Return component and version."""
    return _pair(origin, text, "envoy=1.38.3")


def limit(origin: str, text: str) -> tuple[str, float]:
    """Return a limit's name and its seconds."""
    name, value = _pair(origin, text, "converge=30s")
    if name not in Limits.names():
        raise UnknownLimit(origin, name, known=Limits.names())
    try:
        return name, parse_duration(value)
    except NotADuration as unreadable:
        raise BadSetting(origin, f"{name}: {unreadable} For example {name}=30s.") from unreadable


PARTS = ("dns", "acme", "operator", "ladder", "waf")
"""What an edge can have beyond the default; a test asks for it by the mark `edge_parts`."""
DNS_BACKENDS = ("lmdb", "sqlite")
"""Where the authoritative server can keep its records; the first is production's."""


def dns_backend(origin: str, text: str) -> str:
    """Return where the authoritative server keeps its records."""
    if text not in DNS_BACKENDS:
        raise BadSetting(origin, f"'{text}' is no backend of the name server. Accepted: {', '.join(DNS_BACKENDS)}.")
    return text


REFERENCE = "reference"
BINARY, IMAGE = "nso:", "nso-image:"
"""How the real operator is named: by a program, or by a container image."""
ARCHIVES = ("docker-archive:", "oci-archive:")
"""What stands before the path of an image that is a file."""
_IMAGE_FORM = re.compile(r"[a-z0-9]+([.:/-]+[A-Za-z0-9_]+)*(@sha256:[0-9a-f]{64})?")


def operator(origin: str, text: str) -> str:
    """Return `reference`, `nso:` and the absolute path of a program, or `nso-image:` and an image."""
    if text == REFERENCE:
        return text
    if text.startswith(BINARY):
        return f"{BINARY}{program(origin, text.removeprefix(BINARY))}"
    if text.startswith(IMAGE):
        return f"{IMAGE}{image(origin, text.removeprefix(IMAGE))}"
    accepted = f"{REFERENCE}, {BINARY}PATH of its binary, or {IMAGE}REFERENCE of its image"
    raise BadSetting(origin, f"'{text}' is no operator. Accepted: {accepted}.")


def whose(operator: str) -> str:
    """Return whose operator it is, as waivers name it: `reference` or `nso`."""
    return REFERENCE if operator == REFERENCE else BINARY.rstrip(":")


IMAGE_SOURCES = (BUILT, OFFICIAL) = ("built", "official")
"""Where the images of an edge's own components come from: made of the store, or pulled from their registries."""


def images(origin: str, text: str) -> str:
    """Return where images of components come from."""
    if text not in IMAGE_SOURCES:
        raise BadSetting(origin, f"'{text}' is no source of images. Accepted: {', '.join(IMAGE_SOURCES)}.")
    return text


def image(origin: str, text: str) -> str:
    """Return a reference to an image, or the prefix of an archive and the absolute path of a file that exists."""
    for prefix in ARCHIVES:
        if text.startswith(prefix):
            found = path(origin, text.removeprefix(prefix))
            if not found.is_file():
                trouble = "is no file" if found.exists() else "does not exist"
                raise BadSetting(origin, f"{found} {trouble}. Accepted: what `docker save IMAGE -o FILE` writes.")
            return f"{prefix}{found}"
    if not _IMAGE_FORM.fullmatch(text):
        accepted = f"a reference as in registry.example/operator:v1, or {' or '.join(f'{one}FILE' for one in ARCHIVES)}"
        raise BadSetting(origin, f"'{text}' names no image. Accepted: {accepted}.")
    return text


def program(origin: str, text: str) -> Path:
    """Return the absolute path of a program that can be run here."""
    found = path(origin, text)
    if trouble := trouble_with(found):
        raise BadSetting(origin, f"{found} {trouble}. Accepted: the path of a program for this machine.")
    return found


def crds(origin: str, text: str) -> Path:
    """Return the absolute path of a folder with YAML files."""
    found = path(origin, text)
    if not found.is_dir() or not any(found.rglob("*.y*ml")):
        trouble = "is no folder with YAML files" if found.exists() else "does not exist"
        raise BadSetting(origin, f"{found} {trouble}. Accepted: a folder with the operator's CRDs.")
    return found


_FAULT = re.compile(r"[a-z][a-z0-9-]*")


def fault(origin: str, text: str) -> str:
    """Return the name of a fault; whether the operator has it is asked of the operator."""
    if not _FAULT.fullmatch(text):
        raise BadSetting(origin, f"'{text}' is no name of a fault. Accepted: words such as requeue-floor.")
    return text
