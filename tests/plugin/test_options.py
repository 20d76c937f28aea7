"""Every setting can come from a flag, the environment or the ini file, and a wrong one stops the run at once."""

import pytest

from sample import Suite


def _refused(result: pytest.RunResult, pytester: pytest.Pytester, *lines: str) -> None:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {line}*" for line in lines])
    assert not (pytester.path / ".edge").exists()
    assert not (pytester.path / "opened").exists()


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--edge-limit=converge=soon", "--edge-limit: converge: 'soon' is not a duration. * For example converge=30s."),
        ("--edge-limit=converge", "--edge-limit: 'converge' is no pair. Accepted: name=value, as in converge=30s."),
        ("--edge-limit=convrge=3s", "--edge-limit: there is no limit 'convrge'. Did you mean converge? *"),
        ("--edge-set=envoi=1", "--edge-set envoi=1: * no component 'envoi'. Did you mean 'envoy'? *"),
        ("--edge-set=envoy=9.9.9", "--edge-set envoy=9.9.9: * has no version '9.9.9' of envoy. It has: "),
        ("--edge-set=envoy", "--edge-set: 'envoy' is no pair. Accepted: name=value, as in envoy=1.38.3."),
        ("--edge-backend=attach", "--edge-backend: attach needs --edge-downstream-kubeconfig FILE."),
        ("--edge-allow=cold-restart", "--edge-allow: only --edge-backend attach has a use for it."),
        ("--edge-allow=everything", "--edge-allow: 'everything' cannot be allowed. Accepted: cold-restart, "),
        ("--edge-origin-url=10.0.0.7", "--edge-origin-url: '10.0.0.7' is no origin. Accepted: scheme, host and port"),
        ("--edge-downstream-kubeconfig=none", "--edge-downstream-kubeconfig: */none does not exist. Accepted: a kube"),
        ("--edge-backend=k3d", "--edge-backend: 'k3d' is no backend. Accepted: host"),
        ("--edge-reuse=maybe", "--edge-reuse: 'maybe' says nothing about reuse. Accepted: auto, always, never."),
        ("--edge-pins=none.toml", "--edge-pins: there is no file */none.toml. Accepted: *project's pins.toml."),
        ("--edge-slo=none.toml", "--edge-slo: there is no file */none.toml. Accepted: *project's slo.toml."),
        ("--edge-waivers=none.toml", "--edge-waivers: there is no file */none.toml. *project's waivers.toml."),
        ("--edge-run-dir=", "--edge-run-dir: an empty path."),
        ("--edge-run-dir=/proc/x", "/proc/x is where reports and diagnostics go, * written to: No such file "),
        ("--edge-fault=nope", "--edge-fault: the operator has no fault 'nope'. `edgegate-operator *"),
    ],
)  # fmt: skip
def test_refused(suite: Suite, pytester: pytest.Pytester, flag: str, said: str) -> None:
    """What cannot be meant names the flag, the value and what would be accepted; nothing is started."""
    _refused(suite("shown_settings", flag), pytester, said)


def test_refused_from_the_environment(suite: Suite, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEGATE_KEEP", "perhaps")

    _refused(
        suite("shown_settings"), pytester, "EDGEGATE_KEEP: 'perhaps' is neither yes nor no. Accepted: 1, true, yes, on,"
    )


def test_refused_from_the_ini_file(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nedge_set = envoy=1.37.0\n  envoy=1.38.3\n")

    _refused(
        suite("shown_settings"), pytester, "ini edge_set: 'envoy' is set twice, to 1.37.0 and to 1.38.3. Keep one."
    )


def test_malformed_pins_are_refused(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", mine="[pin")

    _refused(suite("shown_settings", "--edge-pins=mine.toml"), pytester, "*mine.toml: is no TOML")


def test_all_three_sources(suite: Suite, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag before environment before ini; pairs are merged one by one, and each keeps its origin."""
    pytester.makeini("[pytest]\nedge_keep = true\nedge_reuse = never\nedge_set =\n  envoy=1.37.0\n  etcd=3.6.16\n")
    monkeypatch.setenv("EDGEGATE_REUSE", "always")
    monkeypatch.setenv("EDGEGATE_LIMIT", "converge=9s, settle=250ms")

    result = suite("shown_settings", "-s", "--edge-set=envoy=1.38.3", "--edge-limit=converge=4s", only="test_show")

    result.stdout.fnmatch_lines(
        [
            "*keep: yes by ini edge_keep *",
            "reuse: always by EDGEGATE_REUSE *",
            "set: envoy=1.38.3, etcd=3.6.16 by built-in {'envoy': '--edge-set', 'etcd': 'ini edge_set'}",
            "limit: converge=4.00 s, settle=250 ms by * {'converge': '--edge-limit', 'settle': 'EDGEGATE_LIMIT'}",
        ]
    )


def test_flag_takes_back_what_the_ini_file_says(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nedge_keep = true\n")

    result = suite("shown_settings", "-s", "--no-edge-keep", only="test_show")

    result.stdout.fnmatch_lines(["*keep: no by --edge-keep *"])


def test_path_in_an_ini_file_is_relative_to_it(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nedge_run_dir = out/run\n")
    (pytester.path / "below").mkdir()

    result = suite("shown_settings", "-s", only="test_show")

    result.stdout.fnmatch_lines([f"run_dir: {pytester.path}/out/run by ini edge_run_dir*"])


def test_help_names_every_flag_and_environment_name(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Help works while a setting is wrong, because it is what the user needs then."""
    monkeypatch.setenv("EDGEGATE_BACKEND", "nonsense")

    result = pytester.runpytest("--help")

    assert result.ret == 0
    for words in (
        "--edge-backend=host|kind|attach",
        "--edge-keep, --no-edge-keep",
        "--edge-set=COMPONENT=VERSION",
        "EDGEGATE_RUN_DIR",
    ):
        result.stdout.fnmatch_lines([f"*{words}*"])
    result.stdout.fnmatch_lines(["*edge_limit (linelist):*"])


def test_markers_are_described(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.edge_gate(name): *", "@pytest.mark.edge_exclusive: *"]
    )


def test_header_shows_versions_and_origins(suite: Suite) -> None:
    """What is pinned is shown without an origin; with a version of the user's, companions say whose they are."""
    plain = suite("shown_settings", only="test_show")
    chosen = suite("shown_settings", "--edge-set=envoy-gateway=1.7.0", "--edge-keep", only="test_show")

    plain.stdout.fnmatch_lines(["edgegate * asks for: *envoy-gateway 1.8.3, envoy 1.4*"])
    plain.stdout.no_fnmatch_line("edgegate settings:*")
    chosen.stdout.fnmatch_lines(
        ["edgegate *envoy-gateway 1.7.0 (--edge-set), envoy * (companion of envoy-gateway 1.7.0)*"]
    )
    chosen.stdout.fnmatch_lines(["edgegate settings: keep yes (--edge-keep)"])


def test_first_use_shows_what_runs(suite: Suite) -> None:
    result = suite("shown_settings", only="test_with_edge")

    result.stdout.fnmatch_lines(["edge ready after * (started), running envoy 1.37.0, envoy-gateway 1.8.3"])
    assert result.stdout.str().count("edge ready after") == 1


def test_mark_without_a_name_is_refused(suite: Suite, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_nameless="import pytest\n\n@pytest.mark.edge_gate\ndef test_it(edge): pass\n")

    said = 'test_nameless.py::test_it: edge_gate takes the name of the gate, as in edge_gate("isolation").'
    _refused(suite("shown_settings"), pytester, said)


def test_progress_of_a_long_start_is_seen_at_once(suite: Suite, pytester: pytest.Pytester) -> None:
    """What is told while the edge comes up is not captured, although the test passes."""
    pytester.makepyfile(
        test_loud="""
        import sys
        import pytest
        from edgegate.fixtures.edge import aloud

        @pytest.fixture(scope="session")
        def edge_opener(edge_opener, pytestconfig):
            def opener(settings, run_key):
                with aloud(pytestconfig):
                    print("envoy-gateway: compiling", file=sys.stderr)
                print("captured", file=sys.stderr)
                return edge_opener(settings, run_key)

            return opener

        def test_it(edge):
            pass
        """
    )
    result = suite("shown_settings", "test_loud.py", only="test_show")

    result.stderr.fnmatch_lines(["envoy-gateway: compiling"])
    assert "captured" not in result.stderr.str()
