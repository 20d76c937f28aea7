"""The firewall's own tests, which are written in Go, pass against the pinned rule set."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.gomod import go_environment, wrapper
from edgegate.pins import GoRecipe
from edgegate.resources import resource


@pytest.mark.timeout(600)
def test_firewall(tmp_path: Path) -> None:
    """They run in the module that the firewall is built in, with its tests beside it."""
    known, store = pins.load(resource("pins.toml")), Store()
    coraza, rules = known.pin("coraza"), known.pin("coreruleset")
    found = store.find(known, rules.name, rules.default)
    if found is None or store.find(known, coraza.name, coraza.default) is None or shutil.which("go") is None:
        # Only where no Go compiler is on PATH; `make test` builds the firewall, but its tests cannot be without one.
        pytest.skip("needs go, and the firewall built: edgegate build coraza coreruleset")
    assert isinstance(coraza.recipe, GoRecipe)
    go_line = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / "go.mod").write_text(wrapper(coraza.recipe, coraza.default, go_line.removeprefix("go")))
    for file in resource("native/waf").glob("*.go"):
        shutil.copy(file, tmp_path)
    environment = go_environment(dict(os.environ), store.root, tmp_path)
    environment["EDGEGATE_RULES"] = str(found.file("rules"))
    # With the flags of the build, so that only what is ours is compiled.
    argv = ["go", "test", "-trimpath", "-vet=off", "./..."]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
