# Treadle. Needs python3 (3.11 or newer), make and git; everything else goes into .venv.
.DEFAULT_GOAL := help
.PHONY: help demo test check format bench docs sim lock dist clean core dev system node

PYTHON  ?= python3
WORKERS ?= 2
PY      := .venv/bin/python

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */\1\t/' | expand -t 10

demo: core  ## run the examples and say where to look next
	@$(PY) -m tools.demo

test: dev system node  ## run every test (ARGS="-k lease" for some, WORKERS=4 for more at once)
	@$(PY) -m pytest -q -n $(WORKERS) --dist loadgroup --durations 10 --durations-min 2 $(ARGS)

check: dev  ## lint, format, types, layers, style of the repository
	@$(PY) -m tools.check

format: dev  ## lay the code out and repair what can be repaired by itself
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format --quiet .

bench: dev  ## measure (BENCH="claim --quick" chooses)
	@$(PY) -m bench $(BENCH)

docs: dev  ## write what is generated, then check links, commands and examples
	@$(PY) -m tools.generated
	@$(PY) -m pytest -q $(wildcard tests/docs) tests/repo/test_docs.py tests/repo/test_generated.py

sim: dev  ## simulate days of clients, crashes and clock jumps (SEED=7 repeats one, MINUTES=60 goes on)
	@$(PY) -m sim

lock: dev  ## write requirements/*.lock from pyproject.toml (UPGRADE=1 takes newer versions)
	@$(PY) -m tools.lock $(if $(UPGRADE),--upgrade)

dist: dev  ## build the wheel, the source archive and the bill of materials into dist/
	@$(PY) -m build --no-isolation --outdir dist .
	@$(PY) -m tools.sbom dist/treadle.cdx.json

clean:  ## remove the environment, caches and builds
	@rm -rf .venv build dist node_modules .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- environments: each is left alone when it is already what its lock says ---------------------------------------
core dev:
	@$(PYTHON) tools/environment.py $@

system:
	@$(PY) -m tools.system

node:
	@if [ -f package.json ] && [ ! node_modules/.package-lock.json -nt package-lock.json ]; then \
	  if command -v npm >/dev/null; then npm ci --omit-lockfile-registry-resolved --no-audit --no-fund --silent; \
	  else echo "[node] npm is not installed: the tests that need it will be skipped" >&2; fi; fi
