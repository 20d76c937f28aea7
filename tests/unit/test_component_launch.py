"""What components get when they are started: credentials that others can load, private files, a plain environment."""

from pathlib import Path

import pytest

from edgegate.components.launch import Launch
from edgegate.errors import LabRequestFailed
from fakes import FakeLab, artifact, launch, selection


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


def test_whoever_joins_has_the_credentials_of_the_start(lab: FakeLab) -> None:
    made = launch(lab)
    loaded = Launch.load(lab, made.selection, made.artifacts)
    assert (loaded.token, loaded.service_account_keys) == (made.token, made.service_account_keys)
    assert loaded.authority.pair == made.authority.pair


def test_credentials_are_on_the_tmpfs_of_the_lab_and_nowhere_else(lab: FakeLab) -> None:
    launch(lab)
    assert "/run/edgegate/data/secrets/launch.json" in lab.files
    assert list(lab.folder.iterdir()) == []


def test_each_lab_has_credentials_of_its_own(tmp_path: Path) -> None:
    one, other = launch(FakeLab(tmp_path)), launch(FakeLab(tmp_path))
    assert one.token != other.token
    assert one.authority.certificate != other.authority.certificate


def test_a_lab_that_nobody_launched_cannot_be_loaded(lab: FakeLab) -> None:
    with pytest.raises(LabRequestFailed):
        Launch.load(lab, selection(), {})


def test_files_go_where_components_find_them(lab: FakeLab) -> None:
    made = launch(lab)
    assert made.secret("sa.key", b"key") == "/run/edgegate/data/secrets/sa.key"
    assert made.secret("tokens.csv", "token") == "/run/edgegate/data/secrets/tokens.csv"
    assert made.config("Corefile", "errors") == "/run/edgegate/data/config/Corefile"
    assert lab.files["/run/edgegate/data/secrets/sa.key"] == b"key"
    assert lab.files["/run/edgegate/data/secrets/tokens.csv"] == b"token"
    assert lab.files["/run/edgegate/data/config/Corefile"] == b"errors"


def test_nothing_of_the_callers_environment_leaks_in(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    assert launch(lab).environment("etcd", GOGC="200") == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "GOGC": "200",
    }


def test_an_artifact_brings_its_libraries(lab: FakeLab) -> None:
    made = Launch.new(lab, selection(), {"bubblewrap": artifact("bubblewrap", libraries=("usr/lib", "lib"))})
    path = made.environment("bubblewrap")["LD_LIBRARY_PATH"]
    assert path == "/store/bubblewrap/usr/lib:/store/bubblewrap/lib"


def test_the_folder_is_the_one_of_the_lab(lab: FakeLab) -> None:
    assert launch(lab).folder == lab.folder
