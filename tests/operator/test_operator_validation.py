"""What an HTTPProxy must not say, when its schema or a policy let it through."""

from typing import Any

import pytest

from edgegate_operator.validation import is_hostname, problems
from operator_objects import proxy

HOST_FILTER = [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "HOST", "value": "a b"}]}}]
REDIRECT = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
PREFIX = {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/x"}}}


def backend(**fields: Any) -> list[Any]:
    return [{"backends": [fields]}]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"hostnames": ["*.shop.test"]}, "spec.hostnames: '*.shop.test' is not a full host name"),
        ({"hostnames": ["a.b", "a.b"]}, "spec.hostnames: there are duplicates"),
        ({"rules": [{}]}, "spec.rules[0]: either a backend or a RequestRedirect is needed, and not both"),
        (
            {"rules": [{"filters": [REDIRECT], "backends": [{"endpoint": "http://o.test"}]}]},
            "spec.rules[0]: either a backend or a RequestRedirect is needed, and not both",
        ),
        (
            {"rules": [{"filters": [{"type": "RequestMirror"}], "backends": [{"endpoint": "http://o.test"}]}]},
            "spec.rules[0].filters: type RequestMirror is not supported",
        ),
        (
            {"rules": [{"backends": [{"endpoint": "http://o.test", "filters": [{"type": "URLRewrite"}]}]}]},
            "spec.rules[0].backends[0].filters: type URLRewrite is not supported",
        ),
        (
            {"rules": [{"filters": HOST_FILTER, "backends": [{"endpoint": "http://o.test"}]}]},
            "spec.rules[0].filters: Host 'a b' is not a host name",
        ),
        (
            {
                "rules": [
                    {
                        "matches": [{"path": {"type": "Exact", "value": "/a"}}],
                        "filters": [PREFIX],
                        "backends": [{"endpoint": "http://o.test"}],
                    }
                ]
            },
            "spec.rules[0]: replacing a path prefix needs exactly one PathPrefix match",
        ),
        ({"rules": backend(endpoint="ftp://o.test")}, "'ftp://o.test' is not an http or https URL"),
        ({"rules": backend(endpoint="http://o.test/x")}, "user, path, query and fragment are not allowed"),
        ({"rules": backend(endpoint="http://o.test:0")}, "port must be 1 to 65535"),
        ({"rules": backend(endpoint="http://o.test:70000")}, "port must be 1 to 65535"),
        ({"rules": backend(endpoint="http://localhost")}, "host must be a host name of two labels or more"),
        ({"rules": backend(endpoint="http://127.0.0.1")}, "unspecified, loopback or link-local"),
        ({"rules": backend(endpoint="http://[fe80::1]")}, "unspecified, loopback or link-local"),
        ({"rules": backend(endpoint="https://10.0.0.1")}, "tls.hostname: needed for https to an IP address"),
        ({"rules": backend(endpoint="https://o.test", tls={"hostname": "o.test:1"})}, "'o.test:1' is not a host name"),
        (
            {"rules": [{"name": "a", "backends": [{"endpoint": "http://o.test"}]}] * 2},
            "spec.rules: names must be unique",
        ),
        (
            {"rules": [{"matches": [{}] * 65, "backends": [{"endpoint": "http://o.test"}]}] * 2},
            "spec.rules: more than 128 matches",
        ),
    ],
)
def test_each_problem_is_named_with_its_field(spec: dict[str, Any], text: str) -> None:
    found = problems(proxy(**spec))
    assert len(found) == 1
    assert text in found[0]


@pytest.mark.parametrize(
    "rules",
    [
        [{"filters": [REDIRECT]}],
        backend(endpoint="https://10.0.0.1:8443", tls={"hostname": "o.test"}),
        backend(endpoint="http://localhost:8080", connector={"name": "laptop"}),
        backend(instance={"name": "vm", "port": 80}),
        [{"filters": [PREFIX], "backends": [{"endpoint": "http://[2001:db8::1]:80"}]}],
    ],
)
def test_what_is_right_has_no_problem(rules: list[Any]) -> None:
    assert problems(proxy("www.shop.test", rules=rules)) == []


def test_the_name_must_be_a_label() -> None:
    assert problems(proxy(name="a.b")) == ["metadata.name: must be a DNS label"]


def test_host_names_have_two_labels_and_no_port() -> None:
    assert [is_hostname(text) for text in ("a.b", "a", "a.b:80", "-a.b", "a..b", "A.b")] == [True, *[False] * 5]
