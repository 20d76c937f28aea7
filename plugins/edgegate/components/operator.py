"""The part `operator`: the operator under test, with what customers' objects need around it.

Ours runs as one process for upstream and downstream. `operator_run` has the real one.
"""

import sys
from functools import partial

import yaml

from edgegate.clusters.kinds import DNS_ZONE_CLASS, ENVOY_PATCH_POLICY, GATEWAY_CLASS, NAMESPACE, Ref
from edgegate.clusters.plane import ControlPlane, Manifest, is_true
from edgegate.components import (
    cert_manager,
    control_plane,
    dns,
    envoy_gateway,
    nso_config,
    operator_run,
    powerdns,
    recursor,
    waf,
)
from edgegate.components.bring_up import Additions, Planes
from edgegate.components.graph import Step
from edgegate.components.launch import BASE_ENVIRONMENT, DATA, Launch
from edgegate.components.operator_choice import PACKAGE, OperatorChoice
from edgegate.components.part import Part
from edgegate.components.powerdns_api import PowerDnsApi
from edgegate.forms import REFERENCE
from edgegate.lab import LabNet, ProcessSpec, Ready
from edgegate.resources import resource

NAME = "operator"
CLASS_NAME = nso_config.CLASS_NAME
ZONE_CLASS = "pdns"
PROJECT = "single"
"""What the operators call the first project."""
CLAIMS = "datum-downstream-gateway-hostnames"
"""Downstream namespace of the claims of host names."""
CONTROLLER = "gateway.networking.datumapis.com/external-global-proxy-controller"
_PORT = operator_run.REFERENCE_PORT
_WEBHOOK_PORT = 9443
CONFIG = operator_run.CONFIG
_FAULTS = "operator.faults"
BRANDED = Ref(ENVOY_PATCH_POLICY, "branded-error-page", envoy_gateway.GATEWAY_NAMESPACE)
"""What ours puts the page on the edge with; it does not take it away when it is told that there is none."""
ERROR_PAGE = "error-page.html"
"""File of the lab with the page of the edge's own errors."""
RETRIES = [{"until": "5s", "interval": "1s"}, {"until": "8760h", "interval": "5m"}]
"""When a Domain is tried again. Production's 5 s for 5 min, then 1 min, then 5 min, is cut short."""
ORIGIN = "origin"
"""The process that all customers without an origin of their own share."""
ORIGIN_HOST = "origin.origins.test"
ORIGIN_PORT = 8088


def additions(choice: OperatorChoice) -> Additions:
    """Return the CRDs of both planes, and the objects that every project has: classes and admission rules."""
    crds = choice.manifests
    # The real operator needs an older Gateway API upstream than Envoy Gateway does downstream.
    downstream = [crd for crd in crds if crd["spec"]["group"] != "gateway.networking.k8s.io"]
    objects = [_gateway_class(), zone_class()]
    return Additions(downstream, crds, [*objects, *(_admission() if choice.is_reference else ())])


def _gateway_class() -> Manifest:
    return Ref(GATEWAY_CLASS, CLASS_NAME).manifest({"controllerName": CONTROLLER})


def zone_class(name: str = ZONE_CLASS) -> Manifest:
    """Return the class of zones that are served by the lab's authoritative server."""
    policy = {"mode": "Static", "static": {"servers": list(dns.NAMESERVERS)}}
    spec = {"controllerName": "powerdns", "nameServerPolicy": policy, "defaults": {"defaultTTL": 300}}
    return Ref(DNS_ZONE_CLASS, name).manifest(spec)


def _admission() -> list[Manifest]:
    files = sorted((resource("manifests") / "admission").glob("*.yaml"))
    documents = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return [document for document in documents if document]


def steps(launch: Launch, planes: Planes) -> list[Step]:
    """Return the steps that start the operator; it is there when it has done something."""
    run = _reference if launch.operator.is_reference else operator_run.steps
    both = partial(_prepare, planes.downstream)
    return [
        Step("origin", lambda: launch.lab.start(_origin(launch.lab.net))),
        Step("origin-name", partial(_name_origin, launch), needs=("zones",)),
        Step("operator-objects", both, needs=("base",)),
        *run(launch, planes),
        Step("operator-works", partial(wait_for_class, planes.upstream), needs=("operator",)),
    ]


def _reference(launch: Launch, planes: Planes) -> list[Step]:
    needs = ("operator-objects", "powerdns", "api-upstream")
    return [Step("operator", lambda: launch.lab.start(spec(launch)), needs=needs)]


def _prepare(downstream: ControlPlane) -> None:
    downstream.apply(Ref(NAMESPACE, CLAIMS).manifest(), zone_class())


def wait_for_class(upstream: ControlPlane, within: float = 60.0) -> None:
    """Return once the operator has accepted its class: an effect, because the real one is ready before it works."""
    ref = Ref(GATEWAY_CLASS, CLASS_NAME)
    upstream.wait(ref, lambda found: is_true(found, "Accepted"), what="operator at work", within=within)


def spec(launch: Launch) -> ProcessSpec:
    """Return how ours is run."""
    file = launch.config(CONFIG, yaml.safe_dump(_config(launch), sort_keys=False))
    launch.config(_FAULTS, "\n".join(launch.operator.faults))
    faults = [word for name in launch.operator.faults for word in ("--fault", name)]
    environment = {**BASE_ENVIRONMENT, "PYTHONPATH": str(launch.operator.program.parent), "PYTHONUNBUFFERED": "1"}
    ready = Ready(kind="http", address=f"http://{launch.lab.net.lab_ip}:{_PORT}/readyz", limit=60)
    argv = (sys.executable, "-m", PACKAGE, "--config", file, *faults)
    return ProcessSpec(NAME, argv, env=environment, ready=ready, stop_grace=5)


def switch_faults(launch: Launch) -> None:
    """Let the operator of a running lab have the faults of this launch, and no others."""
    if not launch.operator.is_reference:
        return
    running = launch.lab.get(f"{DATA}/config/{_FAULTS}").decode().split()
    if tuple(running) != launch.operator.faults:
        launch.lab.remove(NAME)
        launch.lab.start(spec(launch))


def _config(launch: Launch) -> Manifest:
    net = launch.lab.net
    upstream, downstream = (
        control_plane.inner_kubeconfig(launch, plane) for plane in (control_plane.UPSTREAM, control_plane.DOWNSTREAM)
    )
    return {
        "projects": [{"name": PROJECT, "kubeconfig": upstream}],
        "downstream": {"kubeconfig": downstream},
        "server": {"host": net.lab_ip, "port": _PORT},
        "webhook": {"host": net.lab_ip, "port": _WEBHOOK_PORT},
        "gateway": {
            "downstreamGatewayClassName": envoy_gateway.CLASS_NAME,
            "targetDomain": dns.EDGE_ZONE,
            "ipFamilies": ["IPv4"],
            "clusterIssuerMap": issuers(),
            "certificateReissuance": cert_manager.REISSUANCE,
            "errorPage": error_page_settings(launch, enabled=False),
        },
        "domain": {"resolver": net.recursor_ip, "retryIntervals": RETRIES},
        "dns": {"pdnsUrl": powerdns.api_url(net), "pdnsKey": powerdns.api_key(launch.lab)},
        **({"firewall": waf.place(net)} if waf.NAME in launch.parts else {}),
    }


def error_page() -> str:
    """Return the page of the edge's own errors: 8 KiB with all that somebody on the way may take for a command.

    Source: #243 of the operator: one `%` too many, and Envoy refused every listener.
    """
    traps = "width:100%; 50%% off, %COMPLETE% %RESPONSE_CODE% %FOO(BAR)% {{ .Name }} ${HOME} \\n"
    head = f"<!doctype html><title>This edge cannot answer</title><p>{traps}</p><!-- "
    return head + "." * (8192 - len(head) - len(" -->")) + " -->"


def error_page_settings(launch: Launch, *, enabled: bool) -> Manifest:
    """Return what the operator is told about the page.

    It is not there unless a scenario asks for it: Envoy Gateway patches the page into every listener at each
    translation. Measured with a hundred proxies: their routes were on the wire 4.1 s after they were programmed.
    """
    return {"enabled": enabled, "bodyPath": launch.config(ERROR_PAGE, error_page())}


def metrics_urls(launch: Launch) -> list[str]:
    """Return where the processes of the operator have their metrics."""
    return operator_run.running(launch).metrics()


def configure(launch: Launch, upstream: ControlPlane, **sections: Manifest) -> str:
    """Give the operator other settings, by section, and return when it works again; returns what it had before.

    Raises:
        NeverReady: it does not work within a minute.
    """
    before = operator_run.running(launch).config()
    config = yaml.safe_load(before)
    for section, changes in sections.items():
        config[section] = config.get(section, {}) | changes
    reconfigure(launch, yaml.safe_dump(config, sort_keys=False), upstream)
    return before


def serve(launch: Launch, *projects: ControlPlane) -> None:
    """Let our operator serve these projects, the first one among them, and no others; returns when it works again.

    Raises:
        NeverReady: it does not work within a minute.
    """
    names = {plane.name: PROJECT if plane.name == control_plane.UPSTREAM.name else plane.name for plane in projects}
    config = yaml.safe_load(operator_run.running(launch).config())
    config["projects"] = [
        {"name": name, "kubeconfig": f"{DATA}/secrets/{plane}.kubeconfig"} for plane, name in names.items()
    ]
    reconfigure(launch, yaml.safe_dump(config, sort_keys=False), *projects)


def reconfigure(launch: Launch, config: str, *projects: ControlPlane) -> None:
    """Start the operator again with another file, and return when it works for these. Raises NeverReady."""
    it = operator_run.running(launch)
    it.stop()
    # What it said before would be taken for a sign that it works.
    for plane in projects:
        plane.patch(Ref(GATEWAY_CLASS, CLASS_NAME), {"status": {"conditions": []}}, subresource="status")
    it.start(config)
    for plane in projects:
        wait_for_class(plane)


def issuers() -> dict[str, str]:
    """Return the issuer for each name that listeners may use."""
    return {name: issuer.name for name, issuer in cert_manager.ISSUERS.items()}


def _origin(net: LabNet) -> ProcessSpec:
    listen = f"{net.lab_ip}:{ORIGIN_PORT}"
    server = ("-m", "edgegate.components.origin_server", "--listen", listen, "--marker", ORIGIN)
    ready = Ready(kind="http", address=f"http://{listen}/", limit=30)
    return ProcessSpec(ORIGIN, (sys.executable, *server), dict(BASE_ENVIRONMENT), ready=ready)


def _name_origin(launch: Launch) -> None:
    """Let the proxy find the origin as it finds those on the internet: by the recursor."""
    api = PowerDnsApi(launch.lab)
    api.replace(recursor.DOMAIN, ORIGIN_HOST, "A", [launch.lab.net.lab_ip])
    api.close()


PART = Part(
    name=NAME,
    pins=(),
    steps=steps,
    base=additions,
    variants=(REFERENCE,),
    needs=("dns", "acme"),
)
