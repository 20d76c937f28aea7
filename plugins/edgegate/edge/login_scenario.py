"""What a gate on OIDC policies checks: who is refused, who is sent to the provider, and who must not notice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product

from edgegate.clock import Deadline
from edgegate.edge import Edge
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.guard import Guard
from edgegate.edge.oidc_policy import CALLBACK, LOGOUT, OidcPolicy
from edgegate.errors import NeverReady
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
    def phase(self, name: str) -> Iterator[None]:
        """Watch the neighbours while the block runs; what was wrong becomes a finding of this phase."""
        with self._gate.during(name), self._guard.unharmed(*self._edge.every_proxy()):
            yield

    @contextmanager
    def after_cold_restart(self) -> Iterator[None]:
        """Restart the proxy with nothing cached, judge whether the neighbours come back, then run the block."""
        with self._gate.during("after cold restart"):
            self._guard.relit(*self._edge.cold_restart())
            yield

    def refused(self, policy: OidcPolicy) -> None:
        """Judge a policy with an unusable Secret: not accepted, and its route answers exactly 500 to every method."""
        condition = policy.wait_judged(self._edge.limits.accepted)
        status, message = condition["status"], condition.get("message", "")
        self._plant(policy, live=status == "False", evidence=f"Accepted={status}: {message}")
        # Envoy Gateway 1.7 names the namespace in which the Secret has to be, and not the Secret.
        named = policy.secret.name in message or policy.tenant.namespace in message
        expected = f"a message that names the secret {policy.secret.name}, or where it must be"
        self._gate.check(Source.STATUS, str(policy.ref), expected, message, right=named)
        self._answers(policy, "exactly 500 to every method", lambda answer: answer.status == 500)

    def accepted(self, policy: OidcPolicy) -> None:
        """Judge the word of the edge on a policy with a valid Secret: it is accepted."""
        with self._gate.must(Source.STATUS, str(policy.ref), "Accepted=True"):
            condition = policy.wait_accepted(self._edge.limits.recover)
            self._plant(policy, live=True, evidence=f"Accepted={condition['status']}")

    def asked_to_log_in(self, policy: OidcPolicy) -> None:
        """Judge a policy with a valid Secret: accepted, and visitors are sent to the provider by every method."""
        self.accepted(policy)
        provider = self._edge.login.issuer
        self._answers(policy, f"302 to {provider}", lambda answer: _sent_to(answer, provider))

    def acts(self, policy: OidcPolicy) -> None:
        """Judge a policy with a valid Secret by one visitor: he is sent to the provider. Nobody asks for its status.

        Envoy Gateway 1.8.3 may write none for a policy that there was a moment ago under the same name, and is right
        on the wire nevertheless (docs/gates.md).
        """
        provider = self._edge.login.issuer
        expected = f"302 to {provider}"
        self._one(policy, expected, lambda answer: _sent_to(answer, provider))
        self._plant(policy, live=True, evidence=expected)

    def acts_no_more(self, policy: OidcPolicy) -> None:
        """Judge by one visitor that a policy has gone: he gets the site itself."""
        marker = policy.tenant.marker
        self._one(policy, f"200 from {marker}", lambda answer: (answer.status, answer.marker) == (200, marker))

    def repair(self, policy: OidcPolicy) -> None:
        """Make an unusable Secret usable, in the way that this Envoy Gateway understands."""
        policy.repair(by_grant=self._edge.has("secret-grants"))

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

    def _one(self, policy: OidcPolicy, expected: str, right: Callable[[Answer], bool]) -> None:
        """Judge that one visitor of the policy's own tenant gets a right answer."""
        tenant, within = policy.tenant, self._edge.limits.recover
        with self._gate.must(Source.TRAFFIC, f"{tenant.name} http", expected), tenant.probe(tls=False) as probe:
            wait_for_answer(probe, right, what=expected, within=within)

    def _answers(self, policy: OidcPolicy, expected: str, right: Callable[[Answer], bool]) -> None:
        """Judge the policy's own tenant by every method, over HTTP and HTTPS, once the first right answer has come."""
        deadline = Deadline.after(self._edge.limits.relit)
        # Each of several proxies first: the first right answer at their common address is that of the quickest.
        for door, tls in product(reversed(self._edge.doors()), (False, True)):
            with policy.tenant.probe(tls=tls, address=door.address) as probe:
                with suppress(NeverReady):  # what the methods show is the finding then
                    wait_for_answer(probe, right, what=expected, within=deadline)
                answers = [probe.request(method) for method in METHODS]
            wrong = [answer for answer in answers if not right(answer)]
            subject = door.of(f"{policy.tenant.name} {'https' if tls else 'http'}")
            self._gate.check(Source.TRAFFIC, subject, expected, _grouped(wrong), right=not wrong)


def _grouped(answers: list[Answer]) -> str:
    """Return answers as `GET, HEAD: 200 from bad-1f2a; POST: refused`."""
    methods: dict[str, list[str]] = {}
    for answer in answers:
        methods.setdefault(_outcome(answer), []).append(answer.method)
    return "; ".join(f"{', '.join(names)}: {outcome}" for outcome, names in methods.items())


def _outcome(answer: Answer) -> str:
    by = f" from {answer.marker}, without login" if answer.marker else ""
    return answer.error or f"{answer.status}{by}"


def _sent_to(answer: Answer, provider: str) -> bool:
    return answer.status == 302 and (answer.location or "").startswith(f"{provider}/")
