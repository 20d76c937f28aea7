"""The rows of `settings.SETTINGS` as pytest's flags and ini keys."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from edgegate.errors import UsageFault
from edgegate.settings import SETTINGS, Kind, Setting, Settings, argparse_words, resolve

_INI_TYPES = {Kind.WORD: "string", Kind.SWITCH: "bool", Kind.PAIRS: "linelist"}
_PATHS = {"run_dir", "pins"}


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
