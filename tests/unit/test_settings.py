"""Settings: the first source that says something wins, and each answer knows where it came from."""

import argparse
import os
from pathlib import Path

import pytest
import yaml

from edgegate.arguments import add_arguments, from_arguments
from edgegate.errors import BadSetting, UnknownLimit
from edgegate.forms import Reuse
from edgegate.limits import Limits
from edgegate.setting import Kind
from edgegate.settings import SETTINGS, Settings, resolve


def test_nothing_given() -> None:
    settings = resolve({}, {}, {})

    assert settings == Settings()
    assert settings.pins.name == "pins.toml"
    assert settings.cache == Path.home() / ".cache" / "edgegate"
    assert {settings.origin(setting.name) for setting in SETTINGS} == {"built-in"}


def test_names_of_a_row() -> None:
    row = next(setting for setting in SETTINGS if setting.name == "run_dir")

    assert (row.flag(), row.flag("--"), row.env, row.ini) == (
        "--edge-run-dir",
        "--run-dir",
        "EDGEGATE_RUN_DIR",
        "edge_run_dir",
    )


@pytest.mark.parametrize(
    ("flags", "env", "ini", "value", "origin"),
    [
        ({"keep": False}, {"EDGEGATE_KEEP": "1"}, {"keep": True}, False, "--edge-keep"),
        ({"keep": None}, {"EDGEGATE_KEEP": "off"}, {"keep": True}, False, "EDGEGATE_KEEP"),
        ({}, {}, {"keep": True}, True, "ini edge_keep"),
        ({}, {}, {"keep": "Yes"}, True, "ini edge_keep"),
    ],
)
def test_order(flags: dict[str, object], env: dict[str, str], ini: dict[str, object], value: bool, origin: str) -> None:
    """False is an answer; only None means that nothing was said."""
    settings = resolve(flags, env, ini)

    assert (settings.keep, settings.origin("keep")) == (value, origin)


def test_pairs_are_merged() -> None:
    settings = resolve(
        {"set": ["envoy=1.38.3"], "limit": None},
        {"EDGEGATE_SET": "envoy=1.37.0, etcd = 3.6.16", "EDGEGATE_LIMIT": ""},
        {"limit": ["converge=2m"]},
    )

    assert settings.set == {"envoy": "1.38.3", "etcd": "3.6.16"}
    assert settings.parts("set") == {"envoy": "--edge-set", "etcd": "EDGEGATE_SET"}
    assert settings.limits == Limits(converge=120)
    assert settings.origin("limit", "converge") == "ini edge_limit"
    assert settings.origin("limit", "settle") == "built-in"


def test_same_pair_twice_is_fine_and_another_value_is_not() -> None:
    assert resolve({"set": ["envoy=1.37.0", "envoy=1.37.0"]}, {}, {}).set == {"envoy": "1.37.0"}
    with pytest.raises(BadSetting, match=r"--edge-set: 'envoy' is set twice, to 1\.37\.0 and to 1\.38\.3\. Keep one\."):
        resolve({"set": ["envoy=1.37.0", "envoy=1.38.3"]}, {}, {})


@pytest.mark.parametrize("text", ["envoy", "=1", "envoy=", " = "])
def test_no_pair(text: str) -> None:
    with pytest.raises(BadSetting, match=r"is no pair\. Accepted: name=value, as in envoy=1\.38\.3\."):
        resolve({"set": [text]}, {}, {})


def test_limit_errors() -> None:
    with pytest.raises(UnknownLimit) as unknown:
        resolve({}, {"EDGEGATE_LIMIT": "convergd=3s"}, {})
    with pytest.raises(BadSetting) as unreadable:
        resolve({}, {"EDGEGATE_LIMIT": "converge=3"}, {})

    assert str(unknown.value) == (
        "EDGEGATE_LIMIT: there is no limit 'convergd'. Did you mean converged? "
        f"The limits are {', '.join(Limits.names())}. Nothing was started."
    )
    assert str(unreadable.value) == (
        "EDGEGATE_LIMIT: converge: '3' is not a duration. Accepted: a number and a unit, as in 250ms, 30s, 2m or 1h. "
        "For example converge=30s. Nothing was started."
    )


def test_limit_of_zero_is_a_limit() -> None:
    assert resolve({"limit": ["settle=0s"]}, {}, {}).limits.settle == 0


def test_every_limit_says_what_it_bounds_and_who_set_it() -> None:
    for name in Limits.names():
        assert Limits.meaning(name)[0].isupper()
        assert Limits.set_by(name)
        assert getattr(Limits(), name) > 0


def test_words() -> None:
    assert resolve({"reuse": "never"}, {}, {}).reuse is Reuse.NEVER
    assert resolve({"backend": "kind"}, {}, {}).backend == "kind"
    with pytest.raises(BadSetting, match="'docker' is no backend"):
        resolve({}, {"EDGEGATE_BACKEND": "docker"}, {})


def test_paths(tmp_path: Path) -> None:
    pins = tmp_path / "mine.toml"
    pins.touch()

    settings = resolve({"run_dir": "out", "pins": str(pins)}, {"EDGEGATE_CACHE": "~/artifacts"}, {})

    assert settings.run_dir == Path.cwd() / "out"
    assert settings.pins == pins
    assert settings.cache == Path.home() / "artifacts"
    with pytest.raises(BadSetting, match="EDGEGATE_PINS: there is no file"):
        resolve({}, {"EDGEGATE_PINS": str(tmp_path / "none")}, {})


def test_cache_is_an_environment_name_only() -> None:
    assert resolve({"cache": "x"}, {}, {"cache": "y"}).cache == Settings().cache


def test_shown() -> None:
    settings = resolve({"set": ["etcd=3.6.16", "envoy=1.37.0"], "keep": True, "limit": ["settle=250ms"]}, {}, {})

    assert [settings.shown(name) for name in ("keep", "reuse", "set", "run_dir", "limit")] == [
        "yes",
        "auto",
        "envoy=1.37.0, etcd=3.6.16",
        "",
        "settle=250 ms",
    ]


def test_flags_of_the_command() -> None:
    """The command has the same rows with shorter flags, and reads the environment but no ini file."""
    parser = argparse.ArgumentParser()
    add_arguments(parser, ("set", "keep"))

    settings = from_arguments(parser.parse_args(["--set", "envoy=1.37.0", "--keep"]), {"EDGEGATE_REUSE": "never"})

    assert (settings.set, settings.keep, settings.reuse) == ({"envoy": "1.37.0"}, True, Reuse.NEVER)
    assert (settings.origin("set", "envoy"), settings.origin("reuse")) == ("--set", "EDGEGATE_REUSE")
    with pytest.raises(SystemExit):
        parser.parse_args(["--run-dir", "x"])


def test_help_texts_follow_one_style() -> None:
    for setting in SETTINGS:
        assert setting.help[0].isupper()
        assert not setting.help.endswith(".")
        assert setting.kind is Kind.SWITCH or setting.metavar or setting.environment_only


KUBECONFIG = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "https://10.0.0.1"}}],
    "users": [{"name": "u", "user": {}}],
}


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("{", "is no YAML"),
        ("just words", "is no kubeconfig: it has no lists of contexts, clusters and users"),
        (yaml.safe_dump(KUBECONFIG | {"users": None}), "is no kubeconfig"),
        (
            yaml.safe_dump(KUBECONFIG | {"current-context": "d"}),
            "the current context 'd', which is not among its contexts",
        ),
        (yaml.safe_dump(KUBECONFIG | {"current-context": None}), "the current context '', which"),
        (yaml.safe_dump(KUBECONFIG | {"clusters": []}), "has no cluster 'k', which its current context names"),
        (yaml.safe_dump(KUBECONFIG | {"users": []}), "has no user 'u', whom its current context names"),
    ],
)
def test_a_file_that_is_no_kubeconfig_says_why(tmp_path: Path, said: str, trouble: str) -> None:
    file = tmp_path / "config"
    file.write_text(said)
    with pytest.raises(BadSetting, match=r"^--edge-downstream-kubeconfig: /.*/config ") as raised:
        resolve({"downstream_kubeconfig": str(file)}, {}, {})
    assert trouble in str(raised.value)


def test_a_kubeconfig_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"is a folder\. Accepted: a kubeconfig"):
        resolve({"downstream_kubeconfig": str(tmp_path)}, {}, {})


def test_a_kubeconfig_from_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadSetting, match="no file that can be read twice: write it to one"):
        resolve({"downstream_kubeconfig": str(tmp_path / "pipe")}, {}, {})


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    (tmp_path / "config").write_text(yaml.safe_dump(KUBECONFIG))
    return str(tmp_path / "config")


def test_what_speaks_of_an_attached_edge_needs_one(kubeconfig: str) -> None:
    settings = resolve({"backend": "attach", "downstream_kubeconfig": kubeconfig, "allow": ["cold-restart"]}, {}, {})
    assert (settings.downstream_kubeconfig, settings.allow) == (Path(kubeconfig), ("cold-restart",))
    with pytest.raises(BadSetting, match="only --edge-backend attach has a use for it"):
        resolve({"downstream_kubeconfig": kubeconfig}, {}, {})


@pytest.mark.parametrize("flags", [{"keep": True}, {"fault": ["requeue-floor"]}, {"dns_backend": "sqlite"}])
def test_an_attached_edge_is_not_made_otherwise(kubeconfig: str, flags: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match="attach changes nothing of an edge that somebody else runs"):
        resolve({"backend": "attach", "downstream_kubeconfig": kubeconfig, **flags}, {}, {})


@pytest.mark.parametrize(("name", "text"), [("gateway_class", "My Class"), ("origin_url", "http://h/path")])
def test_names_and_urls_have_a_form(name: str, text: str) -> None:
    with pytest.raises(BadSetting, match="Accepted: "):
        resolve({name: text}, {}, {})


def test_nodes_are_for_kind() -> None:
    kind = resolve({"backend": "kind", "replicas": "2", "nodes": "2"}, {}, {})
    assert (kind.replicas, kind.nodes) == (2, 2)
    with pytest.raises(BadSetting, match=r"--edge-nodes: 2 nodes need as many proxies.*Raise --edge-replicas"):
        resolve({"backend": "kind", "nodes": "2"}, {}, {})
    with pytest.raises(BadSetting, match="--edge-nodes: only --edge-backend kind has a use for it"):
        resolve({"nodes": "2"}, {}, {})
    with pytest.raises(BadSetting, match=r"'9' cannot be meant\. Accepted: a number from 1 to 4"):
        resolve({"backend": "kind", "nodes": "9"}, {}, {})


def test_a_command_names_what_it_can_be_given() -> None:
    with pytest.raises(BadSetting, match="EDGEGATE_BACKEND: attach needs EDGEGATE_DOWNSTREAM_KUBECONFIG"):
        resolve({}, {"EDGEGATE_BACKEND": "attach"}, {}, prefix="--")
