# octolet: `make run` shows a node, `make test` proves it. `make help` lists the rest.
SHELL := /bin/bash
.DELETE_ON_ERROR:
PY := .venv/bin/python

.PHONY: help run stop clean test bench lint format venv protos unit process node chaos quick-chaos packages test-packages peers

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: venv  ## install what is missing, start a standalone node with a demo pod, show it Running
	@deploy/install-packages.sh run
	@$(PY) -m deploy.demo run

stop:  ## stop the demo node, its pods and, if we started it, its container runtime
	@if [ -x $(PY) ]; then $(PY) -m deploy.demo stop; else echo "nothing was set up here"; fi

clean: stop  ## `make stop`, then remove everything that set-up made in this folder and the demo's state
	@if [ -x $(PY) ]; then $(PY) -m deploy.demo clean; fi
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache shared/*/stubs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: .venv/.complete protos  ## make .venv with octolet and everything it needs

.venv/.complete: pyproject.toml
	@deploy/install-packages.sh venv
	@test -x $(PY) || python3 -m venv .venv
	@echo "octolet: filling .venv"
	@{ $(PY) -m pip install --quiet --upgrade pip && $(PY) -m pip install --quiet --editable . --group dev; } \
	    > .venv/pip.log 2>&1 || { tail -n 20 .venv/pip.log; exit 1; }
	@touch $@

protos: .venv/.complete protos/.generated  ## generate the gRPC message modules from protos/

protos/.generated: $(shell find protos -name '*.proto' -o -name '*.py') .venv/.complete
	@$(PY) protos/generate.py > /dev/null
	@touch $@

lint: venv  ## format, lint, types, import layers: what must hold before any test runs
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy services shared tests deploy bench
	.venv/bin/lint-imports --no-cache

format: venv  ## format the sources
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

unit: venv  ## tests that need nothing but Python
	.venv/bin/pytest -m "not process and not node and not chaos"

process: venv  ## tests with the real supervisord and the real daemons
	.venv/bin/pytest -m process tests

node: venv test-packages peers  ## tests with real container runtimes in network namespaces of their own
	.venv/bin/pytest -m node tests

quick-chaos: venv test-packages  ## daemons killed under running pods: every daemon, every pair, all
	.venv/bin/pytest -m chaos tests

chaos: venv test-packages  ## the whole kill matrix: every pair in every phase of a pod
	OCTOLET_CHAOS=whole .venv/bin/pytest -m chaos tests --timeout 7200

test: lint unit process node quick-chaos  ## everything, from fast to slow

bench: venv test-packages peers  ## measure, beside upstream's kubelet where it can be had
	$(PY) -m bench.run

test-packages:
	@deploy/install-packages.sh test
	@deploy/install-packages.sh vm

peers: venv
	@$(PY) -m deploy.peers containerd
