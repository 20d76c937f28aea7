"""Requests and answers over a socket: whole lines, and errors of the class that they had."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgegate.errors import (
    AlreadyRunning,
    CommandFailed,
    ComponentExited,
    EdgegateError,
    LabRequestFailed,
    NeverReady,
    PortTaken,
    SandboxNotPermitted,
    UnknownProcess,
)
from edgegate.lab.wire import Line, failure, unwrap


@pytest.fixture
def pair() -> Iterator[tuple[Line, Line]]:
    one, other = socket.socketpair()
    with one, other:
        yield Line(one), Line(other)


def test_objects_arrive_one_by_one(pair: tuple[Line, Line]) -> None:
    pair[0].connection.sendall(b'{"a": 1}\n{"b"')
    pair[0].connection.sendall(b": 2}\n")
    assert [pair[1].receive(), pair[1].receive()] == [{"a": 1}, {"b": 2}]


def test_the_end_of_the_other_side_is_none(pair: tuple[Line, Line]) -> None:
    pair[0].close()
    assert pair[1].receive() is None


@pytest.mark.parametrize(
    "error",
    [
        AlreadyRunning("etcd", pid=7),
        CommandFailed(["ip", "link"], status=2, output="no"),
        ComponentExited("etcd", status=3, log=Path("/l/etcd.log"), tail="oh"),
        LabRequestFailed("get", reason="PermissionError: no"),
        NeverReady("etcd ready", limit="30 s", last="connection refused"),
        PortTaken("etcd", address="127.0.0.1:2379", holder="etcd2 (pid 8 in the lab)"),
        SandboxNotPermitted("no", fix="Do."),
        UnknownProcess("etcd", known=["a", "b"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_what_it_was(error: EdgegateError) -> None:
    with pytest.raises(type(error)) as raised:
        unwrap(json.loads(json.dumps(failure(error, "start"))))
    assert (type(raised.value), str(raised.value), vars(raised.value)) == (type(error), str(error), vars(error))


def test_an_unforeseen_error_names_the_request() -> None:
    with pytest.raises(LabRequestFailed, match=r"^the lab could not do 'get': FileNotFoundError: .*'/x'$"):
        unwrap(failure(FileNotFoundError(2, "No such file or directory", "/x"), "get"))


def test_a_result_is_handed_out() -> None:
    assert unwrap({"result": [1]}) == [1]
