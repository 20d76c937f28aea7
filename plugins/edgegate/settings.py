"""What the user asked for, and where each answer came from.

There is one table, `SETTINGS`. A row's name gives its flag (`--edge-run-dir`), its flag of the `edgegate` command
(`--run-dir`), its environment name (`EDGEGATE_RUN_DIR`) and its ini key (`edge_run_dir`). The first that is given
wins: flag, environment, ini, built-in. Rows of `name=value` pairs are merged pair by pair in the same order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgegate import forms
from edgegate.errors import BadSetting
from edgegate.forms import REFERENCE, Reuse
from edgegate.limits import Limits
from edgegate.resources import resource
from edgegate.setting import COMMAND_PREFIX, PYTEST_PREFIX, Kind, Setting

BUILT_IN = "built-in"

SETTINGS: tuple[Setting, ...] = (
    Setting("backend", "Where the edge runs, or attach to one that runs", forms.backend, "|".join(forms.BACKENDS)),
    Setting("downstream_kubeconfig", "Cluster with the edge, for the backend attach", forms.kubeconfig, "FILE"),
    Setting("upstream_kubeconfig", "Cluster with the operator's customers, for attach", forms.kubeconfig, "FILE"),
    Setting("gateway_class", "GatewayClass of an attached edge that has several", forms.word, "NAME"),
    Setting("origin_url", "Origin that an attached edge reaches, for HTTPProxies", forms.url, "URL"),
    Setting("allow", "What scenarios may do to an attached edge (repeatable)", forms.allowed, "NAME", Kind.WORDS),
    Setting("nodes", "Nodes that the proxies run on, for the backend kind", forms.count, "NUMBER"),
    Setting("images", "Images of components, for the backend kind: ours, or pulled", forms.images, "built|official"),
    Setting("keep", "Keep the edge after the run; `edgegate down` ends it", forms.switch, kind=Kind.SWITCH),
    Setting(
        "reuse",
        "Use a kept edge again: auto if its fingerprint matches, always or stop, never",
        forms.reuse,
        "auto|always|never",
    ),
    Setting(
        "set",
        "Version of a component instead of the pinned one (repeatable)",
        forms.component,
        "COMPONENT=VERSION",
        Kind.PAIRS,
    ),
    Setting("replicas", "Pods of the proxy; probes address each of several", forms.replicas, "NUMBER"),
    Setting("run_dir", "Folder for reports and diagnostics, instead of a new one in .edge/runs", forms.path, "DIR"),
    Setting(
        "limit",
        "How long something may take, with unit (repeatable): " + ", ".join(Limits.names()),
        forms.limit,
        "NAME=DURATION",
        Kind.PAIRS,
    ),
    Setting(
        "pins",
        "File with the pinned versions, instead of the project's pins.toml",
        forms.file_like("pins.toml"),
        "FILE",
    ),
    Setting(
        "waivers",
        "File with gates that are known to fail, instead of waivers.toml beside pins",
        forms.file_like("waivers.toml"),
        "FILE",
    ),
    Setting(
        "slo",
        "File with the budgets of the stages, instead of the project's slo.toml",
        forms.file_like("slo.toml"),
        "FILE",
    ),
    Setting("dns_backend", "Where the name server keeps its records", forms.dns_backend, "lmdb|sqlite"),
    Setting(
        "operator",
        "Operator under test: ours, or the real one's binary, or its image for the backend kind",
        forms.operator,
        "reference|nso:PATH|nso-image:IMAGE",
    ),
    Setting("dns_operator", "Binary of the real DNS operator, for `nso:`", forms.program, "PATH"),
    Setting("dns_operator_image", "Image of the real DNS operator, for `nso-image:`", forms.image, "IMAGE"),
    Setting("operator_crds", "Folder with the real operators' CRDs", forms.crds, "FOLDER"),
    Setting("fault", "Defect to switch on in the reference operator (repeatable)", forms.fault, "NAME", Kind.WORDS),
    Setting("cache", "Folder where artifacts are kept", forms.path, environment_only=True),
)


ATTACHED = ("downstream_kubeconfig", "upstream_kubeconfig", "gateway_class", "origin_url", "allow")
"""Rows that speak of an edge that somebody else runs."""
OF_THE_REAL = ("dns_operator", "dns_operator_image", "operator_crds")
"""Rows that the real operator needs, and ours has no use for."""
IN_A_LAB = ("keep", "reuse", "replicas", "dns_backend", "operator", "fault", "nodes", "images", *OF_THE_REAL)
"""Rows that say how an edge of ours is made."""


@dataclass(frozen=True)
class Settings:
    """What holds in this run."""

    backend: str = forms.HOST
    """Where the edge runs."""
    downstream_kubeconfig: Path | None = None
    """Of the cluster with the edge, where it is attached to."""
    upstream_kubeconfig: Path | None = None
    """Of the cluster with the customers' objects, where there is one."""
    gateway_class: str = ""
    """GatewayClass of an attached edge; empty takes the only one."""
    origin_url: str = ""
    """URL that an attached edge reaches; empty where there is none."""
    allow: tuple[str, ...] = ()
    """What scenarios may do to an attached edge although others use it."""
    nodes: int = 1
    """On how many nodes the proxies of an edge of kind run."""
    images: str = forms.BUILT
    """Whether the images of an edge of kind are made of the store, or pulled."""
    keep: bool = False
    """Whether the edge stays after the run."""
    reuse: Reuse = Reuse.AUTO
    """When a kept edge is used again."""
    set: Mapping[str, str] = field(default_factory=dict)
    """Component to the version that was asked for; not yet checked against the pins."""
    replicas: int = 1
    """How many pods the proxy has."""
    run_dir: Path | None = None
    """Folder of this run; None means that a new one is to be made."""
    limits: Limits = field(default_factory=Limits)
    """Seconds that things may take."""
    pins: Path = field(default_factory=lambda: resource("pins.toml"))
    """The file with the pinned versions."""
    waivers: Path | None = None
    """The file with gates that are known to fail; None means `waivers.toml` beside the pins, if it is there."""
    slo: Path = field(default_factory=lambda: resource("slo.toml"))
    """The file with the budgets of the stages."""
    dns_backend: str = forms.DNS_BACKENDS[0]
    """Where the authoritative server keeps its records, where an edge has one."""
    operator: str = REFERENCE
    """The operator under test: `reference`, `nso:` and the path of its binary, `nso-image:` and its image."""
    dns_operator: Path | None = None
    """Binary of the real DNS operator."""
    dns_operator_image: str | None = None
    """Image of the real DNS operator."""
    operator_crds: Path | None = None
    """Folder with the real operators' CRDs."""
    fault: tuple[str, ...] = ()
    """Defects that are switched on in the reference operator."""
    cache: Path = field(default_factory=lambda: Path.home() / ".cache" / "edgegate")
    """Where artifacts are kept."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Name, or `name:part` for a pair, to who set it; what is missing here is built in."""

    def origin(self, name: str, part: str | None = None) -> str:
        """Return who set a setting, or one part of `set` or `limit`.

        The answer is `--edge-keep`, `EDGEGATE_KEEP`, `ini edge_keep` or `built-in`.
        """
        return self.origins.get(name if part is None else f"{name}:{part}", BUILT_IN)

    def parts(self, name: str) -> dict[str, str]:
        """Return each part of `set` or `limit` that somebody set, with who it was; empty for other settings."""
        known = {key.partition(":")[2]: origin for key, origin in self.origins.items() if key.startswith(f"{name}:")}
        return dict(sorted(known.items()))

    def shown(self, name: str) -> str:
        """Return a setting's value as a person reads it."""
        if name == "limit":
            return ", ".join(f"{part}={self.limits.shown(part)}" for part in self.parts(name))
        value = getattr(self, name)
        if name == "set":
            return ", ".join(f"{component}={version}" for component, version in sorted(value.items()))
        if isinstance(value, tuple):
            return ", ".join(value)
        if value is None:
            return ""
        return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def resolve(
    flags: Mapping[str, Any], env: Mapping[str, str], ini: Mapping[str, Any], *, prefix: str = PYTEST_PREFIX
) -> Settings:
    """Return the settings; the first of flag, environment, ini and built-in that says something wins.

    Args:
        flags: setting name to what was typed; None, or no entry, means "not given".
        env: environment variables.
        ini: setting name to what the ini file says; None, or no entry, means "not given".
        prefix: how flags begin, for the origins.

    Raises:
        BadSetting: a value that cannot be meant; names its origin, the value and the accepted form.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        given = _given(setting, flags, env, ini, prefix)
        if setting.kind is Kind.PAIRS:
            _merge(setting, given, values, origins)
        elif given and setting.kind is Kind.WORDS:
            values[setting.name], origins[setting.name] = _words(setting, *given[0]), given[0][0]
        elif given:
            origin, raw = given[0]
            values[setting.name] = raw if isinstance(raw, bool) else setting.parse(origin, str(raw))
            origins[setting.name] = origin
    values["limits"] = Limits().with_overrides(values.pop("limit", {}))
    settings = Settings(**values, origins=origins)
    _agree(settings, prefix)
    return settings


def _agree(settings: Settings, prefix: str) -> None:
    """Refuse settings that contradict each other."""
    flags = {setting.name: setting.flag(prefix) for setting in SETTINGS}
    if settings.backend == forms.ATTACH:
        if settings.downstream_kubeconfig is None:
            # No command has that flag.
            needs = (
                "EDGEGATE_DOWNSTREAM_KUBECONFIG" if prefix == COMMAND_PREFIX else "--edge-downstream-kubeconfig FILE"
            )
            raise BadSetting(settings.origin("backend"), f"attach needs {needs}.")
        _refuse(settings, IN_A_LAB, "attach changes nothing of an edge that somebody else runs. Leave it out.")
        return
    _refuse(settings, ATTACHED, f"only {flags['backend']} attach has a use for it.")
    if settings.backend == forms.HOST:
        _refuse(settings, ("nodes", "images"), f"only {flags['backend']} kind has a use for it.")
    if settings.replicas < settings.nodes:
        few = f"{settings.nodes} nodes need as many proxies, because each hands its traffic to its own."
        raise BadSetting(settings.origin("nodes"), f"{few} Raise {flags['replicas']}.")
    _agree_on_operator(settings, flags)


def _agree_on_operator(settings: Settings, flags: Mapping[str, str]) -> None:
    if settings.operator == REFERENCE:
        _refuse(settings, OF_THE_REAL, "our operator needs none. Leave it out, or name nso:PATH.")
        return
    _refuse(settings, ("fault",), "only the reference operator has faults that can be switched on.")
    dns = ("dns_operator", "dns_operator_image")
    needed, useless = reversed(dns) if settings.operator.startswith(forms.IMAGE) else dns
    if needed == "dns_operator_image" and settings.backend != forms.KIND:
        why = f"images run in pods, which only {flags['backend']} kind has. Add that, or name the binary: nso:PATH."
        raise BadSetting(settings.origin("operator"), why)
    form = settings.operator.partition(":")[0]
    _refuse(settings, (useless,), f"{form}: has no use for it. It needs {flags[needed]} instead.")
    for name in (needed, "operator_crds"):
        if getattr(settings, name) is None:
            raise BadSetting(settings.origin("operator"), f"the real operator needs {flags[name]} too.")


def _refuse(settings: Settings, names: Sequence[str], why: str) -> None:
    for name in names:
        if settings.origin(name) != BUILT_IN:
            raise BadSetting(settings.origin(name), why)


def _given(
    setting: Setting, flags: Mapping[str, Any], env: Mapping[str, str], ini: Mapping[str, Any], prefix: str
) -> list[tuple[str, Any]]:
    """Return origin and raw value of every source that says something, the strongest first."""
    sources = [
        (setting.flag(prefix), flags.get(setting.name)),
        (setting.env, env.get(setting.env)),
        (f"ini {setting.ini}", ini.get(setting.name)),
    ]
    if setting.environment_only:
        sources = sources[1:2]
    return [(origin, raw) for origin, raw in sources if raw is not None]


def _words(setting: Setting, origin: str, raw: Any) -> tuple[str, ...]:
    """Take the words of the strongest source that says something, each once."""
    texts = raw.split(",") if isinstance(raw, str) else raw
    return tuple(dict.fromkeys(setting.parse(origin, text.strip()) for text in texts if text.strip()))


def _merge(setting: Setting, given: list[tuple[str, Any]], values: dict[str, Any], origins: dict[str, str]) -> None:
    """Take every pair of every source, a stronger source over a weaker one; twice in one source is refused."""
    merged: dict[str, Any] = {}
    for origin, raw in reversed(given):
        seen: dict[str, Any] = {}
        for text in raw.split(",") if isinstance(raw, str) else raw:
            if not text.strip():
                continue
            name, value = setting.parse(origin, text.strip())
            if seen.setdefault(name, value) != value:
                raise BadSetting(origin, f"'{name}' is set twice, to {seen[name]} and to {value}. Keep one.")
            origins[f"{setting.name}:{name}"] = origin
        merged.update(seen)
    values[setting.name] = merged
