"""The policies of a corpus run: one that sees everything and blocks nothing, and those that customers have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgegate.corpus.bootstrap import ROUTE

DETECT = "detect"
"""Paranoia level 4, observing: which rules match."""
ENFORCE = "enforce"
"""Paranoia level 1, enforcing: what is blocked."""
_AS_THE_TESTS_WANT = (
    "SecResponseBodyMimeType text/plain text/html text/xml application/json",
    *(f'SecDefaultAction "phase:{phase},log,auditlog,pass"' for phase in (3, 4, 5)),
    'SecAction "id:900005,phase:1,nolog,pass,setvar:tx.crs_validate_utf8_encoding=1,setvar:tx.arg_name_length=100,'
    "setvar:tx.arg_length=400,setvar:tx.total_arg_length=64000,setvar:tx.max_num_args=255,"
    'setvar:tx.max_file_size=64100,setvar:tx.combined_file_sizes=65535"',
)
"""The settings with which the rule set's own tests were written."""


def config(directives: Path | None = None, excluding: Mapping[str, Sequence[int]] | None = None) -> dict[str, Any]:
    """Return what the firewall is to do.

    Args:
        directives: a file of further ones for the enforcing policy.
        excluding: further doors, each to the rules that its policy excludes; else they are as the enforcing one.
    """
    own = directives.read_text(encoding="utf-8") if directives else ""
    detect = {
        "name": f"corpus/{DETECT}", "generation": 1, "mode": "Observe",
        "paranoiaLevels": {"blocking": 4, "detection": 4}, "directives": "\n".join(_AS_THE_TESTS_WANT),
    }  # fmt: skip
    enforce = {"name": f"corpus/{ENFORCE}", "generation": 1, "mode": "Enforce", "directives": own}
    further = [
        {"name": f"corpus/{door}", "generation": 1, "mode": "Enforce", "ruleExclusions": {"ids": list(rules)}}
        for door, rules in (excluding or {}).items()
    ]
    doors = (DETECT, ENFORCE, *(excluding or ()))
    routes = [{"prefix": ROUTE.format(name), "policy": f"corpus/{name}"} for name in doors]
    return {"policies": [detect, enforce, *further], "routes": routes}
