"""Control planes for the operator: etcd and two API servers as processes on loopback, all gone after the run."""

from collections.abc import Iterator

import pytest

from operator_planes import FakePowerDns, Plane, Planes


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "needs_apiserver: starts etcd and API servers from the store (about 20 s)")


@pytest.fixture(scope="session")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """Return running control planes with all CRDs."""
    with Planes(tmp_path_factory.mktemp("planes")) as running:
        yield running


@pytest.fixture(scope="session")
def upstream(planes: Planes) -> Plane:
    """Return the project's control plane."""
    return planes.upstream


@pytest.fixture(scope="session")
def downstream(planes: Planes) -> Plane:
    """Return the edge's control plane."""
    return planes.downstream


@pytest.fixture(scope="session")
def powerdns() -> Iterator[FakePowerDns]:
    """Return an HTTP server that keeps zones as PowerDNS does."""
    with FakePowerDns() as running:
        yield running
