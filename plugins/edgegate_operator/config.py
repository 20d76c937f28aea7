"""The configuration file, read strictly: an unknown key or a wrong type stops the start."""

import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from edgegate_operator import faults
from edgegate_operator.settings import Seconds, Settings


class ConfigFault(Exception):
    """The configuration cannot be meant; text: file, key, what is wrong, what is accepted."""


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.upper() if part in ("dns", "tls") else part.capitalize() for part in rest)


def _duration(value: Any, where: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", str(value))
    if not found:
        raise ConfigFault(f"{where}: {value!r} is not a duration; accepted: a number and a unit, as in 250ms, 5s, 24h")
    return float(found[1]) * _UNITS[found[2]]


def _items(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ConfigFault(f"{where}: {value!r} is not a list")
    return tuple(_value(get_args(hint)[0], item, f"{where}[{number}]") for number, item in enumerate(value))


def _texts(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ConfigFault(f"{where}: {value!r} is not a mapping")
    return {str(key): str(item) for key, item in value.items()}


def _value(hint: Any, value: Any, where: str) -> Any:
    if is_dataclass(hint):
        return _read(hint, value, where)
    if hint is Seconds:
        return _duration(value, where)
    if get_origin(hint) is tuple:
        return _items(hint, value, where)
    if get_origin(hint) is dict:
        return _texts(value, where)
    if type(value) is not hint and not (hint is float and type(value) is int):
        raise ConfigFault(f"{where}: {value!r} is not of type {hint.__name__}")
    return value


def _read(into: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ConfigFault(f"{where or 'top level'}: {data!r} is not a mapping")
    known = {_camel(item.name): item for item in fields(into)}
    prefix = f"{where}." if where else ""
    for key in data:
        if key not in known:
            raise ConfigFault(f"{prefix}{key}: no such key; accepted: {', '.join(sorted(known))}")
    hints = get_type_hints(into, include_extras=True)
    found = {known[key].name: _value(hints[known[key].name], value, prefix + key) for key, value in data.items()}
    for key, item in known.items():
        if item.name not in found and item.default is MISSING and item.default_factory is MISSING:
            raise ConfigFault(f"{prefix}{key}: missing")
    return into(**found)


def settings_from(data: Any) -> Settings:
    """Return settings from what a YAML file holds.

    Raises:
        ConfigFault: a key is unknown or missing, or a value has the wrong type.
    """
    found: Settings = _read(Settings, data, "")
    if not found.projects:
        raise ConfigFault("projects: at least one is needed")
    if len({project.name for project in found.projects}) < len(found.projects):
        raise ConfigFault("projects: two have the same name")
    names = [fault.name for fault in faults.known()]
    for fault in found.faults:
        if fault not in names:
            raise ConfigFault(f"faults: {fault!r} is unknown; accepted: {', '.join(names)}")
    return found


def load(path: Path, extra_faults: tuple[str, ...] = ()) -> Settings:
    """Return the settings in a file, with further faults from the command line.

    Raises:
        ConfigFault: the file cannot be read or says something that cannot be meant.
    """
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigFault(f"{path}: {error}") from error
    if isinstance(data, dict) and extra_faults:
        data = data | {"faults": [*(data.get("faults") or []), *extra_faults]}
    try:
        return settings_from(data)
    except ConfigFault as error:
        raise ConfigFault(f"{path}: {error}") from None
