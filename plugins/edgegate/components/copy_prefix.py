"""Copy all keys below one prefix of etcd to another; run inside the lab, where etcd listens.

`python -m edgegate.components.copy_prefix URL SOURCE TARGET`. Uses etcd's JSON gateway, in which keys and values
are base64.
"""

import base64
import sys
from collections.abc import Iterator

import httpx

OWN = "/namespaces/"
"""What a control plane makes for itself: a plane is told from another by its namespace kube-system."""
_PAGE = 200


def copy_prefix(url: str, source: str, target: str) -> int:
    """Copy the keys, all but those that each control plane has of its own, and return how many there were.

    Raises:
        httpx.HTTPError: etcd refused or did not answer.
    """
    copied = 0
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as etcd:
        for key, value in _pairs(etcd, f"{source}/".encode()):
            if key.startswith(f"{source}{OWN}".encode()):
                continue
            moved = target.encode() + key[len(source) :]
            _ask(etcd, "put", {"key": _text(moved), "value": _text(value)})
            copied += 1
    return copied


def _pairs(etcd: httpx.Client, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    start, end = prefix, prefix[:-1] + bytes([prefix[-1] + 1])
    while True:
        query = {"key": _text(start), "range_end": _text(end), "limit": str(_PAGE)}
        found = _ask(etcd, "range", query).get("kvs", [])
        pairs = [(base64.b64decode(pair["key"]), base64.b64decode(pair.get("value", ""))) for pair in found]
        yield from pairs
        if len(pairs) < _PAGE:
            return
        start = pairs[-1][0] + b"\0"


def _ask(etcd: httpx.Client, call: str, body: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    answer = etcd.post(f"/v3/kv/{call}", json=body).raise_for_status()
    found: dict[str, list[dict[str, str]]] = answer.json()
    return found


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


if __name__ == "__main__":
    copy_prefix(*sys.argv[1:4])
