# The two commands of the README are `make demo` and `make test`; both set up .venv on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check format results coverage browser clean

help:
	@echo "make demo       set up, run the demo, print where its report is"
	@echo "make test       set up, run the test suite"
	@echo "make test-slow  the tests that take minutes"
	@echo "make check      lint, format and types"
	@echo "make format     apply the formatter"
	@echo "make results    write the README's table and the figures from docs/results/*.json"
	@echo "make coverage   the test suite with branch coverage, which must be 90 %"
	@echo "make browser    install Chromium and its driver (Debian, as root), for report tests"
	@echo "make clean      remove .venv and caches"

# constraints.txt pins torch, so set-up never resolves to another build. The libraries behind
# method="laplace" are installed on their own; requirements-laplace.txt says why.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(READY): pyproject.toml constraints.txt requirements-laplace.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "pmcnet needs Python 3.11 or newer; run make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --constraint constraints.txt --editable '.[dev]'
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
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage out
