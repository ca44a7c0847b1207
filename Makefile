# make check is the core of what CI runs: see .ci/run.
PYTHON ?= python

.PHONY: check check-fast check-plain check-next lint types test bench docs pictures format release

check: lint types test

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	$(PYTHON) -m pytest

# While you edit: no torch, no Ray, no sweeps, no simulations.
check-fast: lint
	$(PYTHON) -m pytest --fast

# Without the shortcuts through private parts of Hydra and MLflow: see runner/console/private_shortcuts.py.
check-plain:
	RAG_GRID_PLAIN=hydra,mlflow $(PYTHON) -m pytest

# The tests of launch and output with Hydra's newest version, pre-releases included, and MLflow's, in an environment of its own.
NEXT ?= build/next
check-next:
	$(PYTHON) -m venv $(NEXT)
	$(NEXT)/bin/python -m pip install --quiet --upgrade -e . pytest pytest-timeout pytest-xdist
	$(NEXT)/bin/python -m pip install --quiet --upgrade --pre hydra-core omegaconf
	$(NEXT)/bin/python -m pip install --quiet --upgrade mlflow
	$(NEXT)/bin/python -m pip list | grep -iE '^(hydra-core|omegaconf|mlflow) '
	$(NEXT)/bin/python -m pytest tests/runner/launch tests/runner/output

# Builds, checks and tags. Uploading is a person's act: twine upload dist/*
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release:
	test -z "$$(git status --porcelain)"
	grep -q '^## \[\?$(VERSION)\b' CHANGELOG.md
	grep -q '^version: $(VERSION)$$' CITATION.cff
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install --quiet build twine
	rm -rf dist
	build/release/bin/python -m build
	build/release/bin/python -m twine check --strict dist/*
	git tag -a "v$(VERSION)" -m "rag-grid $(VERSION)"

bench:
	$(PYTHON) -m benchmarks

# Needs the extra `docs`. Links, anchors and docstrings that cannot be resolved fail it.
docs:
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet

# The README's pictures, from the README's own sweep. Pictures of pages need Chromium and a font with Chinese characters.
pictures:
	$(PYTHON) -m benchmarks.pictures

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
