"""What a lab tells when a test fails."""

from pathlib import Path

from edgegate.edge.lab_told import LOG_LINES, pod_logs


def test_pods_tell_what_their_containers_wrote_last(tmp_path: Path) -> None:
    for pod, container, lines in (("proxy-b", "envoy", LOG_LINES + 5), ("proxy-a", "shutdown-manager", 1)):
        (tmp_path / pod).mkdir()
        text = "".join(f"{container} {number}\n" for number in range(lines))
        (tmp_path / pod / f"{container}.log").write_text(text)
    told = pod_logs(tmp_path).splitlines()
    assert told[0] == f"===== proxy-a/shutdown-manager ({tmp_path}/proxy-a/shutdown-manager.log)"
    assert told[3] == f"===== proxy-b/envoy ({tmp_path}/proxy-b/envoy.log)"
    assert told[4] == "envoy 5"
    assert told[-2] == f"envoy {LOG_LINES + 4}"


def test_requests_do_not_drown_what_envoy_says(tmp_path: Path) -> None:
    (tmp_path / "proxy").mkdir()
    (tmp_path / "proxy" / "envoy.log").write_text("[warning] refused\n" + '{"status": 200}\n' * LOG_LINES * 2)
    said, requests = pod_logs(tmp_path).split("===== ")[1:]
    assert said.splitlines()[1] == "[warning] refused"
    assert requests.splitlines()[0].startswith("proxy/envoy, requests")
    assert len(requests.splitlines()) == LOG_LINES + 2


def test_an_edge_without_pods_tells_nothing(tmp_path: Path) -> None:
    assert pod_logs(tmp_path / "none") == ""
