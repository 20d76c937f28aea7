"""Every error of the project, and what each tells its reader.

EdgegateError
├── UsageFault                 what the user typed or wrote; nothing was started            exit status 2
│   ├── NotADuration
│   ├── BadSetting             a flag, environment name or ini key has a value that cannot be meant
│   │   ├── UnknownLimit       --edge-limit names a limit that does not exist
│   │   ├── UnknownFault       --edge-fault names a defect that the operator does not have
│   │   └── KindsMissing       --edge-operator-crds lacks kinds
│   ├── UnknownComponent / UnknownVersion / UnknownImage / UnknownPart
│   ├── ForeignHostname        a host name outside the lab's domains
│   ├── NobodyToWatch          a guard without neighbours cannot say that they are unharmed
│   ├── AskedTooEarly          a resolver would remember that a name does not exist
│   ├── FileFault              a file of settings: file, key, accepted form
│   │   └── PinsFault / SloFault / WaiversFault / CorpusFault
│   ├── DirectiveRefused       the firewall's engine does not take a directive
│   ├── RunFolderForeign       the run folder belongs to another version
│   ├── RunFolderBusy          another run writes to it right now
│   ├── LabFolderForeign       the folder for a lab holds something else
│   └── EngineFolderForeign    the folder for a Docker engine of ours holds something else
└── EnvironmentFault           the surroundings broke; the verdict is inconclusive          exit status 75
    ├── NeverReady             a wait ran out
    ├── MetricsUnreachable     a process does not tell its metrics
    ├── AdminUnreachable       Envoy's admin interface says nothing, or something else than it should
    ├── WatchBroken            a watcher could not go on, so it saw less than it should
    ├── FirewallMissing        nothing is known of what a firewall did with a request
    ├── NotShown               this edge cannot show what the scenario asks for
    │   ├── NotAllowed         scenarios must not do this to an edge that others use
    │   └── PoisonNotLive      the fault that a gate plants had no effect, so surviving it proves nothing
    ├── AttachRefused          an edge that somebody else runs cannot be used as it is
    ├── RunFolderUnwritable    reports cannot be written; pytest refuses one that the user has named
    ├── EdgeNotUp              the edge did not come up before, and is not tried again in this run
    ├── PlaneRefused / PlaneUnreachable      a control plane said no, or nothing
    ├── ServerRefused / ServerUnreachable    a DNS or ACME server said no, or nothing
    ├── CommandFailed          a command ended with another status than 0
    ├── ArtifactFault          something could not be had or built
    │   ├── BuildFailed / DigestMismatch / NoNetwork / PackageGone / NotEnoughDisk / CacheNotWritable / ToolMissing
    ├── KindFault              Docker or a kind cluster
    │   ├── EngineMissing / EngineSilent / EngineInTheWay / EngineNotPossible
    │   ├── ImageMissing / ImageUnusable / WrongImage       an image that the user named; one that runs
    │   ├── OfficialImageMissing   a component's image cannot be pulled
    │   └── KindNotPossible / ClusterNotMade / ClusterNotGone
    └── LabFault               the sandbox or a part of it
        ├── SandboxNotPermitted / SubnetTaken / PortTaken / NotEnoughMemory / NoRoomForLab
        ├── ComponentExited / PartLost           during a start; while tests ran. Its last log lines
        │   └── CrashedUnderTest             it was a part of the system under test
        ├── PodNotStarted          a node cannot start a pod of ours
        ├── NodeConfigFault / PodTrouble         the node agent's file; what keeps a pod from running
        ├── UnknownProcess / AlreadyRunning / LabRequestFailed       what was asked of a lab does not fit
        └── LabGone / NoSuchLab / LabExists / LabForeign

GateFailed is no EdgegateError but an AssertionError: the system under test is wrong, the verdict is fail. So is
LeftBehind: a test is wrong.

The texts follow one pattern: what happened, to which part, the last thing seen, what to do next.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path


class EdgegateError(Exception):
    """Base of every error that edgegate raises on purpose."""


class UsageFault(EdgegateError):
    """The user typed or wrote something that cannot be meant; nothing was started."""


class EnvironmentFault(EdgegateError):
    """The surroundings broke, so nothing can be said about the system under test: inconclusive."""


class NotADuration(UsageFault):
    """A duration without a unit, or no number at all."""

    def __init__(self, text: str) -> None:
        super().__init__(f"'{text}' is not a duration. Accepted: a number and a unit, as in 250ms, 30s, 2m or 1h.")
        self.text = text


class NeverReady(EnvironmentFault):
    """A wait ran out before what it waited for came true."""

    def __init__(self, what: str, *, limit: str, last: object) -> None:
        seen = "nothing was seen" if last is None else f"last seen: {last}"
        super().__init__(f"{what}: not within {limit}; {seen}")
        self.what, self.limit, self.last = what, limit, last


class CommandFailed(EnvironmentFault):
    """A command ended with another status than 0."""

    def __init__(self, argv: list[str], *, status: int, output: str) -> None:
        super().__init__(f"command ended with status {status}: {' '.join(argv)}\n{output.rstrip()}")
        self.argv, self.status, self.output = argv, status, output


class PlaneRefused(EnvironmentFault):
    """A control plane answered a request with an error."""

    def __init__(self, plane: str, request: str, *, status: int, text: str) -> None:
        super().__init__(f"{plane} control plane refused {request}: {status}: {text}")
        self.plane, self.request, self.status, self.text = plane, request, status, text


class PlaneUnreachable(EnvironmentFault):
    """A control plane gave no answer."""

    def __init__(self, plane: str, request: str, *, text: str) -> None:
        super().__init__(f"{plane} control plane did not answer {request}: {text}")
        self.plane, self.request, self.text = plane, request, text


class ServerRefused(EnvironmentFault):
    """A server of the lab answered a request of ours with an error."""

    def __init__(self, server: str, request: str, *, status: int, text: str) -> None:
        super().__init__(f"{server} refused {request}: {status}: {text}. Its own side: edgegate logs {server}")
        self.server, self.request, self.status, self.text = server, request, status, text


class ServerUnreachable(EnvironmentFault):
    """A server of the lab gave no answer to a request of ours."""

    def __init__(self, server: str, request: str, *, text: str) -> None:
        super().__init__(f"{server} did not answer {request}: {text}. Does it run? edgegate status tells")
        self.server, self.request, self.text = server, request, text


class NobodyToWatch(UsageFault):
    """A guard was asked for without neighbours."""

    def __init__(self) -> None:
        super().__init__(
            "edge.guard was given no neighbour, so it would call nobody unharmed. Name at least one tenant, as in "
            "edge.guard(gate, edge.sentinel)."
        )


class AskedTooEarly(UsageFault):
    """A resolver was to be asked for a name that may not exist yet."""

    def __init__(self, name: str, type: str, *, server: str) -> None:  # noqa: A002 - the word of DNS
        super().__init__(
            f"{server} was to be asked for {name} {type} without proof that it exists. A resolver remembers that a "
            f"name does not exist, for as long as its zone says. Pass the authoritative server's answer as after=, or "
            f"early=True where that memory is what you look at."
        )
        self.name, self.type, self.server = name, type, server


class ForeignHostname(UsageFault):
    """A host name that no server of the lab answers for."""

    def __init__(self, hostname: str, domain: str) -> None:
        super().__init__(
            f"'{hostname}' is outside the lab's domains, so nobody in it could resolve the name. "
            f"Accepted: names below {domain}, as in www.shop.{domain}; the fixture dns_zone makes a zone of your own."
        )
        self.hostname, self.domain = hostname, domain


class UnknownPart(UsageFault):
    """A part of an edge, or a variant of one, that does not exist."""

    def __init__(self, word: str, accepted: Sequence[str]) -> None:
        super().__init__(f"'{word}' is no part of an edge. Accepted: {', '.join(accepted)}.")
        self.word, self.accepted = word, tuple(accepted)


class UnknownComponent(UsageFault):
    """A component that no pin names."""

    def __init__(self, name: str, known: list[str]) -> None:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        super().__init__(f"pins.toml has no component '{name}'.{hint} It has: {', '.join(known)}.")
        self.name, self.known = name, known


class UnknownVersion(UsageFault):
    """A version that the pin of a component does not have."""

    def __init__(self, name: str, version: str, known: list[str]) -> None:
        hint = " Leave the leading v out." if version.startswith("v") and version[1:] in known else ""
        super().__init__(f"pins.toml has no version '{version}' of {name}.{hint} It has: {', '.join(known)}.")
        self.name, self.version, self.known = name, version, known


class UnknownImage(UsageFault):
    """A container image that no pin stands for, so that the lab cannot run it."""

    def __init__(self, image: str, known: str) -> None:
        super().__init__(
            f"no pin stands for the image '{image}'; {known}. Add the image or the version to a pin in pins.toml."
        )
        self.image = image


class FileFault(UsageFault):
    """A file of settings is malformed or contradicts itself."""

    def __init__(self, path: Path, key: str, problem: str, accepted: str) -> None:
        super().__init__(f"{path}: {key + ' ' if key else ''}{problem}. Accepted: {accepted}.")
        self.path, self.key, self.problem, self.accepted = path, key, problem, accepted


class PinsFault(FileFault):
    """`pins.toml` is malformed or contradicts itself."""


class SloFault(FileFault):
    """`slo.toml` is malformed or contradicts itself."""


class WaiversFault(FileFault):
    """`waivers.toml` is malformed or contradicts itself."""


class CorpusFault(FileFault):
    """A file of a corpus, or its list of ignores, is malformed, holds nothing, or contradicts the rule set."""


class DirectiveRefused(UsageFault):
    """A policy has a directive that the firewall's engine refuses."""

    def __init__(self, policy: str, *, line: int, directive: str, message: str) -> None:
        place = f"line {line} of its directives, {directive}" if line else "as a whole"
        super().__init__(f"policy {policy} is refused, {place}: {message}. The other policies are not affected.")
        self.policy, self.line, self.directive, self.message = policy, line, directive, message


class FirewallMissing(EnvironmentFault):
    """Nobody says what the firewall did with a request that must have passed it."""

    def __init__(self, what: str, *, seen: str) -> None:
        super().__init__(f"the firewall is not there: {what}; seen: {seen}. Nothing follows for the rule set.")
        self.what, self.seen = what, seen


class ArtifactFault(EnvironmentFault):
    """Something that a pin names could not be had or built, or is not in the artifact."""


class BuildFailed(ArtifactFault):
    """A build ended with an error that is not one of the situations below."""

    def __init__(self, what: str, *, log: Path, tail: str) -> None:
        super().__init__(f"{what} could not be built. The end of its log ({log}):\n{tail.rstrip()}")
        self.what, self.log, self.tail = what, log, tail


class DigestMismatch(ArtifactFault):
    """What was fetched is not what pins.toml names; nothing of it was kept."""

    def __init__(self, what: str, key: str, *, expected: str, actual: str) -> None:
        super().__init__(
            f"{what} has the digest {actual}, but pins.toml {key} says {expected}. Nothing of it was kept. "
            "Find out why the source changed before you change the pin."
        )
        self.what, self.key, self.expected, self.actual = what, key, expected, actual


class NoNetwork(ArtifactFault):
    """Something has to be fetched and its source cannot be reached."""

    def __init__(self, what: str, *, missing: str, source: str, cache: Path, last: str) -> None:
        super().__init__(
            f"{what} needs {missing}. {cache} does not have that, and the {source} cannot be reached "
            f"(last seen: {last}). "
            f"Run 'edgegate build' on a machine with a connection, copy its cache folder here, and point "
            f"EDGEGATE_CACHE at the copy."
        )
        self.what, self.missing, self.source, self.cache = what, missing, source, cache


class PackageGone(ArtifactFault):
    """The machine's Debian sources do not offer the pinned version of a package."""

    def __init__(self, what: str, *, package: str, version: str) -> None:
        wanted = f"{package} {version}".strip()
        super().__init__(
            f"{what} needs the Debian package {wanted}, which this machine's sources do not offer: it is "
            f"another Debian release, or a newer version has replaced it. 'apt-cache madison {package}' shows what "
            "they offer; raise the pin in pins.toml, or copy a cache folder that has it and set EDGEGATE_CACHE."
        )
        self.what, self.package, self.version = what, package, version


class NotEnoughDisk(ArtifactFault):
    """A build would fill the disk."""

    def __init__(self, what: str, *, needs_mib: int, has_mib: int, where: Path) -> None:
        super().__init__(
            f"{what} needs {needs_mib} MiB of free disk, but {where} has {has_mib} MiB. "
            "Free some, or set EDGEGATE_CACHE to a folder on a larger disk."
        )
        self.what, self.needs_mib, self.has_mib, self.where = what, needs_mib, has_mib, where


class CacheNotWritable(ArtifactFault):
    """The folder where artifacts are kept cannot be written to."""

    def __init__(self, what: str, *, where: Path, reason: str) -> None:
        super().__init__(
            f"{what} has to be built, and {where} cannot be written to ({reason}). Make it writable for this user, or "
            "set EDGEGATE_CACHE to another folder; a read-only one is enough where everything is built already."
        )
        self.what, self.where, self.reason = what, where, reason


class ToolMissing(ArtifactFault):
    """A program that a build calls is not there, or is too old."""

    def __init__(self, tool: str, *, what: str, problem: str, fix: str) -> None:
        super().__init__(f"{what} needs {tool}: {problem}. {fix}")
        self.tool, self.what, self.problem, self.fix = tool, what, problem, fix


class LabFault(EnvironmentFault):
    """The sandbox, or a part of it, is not as it must be."""


class NoEdgeRuns(UsageFault):
    """A command is about a running edge, and there is none."""

    def __init__(self, name: str | None) -> None:
        which = f"No edge named '{name}' runs" if name else "No edge runs"
        super().__init__(f"{which}. `edgegate status` lists those that do; `edgegate up` starts one.")
        self.name = name


class WhichEdge(UsageFault):
    """A command is about one running edge, and there are several."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"Several edges run: {', '.join(names)}. Say which with --name.")
        self.names = names


class EdgeInTheWay(UsageFault):
    """A benchmark measures nothing while another edge shares the machine."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"These edges run and would be measured too: {', '.join(names)}. First: edgegate down --all")
        self.names = names


class NoSuchPart(UsageFault):
    """An edge has no part of that name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"The edge has no part '{name}'. It has: {', '.join(known) or 'none'}.")
        self.name, self.known = name, known


class UnknownGate(UsageFault):
    """A command names a gate that does not exist."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no gate '{name}'. Gates: {', '.join(known)}.")
        self.name, self.known = name, known


class BadPair(UsageFault):
    """A version pair that cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__(f"--pair: '{text}' is no pair. Accepted: GATEWAY:ENVOY, as in 1.8.3:1.37.0.")
        self.text = text


class BadReport(UsageFault):
    """A file that is to be compared is no report of a run."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(f"{file} {problem}. Accepted: the folder of a run, as .edge/runs/…, or its report.json.")
        self.file, self.problem = file, problem


class NoReport(EnvironmentFault):
    """A gate's run ended without a report."""

    def __init__(self, gate: str, folder: Path, *, status: int) -> None:
        super().__init__(
            f"The run of gate {gate} ended with status {status} and left no report in {folder}. "
            f"Its output is above; run `pytest e2e` by hand to see more."
        )
        self.gate, self.folder, self.status = gate, folder, status


class NothingToReuse(LabFault):
    """Reuse was demanded, and no kept edge fits."""

    def __init__(self, differing: list[str]) -> None:
        kept = "\n".join(f"  {line}" for line in differing) or "  none is kept"
        super().__init__(
            f"No kept edge fits, and --edge-reuse=always forbids a new one. Kept edges:\n{kept}\n"
            "Start one with `edgegate up`, or use --edge-reuse=auto."
        )
        self.differing = differing


class ComponentExited(LabFault):
    """A component ended while it was being started, or ended although it should run."""

    def __init__(self, name: str, *, status: int | None, log: Path, tail: str) -> None:
        told = (
            f"The end of its log ({log}):\n{tail.rstrip()}" if tail.strip() else f"It wrote nothing to its log ({log})."
        )
        super().__init__(f"{name} ended with status {status} before it was ready. {told}")
        self.name, self.status, self.log, self.tail = name, status, log, tail


class PodNotStarted(LabFault):
    """A node cannot start a pod of ours."""

    def __init__(self, name: str, *, cluster: str, why: str) -> None:
        super().__init__(
            f"{name} cannot be started in the cluster {cluster}: {why.rstrip('.')}. "
            "Accepted: an image that can be pulled or is at hand, and whose entry point is the program."
        )
        self.name, self.cluster, self.why = name, cluster, why


class StartFailed(EnvironmentFault):
    """An edge did not come up, and its lab is gone; what its parts wrote is kept."""

    def __init__(self, cause: str, *, logs: Path) -> None:
        super().__init__(f"{cause.rstrip()}\nWhat all parts wrote: {logs}")
        self.cause, self.logs = cause, logs


class PartLost(LabFault):
    """A part of the surroundings has ended, or answers no more, while tests ran."""

    def __init__(self, name: str, *, what: str, log: Path, tail: str) -> None:
        said = f" The end of its log ({log}):\n{tail.rstrip()}" if tail.strip() else f" Its log: {log}"
        super().__init__(
            f"{name} of the lab {what} while tests ran, so what they saw tells nothing about the system under test. "
            f"Run again; if it happens anew, `edgegate up` and `edgegate logs {name}` show more.{said}"
        )
        self.name, self.what, self.log, self.tail = name, what, log, tail


class CrashedUnderTest(PartLost):
    """A process of the system under test has ended by itself: a finding of the test that ran, the end of all others."""


class SandboxNotPermitted(LabFault):
    """The kernel, or whoever configured it, does not let us make the namespaces of a lab."""

    def __init__(self, reason: str, *, fix: str) -> None:
        super().__init__(f"the sandbox of the lab cannot be made: {reason}. {fix}")
        self.reason, self.fix = reason, fix


class SubnetTaken(LabFault):
    """None of the blocks that a lab can have is free."""

    def __init__(self, taken: list[str]) -> None:
        super().__init__(
            f"no block of 10.88.0.0/16 is free for a lab; taken: {', '.join(taken)}. "
            f"End a lab that is not needed (`edgegate down`), or remove the route or address that covers the range."
        )
        self.taken = taken


class PortTaken(LabFault):
    """Something listens already where a component is about to listen."""

    def __init__(self, name: str, *, address: str, holder: str) -> None:
        super().__init__(
            f"{name} was not started: {address} is taken by {holder}. "
            f"Stop that one first, or give one of them another port."
        )
        self.name, self.address, self.holder = name, address, holder


class NotEnoughMemory(LabFault):
    """The machine has less free memory than a lab needs."""

    def __init__(self, *, needs_mib: int, has_mib: int) -> None:
        super().__init__(
            f"a lab needs {needs_mib} MiB of memory, and {has_mib} MiB are available. Nothing was started. "
            f"End what uses the memory (`edgegate status` lists kept labs, `edgegate down` ends one)."
        )
        self.needs_mib, self.has_mib = needs_mib, has_mib


class NoRoomForLab(LabFault):
    """The folder where an edge keeps its logs and credentials cannot be written to, or its disk is full."""

    def __init__(self, folder: Path, *, reason: str) -> None:
        super().__init__(
            f"an edge keeps logs, credentials and locks in {folder}, which cannot be written to: {reason}. Make it "
            f"writable for this user and free some disk, or set EDGEGATE_CACHE to another folder (its store may be a "
            f"link to a read-only one)."
        )
        self.folder, self.reason = folder, reason


class UnknownProcess(LabFault):
    """A lab was asked about a process that it does not have."""

    def __init__(self, name: str, *, known: list[str]) -> None:
        super().__init__(f"the lab has no process '{name}'; it has: {', '.join(known) or 'none'}")
        self.name, self.known = name, known


class AlreadyRunning(LabFault):
    """A process was to be started under the name of one that runs."""

    def __init__(self, name: str, *, pid: int) -> None:
        super().__init__(f"{name} is running already (pid {pid} in the lab). Stop it before it is started again.")
        self.name, self.pid = name, pid


class LabRequestFailed(LabFault):
    """The supervisor of a lab could not do what was asked, for a reason that only its operating system knows."""

    def __init__(self, request: str, *, reason: str) -> None:
        super().__init__(f"the lab could not do '{request}': {reason}")
        self.request, self.reason = request, reason


class LabGone(LabFault):
    """The lab ended, or its supervisor does not answer any more."""

    def __init__(self, name: str, *, folder: Path, last: str) -> None:
        super().__init__(
            f"lab {name} is gone ({folder}): {last.rstrip()}. Whatever ran in it has ended with it; "
            f"run again, or `edgegate up` for a new one."
        )
        self.name, self.folder, self.last = name, folder, last


class NoSuchLab(LabFault):
    """There is no lab where one was looked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"no lab at {folder}. `edgegate status` lists the labs that run, `edgegate up` starts one.")
        self.folder = folder


class LabExists(LabFault):
    """A lab was to be made in the folder of one that runs."""

    def __init__(self, name: str, *, folder: Path) -> None:
        super().__init__(f"lab {name} runs already in {folder}. Use it, or end it with `edgegate down`.")
        self.name, self.folder = name, folder


class LabForeign(LabFault):
    """A running lab was made by a version of edgegate that keeps its records in another form."""

    def __init__(self, name: str, *, folder: Path, version: str, init_pid: int) -> None:
        super().__init__(
            f"lab {name} ({folder}) was made by edgegate {version}, whose records this version does not read. "
            f"End it with that version, or with `kill -9 {init_pid}`; nothing of it stays behind."
        )
        self.name, self.folder, self.version, self.init_pid = name, folder, version, init_pid


class LabFolderForeign(UsageFault):
    """The folder that a lab was to use holds something else."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} holds files that no lab made, so nothing in it was touched. Name another folder.")
        self.folder = folder


class BadSetting(UsageFault):
    """A flag, environment name or ini key has a value that cannot be meant."""

    def __init__(self, origin: str, problem: str) -> None:
        super().__init__(f"{origin}: {problem} Nothing was started.")
        self.origin, self.problem = origin, problem


class UnknownLimit(BadSetting):
    """A limit was set that does not exist."""

    def __init__(self, origin: str, name: str, *, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        super().__init__(origin, f"there is no limit '{name}'.{hint} The limits are {', '.join(known)}.")
        self.name, self.known = name, tuple(known)


class UnknownFault(BadSetting):
    """A defect that the reference operator does not have was to be switched on."""

    def __init__(self, origin: str, name: str, *, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        super().__init__(
            origin, f"the operator has no fault '{name}'.{hint} `edgegate-operator --list-faults` lists what it has."
        )
        self.name, self.known = name, tuple(known)


class KindsMissing(BadSetting):
    """A folder of CRDs lacks kinds that the scenarios use."""

    def __init__(self, origin: str, folder: Path, missing: Sequence[str]) -> None:
        super().__init__(
            origin,
            f"{folder} has no CRD for {', '.join(missing)}. "
            "Accepted: the CRDs of both real operators and of the Gateway API of a project's control plane.",
        )
        self.folder, self.missing = folder, tuple(missing)


class RunFolderForeign(UsageFault):
    """The run folder was written by another version, or by something else."""

    def __init__(self, folder: Path, *, found: str, ours: str) -> None:
        super().__init__(
            f"{folder} holds a run of {found}, this is {ours}. Nothing in it was changed. "
            f"Give another folder with --edge-run-dir, or move that one away."
        )
        self.folder, self.found, self.ours = folder, found, ours


class RunFolderBusy(UsageFault):
    """Another run writes to the run folder right now."""

    def __init__(self, folder: Path, *, holder: str) -> None:
        super().__init__(
            f"{folder} is in use by another run ({holder}). Wait for it to end, or give another folder with "
            f"--edge-run-dir."
        )
        self.folder, self.holder = folder, holder


class RunFolderUnwritable(EnvironmentFault):
    """The folder for reports and diagnostics cannot be written to."""

    def __init__(self, folder: Path, *, reason: str) -> None:
        super().__init__(
            f"{folder} is where reports and diagnostics go, and it cannot be written to: {reason}. "
            f"Give another folder with --edge-run-dir."
        )
        self.folder, self.reason = folder, reason


class NotShown(EnvironmentFault):
    """The edge cannot show what the scenario asks for, so nothing follows for the version under test."""


class NotAllowed(NotShown):
    """A scenario wanted to do something to an edge that somebody else runs, and may not."""

    def __init__(self, what: str, *, allow: str = "") -> None:
        cure = f"--edge-allow {allow} allows it" if allow else "nothing allows it"
        super().__init__(f"{what}: refused on an attached edge, because others use it; {cure}")
        self.what, self.allow = what, allow


class AttachRefused(EnvironmentFault):
    """An edge that somebody else runs cannot be used as it is; nothing was changed."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        lines = "".join(f"\n  {one}" for one in problems)
        super().__init__(f"cannot attach to {where}; nothing of it was changed. See docs/backends.md.{lines}")
        self.where, self.problems = where, tuple(problems)


class PoisonNotLive(NotShown):
    """The fault that a gate plants had no effect, so surviving it proves nothing."""

    def __init__(self, poison: str, *, evidence: str) -> None:
        super().__init__(f"the poison had no effect: {poison}; seen: {evidence}. What survived it proves nothing.")
        self.poison, self.evidence = poison, evidence


class MachineSaturated(NotShown):
    """Timings were over their budgets on a machine that had nothing to spare: it may be the machine's fault."""

    def __init__(self, late: Sequence[str]) -> None:
        lines, many = "\n".join(f"  {one}" for one in late), "timing" if len(late) == 1 else "timings"
        super().__init__(
            f"{len(late)} {many} over budget, measured on a saturated machine:\n{lines}\n"
            "Nothing follows for the version under test. Free the machine, or run this gate alone, and run again."
        )
        self.late = tuple(late)


class EdgeNotUp(EnvironmentFault):
    """The edge did not come up earlier in this run; it is not tried again for every test."""

    def __init__(self, *, cause: str, first: str) -> None:
        super().__init__(f"the edge did not come up: {cause} (the full error is with {first})")
        self.cause, self.first = cause, first


class LeftBehind(AssertionError):
    """A test ended and left objects in a control plane; they were removed."""

    def __init__(self, test: str, objects: Sequence[object]) -> None:
        names = ", ".join(str(one) for one in objects)
        super().__init__(
            f"{test} left objects behind: {names}. They were removed. Create objects by a factory (http_proxy, domain, "
            f"dns_zone, apply), which undoes what it did, or delete them before the test ends."
        )
        self.test, self.objects = test, tuple(objects)


class GateFailed(AssertionError):
    """A gate found the system under test other than it must be; the text is the gate's whole story."""


class NodeConfigFault(LabFault):
    """The node agent cannot use the configuration that it was given."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"node agent: {path} is no configuration: {reason}. It is written by `edgegate up`; run it again."
        )
        self.path, self.reason = path, reason


class PodTrouble(LabFault):
    """Something keeps a pod, or one container of it, from running; becomes an event and a waiting reason."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason, self.text = reason, text


class AdminUnreachable(EnvironmentFault):
    """Envoy's admin interface does not answer, or answers something else than it should."""

    def __init__(self, url: str, *, reason: str) -> None:
        super().__init__(
            f"Envoy's admin interface at {url}: {reason}. Without it nobody knows what Envoy refused. "
            f"See whether the proxy runs (`edgegate status`) and what it logged (`edgegate logs`)."
        )
        self.url, self.reason = url, reason


class MetricsUnreachable(EnvironmentFault):
    """A process does not tell its metrics."""

    def __init__(self, url: str, *, reason: str) -> None:
        super().__init__(f"the metrics at {url} cannot be read: {reason}. Does the process run? edgegate status tells")
        self.url, self.reason = url, reason


class ProbesTooCostly(EnvironmentFault):
    """Looking took so much of the machine that it may have slowed what was looked at."""

    def __init__(self, share: float, most: float) -> None:
        super().__init__(
            f"probes and watches took {share:.0%} of one processor and may take {most:.0%}: they may have slowed what "
            "they looked at. Watch fewer subjects at a time."
        )
        self.share, self.most = share, most


class WatchBroken(EnvironmentFault):
    """A watcher could not go on; that it saw nothing wrong proves nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the watch of the neighbours could not go on: {reason}. What it saw until then proves nothing. "
            f"Free what is short (`edgegate doctor` shows it) and run again."
        )
        self.reason = reason


class KindFault(EnvironmentFault):
    """Docker or a kind cluster is not as it has to be."""


class EngineMissing(KindFault):
    """There is no docker command."""

    def __init__(self) -> None:
        super().__init__(
            "the backend 'kind' needs Docker, and there is no program 'docker' on PATH. "
            "Install Docker 20.10 or newer, or let edgegate run one of its own: edgegate engine start."
        )


class EngineSilent(KindFault):
    """The docker command is there, its engine does not answer."""

    def __init__(self, host: str, said: str) -> None:
        super().__init__(
            f"the Docker engine at {host} does not answer: {said.rstrip('.')}. "
            "Start it, or let edgegate run one of its own: edgegate engine start."
        )
        self.host, self.said = host, said


class EngineInTheWay(KindFault):
    """Another engine of ours runs on this machine, or was killed."""

    def __init__(self, bridge: str, folder: Path | None) -> None:
        if folder is None:
            why = f"and no engine runs that it belongs to: one was killed. Remove what it left: ip link del {bridge}."
        else:
            use, stop = f"DOCKER_HOST=unix://{folder}/docker.sock", f"edgegate engine stop --data {folder}"
            why = f"because another Docker engine of edgegate runs, in {folder}. Use it ({use}), or stop it: {stop}."
        super().__init__(f"the bridge {bridge} is there, {why}")
        self.bridge, self.folder = bridge, folder


class EngineNotPossible(KindFault):
    """What an engine of ours needs of the machine cannot be had."""

    def __init__(self, folder: Path, why: str, *, verb: str = "started") -> None:
        super().__init__(f"the Docker engine of our own in {folder} cannot be {verb}: {why}.")
        self.folder, self.why = folder, why


class EngineFolderForeign(UsageFault):
    """A folder was named for an engine of ours that holds something else; nothing in it is touched."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds something that no Docker engine of edgegate has made, so it is left as it is. "
            "Accepted: a folder that does not exist, an empty one, or that of an engine of ours. Name it by --data DIR."
        )
        self.folder = folder


class KindNotPossible(KindFault):
    """Something of the machine keeps kind clusters from running."""

    def __init__(self, reasons: Sequence[str]) -> None:
        listed = "".join(f"\n  - {reason}" for reason in reasons)
        super().__init__(f"kind clusters cannot run on this machine as it is:{listed}")
        self.reasons = tuple(reasons)


class ClusterNotMade(KindFault):
    """kind could not make a cluster."""

    def __init__(self, cluster: str, *, tail: str, log: Path) -> None:
        super().__init__(f"the kind cluster {cluster} could not be made. Its log is {log}; the end of it:\n{tail}")
        self.cluster, self.log = cluster, log


class ClusterNotGone(KindFault):
    """Something of a deleted cluster is there still."""

    def __init__(self, cluster: str, left: Sequence[str]) -> None:
        super().__init__(
            f"the kind cluster {cluster} was deleted, yet these are there: {', '.join(left)}. "
            "Look with docker ps --all; remove them with docker rm --force --volumes."
        )
        self.cluster, self.left = cluster, tuple(left)


class ImageMissing(KindFault):
    """An image that the user named is nowhere to be had."""

    def __init__(self, origin: str, reference: str, *, said: str) -> None:
        super().__init__(
            f"{origin}: the Docker engine has no image {reference}, and cannot pull it: {said.rstrip('.')}. "
            f"Build or load it (docker load --input FILE), log in to its registry, "
            "or name the file itself: docker-archive:FILE."
        )
        self.origin, self.reference, self.said = origin, reference, said


class ImageUnusable(KindFault):
    """An image that the user named cannot run on the nodes."""

    def __init__(self, origin: str, name: str, *, why: str) -> None:
        super().__init__(
            f"{origin}: the image {name} {why}. "
            "Accepted: one image for Linux and this machine's architecture, as `docker save IMAGE -o FILE` writes it."
        )
        self.origin, self.name, self.why = origin, name, why


class WrongImage(KindFault):
    """Something on the nodes runs another image than the one that was loaded."""

    def __init__(self, what: str, *, expected: str, actual: str) -> None:
        super().__init__(
            f"{what} runs the image {actual or 'unknown'}, and {expected} was loaded for it. "
            "Run again; if it happens anew, somebody else loads images under the same names: look with docker images."
        )
        self.what, self.expected, self.actual = what, expected, actual


class OfficialImageMissing(KindFault):
    """The official image of a component cannot be pulled."""

    def __init__(self, origin: str, reference: str, *, said: str) -> None:
        super().__init__(
            f"{origin}: {reference} cannot be pulled: {said.rstrip('.')}. "
            "Log in to its registry or load it into the Docker engine (docker load --input FILE), "
            "or let edgegate make it of the store: --edge-images built."
        )
        self.origin, self.reference, self.said = origin, reference, said
