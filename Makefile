# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# For a home that is not its own (`env -i`, `sudo`) rustup's `cargo` is there and finds no toolchain:
# those lie in the folder beside the one that holds it.
ifndef RUSTUP_HOME
RUSTUP := $(shell cargo --version > /dev/null 2>&1 || dirname "$$(dirname "$$(dirname "$$(command -v cargo)")")")/.rustup
ifneq ($(wildcard $(RUSTUP)/toolchains),)
export RUSTUP_HOME := $(RUSTUP)
endif
endif
CARGO := $(shell RUSTUP_HOME="$(RUSTUP_HOME)" cargo --version > /dev/null 2>&1 && command -v cargo)
RUST := $(wildcard .cargo/config.toml native/src/*.rs native/src/*/*.rs native/src/*/*/*.rs) native/Cargo.toml native/Cargo.lock
# Two workers more than there are cores: many tests wait for processes of their own.
WORKERS = $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) + 2)" 2>/dev/null || echo 2)
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal
# Without bytecode every worker and every command that a test starts compiles all of it anew.
export PYTHONDONTWRITEBYTECODE :=
# Two threads of linear algebra that wait for a busy core take up to fifty times as long as one.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow test-all test-skipped test-reference test-install test-deploy test-plugins test-torch wheel \
	workflows soak tutorial notebook quick durations mutations coverage lint test-native user \
	install lock supply advisories vectors clean

demo: user
	$(BIN)/gopa demo

# Linters and cargo share the cores, and in a new environment what compiles the tests; if one of
# them fails, nothing else is run and make fails.
test: install
	$(MAKE) --no-print-directory --jobs 2 lint test-native $(VENV)/.compiled
	$(PYTEST) $(MARKED)

# `make test` and `make test-slow` as one run: no worker waits for the end of the first.
test-all: MARKED := -m "slow or not slow"
test-all: test

# What the last run skipped, where nothing may be: programs and data that it needs are there now.
SKIPPED := .pytest_cache/d/skipped/tests.txt
test-skipped: install
	@test -s $(SKIPPED) || { echo "nothing was skipped before: run \`make test-all\` without GOPA_DATA"; exit 2; }
	GOPA_FORBID_SKIPS=1 $(PYTEST) -m "slow or not slow" @$(SKIPPED)

# What takes a second or more each: processes, boards, whole sessions, faults at every step.
test-slow: install
	$(PYTEST) -m slow

# Proofs, masks and rounds on the reference backend: `make test` takes the native core for them where
# there is one. What it runs on both backends, the group and the commitments, stays out.
test-reference: install
	GOPA_BACKEND=reference GOPA_REQUIRE_NATIVE= $(PYTEST) tests/gopa/test_doctor.py \
		tests/group/test_backends.py tests/rounds tests/zkp

# The commands of the README and of the page on deployment, as processes of their own.
test-deploy: install
	$(PYTEST) -m soak tests/deploy

# What users install, built from the source archive: `dist` holds that archive and the wheel, which
# has the native core and serves every supported Python on this kind of machine.
wheel: $(VENV)/.needed
	@test -n "$(CARGO)" || { echo "a wheel has the native core in it: install a Rust toolchain (1.89 or newer)"; exit 2; }
	rm -rf dist
	CARGO_TARGET_DIR=$(CURDIR)/native/target $(BIN)/python -m build --no-isolation --outdir dist .
	@$(BIN)/python -m zipfile --list dist/*.whl | grep '^commitments/_native.abi3.so ' > /dev/null || \
		{ echo "the core did not build: see above"; rm -f dist/*.whl; exit 1; }

# Installs both as users do and uses what they get: the wheel with every Python at hand, the archive
# with the oldest and the newest, with and without Rust.
test-install: wheel
	$(BIN)/python -m tests.installing dist

# The workflows in .github say what they mean: misspelt keys, wrong expressions, unquoted words.
ACTIONLINT := v1.7.12
workflows:
	go run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT) $(wildcard .github/workflows/*.yml)

soak: install
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/soak.txt
	GOPA_ALL_EXAMPLES=1 $(PYTEST) -m "soak or hypothesis"
	$(MAKE) --no-print-directory test-torch

# The tutorials as programs, without Jupyter.
tutorial: install
	$(BIN)/python -m pytest -n0 -m soak tests/test_repository.py -k tutorial

# The same with its outputs, as a notebook and as a page, in build/.
notebook: install
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/notebook.txt
	mkdir -p build
	cd build && for name in tutorial learning_tutorial; do \
		$(abspath $(BIN))/jupytext --to ipynb --set-kernel python3 \
			--run-path . --execute --output $$name.ipynb ../examples/$$name.py && \
		$(abspath $(BIN))/jupyter nbconvert --to html $$name.ipynb || exit 1; done

# For the daily loop: what is wrong at a glance, and the tests near what changed since BASE.
BASE ?= HEAD
quick: install
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(PYTEST) $$($(BIN)/python -m tests.near $(BASE))

# Writes down which tests take long; a run begins with those.
durations: install
	GOPA_RECORD_DURATIONS=1 $(PYTEST)

# Takes checks out of the code, one at a time, and demands that a test notices.
# Goes on where it stopped; what it found is in .mutations.json.
mutations: install
	$(BIN)/python -m tests.mutation.run

# How much of the packages the tests reach; fails below the goals, and for gaps without a reason.
# Two tests fork while threads run; the tracer's own threads do not survive that.
FORKS := tests/group/test_containers.py::test_a
coverage: install
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest --numprocesses $(WORKERS) \
		--deselect $(FORKS)_forked_child_computes --deselect $(FORKS)_child_forked_while_a_thread_encodes
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage json --quiet -o .coverage.json
	$(BIN)/python -m tests.uncovered .coverage.json

lint: install
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.names_and_words
	$(BIN)/python -m tests.budget

# The arithmetic core is tested without Python; the stubs are held against the built module.
test-native: install
ifneq ($(CARGO),)
	cd native && cargo test --quiet --locked --no-default-features
	cd native && cargo clippy --quiet --locked --release -- -D warnings
	$(BIN)/python -m mypy.stubtest --allowlist native/stubtest.allow commitments._native
else
	@echo "no cargo here: the native core is neither built nor tested"
endif

# What plugs into other frameworks, and what trains modules of PyTorch, each in an environment that
# has those.
PLUGINS := $(VENV)-plugins
TORCH := $(VENV)-torch
test-plugins: install $(PLUGINS)/.installed
	GOPA_TEST_PLUGINS=1 $(PLUGINS)/bin/python -m pytest --numprocesses 2 --dist worksteal -W default tests/plugins

test-torch: install $(TORCH)/.installed
	GOPA_TEST_TORCH=1 $(TORCH)/bin/python -m pytest --numprocesses 2 --dist worksteal tests/torch

# The core is there already: cargo would build it anew for an interpreter in another place.
$(VENV)-%/.installed: requirements/%.txt pyproject.toml | $(VENV)/.user
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install $(PINNED) --requirement $<
	PYO3_PYTHON=$(abspath $(BIN)/python) \
		$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

vectors: install
	$(BIN)/python -m tests.vectors.generate

# An environment grows: what a user has, and what developers have beside it. Modules are compiled
# when they are imported, which few of those that are installed are.
PINNED := --quiet --no-compile --require-hashes
user: $(VENV)/.user
install: $(VENV)/.installed

$(VENV)/.needed: requirements/user.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PINNED) --requirement requirements/user.txt
	@touch $@

$(VENV)/.user: $(VENV)/.needed pyproject.toml $(RUST)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed: $(VENV)/.user requirements/dev.txt
	$(BIN)/python -m pip install $(PINNED) --requirement requirements/dev.txt
	@touch $@

# Compiles tests and all that they import, once: without it every worker does so in its first run.
# What cannot be collected is told by that run.
$(VENV)/.compiled: $(VENV)/.installed
	-@$(BIN)/python -m pytest -n0 --collect-only --quiet > /dev/null 2>&1
	@touch $@

# Pins the newest versions of what requirements/*.in name, with hashes and without addresses.
LOCK = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade \
	--python-version 3.11
lock: install
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/lock.txt
	$(LOCK) requirements/lock.in --output-file requirements/lock.txt
	$(LOCK) requirements/dev.in --output-file requirements/dev.txt
	$(LOCK) pyproject.toml requirements/build.in --output-file requirements/user.txt
	$(LOCK) requirements/soak.in --output-file requirements/soak.txt
	$(LOCK) requirements/supply.in --output-file requirements/supply.txt
	$(LOCK) requirements/notebook.in --output-file requirements/notebook.txt
	$(LOCK) requirements/plugins.in --output-file requirements/plugins.txt
	$(LOCK) pyproject.toml requirements/torch.in --output-file requirements/torch.txt
	cd native && cargo update --quiet

# What we build from. `make supply` writes the bills of materials to build/supply and refuses a
# licence that is not allowed. `make advisories DATABASE=FOLDER` looks for known vulnerabilities
# in a local copy of the OSV database: FOLDER/osv-scalibr has one folder for each ecosystem,
# named as OSV names it, with its archive all.zip. The tools have environments of their own,
# beside what they inspect.
SUPPLY := $(VENV)-supply
CYCLONEDX_RUST := 0.5.9
OSV_SCANNER := v2.5.0
BILLS := build/supply
PYTHON_LICENCES := 0BSD;Apache;BSD;CC0-1.0;GNU Lesser General Public License v3;LGPL-3.0;ISC;MIT;MPL-2.0
PYTHON_LICENCES := $(PYTHON_LICENCES);Mozilla Public License 2.0;PSF;Python Software Foundation License;Zlib

supply: install $(SUPPLY)/.installed
	mkdir -p $(BILLS)
	$(SUPPLY)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file $(BILLS)/python.cdx.json $(BIN)/python
	$(SUPPLY)/bin/pip-licenses --python $(BIN)/python --from mixed --partial-match \
		--allow-only "$(PYTHON_LICENCES)" > $(BILLS)/python-licences.txt
ifneq ($(CARGO),)
	cd native && ../$(SUPPLY)/bin/cargo-cyclonedx cyclonedx --quiet --format json \
		--override-filename native.cdx
	mv native/native.cdx.json $(BILLS)/
endif

$(SUPPLY)/.installed: requirements/supply.txt
	$(PYTHON) -m venv $(SUPPLY)
	$(SUPPLY)/bin/python -m pip install --quiet --require-hashes --requirement requirements/supply.txt
ifneq ($(CARGO),)
	cargo install --quiet --locked --root $(SUPPLY) cargo-cyclonedx@$(CYCLONEDX_RUST)
endif
	@touch $@

advisories:
	@test -d "$(DATABASE)" || { echo "name a local copy of the OSV database: make advisories DATABASE=FOLDER"; exit 2; }
	go run github.com/google/osv-scanner/v2/cmd/osv-scanner@$(OSV_SCANNER) scan source --offline \
		--local-db-path "$(DATABASE)" --lockfile native/Cargo.lock \
		$(foreach lock,$(wildcard requirements/*.txt),--lockfile requirements.txt:$(lock))

clean:
	rm -rf $(VENV) $(VENV)-supply $(VENV)-plugins $(VENV)-torch build dist *.egg-info native/target commitments/_native*.so
