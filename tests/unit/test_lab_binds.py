"""How bubblewrap is called for private mounts; it must never make a mount point on the user's file system."""

from pathlib import Path

from edgegate.lab import Bind, ProcessSpec, Tools
from edgegate.lab.binds import wrapped


def _words(folder: Path, *binds: Bind) -> list[str]:
    spec = ProcessSpec("one", ("prog", "-x"), {"A": "1"}, binds)
    words, env = wrapped(spec, Tools(), own=str(folder / "own"))
    assert env == {"A": "1"}
    assert words[:4] == ["bwrap", "--dev-bind", "/", "/"]
    assert words[-3:] == ["--", "prog", "-x"]
    return words[4:-3]


def test_an_existing_target_is_bound_over(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _words(tmp_path, Bind("/src", f"{tmp_path}/file")) == ["--ro-bind", "/src", f"{tmp_path}/file"]


def test_a_writable_bind(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _words(tmp_path, Bind("/src", f"{tmp_path}/file", read_only=False))[0] == "--bind"


def test_the_folder_of_a_missing_target_is_rebuilt(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").touch()
    (tmp_path / "etc/link").symlink_to("hosts")
    etc = f"{tmp_path}/etc"
    assert _words(tmp_path, Bind("/src", f"{etc}/envoy/certs")) == [
        *("--tmpfs", etc),
        *("--dev-bind-try", f"{etc}/hosts", f"{etc}/hosts"),
        *("--symlink", "hosts", f"{etc}/link"),
        *("--ro-bind", "/src", f"{etc}/envoy/certs"),
    ]


def test_a_folder_with_two_missing_targets_is_rebuilt_once(tmp_path: Path) -> None:
    words = _words(tmp_path, Bind("/src", f"{tmp_path}/a"), Bind("/src", f"{tmp_path}/b"))
    assert words.count("--tmpfs") == 1


def test_in_the_labs_own_folder_bubblewrap_may_make_it(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    assert _words(tmp_path, Bind("/src", f"{tmp_path}/own/x")) == ["--ro-bind", "/src", f"{tmp_path}/own/x"]


def test_a_link_is_followed_to_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").symlink_to("own/stub")
    words = _words(tmp_path, Bind("/src", f"{tmp_path}/resolv.conf"))
    assert words == ["--ro-bind", "/src", f"{tmp_path}/own/stub"]


def test_what_bubblewrap_needs_in_its_environment_does_not_reach_the_process(tmp_path: Path) -> None:
    spec = ProcessSpec("one", ("prog",), {"LD_PRELOAD": "mine"}, (Bind("/src", str(tmp_path)),))
    words, env = wrapped(spec, Tools(bwrap_env={"LD_LIBRARY_PATH": "/deb/lib", "LD_PRELOAD": "theirs"}))
    assert env == {"LD_LIBRARY_PATH": "/deb/lib", "LD_PRELOAD": "theirs"}
    assert words[4:9] == ["--unsetenv", "LD_LIBRARY_PATH", "--setenv", "LD_PRELOAD", "mine"]
