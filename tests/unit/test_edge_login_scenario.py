"""How a login scenario judges who is refused, who must log in, and a login from its beginning to its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgegate.clusters.kinds import SECRET, SECURITY_POLICY, Ref
from edgegate.clusters.plane import Manifest
from edgegate.edge import login_scenario
from edgegate.edge.doors import Door
from edgegate.edge.login_scenario import METHODS, LoginScenario
from edgegate.errors import NeverReady, PoisonNotLive
from edgegate.limits import Limits
from edgegate.probes.browser import Page
from edgegate.records import Answer, Finding, Source
from edgegate.report.gate import Gate
from fakes import FakeTenant, notebook

POLICY = Ref(SECURITY_POLICY, "login", "bad-1")
OWN = Ref(SECRET, "oidc-client", "bad-1")
PROVIDER = "https://provider.test"


@pytest.fixture
def bad(tmp_path: Path) -> FakeTenant:
    return FakeTenant("bad", tmp_path)


class FakePolicy:
    """A policy whose verdict is given."""

    secret, ref, validity = OWN, POLICY, "an unusable one"

    def __init__(self, tenant: FakeTenant) -> None:
        self.tenant = tenant
        self.condition: Manifest = {"status": "False", "message": "Secret bad-1/oidc-client does not exist"}
        self.accepted = True
        self.repaired: list[bool] = []

    def __repr__(self) -> str:
        return "the policy"

    def wait_judged(self, within: float) -> Manifest:
        return self.condition

    def wait_accepted(self, within: float) -> Manifest:
        if not self.accepted:
            raise NeverReady("policy accepted", limit="30.00 s", last="Accepted=False")
        return {"status": "True"}

    def repair(self, *, by_grant: bool) -> None:
        self.repaired.append(by_grant)


@pytest.fixture
def judged(bad: FakeTenant) -> Any:
    return FakePolicy(bad)


@pytest.fixture
def gate() -> Gate:
    return notebook()


class FakeEdge:
    """An edge as far as a login scenario goes."""

    limits = Limits(relit=0.03, recover=0.03)

    def __init__(self) -> None:
        self.login = SimpleNamespace(issuer=PROVIDER, host="provider.test", address="10.88.7.1", port=9400)
        self.events: list[str] = []
        self.site = SimpleNamespace(address="10.88.7.8", ca=None)

    def doors(self) -> list[Door]:
        return [Door(self.site.address)]

    def every_proxy(self) -> list[str]:
        return ["the proxy"]

    def cold_restart(self) -> list[str]:
        self.events.append("cold restart")
        return ["the new proxy"]

    def has(self, capability: str) -> bool:
        return capability == "secret-grants"

    @contextmanager
    def unharmed(self, proxy: str) -> Iterator[None]:
        self.events.append(f"begin to watch, with {proxy}")
        yield
        self.events.append("judge")

    def relit(self, proxy: str) -> None:
        self.events.append(f"relit, with {proxy}")


@pytest.fixture
def here() -> Any:
    return FakeEdge()


@pytest.fixture
def scenario(here: Any, gate: Gate) -> LoginScenario:
    return LoginScenario(here, gate, here)


def test_a_phase_watches_the_neighbours(scenario: LoginScenario, here: FakeEdge, gate: Gate) -> None:
    with scenario.phase("warm"):
        here.events.append("block")
    assert here.events == ["begin to watch, with the proxy", "block", "judge"]
    assert gate.evidence.phases == ["warm"]


def test_after_a_cold_restart_the_neighbours_come_first(scenario: LoginScenario, here: FakeEdge, gate: Gate) -> None:
    with scenario.after_cold_restart():
        here.events.append("block")
    assert here.events == ["cold restart", "relit, with the new proxy", "block"]
    assert gate.evidence.phases == ["after cold restart"]


def test_who_is_refused_rightly_is_no_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    bad.answers = lambda method, tls, host: bad.right(method, tls, status=500, headers=())
    scenario.refused(judged)
    assert gate.evidence.findings == []
    assert gate.evidence.checks == {Source.STATUS: 1, Source.TRAFFIC: 2}
    assert gate.evidence.poison == {
        "what": "the policy (an unusable one)",
        "evidence": "Accepted=False: Secret bad-1/oidc-client does not exist",
    }


def test_a_route_that_stays_open_is_a_finding_by_method(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    def answers(method: str, tls: bool, host: str) -> Answer:
        if not tls or method in METHODS[:3]:
            return bad.right(method, tls, status=500, headers=())
        return bad.right(method, tls) if method != "OPTIONS" else bad.right(method, tls, error="reset")

    bad.answers = answers
    scenario.refused(judged)
    seen = "PUT, PATCH, DELETE: 200 from bad-1, without login; OPTIONS: reset"
    assert gate.evidence.findings == [Finding(Source.TRAFFIC, "bad https", "exactly 500 to every method", seen)]


def test_a_status_that_does_not_name_the_secret_is_a_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    bad.answers = lambda method, tls, host: bad.right(method, tls, status=500, headers=())
    judged.condition = {"status": "False", "message": "invalid"}
    scenario.refused(judged)
    expected = "a message that names the secret oidc-client, or where it must be"
    assert gate.evidence.findings == [Finding(Source.STATUS, "SecurityPolicy bad-1/login", expected, "invalid")]


def test_a_policy_that_is_accepted_though_unusable_proves_nothing(scenario: LoginScenario, judged: Any) -> None:
    judged.condition = {"status": "True"}
    with pytest.raises(PoisonNotLive) as raised:
        scenario.refused(judged)
    assert str(raised.value) == (
        "the poison had no effect: the policy (an unusable one); seen: Accepted=True: . "
        "What survived it proves nothing."
    )


def _sent(bad: FakeTenant, to: str) -> Callable[[str, bool, str], Answer]:
    return lambda method, tls, host: bad.right(method, tls, status=302, headers=(("location", to),))


def test_who_is_sent_to_the_provider_is_no_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    bad.answers = _sent(bad, f"{PROVIDER}/oauth2/authorize?client_id=1")
    scenario.asked_to_log_in(judged)
    assert gate.evidence.findings == []
    assert gate.evidence.poison is not None


@pytest.mark.parametrize("to", [f"{PROVIDER}.evil.test/", "https://bad-1.edge.test/", ""])
def test_who_is_sent_anywhere_else_is_a_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant, to: str
) -> None:
    bad.answers = _sent(bad, to)
    scenario.asked_to_log_in(judged)
    assert [finding.expected for finding in gate.evidence.findings] == [f"302 to {PROVIDER}"] * 2


def test_a_valid_policy_that_is_not_accepted_is_a_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    bad.answers = _sent(bad, f"{PROVIDER}/")
    judged.accepted = False
    scenario.asked_to_log_in(judged)
    expected = "Accepted=True within 30.00 s"
    assert gate.evidence.findings == [
        Finding(Source.STATUS, "SecurityPolicy bad-1/login", expected, "Accepted=False"),
    ]


def test_a_later_poison_is_not_blamed_for_earlier_harm(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    gate.expect(Source.TRAFFIC, "neighbour http", 200, 404)
    bad.answers = _sent(bad, f"{PROVIDER}/")
    scenario.asked_to_log_in(judged)
    assert gate.evidence.poison is None


def test_a_policy_that_comes_and_goes_is_judged_on_the_wire_alone(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    """Whatever its status is."""
    judged.accepted = False
    bad.answers = _sent(bad, f"{PROVIDER}/")
    scenario.acts(judged)
    bad.answers = lambda method, tls, host: bad.right(method, tls)
    scenario.acts_no_more(judged)
    assert (gate.evidence.findings, gate.evidence.checks) == ([], {Source.TRAFFIC: 2})
    assert gate.evidence.poison is not None


def test_a_policy_that_does_not_come_or_go_is_a_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, bad: FakeTenant
) -> None:
    scenario.acts(judged)
    bad.answers = _sent(bad, f"{PROVIDER}/")
    scenario.acts_no_more(judged)
    expected = [f"302 to {PROVIDER} within 30 ms", "200 from bad-1 within 30 ms"]
    assert [(one.subject, one.expected) for one in gate.evidence.findings] == [("bad http", told) for told in expected]
    assert gate.evidence.poison is None


def test_a_repair_is_by_grant_where_the_gateway_knows_it(scenario: LoginScenario, judged: Any) -> None:
    scenario.repair(judged)
    assert judged.repaired == [True]


class FakeBrowser:
    """Walks through a login whose pages are given."""

    def __init__(self, *pages: Page) -> None:
        self.pages, self.went = list(pages), list[str]()
        self.cookies = ["AccessToken-1"]
        self.table: dict[str, tuple[str, int]] = {}

    def __call__(self, table: dict[str, tuple[str, int]], *, ca: object) -> "FakeBrowser":
        self.table = table
        return self

    def __enter__(self) -> "FakeBrowser":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def get(self, url: str) -> Page:
        self.went.append(url)
        return self.pages.pop(0)

    def submit(self, url: str, form: dict[str, str]) -> Page:
        self.went.append(f"{url} {form}")
        return self.pages.pop(0)

    def follow(self, page: Page) -> Page:
        return self.get(page.location)


def _page(status: int, location: str = "", **more: Any) -> Page:
    return replace(Page("https://here.test/", status, location, {}, ""), **more)


SITE = "https://bad-1.edge.test"
ROUND = (
    _page(302, f"{PROVIDER}/authorize"),
    _page(200, url=f"{PROVIDER}/authorize"),
    _page(302, f"{SITE}/oauth2/callback?code=1"),
    _page(302, f"{SITE}/"),
    _page(200, headers={"x-edgegate-origin": "bad-1"}),
    _page(302, f"{SITE}/"),
    _page(302, f"{PROVIDER}/authorize"),
)


def test_a_complete_round(scenario: LoginScenario, gate: Gate, judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = FakeBrowser(*ROUND)
    monkeypatch.setattr(login_scenario, "Browser", browser)
    scenario.complete_round(judged)
    assert (gate.evidence.findings, gate.evidence.checks) == ([], {Source.TRAFFIC: 8})
    assert browser.table == {"bad-1.edge.test": ("10.88.7.8", 443), "provider.test": ("10.88.7.1", 9400)}
    assert browser.went == [
        f"{SITE}/",
        f"{PROVIDER}/authorize",
        f"{PROVIDER}/authorize {{'sub': 'alice'}}",
        f"{SITE}/oauth2/callback?code=1",
        f"{SITE}/",
        f"{SITE}/logout",
        f"{SITE}/",
    ]


@pytest.mark.parametrize(
    ("step", "page", "subject", "seen"),
    [
        (1, _page(503), "provider shows its form", "503"),
        (2, _page(302, "https://evil.test/"), "provider sends back", "302 https://evil.test/"),
        (3, _page(401), "callback sets cookies and sends on", "401"),
        (4, _page(200, headers={"x-edgegate-origin": "neighbour"}), "origin behind the login", "neighbour"),
        (5, _page(200), "logout sends away", "200"),
        (6, _page(200), "asked again after logout", "200"),
    ],
)
def test_a_wrong_step_is_a_finding(
    scenario: LoginScenario,
    gate: Gate,
    judged: Any,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    page: Page,
    subject: str,
    seen: str,
) -> None:
    monkeypatch.setattr(login_scenario, "Browser", FakeBrowser(*ROUND[:step], page, *ROUND[step + 1 :]))
    scenario.complete_round(judged)
    assert [(finding.subject, finding.seen) for finding in gate.evidence.findings] == [(subject, seen)]


def test_a_login_without_cookies_is_a_finding(
    scenario: LoginScenario, gate: Gate, judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = FakeBrowser(*ROUND)
    browser.cookies = []
    monkeypatch.setattr(login_scenario, "Browser", browser)
    scenario.complete_round(judged)
    assert gate.evidence.findings == [Finding(Source.TRAFFIC, "cookies of the login", "some", "[]")]
