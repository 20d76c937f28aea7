"""Tests that make tenants and policies on an edge that notes, in the file `told`, what is made and taken away."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate import OidcPolicyFactory, SecretState, Target, Tenant, TenantFactory
from edgegate.edge.tenancy import Tenancy
from edgegate.edge.tenant import Site

nobody: Any = None
TENANCY = Tenancy(nobody)
PROVIDER = "https://provider.test"


def _tell(*words: object) -> None:
    with Path("told").open("a") as told:
        told.write(" ".join(map(str, words)) + "\n")


class Plane:
    def apply(self, *manifests: dict[str, Any]) -> None:
        for manifest in manifests:
            _tell("apply", manifest["kind"])
            if Path("refuse").exists():
                raise ConnectionError("the plane is gone")

    def delete_and_wait(self, ref: object, *, within: float) -> None:
        _tell("delete", ref)


class Edge:
    def __init__(self) -> None:
        self.downstream: Any = Plane()
        self.limits = SimpleNamespace(gone=30)
        client = SimpleNamespace(identifier="i", secret="s")
        self.login = SimpleNamespace(issuer=PROVIDER, provider={"issuer": PROVIDER}, register=lambda url: client)

    def tenant(self, name: str) -> Tenant:
        _tell("create", name)
        return Tenant(name, name, self.downstream, Site("10.88.7.8", Path("ca.crt")), TENANCY)

    def remove_tenant(self, tenant: Tenant) -> None:
        _tell("remove", tenant.name)


@pytest.fixture(scope="session")
def edge() -> Edge:
    return Edge()


def test_makes(neighbour: Tenant, tenant: TenantFactory, oidc_policy: OidcPolicyFactory) -> None:
    a = tenant("a")
    tenant("b")
    oidc_policy(a, Target.ROUTE, SecretState.VALID)
    _tell("test of", neighbour.name)


def test_fails(neighbour: Tenant, tenant: TenantFactory) -> None:
    tenant("c")
    pytest.fail("in the middle")
