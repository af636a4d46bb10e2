# Each target makes its own .venv from python3 alone; nothing is installed again unless the pins changed.
#   make run                          diagnose the sample in fixtures/
#   make run ARGS="analyze my/logs"   any pdoctor command
#   make test EXTRAS=test,oracle      with the tests that need torch
PYTHON ?= python3
ARGS ?= analyze fixtures/sample/job
EXTRAS ?= test
BIN := .venv/bin
READY := .venv/.installed-$(EXTRAS)

.PHONY: run test lint docs screens bench calibration accuracy format clean
.DEFAULT_GOAL := run

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt hatchling editables
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

# pdoctor ends with 1 or 3 when it found something: for make that is a report made, not an error.
run: $(READY)
	@$(BIN)/pdoctor $(ARGS) || case $$? in 1|3) ;; *) exit $$? ;; esac

# One worker more than there are cores: many tests wait for processes that hang on purpose.
test: $(READY)
	@$(BIN)/pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1))

lint: $(READY)
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports > .venv/imports.log || { cat .venv/imports.log; exit 1; }
	@$(BIN)/pdoctor rules check -q

docs: $(READY)
	@$(BIN)/pdoctor rules pages docs/rules
	@$(BIN)/pdoctor rules pages docs/rules/zh --lang zh

screens: $(READY)
	@$(BIN)/python -m studies.screens docs/tour

bench: $(READY)
	@$(BIN)/python -m bench

# CASES is a folder of cases with known answers, FURTHER are folders of cases that came later.
calibration: $(READY)
	@test -n "$(CASES)" || { echo 'name the cases: make calibration CASES=folder [FURTHER="folder folder"]'; exit 2; }
	@$(BIN)/python -m studies $(CASES) --further $(FURTHER)

# RECORDS is a folder of published measurements; PEERS="--llm-analysis checkout --megatron checkout" compares their tools.
accuracy: $(READY)
	@test -n "$(RECORDS)" || { echo 'name the measurements: make accuracy RECORDS=folder [PEERS=...]'; exit 2; }
	@$(BIN)/python -m studies.accuracy $(RECORDS) $(PEERS)

format: $(READY)
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format --quiet

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist
