"""The project's files are found beside the sources and inside an installed wheel."""

from pathlib import Path

import pytest

from edgegate import resources

NAMES = ("pins.toml", "manifests", "native", "e2e")


@pytest.mark.parametrize("name", NAMES)
def test_every_one_of_them_is_there(name: str) -> None:
    assert resources.resource(name).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_has_its_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_data" / name).mkdir(parents=True)
    monkeypatch.setattr(resources, "_HERE", tmp_path)
    assert resources.resource(name) == tmp_path / "_data" / name


def test_the_wheel_takes_all_of_them() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert [name for name in NAMES if f'"{name}" = "edgegate/_data/{name}"' not in project] == []
