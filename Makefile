.DEFAULT_GOAL := help
.PHONY: help demo test test-kubernetes check sim bench failover oracle docs lock clean

BIN := .venv/bin
READY := .venv/.ready
PYTEST_ARGS ?= -q -n 4 --dist worksteal
FENCEPOST_SIM_SEEDS ?= 1000
LOCK_ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## everything in one process on SQLite, with jobs ticking
	$(BIN)/fencepost demo

test: $(READY) ## the whole suite, with the servers it needs (PYTEST_ARGS="-n 4 -k claim")
	$(BIN)/pytest $(PYTEST_ARGS) -m "not chaos and not kubernetes"
	$(BIN)/pytest -q -m chaos

test-kubernetes: $(READY) ## the tests that need a Kubernetes API server, built from source the first time
	FENCEPOST_KUBE_APISERVER=$$(scripts/kubernetes-server) && export FENCEPOST_KUBE_APISERVER && \
		$(BIN)/pytest -q -m kubernetes

check: $(READY) ## format, lint, types, imports and house rules, in seconds
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/tidy

sim: $(READY) ## the simulator, over many seeds (FENCEPOST_SIM_SEEDS=1000)
	FENCEPOST_SIM_SEEDS=$(FENCEPOST_SIM_SEEDS) $(BIN)/pytest $(PYTEST_ARGS) --timeout=0 tests/simulation

bench: $(READY) ## the benchmarks, peers and limits in one run
	$(BIN)/python -m benchmarks

failover: $(READY) ## how long a hand-over takes on each lease store, by clean stop, kill, stall and partition
	$(BIN)/python -m benchmarks.failover

oracle: $(READY) ## a million random fire times against the brute-force oracle
	FENCEPOST_ORACLE_CASES=1000000 $(BIN)/pytest $(PYTEST_ARGS) --timeout=3600 tests/triggers/test_cron_oracle.py

docs: $(READY) ## write the generated reference pages
	$(BIN)/python scripts/docs.py

lock: $(READY) ## write requirements.lock from pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-header \
		--no-emit-index-url --quiet $(LOCK_ARGS) --output-file requirements.lock

clean: ## remove the venv, the caches and what was built
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml scripts/setup
	@scripts/setup
	@touch $@
