"""What is in a pod's volumes, and how it gets there."""

import os
from pathlib import Path

import pytest

from edgegate.errors import PodTrouble
from edgegate.lab.node.kube import Json
from edgegate.lab.node.volumes import File, Sources, files_of, kind_of, references, write
from node_parts import FACTS, config_map, nothing, objects, pod, secret


def _sources(*found: Json) -> Sources:
    return Sources(pod(), FACTS, objects(*found) if found else nothing, lambda audience, life: f"{audience}/{life}")


def test_a_secret_with_its_mode() -> None:
    volume = {"name": "v", "secret": {"secretName": "s", "defaultMode": 0o400}}
    assert files_of(volume, _sources(secret("s", key="eA=="))) == {"key": File(b"x", 0o400)}


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "a", "path": "deep/er", "mode": 0o600}, {"key": "b", "path": "b"}]
    volume = {"name": "v", "configMap": {"name": "m", "items": items}}
    made = files_of(volume, _sources(config_map("m", a="1", b="2", c="3")))
    assert made == {"deep/er": File(b"1", 0o600), "b": File(b"2", 0o644)}


def test_a_projected_volume_puts_sources_together() -> None:
    parts: list[Json] = [
        {"serviceAccountToken": {"path": "token", "audience": "edge", "expirationSeconds": 600}},
        {"serviceAccountToken": {"path": "plain"}},
        {"configMap": {"name": "m"}},
        {"secret": {"name": "s", "optional": True}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    made = files_of({"name": "v", "projected": {"sources": parts}}, _sources(config_map("m", ca="cert")))
    content = {path: file.data for path, file in made.items()}
    assert content == {"token": b"edge/600", "plain": b"/3600", "ca": b"cert", "name": b"web-1"}


def test_the_downward_api_shows_resources() -> None:
    ref = {"containerName": "c", "resource": "limits.cpu"}
    volume = {"name": "v", "downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": ref}]}}
    assert files_of(volume, _sources()) == {"cpu": File(b"2", 0o644)}


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        ({"secret": {"secretName": "s"}}, 'MountVolume.SetUp failed for volume "v" : secret "s" not found'),
        (
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "k"}]}},
            "references non-existent configmap key: k",
        ),
        ({"hostPath": {"path": "/"}}, "hostPath is refused: the lab's own files are not a node's"),
        ({"persistentVolumeClaim": {}}, "the lab has no persistentVolumeClaim volumes"),
        ({"projected": {"sources": [{"clusterTrustBundle": {}}]}}, "the lab has no clusterTrustBundle projection"),
    ],
)
def test_what_cannot_be_mounted_is_told(volume: Json, text: str) -> None:
    with pytest.raises(PodTrouble) as caught:
        files_of({"name": "v", **volume}, _sources(config_map("m")))
    assert text in caught.value.text
    assert caught.value.reason == "FailedMount"


def test_a_volume_without_a_source_is_an_empty_folder() -> None:
    assert kind_of({"name": "v"}) == "emptyDir"


def test_references_name_each_object_once() -> None:
    volumes: list[Json] = [
        {"name": "a", "secret": {"secretName": "s"}},
        {"name": "b", "projected": {"sources": [{"secret": {"name": "p"}}, {"configMap": {"name": "m"}}]}},
        {"name": "c", "emptyDir": {}},
    ]
    assert references(volumes) == {("Secret", "s"), ("Secret", "p"), ("ConfigMap", "m")}


def test_files_are_replaced_all_at_once(tmp_path: Path) -> None:
    assert write(tmp_path, {"a": File(b"1", 0o644), "d/b": File(b"1", 0o600)})
    before = (tmp_path / "..data").readlink()

    assert write(tmp_path, {"a": File(b"2", 0o644), "c": File(b"2", 0o644)})

    assert (tmp_path / "..data").readlink() != before
    assert not (tmp_path / before).exists()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == {"a": b"2", "c": b"2"}
    assert (tmp_path / "a").readlink() == Path("..data/a")
    assert not os.path.lexists(tmp_path / "d")


def test_the_same_files_again_change_nothing(tmp_path: Path) -> None:
    files = {"a": File(b"1", 0o640)}
    assert write(tmp_path, files)
    before = (tmp_path / "..data").readlink()
    assert not write(tmp_path, files)
    assert (tmp_path / "..data").readlink() == before
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_new_mode_is_a_change(tmp_path: Path) -> None:
    write(tmp_path, {"a": File(b"1", 0o640)})
    assert write(tmp_path, {"a": File(b"1", 0o600)})


def test_an_empty_volume_can_be_written(tmp_path: Path) -> None:
    assert write(tmp_path / "v", {})
    assert not write(tmp_path / "v", {})
