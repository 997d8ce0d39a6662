.DEFAULT_GOAL := help
.PHONY: help demo test proof test-kubernetes check sim model bugs bench bench-peers failover chaos effects oracle docs interface dist screenshots lock clean

BIN := .venv/bin
# The tests start hundreds of Python processes: without compiled modules each start takes seconds.
export PYTHONDONTWRITEBYTECODE :=
READY := .venv/.ready
DEMO_READY := .venv/.ready-demo
PYTEST_ARGS ?= -q -n 4 --dist worksteal
SEEDS ?= 50
HOURS ?= 6
CHAOS_ARGS ?=
PROOF_ARGS ?=
EFFECTS_ARGS ?=
LOCK_ARGS ?=
PEERS_ARGS ?=
COMPILE := $(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --quiet $(LOCK_ARGS)

IMAGE_EXTRAS := postgres mongodb etcd redis kubernetes rabbitmq nats kafka http web otel

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY)) ## everything in one process on SQLite: jobs ticking, the dashboard at http://127.0.0.1:8580
	$(BIN)/fencepost demo

test: $(READY) ## what every change must pass besides make check, with the servers it needs: about 11 minutes (PYTEST_ARGS="-n 4 -k claim")
	$(BIN)/pytest $(PYTEST_ARGS) -m "not proof and not kubernetes and not image" --ignore tests/tidy

proof: $(READY) ## everything long, one summary at the end: before a release, or one part (PROOF_ARGS="--only browser")
	$(BIN)/python -m tests.proof $(PROOF_ARGS)

test-kubernetes: $(READY) ## the tests that need a Kubernetes API server, built from source the first time
	FENCEPOST_TEST_KUBE_APISERVER=$$(scripts/kubernetes-server) && export FENCEPOST_TEST_KUBE_APISERVER && \
		$(BIN)/pytest -q -m kubernetes

image-check: $(READY) ## build the container image and run it: non-root, read-only, signals, health (FENCEPOST_TEST_ENGINE=docker)
	scripts/image-check

check: $(READY) ## format, lint, types, imports and house rules, in seconds
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/tidy

sim: $(READY) ## the simulator over many worlds (SEEDS=1000 HOURS=24), or one again (SEED=17)
	$(BIN)/python -m tests.simulation --hours $(HOURS) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

model: $(READY) ## the protocol's model, checked in every state, and every trap in it found
	$(BIN)/pytest $(PYTEST_ARGS) tests/proof

bugs: $(READY) ## plant every bug of the bank, and print who noticed it
	$(BIN)/python -m tests.bugs

bench: $(READY) ## the benchmarks, peers and limits in one run
	$(BIN)/python -m benchmarks

bench-peers: $(READY) ## ours beside its peers in one run, each in an environment of its own (PEERS_ARGS="--only pgqueuer")
	$(BIN)/python -m benchmarks.peers $(PEERS_ARGS)

failover: $(READY) ## how long a hand-over takes on each lease store, by clean stop, kill, stall and partition
	$(BIN)/python -m benchmarks.failover

oracle: $(READY) ## a million random fire times against the brute-force oracle
	FENCEPOST_TEST_ORACLE_CASES=1000000 $(BIN)/pytest $(PYTEST_ARGS) --timeout=3600 tests/triggers/test_cron_oracle.py

manifests: $(READY) ## write the plain manifests for Kubernetes from the chart
	$(BIN)/python -m scripts.manifests

docs: $(READY) ## write the generated reference pages, and build the site of all pages into build/site
	$(BIN)/python -m scripts.docs
	$(BIN)/python -m scripts.site

interface: $(READY) ## write what users build on, after a change of it that is meant: tests/stability/interface
	$(BIN)/python -m scripts.public_interface

dist: $(READY) ## the release in dist/: built twice, checked, its demo run in an empty environment, with SBOM and digests
	$(BIN)/python -m scripts.dist

screenshots: $(READY) ## pictures of the dashboard for the docs, of a demo in a real Chromium
	$(BIN)/python -m scripts.screenshots

chaos: $(READY) ## the long chaos run: real processes and servers, killed, stalled, cut off and failed over (CHAOS_ARGS)
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

effects: $(READY) ## the long effect drill: every way to have an effect once, on workers killed and stalled (EFFECTS_ARGS)
	$(BIN)/python -m tests.effects $(EFFECTS_ARGS)

lock: $(READY) ## write the lock files from pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	$(COMPILE) pyproject.toml --all-extras --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra web --extra editable --constraint requirements.lock \
		--output-file requirements-demo.lock
	$(COMPILE) pyproject.toml $(IMAGE_EXTRAS:%=--extra %) --constraint requirements.lock \
		--output-file requirements-image.lock
	printf '%s\n' 'hatchling>=1.27,<2' 'setuptools>=80,<90' 'wheel<1' | $(COMPILE) --constraint requirements.lock - --output-file requirements-build.lock
	echo 'uv>=0.9,<1' | $(COMPILE) - --output-file requirements-uv.lock

clean: ## remove the venv, the caches and what was built
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock requirements-uv.lock pyproject.toml scripts/setup
	@scripts/setup test
	@touch $@ $(DEMO_READY)

$(DEMO_READY): requirements-demo.lock pyproject.toml scripts/setup
	@scripts/setup demo
	@touch $@
