"""Records of a DNSRecordSet in the form that PowerDNS wants."""

import time
from collections.abc import Callable, Iterable

from edgegate_operator.kinds import Obj

DEFAULT_TTL = 300
"""Seconds, if the first entry of a name has no `ttl`."""
SINGLE = ("CNAME", "ALIAS", "SOA")
"""Types of which a name has one value at most: the first."""
_PARAMS = ("alpn", "no-default-alpn", "port", "ech", "ipv4hint", "ipv6hint")


def fqdn(name: str, zone: str) -> str:
    """Return an owner name in full, lower case and with its final dot, however it was written."""
    if name in ("@", ""):
        return f"{zone}.".lower()
    return name.lower() if name.endswith(".") else f"{name}.{zone}.".lower()


def _dotted(target: str) -> str:
    return target if target.endswith(".") else target + "."


def _quoted(text: str) -> str:
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace(";", "\\;")
    chunks = [inner[at : at + 255] for at in range(0, len(inner), 255)] or [""]
    return " ".join(f'"{chunk}"' for chunk in chunks)


def _soa(value: Obj) -> str:
    serial = value.get("serial") or time.strftime("%Y%m%d01", time.gmtime())
    numbers = (
        serial,
        value.get("refresh") or 10800,
        value.get("retry") or 3600,
        value.get("expire") or 604800,
        value.get("ttl") or 3600,
    )
    return " ".join([_dotted(value["mname"]), _dotted(value["rname"]), *map(str, numbers)])


def _binding(value: Obj) -> str:
    head = f"{value['priority']} {_dotted(value['target']) if value.get('target') else '.'}"
    params: dict[str, str] = (value.get("params") or {}) if value["priority"] else {}
    ordered = [key for key in _PARAMS if key in params] + sorted(key for key in params if key not in _PARAMS)
    shown = [_param(key, params[key]) for key in ordered]
    return " ".join([head, *shown])


def _param(key: str, value: str) -> str:
    if not value:
        return key
    return f"{key}={value}" if key in _PARAMS else f'{key}="{value}"'


_CONTENT: dict[str, Callable[[Obj], str]] = {
    "A": lambda value: str(value["content"]),
    "AAAA": lambda value: str(value["content"]),
    **dict.fromkeys(("ALIAS", "CNAME", "NS", "PTR"), lambda value: _dotted(value["content"])),
    "TXT": lambda value: _quoted(value["content"]),
    "MX": lambda value: f"{value['preference']} {_dotted(value['exchange'])}",
    "SRV": lambda value: f"{value['priority']} {value['weight']} {value['port']} {_dotted(value['target'])}",
    "CAA": lambda value: f"{value['flag']} {value['tag']} {_quoted(value['value'])}",
    "SOA": _soa,
    "TLSA": lambda value: f"{value['usage']} {value['selector']} {value['matchingType']} {value['certData']}",
    "HTTPS": _binding,
    "SVCB": _binding,
}


def contents(kind: str, entries: Iterable[Obj]) -> list[str]:
    """Return the values of the entries of one owner name, each once; entries without that type's member say nothing."""
    values = [_CONTENT[kind](entry[kind.lower()]) for entry in entries if entry.get(kind.lower())]
    unique = list(dict.fromkeys(values))
    return unique[:1] if kind in SINGLE else unique


def replace(name: str, kind: str, entries: list[Obj]) -> Obj:
    """Return the PowerDNS change that makes a name have exactly those values."""
    ttl = next((entry["ttl"] for entry in entries[:1] if entry.get("ttl") is not None), DEFAULT_TTL)
    records = [{"content": content, "disabled": False} for content in contents(kind, entries)]
    return {"name": name, "type": kind, "ttl": ttl, "changetype": "REPLACE", "records": records}


def delete(name: str, kind: str) -> Obj:
    """Return the PowerDNS change that removes a name's values of one type."""
    return {"name": name, "type": kind, "changetype": "DELETE"}
