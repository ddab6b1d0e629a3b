# The list of commands. `make` alone prints it.
SHELL := /bin/sh
VENV := .venv
EXTRAS := dev
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt
# the first Python that is new enough
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
DIR ?= app/samples/documents
COLLECTION ?= default

.PHONY: help demo test soak test-st lint format bench bench-large eval eval-public sweep ingest serve psql migrate settings start stop clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

$(VENV)/.installed: pyproject.toml .ci/constraints.txt
	@test -n "$(PYTHON)" || { echo "ragledger needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python"; exit 1; }
	@echo "installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "this Python cannot make a virtual environment; on Debian or Ubuntu: apt install python3-venv"; exit 1; }
	@$(PIP) -e .
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	@$(PIP) -e '.[$(EXTRAS)]'
	@touch $@

demo: $(VENV)/.installed ## start everything on this machine, ingest the samples, search and ask
	@$(BIN)/ragledger migrate
	@$(BIN)/ragledger demo

test: $(VENV)/.developing ## the whole test suite, on servers of its own
	@$(BIN)/pytest

soak: $(VENV)/.developing ## eight writers, eight readers and compaction at once for a minute
	@SOAK_SECONDS=60 $(BIN)/pytest tests/integration/test_everything_at_once.py

test-st: ## the tests of local models, with torch and OCR, in an environment of their own (.venv-st)
	@$(MAKE) --no-print-directory VENV=.venv-st EXTRAS=dev,st,ocr .venv-st/.developing
	@.venv-st/bin/pytest $(addprefix tests/integration/test_,cross_encoder.py ocr.py sentence_transformers.py st_built_in.py torch_engine.py)

lint: $(VENV)/.developing ## style, types and import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.developing ## rewrite the code in the house style
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: ## speed, as ratios measured in one run; DATA=DIR adds real paragraphs
	@$(MAKE) --no-print-directory VENV=.venv-bench EXTRAS=dev,bench .venv-bench/.developing
	@.venv-bench/bin/python -m tests.bench.embedder
	@.venv-bench/bin/python -m tests.bench.tokens
	@.venv-bench/bin/python -m tests.bench.bm25 $(if $(DATA),--data "$(DATA)")
	@.venv-bench/bin/python -m tests.bench.vectors
	@.venv-bench/bin/python -m tests.bench.load
	@.venv-bench/bin/python -m tests.bench.search

bench-large: ## the same with a million chunks, for an hour
	@$(MAKE) --no-print-directory VENV=.venv-bench EXTRAS=dev,bench .venv-bench/.developing
	@.venv-bench/bin/python -m tests.bench.bm25 --large
	@.venv-bench/bin/python -m tests.bench.vectors --large
	@.venv-bench/bin/python -m tests.bench.load --large
	@.venv-bench/bin/python -m tests.bench.search --chunks 1000000

eval: $(VENV)/.installed ## quality on the sample questions; fails under stated floors
	@$(BIN)/ragledger eval

eval-public: $(VENV)/.installed ## quality on public data sets: make eval-public DATA=DIR (a folder of BEIR folders)
	@test -n "$(DATA)" || { echo "say where the data sets are: make eval-public DATA=DIR"; exit 1; }
	@$(BIN)/ragledger eval --public "$(DATA)"

sweep: $(VENV)/.installed ## ranking parameters, chosen on some questions and reported on others: make sweep DATA=DIR
	@test -n "$(DATA)" || { echo "say where the data sets are: make sweep DATA=DIR"; exit 1; }
	@$(BIN)/ragledger sweep --public "$(DATA)"

ingest: $(VENV)/.installed ## files into a collection: make ingest DIR=folder COLLECTION=name
	@$(BIN)/ragledger ingest "$(DIR)" --collection "$(COLLECTION)"

serve: $(VENV)/.installed ## the HTTP service
	@$(BIN)/ragledger serve

psql: $(VENV)/.installed ## psql on the service's database
	@$(BIN)/ragledger psql

migrate: $(VENV)/.installed ## create or upgrade the tables
	@$(BIN)/ragledger migrate

settings: $(VENV)/.installed ## every setting and its value
	@$(BIN)/ragledger settings

start: $(VENV)/.installed ## start the embedded PostgreSQL and Valkey
	@$(BIN)/ragledger services start

stop: $(VENV)/.installed ## stop them
	@$(BIN)/ragledger services stop

clean: ## stop the embedded services, remove what can be made again; data in var/ stays
	@test ! -x $(BIN)/ragledger || $(BIN)/ragledger services stop || echo "the embedded services could not be stopped"
	@rm -rf $(VENV) .venv-bench .venv-st *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find app tests migrations -name __pycache__ -type d -prune -exec rm -rf {} +
