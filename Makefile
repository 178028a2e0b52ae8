# Each target makes the environment it needs, from nothing: `make demo` and `make test` are all that a fresh machine
# needs. PYTHON names another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CASES ?=
# Most tests keep one core busy. A file stays in one process, for what its tests share.
SIDE_BY_SIDE ?= -n logical --maxprocesses 4 --dist loadfile

export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: help demo test test-slow lint wheel bench docs golden clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    split a sample, train its submodels and the original, compose, compare"
	@echo "make test    all tests but the slow ones"
	@echo "make test-slow  those"
	@echo "make lint    style, types, and the walls between the parts"
	@echo "make wheel   build the wheel, and split with it in an environment without TensorFlow"
	@echo "make bench   measurements"
	@echo "make docs    write the pages that are generated from the code"
	@echo "make golden  write the expected output of the golden cases anew (CASES='name ...' for some)"
	@echo "make clean   remove the environment and what was built"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "sknc needs Python 3.10 to 3.13 for its tests; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(PIP) install --quiet --quiet --editable '.[cpu,samples]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(PIP) install --quiet --quiet --editable '.[cpu,dask,dev,plot]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/sknc split samples/mlp_digits.py -m 6 -o demo_split
	$(BIN)/sknc run demo_split --baseline

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel: $(VENV)/.dev
	PYTHON=$(PYTHON) bash .ci/wheel $(BIN)

bench: $(VENV)/.dev
	@set -e; for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script; done

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

golden: $(VENV)/.dev
	$(BIN)/python -m tests.golden.regenerate $(CASES)

clean:
	rm -rf $(VENV) dist build demo_split .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
