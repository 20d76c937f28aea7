"""What a gate on OIDC policies checks: who is refused, who is sent to the provider, and who must not notice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgegate.clock import Deadline
from edgegate.edge import Edge
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.guard import Guard
from edgegate.edge.oidc_policy import CALLBACK, LOGOUT, OidcPolicy
from edgegate.probes.browser import Browser, Page
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
USER = "alice"


class LoginScenario:
    """The checks, bound to an edge, a gate and the neighbours that are watched."""

    def __init__(self, edge: Edge, gate: Gate, guard: Guard) -> None:
        self._edge, self._gate, self._guard = edge, gate, guard

    @contextmanager
    def neighbours_unharmed(self, during: str) -> Iterator[None]:
        """Watch the neighbours while the block runs; what was wrong becomes a finding."""
        with self._guard.unharmed(self._edge.proxy(), during):
            yield

    def cold_restart(self) -> None:
        """Restart the proxy with nothing cached, and judge whether the neighbours come back."""
        self._guard.relit(self._edge.cold_restart(), "after cold restart")

    def refused(self, policy: OidcPolicy, during: str) -> None:
        """Judge a policy with an unusable Secret: not accepted, and its route answers exactly 500 to every method."""
        condition = policy.wait_judged(self._edge.limits.accepted)
        live = condition["status"] == "False"
        self._plant(policy, live=live, evidence=f"Accepted={condition['status']}: {condition.get('message')}")
        names = policy.secret.name in condition.get("message", "")
        subject = f"{policy.ref}, {during}"
        self._gate.check(
            Source.STATUS, subject, f"a message that names {policy.secret.name}", condition["message"], right=names
        )
        self._answers(policy, during, "exactly 500 to every method", lambda answer: answer.status == 500)

    def asked_to_log_in(self, policy: OidcPolicy, during: str) -> None:
        """Judge a policy with a valid Secret: accepted, and visitors are sent to the provider by every method."""
        with self._gate.must(Source.STATUS, f"{policy.ref}, {during}", "Accepted=True"):
            condition = policy.wait_accepted(self._edge.limits.recover)
            self._plant(policy, live=True, evidence=f"Accepted={condition['status']}")
        provider = self._edge.login.issuer
        self._answers(policy, during, f"302 to {provider}", lambda answer: _sent_to(answer, provider))

    def complete_round(self, policy: OidcPolicy) -> None:
        """Log in as a browser does, see the site, log out, and be asked again."""
        host, login = policy.tenant.host, self._edge.login
        site = (self._edge.site.address, 443)
        with Browser({host: site, login.host: (login.address, login.port)}, ca=self._edge.site.ca) as browser:
            form = browser.follow(browser.get(f"https://{host}/"))
            self._step("provider shows its form", 200, form)
            callback = browser.submit(form.url, {"sub": USER})
            self._step("provider sends back", 302, callback, f"https://{host}{CALLBACK}?")
            landed = browser.follow(callback)
            self._step("callback sets cookies and sends on", 302, landed, f"https://{host}/")
            self._gate.check(
                Source.TRAFFIC, "cookies of the login", "some", browser.cookies, right=bool(browser.cookies)
            )
            inside = browser.follow(landed)
            self._step("site answers", 200, inside)
            self._gate.expect(
                Source.TRAFFIC, "origin behind the login", policy.tenant.marker, inside.headers.get("x-edgegate-origin")
            )
            self._step("logout sends away", 302, browser.get(f"https://{host}{LOGOUT}"))
            self._step("asked again after logout", 302, browser.get(f"https://{host}/"), login.issuer)

    def _step(self, what: str, status: int, page: Page, location: str = "") -> None:
        right = page.status == status and page.location.startswith(location)
        expected = f"{status} {location}".strip()
        self._gate.check(Source.TRAFFIC, what, expected, f"{page.status} {page.location}".strip(), right=right)

    def _plant(self, policy: OidcPolicy, *, live: bool, evidence: str) -> None:
        """Name the poison, unless an earlier one has already done harm: that one is to be blamed."""
        if not self._gate.evidence.findings:
            self._gate.poison(f"{policy} ({policy.validity})", live=live, evidence=evidence)

    def _answers(self, policy: OidcPolicy, during: str, expected: str, right: Callable[[Answer], bool]) -> None:
        """Judge the policy's own tenant: the first right answer, then every method, over HTTP and HTTPS."""
        deadline = Deadline.after(self._edge.limits.relit)
        for tls in (False, True):
            subject = f"{policy.tenant.name} {'https' if tls else 'http'}, {during}"
            with policy.tenant.probe(tls=tls) as probe:
                with self._gate.must(Source.TRAFFIC, subject, expected):
                    wait_for_answer(probe, right, what=expected, within=deadline)
                for method in METHODS:
                    answer = probe.request(method)
                    self._gate.check(
                        Source.TRAFFIC, f"{subject}, {method}", expected, answer.describe(), right=right(answer)
                    )


def _sent_to(answer: Answer, provider: str) -> bool:
    return answer.status == 302 and (answer.location or "").startswith(f"{provider}/")
