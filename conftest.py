"""`pytester` for the tests of the plugin, and Ctrl-C for those of commands."""

import signal

pytest_plugins = ["pytester"]

# What runs in the background of a script ignores Ctrl-C, and so does all that it starts: the tests that send it would
# wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
