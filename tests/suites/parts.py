"""Shows the parts that the edge is asked to have."""

import pytest

from edgegate.fixtures.edge import PARTS


def show(config: pytest.Config) -> None:
    chosen = config.stash[PARTS]
    print("parts:", ", ".join(chosen) or "none")  # noqa: T201


def test_default(edge: object, pytestconfig: pytest.Config) -> None:
    show(pytestconfig)


@pytest.mark.edge_parts("operator", "dns")
def test_proxy(edge: object, pytestconfig: pytest.Config) -> None:
    show(pytestconfig)


@pytest.mark.edge_parts("acme")
class TestCertificates:
    @pytest.mark.edge_parts("dns")
    def test_one(self, edge: object, pytestconfig: pytest.Config) -> None:
        show(pytestconfig)
