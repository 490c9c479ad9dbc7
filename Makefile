# The two commands of the README are `make demo` and `make test`; both set up .venv on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-min check format results docs dist wheel package coverage browser clean

help:
	@echo "make demo       set up, run the demo, print where its report is"
	@echo "make test       set up, run the test suite"
	@echo "make test-slow  the tests that take minutes"
	@echo "make test-min   a part of the tests with the oldest versions that are supported"
	@echo "make check      lint, format and types"
	@echo "make format     apply the formatter"
	@echo "make results    write the README's table and the figures from docs/results/*.json"
	@echo "make docs       build the site into out/site; examples that changed are run again"
	@echo "make wheel      build wheel and sdist, fit from the wheel with the libraries of .venv"
	@echo "make package    build wheel and sdist, install the wheel alone, fit with it"
	@echo "make coverage   the test suite with branch coverage, which must be 90 %"
	@echo "make browser    install Chromium and its driver (Debian, as root), for report tests"
	@echo "make clean      remove .venv and caches"

# constraints.txt pins torch, so set-up never resolves to another build. The libraries behind
# method="laplace" are installed on their own; requirements-laplace.txt says why.
EXTRAS := arviz,conformal,excel,lightgbm,ngboost,nuts,parquet,sql
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(READY): pyproject.toml constraints.txt requirements-laplace.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "pmcnet needs Python 3.11 or newer; run make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --constraint constraints.txt --upgrade pip
	$(PIP) --constraint constraints.txt --editable '.[$(EXTRAS)]' --group dev
	$(PIP) --no-deps --requirement requirements-laplace.txt
	touch $(READY)

setup: $(READY)

demo: setup
	$(BIN)/pmcnet demo

# JOBS processes of one thread each; the tests of a file stay together, since they share fixtures.
JOBS ?= 2
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist loadfile

test-slow: setup
	$(BIN)/python -m pytest -m slow

# In an environment of its own, without extras. torch stays at the build of constraints.txt.
MIN := .venv-min
OLDEST := tests/test_package.py tests/ais tests/data tests/estimators tests/io tests/metrics
test-min:
	test -x $(MIN)/bin/python || $(PYTHON) -m venv $(MIN)
	$(MIN)/bin/python -m pip install --quiet --upgrade pip
	$(MIN)/bin/python -m pip install --quiet --constraint constraints-min.txt --editable \
	  '.[arviz,excel,parquet,sql]' --group test
	OMP_NUM_THREADS=1 $(MIN)/bin/python -m pytest -m "not slow" -n $(JOBS) --dist loadfile \
	  -W default $(OLDEST)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The README's table of results and the figures come from docs/results/*.json alone.
results: setup
	$(BIN)/python benchmarks/readme_table.py
	$(BIN)/python benchmarks/result_figures.py

# The site has an environment of its own, so that set-up stays small; `make docs DOCS=.venv` adds
# what it needs to that of set-up. GALLERY=0 leaves the tutorials unexecuted, which the tests run.
DOCS := .venv-docs
GALLERY := 1
DOCS_READY := $(DOCS)/ready-docs
$(DOCS_READY): pyproject.toml constraints.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(DOCS)/bin/python -m pip install --quiet --constraint constraints.txt --editable . --group docs
	touch $(DOCS_READY)

docs: $(DOCS_READY)
	OMP_NUM_THREADS=1 $(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going \
	  --quiet -D plot_gallery=$(GALLERY) -d out/site-cache docs out/site

# `make wheel` tries the wheel, unpacked, with the libraries of set-up, `make package` in an
# environment that holds it alone.
PACKAGE := .venv-package
dist:
	rm -rf dist $(PACKAGE)
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(PACKAGE)/bin/python -m pip install --quiet --constraint constraints.txt --group package
	$(PACKAGE)/bin/python -m build
	$(PACKAGE)/bin/python -m twine check --strict dist/*

wheel: setup dist
	rm -rf out/wheel
	$(BIN)/python -m zipfile --extract dist/*.whl out/wheel
	PYTHONPATH=out/wheel $(BIN)/python benchmarks/wheel.py dist/*.whl

package: dist
	rm -rf $(PACKAGE)
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	$(PACKAGE)/bin/python benchmarks/wheel.py dist/*.whl

# Folder by folder, so that one that fails says so at once.
PARTS := $(sort $(dir $(wildcard tests/*/test_*.py))) $(wildcard tests/test_*.py)
coverage: setup
	$(BIN)/coverage erase
	set -e; for part in $(PARTS); do \
	  $(BIN)/python -m pytest -q -m "not slow" --cov --cov-append --cov-report= $$part \
	  || test $$? = 5; done
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=90

# The tests of the report open it in a browser, and are skipped with a reason where there is none.
browser:
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then \
	  echo "chromium is there"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1 \
	  || echo "chromium could not be installed; its tests will be skipped"; \
	else echo "install chromium and chromedriver to run the tests of the report"; fi

clean:
	rm -rf $(VENV) $(DOCS) $(MIN) $(PACKAGE) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage out
