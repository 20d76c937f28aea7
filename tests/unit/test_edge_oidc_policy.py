"""OIDC policies in each state of their Secret, how each is repaired, and that nothing of one stays."""

import base64
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from edgegate.clusters.kinds import NAMESPACE, REFERENCE_GRANT, SECRET, SECURITY_POLICY, Ref
from edgegate.clusters.plane import ControlPlane, Manifest
from edgegate.components.oidc_provider import OidcClient
from edgegate.edge.oidc_policy import OidcPolicy, SecretState, Target, accepted
from edgegate.errors import NeverReady
from fakes import FakeTenant
from kube_api import KubeApi, serve

POLICY = Ref(SECURITY_POLICY, "login", "bad-1")
OWN, VAULT = Ref(SECRET, "oidc-client", "bad-1"), Ref(SECRET, "oidc-client", "bad-1-vault")
PROVIDER = "https://provider.test"


class FakeLogin:
    """A provider that knows every client."""

    issuer, host, address, port = PROVIDER, "provider.test", "10.88.7.1", 9400
    provider: Mapping[str, str] = {"issuer": PROVIDER}

    def __init__(self) -> None:
        self.registered: list[str] = []

    def register(self, redirect_url: str) -> OidcClient:
        self.registered.append(redirect_url)
        return OidcClient("client-1", "s3cret")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[KubeApi, ControlPlane]]:
    with serve(tmp_path) as made:
        yield made


@pytest.fixture
def api(served: tuple[KubeApi, ControlPlane]) -> KubeApi:
    return served[0]


@pytest.fixture
def bad(tmp_path: Path) -> FakeTenant:
    return FakeTenant("bad", tmp_path)


@pytest.fixture
def login() -> FakeLogin:
    return FakeLogin()


Make = Callable[..., OidcPolicy]


@pytest.fixture
def policy(bad: FakeTenant, served: tuple[KubeApi, ControlPlane], login: Any) -> Make:
    """Return a factory of policies that have been created."""

    def make(state: SecretState = SecretState.VALID, target: Target = Target.ROUTE) -> OidcPolicy:
        made = OidcPolicy(bad, target, state, served[1], login)
        made.create()
        return made

    return make


def _spec(api: KubeApi) -> Manifest:
    found: Manifest = api.objects[POLICY]["spec"]
    return found


def _data(manifest: Manifest) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in manifest["data"].items()}


def test_a_valid_policy(policy: Make, api: KubeApi, login: FakeLogin) -> None:
    made = policy()
    assert login.registered == ["https://bad-1.edge.test/oauth2/callback"]
    assert _spec(api) == {
        "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "site"}],
        "oidc": {
            "provider": {"issuer": PROVIDER},
            "clientID": "client-1",
            "clientSecret": {"name": "oidc-client"},
            "redirectURL": "https://bad-1.edge.test/oauth2/callback",
            "logoutPath": "/logout",
        },
    }
    assert _data(api.objects[OWN]) == {"client-secret": "s3cret"}
    assert (made.validity, repr(made)) == ("a valid policy", "OIDC policy of bad on its HTTPRoute, secret valid")


def test_a_policy_may_be_on_the_gateway(policy: Make, api: KubeApi) -> None:
    policy(target=Target.GATEWAY)
    (target,) = _spec(api)["targetRefs"]
    assert (target["kind"], target["name"]) == ("Gateway", "edge")


def test_a_missing_secret(policy: Make, api: KubeApi) -> None:
    assert policy(SecretState.MISSING).validity == "an unusable one"
    assert OWN not in api.objects


def test_a_secret_without_its_key(policy: Make, api: KubeApi) -> None:
    policy(SecretState.WITHOUT_KEY)
    assert _data(api.objects[OWN]) == {"other": "value"}


def test_a_secret_elsewhere_without_grant(policy: Make, api: KubeApi) -> None:
    policy(SecretState.WITHOUT_GRANT)
    assert _spec(api)["oidc"]["clientSecret"] == {"name": "oidc-client", "namespace": "bad-1-vault"}
    assert (VAULT in api.objects, OWN in api.objects) == (True, False)
    assert not [ref for ref in api.objects if ref.kind == REFERENCE_GRANT]
    labels = api.objects[Ref(NAMESPACE, "bad-1-vault")]["metadata"]["labels"]
    assert labels == {"meta.datumapis.com/upstream-cluster-name": "edge"}


@pytest.mark.parametrize("state", [SecretState.MISSING, SecretState.WITHOUT_KEY])
def test_a_secret_of_its_own_is_repaired_in_place(policy: Make, api: KubeApi, state: SecretState) -> None:
    made = policy(state)
    made.repair(by_grant=True)
    assert _data(api.objects[OWN])["client-secret"] == "s3cret"
    assert made.validity == "a valid policy"


def test_a_secret_elsewhere_is_granted(policy: Make, api: KubeApi) -> None:
    policy(SecretState.WITHOUT_GRANT).repair(by_grant=True)
    assert api.objects[Ref(REFERENCE_GRANT, "oidc-client", "bad-1-vault")]["spec"] == {
        "from": [{"group": "gateway.envoyproxy.io", "kind": "SecurityPolicy", "namespace": "bad-1"}],
        "to": [{"group": "", "kind": "Secret", "name": "oidc-client"}],
    }


def test_a_secret_elsewhere_is_copied_where_no_grant_helps(policy: Make, api: KubeApi) -> None:
    policy(SecretState.WITHOUT_GRANT).repair(by_grant=False)
    assert _data(api.objects[OWN]) == {"client-secret": "s3cret"}
    assert not [ref for ref in api.objects if ref.kind == REFERENCE_GRANT]


@pytest.mark.parametrize("state", SecretState)
def test_nothing_of_a_policy_stays(policy: Make, api: KubeApi, state: SecretState) -> None:
    """What is in its tenant's namespace goes with that."""
    made = policy(state)
    made.repair(by_grant=True)
    made.remove(5)
    assert [ref for ref in api.objects if ref.namespace != "bad-1"] == []
    assert POLICY not in api.objects


def _judge(api: KubeApi, status: str, message: str = "") -> None:
    judged = api.objects[POLICY]
    judged["status"] = {"ancestors": [{}, {"conditions": [{"type": "Accepted", "status": status, "message": message}]}]}
    api.write(judged)


def test_a_policy_is_judged_by_its_first_ancestor_that_has_an_opinion(policy: Make, api: KubeApi) -> None:
    made = policy()
    _judge(api, "False", "secret not found")
    assert made.wait_judged(5)["message"] == "secret not found"
    with pytest.raises(NeverReady) as raised:
        made.wait_accepted(0.05)
    assert str(raised.value) == (
        "downstream: SecurityPolicy bad-1/login accepted: not within 50 ms; "
        "last seen: Accepted=False (None: secret not found)"
    )
    _judge(api, "True")
    assert made.wait_accepted(5)["status"] == "True"


@pytest.mark.parametrize("status", [None, {}, {"ancestors": None}, {"ancestors": [{"conditions": None}]}])
def test_a_policy_that_nobody_has_judged(status: Any) -> None:
    assert accepted({"status": status}) is None
    assert accepted(None) is None
