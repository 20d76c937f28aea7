"""`pytester` for the tests of the plugin; nothing else."""

pytest_plugins = ["pytester"]
