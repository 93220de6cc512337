# The few verbs people expect. `make run` and `make test` set up what they need by themselves.
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
N ?= 300
MIN ?= 10
# One more than there are cores: many tests wait for programs that they start.
TESTFLAGS ?= -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test check fix bench soak docs crash mutants lock size clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-7s %s\n", $$1, $$2}'

$(RUN_STAMP): pyproject.toml requirements/run.lock scripts/bootstrap.sh
	@scripts/bootstrap.sh requirements/run.lock
	@touch $@

$(DEV_STAMP): pyproject.toml requirements/dev.lock scripts/bootstrap.sh
	@scripts/bootstrap.sh requirements/dev.lock
	@touch $@ $(RUN_STAMP)

setup: $(RUN_STAMP) ## Install Ostiary and the embedded model's engine into .venv

run: $(RUN_STAMP) ## Start the gateway and print the link to its web page
	@[ "$$(uname)" != Linux ] || scripts/system_tools.sh want bwrap=bubblewrap
	@exec $(BIN)/ostiary up

test: $(DEV_STAMP) ## Run every test
	@scripts/system_tools.sh need chromium node=nodejs gcc bwrap=bubblewrap
	$(BIN)/pytest $(TESTFLAGS)

check: $(DEV_STAMP) ## Lint, format, types, import rules, documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_docs.py

fix: $(DEV_STAMP) ## Repair what can be repaired by a tool, and write the generated pages
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python scripts/generate_docs.py

docs: $(DEV_STAMP) ## Write the generated pages, then check every page
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/check_docs.py

bench: $(DEV_STAMP) ## Measure against the bars and print the table
	$(BIN)/python -m bench

soak: $(DEV_STAMP) ## Load it steadily for MIN minutes (make soak MIN=10) and see whether memory and files stay level
	$(BIN)/python -m bench.soak --minutes $(MIN)

crash: $(DEV_STAMP) ## Kill it N times (make crash N=10000) and count what was lost
	$(BIN)/python -m tests.crash --kills $(N)

mutants: $(DEV_STAMP) ## Change the rules' code in many small ways and list what no test notices (twenty minutes)
	$(BIN)/python -m scripts.mutants

lock: ## Resolve the dependencies again (UP=1: to their newest releases)
	@UP=$(UP) scripts/lock.sh

size: ## Install the base alone into a fresh environment and weigh it
	@scripts/size.sh

clean: ## Remove everything that can be made again
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
