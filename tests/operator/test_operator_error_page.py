"""The branded error page: one policy for all listeners of the class, and no percent sign that Envoy would obey."""

import re
from pathlib import Path

import pytest

from edgegate_operator import kinds
from edgegate_operator.controllers import controllers_for
from edgegate_operator.controllers.errorpage import NAME, PLAIN, body_of, decide, listening, local_reply
from edgegate_operator.core.plan import Apply, Delete
from edgegate_operator.kinds import Obj
from edgegate_operator.settings import ErrorPage
from operator_objects import listener, obj, settings

PAGE = "100% of 50%% %FOO% {{ x }}"


def _gateway(*ports: tuple[int, bool], klass: str = "edge") -> Obj:
    listeners = [{**listener(f"l{port}", "a.test", tls=tls), "port": port} for port, tls in ports]
    return obj(kinds.GATEWAY, f"g-{klass}", spec={"gatewayClassName": klass, "listeners": listeners})


def test_ports_of_our_class_once_each() -> None:
    gateways = [_gateway((80, False), (443, True)), _gateway((443, True)), _gateway((8443, True), klass="other")]

    assert listening(gateways, settings()) == [(80, False), (443, True)]


def test_percent_signs_are_doubled() -> None:
    """Whatever stands between two of them is then no command to Envoy, and arrives as it was written."""
    text = local_reply(PAGE, settings())["mappers"][0]["body_format_override"]["text_format_source"]["inline_string"]

    assert re.sub("%%", "%", text) == PAGE
    assert not re.search(r"(?<!%)%(?!%)", text.replace("%%", ""))


def test_fault_leaves_them() -> None:
    found = local_reply(PAGE, settings("error-page-unescaped"))

    assert found["mappers"][0]["body_format_override"]["text_format_source"]["inline_string"] == PAGE


def test_each_listener_is_patched() -> None:
    """A port without TLS has one filter chain, the default; one with TLS has one a host name."""
    (step,) = decide(PAGE, [_gateway((80, False), (443, True))], settings()).steps

    assert isinstance(step, Apply)
    patches = step.obj["spec"]["jsonPatches"]
    assert [patch["name"] for patch in patches] == ["tcp-80", "tcp-443"]
    assert [patch["operation"]["jsonPath"].partition("filters[")[0] for patch in patches] == [
        "..default_filter_chain.",
        "..filter_chains[*].",
    ]


def test_nobody_listens() -> None:
    """Envoy Gateway would refuse a policy that finds nothing to patch."""
    (step,) = decide(PAGE, [], settings()).steps

    assert isinstance(step, Delete)
    assert step.name == NAME


def test_file_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "page.html").write_text(PAGE)

    assert body_of(ErrorPage(body_path=str(tmp_path / "page.html"))) == PAGE
    assert body_of(ErrorPage(body_path=str(tmp_path / "none.html"))) == PLAIN
    assert "none.html cannot be read" in caplog.text


@pytest.mark.parametrize("enabled", [False, True])
def test_only_where_it_is_asked_for(enabled: bool) -> None:
    found = controllers_for(settings(gateway={"errorPage": {"enabled": enabled}}))

    assert ("errorpage" in [one.name for one in found]) == enabled
