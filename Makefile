# The two commands of the README are `make test` and `make e2e`; each does all its set-up alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
E2E    ?= e2e

.PHONY: test e2e bench lint clean

$(BIN)/edgegate: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(BIN)/edgegate

lint: $(BIN)/edgegate
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(BIN)/edgegate lint
	$(BIN)/pytest tests

e2e: $(BIN)/edgegate
	$(BIN)/edgegate build
	$(BIN)/pytest $(E2E)

bench: $(BIN)/edgegate
	$(BIN)/edgegate bench --json

clean:
	rm -rf $(VENV) .edge
