# make check is what CI runs.
PYTHON ?= python

.PHONY: check check-plain lint types test bench docs format

check: lint types test

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	$(PYTHON) -m pytest

# Without the shortcuts through private parts of Hydra and MLflow: see runner/console/private_parts.py.
check-plain:
	RAG_GRID_PLAIN=hydra,mlflow $(PYTHON) -m pytest

bench:
	$(PYTHON) -m benchmarks

# Needs the extra `docs`. Links, anchors and docstrings that cannot be resolved fail it.
docs:
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
