# make demo, make test: all the set-up is done here, on a machine that has only Python 3.11+ and make.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto
SCALE ?= small

.PHONY: demo test test-slow lint bench bench-walks bench-conditional bench-measures bench-monitoring bench-scaling calibrate paper clean

demo: $(VENV)/.installed
	$(BIN)/clarysage demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS)

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check src tests benchmarks experiments
	$(BIN)/ruff format --check src tests benchmarks experiments
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/equal_error.py
	$(BIN)/python benchmarks/walks.py
	$(BIN)/python benchmarks/conditional.py
	$(BIN)/python benchmarks/measures.py

bench-walks: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/walks.py

bench-conditional: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/conditional.py

bench-measures: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/measures.py

bench-monitoring: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/monitoring.py

bench-scaling: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/scaling.py

calibrate: $(VENV)/.installed
	$(BIN)/python benchmarks/calibrate.py --write
	$(BIN)/python benchmarks/populations.py --write

paper: $(VENV)/.installed-paper
	$(BIN)/python -m experiments --scale $(SCALE)

clean:
	rm -rf $(VENV) clarysage-demo

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'clarysage needs Python 3.11 or newer: try make PYTHON=python3.12')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@
