"""How two sights of one exchange are compared, and which exchanges there are."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgegate.errors import CommandFailed
from edgegate.probes.ladder import Body, Place, Reply, Rung, Sight, climb, differences, refused
from edgegate.probes.rungs import EVENTS, MIB, transparency

RUNG = Rung("page", answer=Reply(Body(10)))
THERE = Sight("page", status=200, headers={"etag": '"1"', "date": "then"}, declared=10, length=10, sha256="ab" * 32,
              received="GET length=0")  # fmt: skip


def test_the_same() -> None:
    """Headers that a proxy may add or change do not count."""
    here = replace(THERE, headers={"etag": '"1"', "date": "now", "server": "envoy"}, ended=3.0)

    assert differences(RUNG, THERE, here) == []


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"status": 500}, "status 500 instead of 200"),
        ({"declared": -1}, "Content-Length -1 instead of 10"),
        ({"length": 4, "declared": 10}, "bytes 4 instead of 10"),
        ({"sha256": "cd" * 32}, "SHA-256 'cdcdcdcdcdcd' instead of 'abababababab'"),
        ({"headers": {"date": "now"}}, "etag None instead of '\"1\"'"),
        ({"trailers": {"x": "1"}}, "trailers {'x': '1'} instead of {}"),
        ({"received": "GET length=7"}, "the origin received 'GET length=7' instead of 'GET length=0'"),
        ({"error": "unexpected EOF"}, "200: unexpected EOF instead of 200, 10 bytes"),
        ({"received": "", "status": 500, "text": "oops", "length": 4},
         "500, 4 bytes, not the origin's: 'oops' instead of 200, 10 bytes"),
    ],
)  # fmt: skip
def test_what_differs(change: dict[str, object], seen: str) -> None:
    assert seen in differences(RUNG, THERE, replace(THERE, **change))  # type: ignore[arg-type]


def test_what_may_be_reframed() -> None:
    """Somebody on the way may send chunks in place of a length; the bytes count nevertheless."""
    there = replace(THERE, received="POST length=3 declared=3 sha256=ab")
    here = replace(there, declared=-1, received="POST length=3 declared=-1 sha256=ab")

    assert len(differences(RUNG, there, here)) == 2
    assert differences(RUNG, there, here, reframed=True) == []
    short = replace(here, length=2, received="POST length=2 declared=-1 sha256=ab")
    assert len(differences(RUNG, there, short, reframed=True)) == 2


def test_a_documented_refusal_is_right_and_told() -> None:
    """An answer of the edge's own with the status that the limit has; the origin's own 413 is none."""
    rung = replace(RUNG, refusals=(413,))
    here = Sight("page", status=413, text="too large", length=9)

    assert differences(rung, THERE, here) == []
    assert refused([rung], [here]) == {"page": 413}
    assert differences(rung, THERE, replace(here, status=502)) != []
    assert differences(rung, THERE, replace(here, received="GET")) != []
    assert differences(RUNG, THERE, here) != []


def test_events_that_are_held_back() -> None:
    rung = Rung("events", kind="events", answer=EVENTS)

    assert differences(rung, THERE, replace(THERE, first=0.1, ended=2.5)) == []
    assert differences(rung, THERE, replace(THERE, first=2.45, ended=2.5)) == [
        "the first event came after 2.45 s instead of 2 s at the most"
    ]


def test_lines() -> None:
    """What the client reads has no word that it does not know; what it writes may lack what it has not seen."""
    told = json.loads(replace(RUNG, refusals=(413,)).line())

    assert "refusals" not in told
    assert told["answer"]["body"]["size"] == 10
    assert Sight.of('{"name": "a", "status": 101, "headers": null, "messages": ["x"]}') == Sight(
        "a", status=101, messages=("x",)
    )


def test_names_are_unique_and_limits_are_climbed() -> None:
    """Sizes around a further limit are there, and only requests that are longer may be refused."""
    rungs = transparency(limit=3 * MIB, refusals=[413])

    assert len({rung.name for rung in rungs}) == len(rungs)
    assert {3 * MIB - 1, 3 * MIB, 3 * MIB + 1} <= {rung.body.size for rung in rungs if rung.body}
    assert {rung.body.size for rung in rungs if rung.body and rung.refusals} == {3 * MIB + 1, 5 * MIB}
    assert not [rung for rung in rungs if rung.refusals and not rung.body]
    assert not [rung for rung in transparency() if rung.refusals]


def test_a_client_that_fails(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed):
        climb(tmp_path / "none", Place("127.0.0.1:1", "a.test"), [RUNG])
