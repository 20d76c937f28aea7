"""`python -m edgegate.cli` is the `edgegate` command."""

import sys

from edgegate.cli import main

sys.exit(main())
