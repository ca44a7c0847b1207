# make check is what CI runs.
PYTHON ?= python

.PHONY: check lint types test bench format

check: lint types test

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	$(PYTHON) -m pytest

bench:
	$(PYTHON) -m benchmarks

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
