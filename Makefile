# Everything runs from python3 and pip alone: the verbs make their own virtual environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_VENV ?= .venv-bench
BENCH ?=
PACKAGES := schemas core producers stream_processors replay_workers control
JOBS ?= 2
DEMO_HOME ?= .tacho

.DEFAULT_GOAL := help
.PHONY: help install demo demo-kafka test lint format names bench nightly wheel clean

help: ## Show the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit("tachograph needs Python 3.11 or newer: make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

install: $(STAMP) ## Make .venv and install everything into it

demo: $(STAMP) ## Record the incident, replay it, fork it: under a minute
	$(BIN)/tacho --home $(DEMO_HOME) demo

demo-kafka: $(STAMP) ## The same through real servers: Kafka, registry, S3, Redis
	$(BIN)/tacho --home $(DEMO_HOME)-kafka demo --servers

test: $(STAMP) ## Run the tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(STAMP) ## ruff, mypy and pyright strict, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(PACKAGES)
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(STAMP) ## Put the code into its form
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

names: $(STAMP) ## Pin the public names as they are now
	$(BIN)/python tests/house.py

# The peers to measure against are heavy, so they live in an environment of their own.
$(BENCH_VENV)/.installed: pyproject.toml
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --editable '.[all,bench]'
	@touch $@

bench: $(BENCH_VENV)/.installed ## Measure against the baselines and print the table
	$(BENCH_VENV)/bin/python -m bench $(BENCH)

nightly: $(STAMP) ## The tests at full size: thousands of random programs, more kills
	TACHO_NIGHTLY=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

wheel: $(STAMP) ## Build the wheel into dist/
	$(BIN)/python -m hatchling build -t wheel

clean: ## Remove what the verbs made, recordings excepted
	rm -rf $(VENV) $(BENCH_VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
