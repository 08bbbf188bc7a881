# Every target sets up what it needs. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help venv venv-dev demo demo-drive forget test test-all soak check bench bench-quality bench-query clean

BIN := .venv/bin
export PYTHONUNBUFFERED := 1
# pyright brings its own Node.js as a package; whatever the machine has stays out of it.
export PYRIGHT_PYTHON_GLOBAL_NODE := off
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

venv: .venv/application.stamp ## make .venv with the application, from pinned versions

venv-dev: .venv/dev.stamp ## the same with the tools of `test` and `check`

# Relative names: a checkout in a folder with a space in its name works too.
.venv/application.stamp: pyproject.toml retrieval/pyproject.toml constraints.txt deploy/install.sh
	@deploy/install.sh --editable .venv
	@touch $@

.venv/dev.stamp: pyproject.toml retrieval/pyproject.toml constraints.txt deploy/install.sh
	@deploy/install.sh --editable --extra dev .venv
	@touch .venv/application.stamp $@

demo: venv ## show the whole way on the sample handbook, or on your own folder: make demo DOCS=/some/folder
	@if [ -n "$$DOCS" ]; then exec $(BIN)/python -m tests.demo --docs "$$DOCS"; else exec $(BIN)/python -m tests.demo; fi

# The emulator is a server for tests, and so is what it needs.
demo-drive: venv-dev ## show how a corpus follows an emulated Google Drive: unshare, move, delete
	@exec $(BIN)/python -m tests.demo --drive

# PostgreSQL's data may be outside of the folder, which takes more care than `rm`; and the environment may be gone.
forget: ## delete what the demo left, wherever it is
	@if [ -d .demo-home ]; then \
	  python=$(BIN)/python; [ -x "$$python" ] || python=python3; \
	  "$$python" -m tests.demo.workplace .demo-home; \
	fi

# Three processes, each with servers of its own and whole files of tests: most of the time a test waits for some server.
# In their own order, which ends with short files. Sorted by their number of tests, those with few long ones came last, and
# two processes waited for the third.
test: venv-dev ## run the tests (at most 15 minutes)
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-all: venv-dev ## run what `test` leaves out: the kill matrix and the long walks
	@$(BIN)/python -m pytest -n 3 --dist loadfile -m long -o timeout=1200

soak: venv-dev ## let random lives and crowds of writers go on for many minutes
	@$(BIN)/python -m pytest -m soak -o timeout=7200

check: venv-dev ## ruff, mypy, pyright and the import arrow
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/pyright
	@$(BIN)/lint-imports

bench: venv-dev ## measure, and print ratios and CPU seconds
	@$(BIN)/python -m tests.benchmarks

bench-quality: venv-dev ## measure how well three test collections are answered; fails below a goal
	@$(BIN)/python -m tests.benchmarks.quality

bench-query: venv-dev ## measure questions to a corpus of 200,000 passages; fails below a goal
	@$(BIN)/python -m tests.benchmarks.query

clean: forget ## remove what the other targets made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
