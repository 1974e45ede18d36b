# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUST := $(wildcard native/src/*.rs native/src/*/*.rs) native/Cargo.toml native/Cargo.lock

.PHONY: demo test soak lint install lock vectors clean

demo: install
	$(BIN)/python examples/commit_and_prove.py

test: install lint
	$(BIN)/python -m pytest -n auto

soak: install
	$(BIN)/python -m pytest -n auto -m soak

install: $(VENV)/.installed

$(VENV)/.packages: requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.packages pyproject.toml $(RUST)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
