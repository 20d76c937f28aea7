# The two commands of the README are `make test` and `make e2e`; each does all its set-up alone.
PYTHON ?= python3
BIN    := .venv/bin
# Files of gates. Those that saturate a small machine by themselves run only when they are named.
GATES  ?= e2e
# Scenarios that may run side by side are handed to this many workers one by one, and then all others run alone.
WORKERS ?= $(if $(filter e2e,$(GATES)),3,0)

.PHONY: test e2e bench lint artifacts clean

# A virtual environment with the plugin and all that its tests need.
$(BIN)/edgegate: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'edgegate needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …' >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# What the edge is made of; compiled or downloaded once, kept in ~/.cache/edgegate (or $EDGEGATE_CACHE).
# The further parts (DNS, ACME, operator) only where tests or gates need them.
PLAIN  := e2e/test_oidc_isolation.py
artifacts: $(BIN)/edgegate
	$(BIN)/edgegate build $(if $(filter-out $(PLAIN),$(if $(filter test,$(MAKECMDGOALS)),test,$(GATES))),--parts)

lint: $(BIN)/edgegate
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint artifacts
	$(BIN)/pytest tests

e2e: artifacts
	$(BIN)/pytest $(GATES) -n $(WORKERS) --maxschedchunk 1

bench: artifacts
	$(BIN)/edgegate bench --json

clean:
	rm -rf .venv .edge
