# The few verbs people expect. `make run` and `make test` set up what they need by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup run test check fix
setup:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -e . ruff mypy import-linter pytest hypothesis genai-prices
run: setup
	$(BIN)/ostiary up
test:
	$(BIN)/pytest
check:
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
fix:
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
