"""What scenarios demand of the system under test, each a wait with the right limit; what does not come is a finding."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from edgegate.clock import show_duration, wait_until
from edgegate.clusters.plane import Manifest, conditions
from edgegate.components.cert_manager import Issuer
from edgegate.components.operator import error_page
from edgegate.edge import Edge, proxy_watch, quota, traces
from edgegate.edge.asking import wait_for_answer
from edgegate.edge.challenges import PREFIX
from edgegate.edge.customer import Customer
from edgegate.edge.http_proxy import HttpProxy, hostname_condition
from edgegate.edge.origin import Origin
from edgegate.errors import NeverReady, PlaneRefused, WatchBroken
from edgegate.probes.dns import DnsAnswer, wait_for_record
from edgegate.probes.dns_watch import DnsWatch
from edgegate.probes.http import HttpProbe
from edgegate.records import Answer, Source
from edgegate.report.gate import Gate


class Promises:
    """The demands of one test; made by the fixture `must`."""

    def __init__(self, edge: Edge, gate: Gate) -> None:
        self._edge, self._gate, self._limits = edge, gate, edge.limits

    def serve(self, proxy: HttpProxy, host: str, *, tls: bool = False, within: float | None = None) -> bool:
        """Demand 200 by way of a proxy, over TLS with a trusted certificate; return whether it came."""
        limit = within or (self._limits.converged if tls else self._limits.converge)
        scheme = "https" if tls else "http"
        return self._comes(
            Source.TRAFFIC,
            f"{scheme}://{host}",
            f"200 by way of {proxy.name}",
            lambda: proxy.wait_served(host, tls=tls, within=limit),
        )

    def secure(self, host: str, *, issuer: Issuer | None = None, within: float | None = None) -> bool:
        """Demand that the edge has a trusted certificate for a name, whatever it answers; return whether it came."""
        limit = within or self._limits.converged
        root = self._edge.acme.root_of(issuer or self._edge.acme.fast)

        def ask() -> object:
            with HttpProbe(self._edge.site.address, host, tls=True, ca=root) as probe:
                what = f"{host} has a trusted certificate"
                return wait_for_answer(probe, lambda answer: bool(answer.trusted), what=what, within=limit)

        return self._comes(Source.TRAFFIC, f"https://{host}", "an answer with a trusted certificate", ask)

    def see_challenge(self, customer: Customer, host: str) -> bool:
        """Demand that a visitor finds the right answer to a name's challenge while it is open."""
        limit = self._limits.converge

        def ask() -> object:
            challenge = customer.wait_challenge(host, limit)

            def right(answer: Answer) -> bool:
                return answer.status == 200 and answer.text.strip() == challenge.key

            with HttpProbe(self._edge.site.address, host) as probe:
                path, what = PREFIX + challenge.token, f"challenge of {host} answered"
                return wait_for_answer(probe, right, what=what, within=limit, path=path)

        return self._comes(Source.TRAFFIC, f"challenge of {host}", "its key, for the runner", ask)

    def come_from(self, proxy: HttpProxy, host: str, origin: Origin) -> bool:
        """Demand that requests for a name reach an origin, which its own answer tells, within `converge`."""

        def reached(answer: Answer) -> bool:
            return answer.status == 200 and bool(answer.json().get("marker") == origin.marker)

        def ask() -> object:
            with proxy.probe(host) as probe:
                what = f"{host} reaches {origin.marker}"
                return wait_for_answer(probe, reached, what=what, within=self._limits.converge)

        return self._comes(Source.TRAFFIC, f"http://{host}", f"200 from origin {origin.marker}", ask)

    def answer(self, proxy: HttpProxy, host: str, status: int) -> bool:
        """Demand a status over HTTP; return whether it came."""
        return self._comes(
            Source.TRAFFIC,
            f"http://{host}",
            status,
            lambda: proxy.wait_status(host, status, within=self._limits.converge),
        )

    def show_page(self, proxy: HttpProxy, host: str, *, tls: bool = False) -> bool:
        """Demand that the edge's own 503 for a name has, byte for byte, the error page that the operator was given."""
        page = error_page().encode()

        def right(answer: Answer) -> bool:
            return answer.status == 503 and answer.body == page

        def ask() -> object:
            with proxy.probe(host, tls=tls) as probe:
                what = f"{host} shows the error page"
                return wait_for_answer(probe, right, what=what, within=self._limits.converge)

        return self._comes(Source.TRAFFIC, f"http{'s' * tls}://{host}", f"503 with the page of {len(page)} bytes", ask)

    def own_error(self, proxy: HttpProxy, host: str) -> bool:
        """Demand that an error of the origin itself, a 503, reaches its visitor as the origin sent it."""
        with proxy.probe(host) as probe:
            answer = probe.get("/status/503")
        right = answer.status == 503 and bool(answer.marker)
        return self._gate.check(
            Source.TRAFFIC, f"http://{host}", "the origin's own 503", answer.describe(), right=right
        )

    def resolve(self, host: str, *, within: float | None = None) -> bool:
        """Demand that a name leads to the edge: at the authoritative server, then at the recursor."""
        dns, address, limit = self._edge.dns, self._edge.site.address, within or self._limits.converge

        def right(answer: DnsAnswer) -> bool:
            return answer.values == (address,)

        found: list[DnsAnswer] = []

        def ask() -> None:
            found.append(wait_for_record(dns.authoritative, host, right=right, within=limit))
            wait_for_record(dns.recursor, host, right=right, within=limit, after=found[0])

        return self._comes(Source.TRAFFIC, f"{host} A", f"{address} at authoritative server and recursor", ask)

    def answer_with(self, host: str, type: str) -> bool:  # noqa: A002 - the word of DNS
        """Demand that the authoritative server has a name's address by way of a `CNAME`, or as its own record `A`."""
        probe, limit = self._edge.dns.authoritative, self._limits.released

        def right(answer: DnsAnswer) -> bool:
            return answer.found and bool(answer.chain) == (type == "CNAME")

        def ask() -> object:
            return wait_for_record(probe, host, right=right, within=limit)

        return self._comes(Source.TRAFFIC, f"{host} at the authoritative server", f"an address by {type}", ask)

    @contextmanager
    def keep_resolving(self, host: str) -> Iterator[None]:
        """Demand that the authoritative server has an address for a name in every answer while a block runs.

        Raises:
            WatchBroken: it could not be asked often enough, so that a gap may have been missed.
        """
        with DnsWatch(self._edge.dns.authoritative, host, right=lambda answer: answer.found) as watch:
            yield
        asked, seen = watch.report(), "; ".join(answer.describe() for answer in watch.wrong[:3])
        expected, found = f"an address in each of {asked.looks} answers", f"{len(watch.wrong)} without, as {seen}"
        self._gate.check(Source.TRAFFIC, host, expected, found, right=asked.ok)
        closely = f"every {show_duration(asked.gaps.p95)}, {show_duration(asked.longest_gap.seconds)} at the worst"
        self._gate.note(f"{host} asked {asked.looks} times, {closely}")
        if asked.ok and asked.blind > proxy_watch.BLIND * watch.seconds:
            raise WatchBroken(f"it could not ask often enough: {closely}")

    def not_resolve(self, host: str) -> None:
        """Demand that a name has no address any more, and that no answer meanwhile is an error."""
        traces.must_not_resolve(self._gate, self._edge.dns, host, self._limits.gone)

    def vanish(self, proxy: HttpProxy, *hosts: str) -> None:
        """Demand that nothing is left of some host names, and of the whole proxy when that is deleted."""

        def left() -> list[str]:
            found = [one for host in hosts for one in traces.of_host(proxy, host)]
            return found if proxy.read() else [*found, *traces.of_proxy(proxy)]

        traces.must_vanish(self._gate, f"what was made for {', '.join(hosts)}", left, self._limits.gone)

    def leave_nothing(self, customer: Customer, *names: str) -> None:
        """Demand that nothing is left of a customer who has deleted everything, nor of his host names and zones."""
        left = traces.of_customer(customer, self._edge.dns.api, names)
        traces.must_vanish(self._gate, f"what was made for {customer}", left, self._limits.gone)

    def hold_claims(self, customer: Customer, *proxies: HttpProxy) -> None:
        """Demand that a customer's Gateways are those of these proxies, and that each of his objects holds its claim.

        No other claim of quota may be there. Where nobody makes claims, that is noted.
        """
        if not self._edge.has("quota-claims"):
            self._gate.note("nobody makes claims of quota here: that is another service's work, which the lab has not")
            return
        quota.must_match(self._gate, customer, {proxy.name for proxy in proxies}, self._limits.released)

    def report(
        self,
        proxy: HttpProxy,
        host: str,
        condition: str,
        *,
        status: str = "True",
        reason: str = "",
        within: float | None = None,
    ) -> bool:
        """Demand that a proxy says something of one of its host names, within `released` unless told otherwise."""

        def says(found: Manifest | None) -> bool:
            one = hostname_condition(found, host, condition)
            return one.get("status") == status and reason in ("", one.get("reason"))

        expected = f"{condition}={status} {reason}".strip()
        return self._comes(
            Source.STATUS,
            f"{proxy.name} about {host}",
            expected,
            lambda: proxy.wait(says, what=f"{expected} for {host}", within=within or self._limits.released),
        )

    def say(self, proxy: HttpProxy, condition: str, *, status: str = "True", reason: str = "") -> bool:
        """Demand that a proxy has a condition within `released`."""

        def says(found: Manifest | None) -> bool:
            one = conditions(found).get(condition, {})
            return one.get("status") == status and reason in ("", one.get("reason"))

        expected = f"{condition}={status} {reason}".strip()
        return self._comes(
            Source.STATUS, proxy.name, expected, lambda: proxy.wait(says, what=expected, within=self._limits.released)
        )

    def come(self, subject: object, expected: object, wait: Callable[[], object]) -> bool:
        """Demand of the status of some object that a wait ends in time; return whether it did."""
        return self._comes(Source.STATUS, str(subject), expected, wait)

    def never_come(self, subject: object, unwanted: object, wait: Callable[[], object]) -> bool:
        """Demand that a wait does not end; it must be a short one. Return whether that is so."""
        return self._never(Source.STATUS, subject, unwanted, wait)

    def never_answer(self, subject: object, unwanted: object, wait: Callable[[], object]) -> bool:
        """Demand the same of a wait that reads traffic."""
        return self._never(Source.TRAFFIC, subject, unwanted, wait)

    def _never(self, source: Source, subject: object, unwanted: object, wait: Callable[[], object]) -> bool:
        try:
            wait()
        except NeverReady:
            came = False
        else:
            came = True
        return self._gate.check(source, str(subject), f"not {unwanted}", unwanted, right=not came)

    def tell(self, subject: object, word: str, text: str) -> bool:
        """Demand that the text of a refusal has a word in it."""
        return self._gate.check(Source.STATUS, str(subject), f"refused, saying '{word}'", text, right=word in text)

    def refuse_soon(self, subject: object, dry_run: Callable[[], object], *, saying: str, within: float) -> bool:
        """Demand that a dry run is refused as soon as admission has learnt of what it depends on."""
        texts: list[str] = []

        def look() -> bool:
            texts[:] = [self.refused(dry_run)]
            return bool(texts[0])

        with suppress(NeverReady):
            wait_until(f"{subject} refused", look, deadline=within, every=0.1)
        return self.tell(subject, saying, texts[0] or "accepted")

    def refused(self, do: Callable[[], object]) -> str:
        """Do something, and return why a control plane refused it; empty when it did not."""
        try:
            do()
        except PlaneRefused as refusal:
            return refusal.text
        return ""

    def refuse(self, subject: object, do: Callable[[], object], *, saying: str) -> bool:
        """Demand that a control plane refuses something, and that its text tells why."""
        text = self.refused(do)
        expected = f"refused, saying '{saying}'"
        right = bool(text) and saying in text
        return self._gate.check(Source.STATUS, str(subject), expected, text or "accepted", right=right)

    def stay_served(self, *served: tuple[HttpProxy, str, bool]) -> AbstractContextManager[None]:
        """Demand that host names are served in every look while a block runs: proxy, name, whether over TLS."""
        edge, proxies = self._edge, self._edge.every_proxy()
        logs = {proxy: edge.log_of(proxy) for proxy in proxies}
        return proxy_watch.unharmed(self._gate, edge.doors(), logs, *served)

    def stay_shut(self, proxy: HttpProxy, host: str) -> AbstractContextManager[None]:
        """Demand that a host name gives nobody its content while a block runs."""
        return proxy_watch.shut(self._gate, self._edge.doors(), proxy, host)

    def _comes(self, source: Source, subject: str, expected: object, wait: Callable[[], object]) -> bool:
        with self._gate.must(source, subject, expected):
            wait()
            return True
        return False
