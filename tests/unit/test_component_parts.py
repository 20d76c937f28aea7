"""An edge has further parts only when they are asked for, each with those that it needs."""

import pytest

from edgegate.components.bring_up import PINS
from edgegate.components.parts import PARTS, Parts
from edgegate.errors import UnknownPart


def test_the_default_edge_has_none() -> None:
    parts = Parts.choose([])
    assert (str(parts), parts.pins, parts.crd_pins) == ("", (), ())


def test_a_part_brings_those_that_it_needs() -> None:
    parts = Parts.choose(["acme"])
    assert dict(parts.chosen) == {"dns": "lmdb", "acme": ""}
    assert str(parts) == "dns=lmdb, acme"
    assert parts.crd_pins == ("external-dns", "cert-manager")


def test_a_variant_is_kept_beside_a_part_that_needs_it() -> None:
    assert dict(Parts.choose(["acme", "dns=sqlite"]).chosen) == {"dns": "sqlite", "acme": ""}


def test_the_backend_of_the_name_server_is_what_no_word_names() -> None:
    assert Parts.choose(["operator"], dns_backend="sqlite").chosen["dns"] == "sqlite"
    assert Parts.choose(["dns=lmdb"], dns_backend="sqlite").chosen == {"dns": "lmdb"}
    assert Parts.choose([], dns_backend="sqlite").chosen == {}


@pytest.mark.parametrize("word", ["dsn", "dns=postgres", "acme=fast"])
def test_what_does_not_exist_is_refused_with_what_does(word: str) -> None:
    with pytest.raises(UnknownPart, match=f"'{word}' is no part of an edge. Accepted: dns, dns=sqlite, acme"):
        Parts.choose([word])


def test_no_part_needs_what_the_default_edge_has_already() -> None:
    """Otherwise an edge would be asked for the same artifact twice, and its fingerprint would hold it twice."""
    for part in PARTS.values():
        assert not set(part.pins) & set(PINS)
