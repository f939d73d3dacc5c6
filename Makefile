# make demo, make test: all the set-up is done here, on a machine that has only Python 3.11+ and make.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto
WORKERS := -n $(JOBS)
MUTANTS ?= 2
BASE ?= HEAD
SOURCES := src tests benchmarks tools experiments docs/conf.py docs/site/*.py docs/gallery conftest.py
SCALE ?= small

.PHONY: help demo test test-all test-slow test-versions test-wheel release same-bits mutations lint bench bench-walks bench-conditional bench-measures bench-deadlines bench-monitoring bench-scaling calibrate paper docs picture clean

help: # the list of commands in CONTRIBUTING.md
	@awk '/^```/ { fences++; next } fences == 1' CONTRIBUTING.md

demo: $(VENV)/.installed
	$(BIN)/clarysage demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(WORKERS)

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(WORKERS) -m "not slow" --durations=40 --durations-min=0

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(WORKERS) -m slow

test-versions: $(VENV)/bin/python # where an interpreter of each version exists
	$(BIN)/python -m tools.versions

test-wheel: $(VENV)/bin/python
	$(BIN)/python -m tools.release --check-only --pythons $(BIN)/python

release: $(VENV)/bin/python # into dist/, tried where an interpreter of each version exists
	$(BIN)/python -m tools.release

same-bits: $(VENV)/.installed-test # make same-bits BASE=<commit>
	$(BIN)/python benchmarks/same_bits.py --base $(BASE)

mutations: $(VENV)/.installed-dev
	$(BIN)/python -m tests.lab.mutations --map --marks "not slow" --jobs $(MUTANTS)
	$(BIN)/python -m tests.lab.mutations --jobs $(MUTANTS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lab.language
	$(BIN)/codespell
	$(BIN)/python -m tools.prose

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/equal_error.py --write
	$(BIN)/python benchmarks/walks.py --write
	$(BIN)/python benchmarks/conditional.py
	$(BIN)/python benchmarks/measures.py

bench-walks: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/walks.py

bench-conditional: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/conditional.py

bench-measures: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/measures.py

bench-deadlines: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/deadlines.py

bench-monitoring: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/monitoring.py

bench-scaling: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/scaling.py

calibrate: $(VENV)/.installed
	$(BIN)/python benchmarks/calibrate.py --write
	$(BIN)/python benchmarks/populations.py --write

paper: $(VENV)/.installed-paper
	$(BIN)/python -m experiments --scale $(SCALE)

docs: $(VENV)/.installed-docs # the site, in docs/_build/html/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -d docs/_build/doctrees . docs/_build/html

picture: $(VENV)/.installed # the picture of README.md: needs Chromium
	$(BIN)/python -m tools.picture

clean:
	rm -rf $(VENV) .venv-ci-bare .venv-ci-full .mutations clarysage-demo dist docs/_build docs/api docs/examples

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'clarysage needs Python 3.11 or newer: try make PYTHON=python3.12')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@
