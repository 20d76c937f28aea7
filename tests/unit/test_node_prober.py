"""A run of a container is looked at as its probes say."""

from edgegate.lab.node.actions import Target
from edgegate.lab.node.kube import Json
from edgegate.lab.node.prober import Prober
from edgegate.lab.node.probes import Kind, Probe
from node_parts import StepActor


class Container:
    """Answers looks by name of the command, and remembers what it is told."""

    def __init__(self, **answers: bool) -> None:
        self.actor = StepActor()
        self.answers = answers
        self.asked: list[tuple[str, float]] = []
        self.told: list[tuple[bool, bool]] = []
        self.complaints: list[str] = []
        self.sentence: Kind | None = None
        self.prober: Prober | None = None

    def begin(self, *, eager: bool = False, **specs: Json) -> Prober:
        container = {f"{kind}Probe": {"exec": {"command": [kind]}, **spec} for kind, spec in specs.items()}
        probes = {kind: probe for kind in Kind if (probe := Probe.of(container, kind))}
        self.prober = Prober(self.actor, probes, Target("", {}, self._execute), self, eager=eager)
        self.prober.begin()
        return self.prober

    def _execute(self, argv: list[str], timeout: float | None) -> tuple[int, str]:
        self.asked.append((argv[0], self.actor.fake.time - 1000))
        return (0, "") if self.answers[argv[0]] else (1, "broken")

    def judged(self, *, started: bool, ready: bool) -> None:
        self.told.append((started, ready))

    def unhealthy(self, kind: Kind, text: str) -> None:
        self.complaints.append(f"{kind}: {text}")

    def condemned(self, probe: Probe) -> None:
        self.sentence = probe.kind

    def times(self, kind: str) -> list[float]:
        return [round(when, 2) for name, when in self.asked if name == kind]


def test_without_probes_it_is_started_and_ready() -> None:
    container = Container()
    container.begin()
    assert container.told == [(True, True)]


def test_readiness_and_liveness_wait_for_startup() -> None:
    container = Container(startup=False, readiness=True, liveness=True)
    container.begin(startup={"periodSeconds": 2}, readiness={"periodSeconds": 5}, liveness={"periodSeconds": 3})
    container.actor.advance(3)
    assert container.told[-1] == (False, False)
    container.answers["startup"] = True
    container.actor.advance(3)
    assert container.told[-1] == (True, True)
    assert container.times("startup") == [0, 2, 4]
    assert (container.times("readiness"), container.times("liveness")) == ([4], [4])


def test_the_delay_is_kept_to_and_then_the_period() -> None:
    container = Container(readiness=False)
    container.begin(readiness={"initialDelaySeconds": 3, "periodSeconds": 2})
    container.actor.advance(8)
    assert container.times("readiness") == [3, 5, 7]


def test_the_eager_mode_sees_readiness_within_50_ms() -> None:
    container = Container(startup=False, readiness=True)
    container.begin(eager=True, startup={"periodSeconds": 10, "failureThreshold": 2}, readiness={})
    container.actor.advance(0.4)
    container.answers["startup"] = True
    container.actor.advance(0.1)
    assert container.told[-1] == (True, True)
    assert container.complaints == ["startup: broken"]


def test_the_eager_mode_gives_up_when_a_kubelet_does() -> None:
    container = Container(startup=False)
    container.begin(eager=True, startup={"periodSeconds": 10, "failureThreshold": 3})
    container.actor.advance(19.9)
    assert container.sentence is None
    container.actor.advance(0.2)
    assert container.sentence is Kind.STARTUP


def test_a_failed_liveness_probe_condemns_once() -> None:
    container = Container(liveness=False)
    container.begin(liveness={"periodSeconds": 1, "failureThreshold": 2})
    container.actor.advance(5)
    assert (container.sentence, container.times("liveness")) == (Kind.LIVENESS, [0, 1])
    assert container.complaints == ["liveness: broken", "liveness: broken"]


def test_while_it_ends_only_readiness_is_asked() -> None:
    container = Container(readiness=True, liveness=True)
    prober = container.begin(readiness={"periodSeconds": 1}, liveness={"periodSeconds": 1})
    container.actor.advance(0.5)
    prober.ending()
    container.answers["readiness"] = False
    container.actor.advance(3)
    assert (container.times("liveness"), container.told[-1]) == ([0], (True, False))


def test_after_the_end_nothing_is_asked() -> None:
    container = Container(readiness=True)
    container.begin(readiness={"periodSeconds": 1}).end()
    container.actor.advance(3)
    assert container.asked == []


def test_a_probe_that_the_lab_lacks_is_told_once() -> None:
    container = Container()
    probe = Probe.of({"readinessProbe": {"grpc": {"port": 1}}}, Kind.READINESS)
    assert probe
    Prober(container.actor, {Kind.READINESS: probe}, Target("", {}, container._execute), container, eager=True).begin()
    container.actor.advance(30)
    expected = "readiness: the lab has no grpc probes and hooks; it has httpGet, tcpSocket, exec, sleep"
    assert container.complaints == [expected]
    assert container.told == [(True, False)]
