# Two commands do everything: `make run` and `make test`. Both set up what is missing; a second run reuses it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Where it is set, every command compiles all of our modules again: half a second each, and ten for the tests.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
override PYTHON := $(or $(PYTHON),python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
XDG_CACHE_HOME ?= $(HOME)/.cache
STAMPEDE_CACHE_DIR ?= $(XDG_CACHE_HOME)/stampede
TFLINT_VERSION := v0.64.0
TFLINT := $(STAMPEDE_CACHE_DIR)/tflint-$(TFLINT_VERSION)/tflint
CHECKOV := $(STAMPEDE_CACHE_DIR)/checkov/bin/checkov
CFN_LINT := $(STAMPEDE_CACHE_DIR)/cfn-lint/bin/cfn-lint
# Files, so that `make test`, whose sweeps use the client, downloads it once.
CRT := $(foreach arch,x86_64 arm64,functions/download/build/$(arch)/python/awscrt/__init__.py)
LOCALSTACK := $(STAMPEDE_CACHE_DIR)/localstack
PYTHON_LOCALSTACK ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python) python3.13)

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 25

.PHONY: run
run: $(READY) ## Deploy, flood, measure and report on the embedded local AWS, then remove it all (about 3 minutes)
	$(BIN)/stampede sweep download

# Six at once, even on two cores: those that come first mostly wait for Terraform.
.PHONY: test
test: $(READY) go-function $(CRT) ## Every test (about 4 minutes on 2 cores once the providers are built)
	$(BIN)/python -m stampede.emulator.providers
	@$(MAKE) --no-print-directory chromium
	$(BIN)/pytest --numprocesses=6 --dist=loadfile --no-loadscope-reorder

RUNS ?= 12
BUSY ?= 2
.PHONY: test-often
test-often: $(READY) ## Which tests depend on luck: make test RUNS=12 times, every second time beside BUSY=2 endless loops
	$(BIN)/python tests/often.py $(RUNS) $(BUSY)

.PHONY: evidence
evidence: $(READY) ## Write docs/evidence.md anew: what Stampede assumes of AWS, and what proves it
	$(BIN)/python -m tests.evidence

.PHONY: test-slow
test-slow: $(READY) go-function ## What make test leaves out: N = 500, more sweeps, some as late as on AWS, a stack changed by hand, 15 kills (about 25 minutes)
	$(BIN)/python -m stampede.emulator.providers
	$(BIN)/pytest -m slow tests/emulator tests/terraform

# Each round has a seed of its own, which repeats it; a round that fails is the last one. Go's fuzzing keeps what it finds.
FUZZ_SECONDS ?= 3600
FUZZ_TESTS ?= tests/unit tests/faults
.PHONY: fuzz
fuzz: $(READY) ## The property tests on random examples, for an hour (less with FUZZ_SECONDS=600)
	@while true; do \
	  seed=$${FUZZ_SEED:-$$RANDOM$$RANDOM}; \
	  echo "seed $$seed, after $$SECONDS s" >&2; \
	  $(BIN)/pytest -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed --timeout=3600 $(FUZZ_TESTS) || \
	    { echo "To repeat it: make fuzz FUZZ_SEED=$$seed FUZZ_SECONDS=0 FUZZ_TESTS='$(FUZZ_TESTS)'" >&2; exit 1; }; \
	  if ((SECONDS >= $(FUZZ_SECONDS))); then break; fi; \
	done
	cd functions/transfer && go test -run='^$$' -fuzz=. -fuzztime=50000x -parallel=1 ./internal/workorder

# Like the linters, in an environment of its own, kept with the providers: 500 MB.
.PHONY: test-localstack
test-localstack: $(READY) $(LOCALSTACK)/ready ## The loader, doctor and modules against LocalStack and moto, too (about 3 minutes)
	$(BIN)/python -m stampede.emulator.providers
	STAMPEDE_LOCALSTACK_PYTHON=$(LOCALSTACK)/bin/python $(BIN)/pytest tests/localstack

$(LOCALSTACK)/ready: tests/localstack/requirements.txt
	@$(PYTHON_LOCALSTACK) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null || \
	  { echo "LocalStack is tried with Python 3.13, and '$(PYTHON_LOCALSTACK)' isn't one. Install it (e.g. pyenv install 3.13), or" \
	    "name it with PYTHON_LOCALSTACK=..." >&2; exit 1; }
	@echo "setting up LocalStack and moto (about a minute, once)" >&2
	$(PYTHON_LOCALSTACK) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# The report is tested in a real browser. STAMPEDE_NO_BROWSER=1 leaves those tests out.
.PHONY: chromium
chromium:
	@if [ -n "$${STAMPEDE_NO_BROWSER:-}" ] || command -v chromium >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the tests of the report (about a minute, once)" >&2; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else \
	  echo "the report's tests need chromium: sudo apt-get install chromium, or leave them out with STAMPEDE_NO_BROWSER=1" >&2; exit 1; \
	fi

.PHONY: check
check: $(READY) $(TFLINT) $(CHECKOV) $(CFN_LINT) ## Lint and static checks of Python, Go and Terraform
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pytest tests/terraform/test_configuration.py -k "formatted or configuration_is_valid"
	$(BIN)/pytest tests/unit/test_go_sources.py -k "vet or formatted or go_mod"
	for module in functions/transfer bench/front; do (cd $$module && GOOS=darwin CGO_ENABLED=0 go vet ./...); done
	$(TFLINT) --chdir=infra --recursive --config="$(CURDIR)/infra/.tflint.hcl"
	$(CHECKOV) --config-file infra/.checkov.yaml
	$(CFN_LINT) infra/modules/s3_files/*.yaml
	@$(MAKE) --no-print-directory docs CURRENT=--output-check
	$(BIN)/pytest tests/unit/test_evidence.py -k current

# terraform-docs is a Go tool with pins of its own; Go builds it once (half a minute) and keeps it in its own cache.
TERRAFORM_DOCS := go -C docs/terraform-docs tool terraform-docs ../../infra
.PHONY: docs
docs: ## The tables of variables in docs/, from infra/variables*.tf (make check: are they current?)
	@for page in variables download filesystem copy express function; do \
	  $(TERRAFORM_DOCS) --output-file ../docs/$$page.md $(CURRENT) || { echo "docs/$$page.md: run \`make docs\`" >&2; exit 1; }; \
	done

# Linters of Terraform and CloudFormation, kept with the providers. Those in Python have pins of their own, so each gets an
# environment of its own.
$(TFLINT):
	@echo "building tflint $(TFLINT_VERSION) (about 2 minutes, once)" >&2
	GOBIN=$(abspath $(@D)) go install github.com/terraform-linters/tflint@$(TFLINT_VERSION)

$(CHECKOV): infra/checkov-requirements.txt
$(CFN_LINT): infra/cfn-lint-requirements.txt
$(CHECKOV) $(CFN_LINT):
	@echo "setting up $(@F) (about a minute, once)" >&2
	$(PYTHON) -m venv $(abspath $(@D)/..)
	$(@D)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.PHONY: go-function
go-function: # all that go_stream and go_ranges need
	@command -v go >/dev/null || \
	  { echo "this needs Go 1.25 or newer: install it (https://go.dev/dl), and put it on the PATH" >&2; exit 1; }
	for arch in amd64:x86_64 arm64:arm64; do \
	  (cd functions/transfer && CGO_ENABLED=0 GOOS=linux GOARCH=$${arch%%:*} go build -trimpath -tags lambda.norpc \
	    -o build/$${arch##*:}/bootstrap .); \
	done

functions/download/build/%/python/awscrt/__init__.py: functions/download/crt-requirements.txt | $(READY)
	rm -rf functions/download/build/$*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --only-binary=:all: --require-hashes \
	  --platform manylinux2014_$(patsubst arm64,aarch64,$*) --python-version 3.12 \
	  --target functions/download/build/$*/python -r $<
	@touch $@

.PHONY: functions
functions: $(READY) go-function $(CRT) ## Build what method=crt, go_stream and go_ranges need, for both processors (about a minute)

.PHONY: pictures
pictures: $(READY) chromium ## The pictures of docs/, from the reports of runs: make pictures FOLDERS="results/A results/B"
	$(BIN)/python -m tests.browser.pictures $(FOLDERS)

.PHONY: measured
measured: $(READY) ## Times and tables of README and docs/, from sweeps with their defaults: make measured FOLDERS="results/A"
	$(BIN)/python -m tests.drawn $(FOLDERS)

.PHONY: release-check
release-check: $(READY) ## The commands of README and docs/ that need no AWS, typed in a fresh clone of this commit (about 40 minutes)
	$(BIN)/python -m tests.release_check

.PHONY: bench
bench: $(READY) ## Ratios against real peers, to results/bench.json (docs/benchmarks.md)
	$(BIN)/python -m bench

.PHONY: setup
setup: $(READY) go-function ## Only set up: Python, Terraform's providers, the Go program, OpenTofu where there is no Terraform
	$(BIN)/python -m stampede.emulator.providers

.PHONY: clean
clean: ## Stop the embedded AWS and remove what was built here (results and the cache folder stay)
	@if [ -x $(BIN)/stampede ]; then $(BIN)/stampede emulator stop || true; fi
	rm -rf $(VENV) .stampede *.egg-info .pytest_cache .ruff_cache .hypothesis infra/.build functions/*/build

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another with PYTHON=..." >&2; exit 1; }
	@echo "setting up $(VENV) (about a minute the first time)" >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
