"""What the tests of real clusters of kind share."""

import pytest

from edgegate.errors import EngineMissing, EngineSilent
from edgegate.kind.engine import Engine


def engine_or_skip() -> Engine:
    """Return whatever `docker` talks to; where nothing answers, the test that asks is skipped."""
    try:
        found = Engine.find()
        found.facts()
    except (EngineMissing, EngineSilent) as missing:
        pytest.skip(str(missing))
    return found
