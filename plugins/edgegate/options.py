"""The rows of `settings.SETTINGS` as pytest's flags and ini keys."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from edgegate import pins
from edgegate.arguments import argparse_words
from edgegate.errors import BadSetting, UsageFault
from edgegate.forms import ATTACH
from edgegate.limits import Limits
from edgegate.pins import Pins, Selection
from edgegate.pins.model import FROM_PINS
from edgegate.report.folder import edgegate_version
from edgegate.report.run import Asked, Run
from edgegate.setting import Kind, Setting
from edgegate.settings import ATTACHED, BUILT_IN, OF_THE_REAL, SETTINGS, Settings, resolve
from edgegate.slo import Slo
from edgegate.slo import load as load_slo
from edgegate.waivers import Waivers, load

T = TypeVar("T")

_INI_TYPES = {Kind.WORD: "string", Kind.SWITCH: "bool", Kind.PAIRS: "linelist", Kind.WORDS: "linelist"}
_KUBECONFIGS = {"downstream_kubeconfig", "upstream_kubeconfig"}
_PATHS = {"run_dir", "pins", "waivers", "slo", "dns_operator", "operator_crds", *_KUBECONFIGS}


def register(parser: pytest.Parser) -> None:
    """Add every flag and every ini key; none has a default of its own, so that "not given" can be told apart."""
    group = parser.getgroup("edgegate", "edgegate: a real edge, and gates that decide by traffic")
    for setting in SETTINGS:
        if not setting.environment_only:
            group.addoption(setting.flag(), dest=setting.ini, **argparse_words(setting))
            parser.addini(setting.ini, setting.help, type=_INI_TYPES[setting.kind], default=None)  # type: ignore[arg-type]


def read(config: pytest.Config, env: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of this run.

    Raises:
        pytest.UsageError: a value that cannot be meant, or a component or version that no pin has.
    """
    flags = {setting.name: config.getoption(setting.ini, None) for setting in SETTINGS}
    ini = {setting.name: _ini(config, setting) for setting in SETTINGS if not setting.environment_only}
    try:
        return resolve(flags, env, ini)
    except UsageFault as fault:
        raise pytest.UsageError(str(fault)) from fault


def _ini(config: pytest.Config, setting: Setting) -> Any:
    """Return an ini value; a path in an ini file is relative to that file, not to where the user is."""
    value = config.getini(setting.ini)
    if setting.name in _PATHS and value and config.inipath:
        return str(config.inipath.parent / Path(value).expanduser())
    return value


def select(settings: Settings) -> Selection:
    """Return the version of each component that this run asks for.

    Raises:
        pytest.UsageError: the pins file is malformed, or has no such component or version.
    """
    try:
        chosen = pins.load(settings.pins)
        for component, origin in settings.parts("set").items():
            _known(chosen, component, settings.set[component], origin)
        return chosen.select(settings.set, settings.parts("set"))
    except UsageFault as fault:
        raise pytest.UsageError(str(fault)) from fault


def _known(chosen: Pins, component: str, version: str, origin: str) -> None:
    try:
        chosen.pin(component).check(version)
    except UsageFault as fault:
        raise BadSetting(f"{origin} {component}={version}", str(fault)) from fault


def waivers(settings: Settings) -> Waivers:
    """Return the gates that are known to fail: of the file that was named, or of the one beside the pins.

    Raises:
        pytest.UsageError: the file is malformed.
    """
    beside = settings.pins.with_name("waivers.toml")
    return _read(lambda: load(settings.waivers or (beside if beside.is_file() else None)))


def slo(settings: Settings) -> Slo:
    """Return the budgets of the stages.

    Raises:
        pytest.UsageError: the file is malformed.
    """
    return _read(lambda: load_slo(settings.slo))


def _read(load_file: Callable[[], T]) -> T:
    try:
        return load_file()
    except UsageFault as fault:
        raise pytest.UsageError(str(fault)) from fault


def asked(config: pytest.Config, settings: Settings, selection: Selection | None) -> Asked:
    """Return what the report says about the settings, and the command that runs a test again."""
    elsewhere = config.rootpath != config.invocation_params.dir
    return Asked(
        settings=_rows(settings),
        versions={
            name: {"version": one.version, "origin": one.origin}
            for name, one in (selection.choices.items() if selection else ())
        },
        repeat=(*_kept(settings), *_again(settings), *_ini_file(config)),
        directory=str(config.rootpath) if elsewhere else "",
        diagnostics_limit=settings.limits.diagnostics,
    )


def header(run: Run) -> list[str]:
    """Return the header: the versions asked for, and every setting that is not built in, each with who said so."""
    # Nobody asked for a companion as long as nobody asked for a version; then it is a pin like any other.
    as_pinned = not any(one["name"].startswith("set ") for one in run.asked.settings)
    versions = [
        f"{name} {one['version']}" + ("" if as_pinned or one["origin"] == FROM_PINS else f" ({one['origin']})")
        for name, one in run.asked.versions.items()
    ]
    said = [
        f"{one['name']} {one['value']} ({one['origin']})"
        for one in run.asked.settings
        if one["origin"] != BUILT_IN and not one["name"].startswith("set ")
    ]
    lines = [f"edgegate {edgegate_version()} asks for: {', '.join(versions)}"]
    return [*lines, f"edgegate settings: {', '.join(said)}"] if said else lines


def _rows(settings: Settings) -> list[dict[str, str]]:
    """Return one row a setting; pairs have one row a part, and every limit has one."""
    rows = []
    for setting in SETTINGS:
        if setting.kind is not Kind.PAIRS:
            origin = settings.origin(setting.name)
            rows.append({"name": setting.name, "value": settings.shown(setting.name), "origin": origin})
    for component, origin in settings.parts("set").items():
        rows.append({"name": f"set {component}", "value": settings.set[component], "origin": origin})
    for name in Limits.names():
        origin = settings.origin("limit", name)
        rows.append({"name": f"limit {name}", "value": settings.limits.shown(name), "origin": origin})
    return rows


def _kept(settings: Settings) -> list[str]:
    """Return the flag by which the next run finds the edge still there; an attached one is there anyway."""
    return [] if settings.backend == ATTACH else ["--edge-keep"]


def _again(settings: Settings) -> list[str]:
    """Return the flags of every setting that makes the edge or its verdict what it is, wherever it was set."""
    words = []
    for name in ("pins", "waivers", "slo"):
        if settings.origin(name) != BUILT_IN:
            words += [f"--edge-{name}", str(getattr(settings, name))]
    for component in settings.parts("set"):
        words += ["--edge-set", f"{component}={settings.set[component]}"]
    words += _operator(settings)
    for name in settings.parts("limit"):
        words += ["--edge-limit", f"{name}={getattr(settings.limits, name):g}s"]
    return words


_UNDER_TEST = ("replicas", "dns_backend", "operator", *OF_THE_REAL, "backend", "images", *ATTACHED)


def _operator(settings: Settings) -> list[str]:
    words = [word for fault in settings.fault for word in ("--edge-fault", fault)]
    for setting in SETTINGS:
        value = getattr(settings, setting.name, None)
        if setting.name in _UNDER_TEST and settings.origin(setting.name) != BUILT_IN:
            values = value if isinstance(value, tuple) else (value,)
            words += [word for one in values for word in (setting.flag(), str(one))]
    return words


def _ini_file(config: pytest.Config) -> list[str]:
    """Return the flags that lead to the same ini file and root folder, where the user gave any."""
    given = [("-c", "inifilename", config.inipath), ("--rootdir", "rootdir", config.rootpath)]
    return [word for flag, name, path in given if config.getoption(name, None) for word in (flag, str(path))]
