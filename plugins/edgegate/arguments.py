"""The rows of `settings.SETTINGS` as arguments of a command line."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from edgegate.setting import COMMAND_PREFIX, Kind, Setting
from edgegate.settings import SETTINGS, Settings, resolve


def add_arguments(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    """Add the flags of the `edgegate` command for those settings; `from_arguments` reads them."""
    for setting in SETTINGS:
        if setting.name in names:
            add = parser.add_argument
            add(setting.flag(COMMAND_PREFIX), dest=f"setting_{setting.name}", **argparse_words(setting))


def argparse_words(setting: Setting) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument` for a row; the default is None, which means "not given"."""
    shown = Settings().shown(setting.name)
    built_in = f"built-in {shown}, " if shown and setting.name not in ("pins", "slo") else ""
    words: dict[str, Any] = {"help": f"{setting.help} ({built_in}{setting.env})", "default": None}
    if setting.kind is Kind.SWITCH:
        return {**words, "action": argparse.BooleanOptionalAction}
    repeatable = setting.kind in (Kind.PAIRS, Kind.WORDS)
    return {**words, "action": "append" if repeatable else "store", "metavar": setting.metavar}


def from_arguments(arguments: argparse.Namespace, env: Mapping[str, str]) -> Settings:
    """Return the settings of an `edgegate` command: its flags, then the environment. Ini files are pytest's alone.

    Raises:
        BadSetting: as `resolve`.
    """
    flags = {setting.name: getattr(arguments, f"setting_{setting.name}", None) for setting in SETTINGS}
    return resolve(flags, env, {}, prefix=COMMAND_PREFIX)
