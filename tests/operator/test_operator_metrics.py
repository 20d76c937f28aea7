"""Metrics: the text that Prometheus reads."""

from edgegate_operator.core.metrics import Metrics


def test_text_has_type_help_and_quoted_labels() -> None:
    metrics = Metrics()
    metrics.declare("things_total", "counter", "Things")
    metrics.add("things_total", 2, where='a "b"\n')
    assert (
        metrics.text()
        == '# HELP things_total Things\n# TYPE things_total counter\nthings_total{where="a \\"b\\"\\n"} 2\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    metrics = Metrics()
    metrics.declare("things_total", "counter", "Things")
    assert "things_total" not in metrics.text()


def test_clearing_drops_the_series_that_match_and_no_other() -> None:
    metrics = Metrics()
    metrics.declare("withheld", "gauge", "Withheld")
    for project in ("a", "b"):
        metrics.set("withheld", 1, project=project, namespace="default", name="shop", listener="s")
    metrics.clear("withheld", {"project": "a", "namespace": "default", "name": "shop"})
    assert metrics.value("withheld", project="a", namespace="default", name="shop", listener="s") is None
    assert metrics.value("withheld", project="b", namespace="default", name="shop", listener="s") == 1


def test_a_histogram_counts_up_to_each_bound() -> None:
    metrics = Metrics()
    metrics.declare("seconds", "histogram", "Seconds")
    for seconds in (0.001, 0.3, 500):
        metrics.observe("seconds", seconds)
    lines = metrics.text().splitlines()
    assert 'seconds_bucket{le="0.001"} 1' in lines
    assert 'seconds_bucket{le="0.5"} 2' in lines
    assert 'seconds_bucket{le="+Inf"} 3' in lines
    assert "seconds_count 3" in lines
