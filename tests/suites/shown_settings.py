"""Shows the settings that a test gets."""

from edgegate.settings import Settings


def test_show(edge_settings: Settings) -> None:
    for name in ("keep", "reuse", "set", "limit", "pins", "run_dir"):
        print(f"{name}: {edge_settings.shown(name)} by {edge_settings.origin(name)} {edge_settings.parts(name)}")  # noqa: T201


def test_with_edge(edge: object) -> None:
    """Brings the edge up."""
