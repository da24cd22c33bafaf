# Two commands do everything on a machine that has Python, make and git:
#   make play    sets up a private environment and runs the main job
#   make test    runs every check
# and make studio opens the page for people.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: most never are.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
export PYTHONWARNINGS :=

.PHONY: play studio pictures test test-slow test-studio test-docs test-more bite fuzz kills bench docs resolve dist format clean

play: .venv/.for-users
	@$(BIN)/stackcast play --out out

# The page to see games, play them and run campaigns, on the folder FOLDER.
FOLDER ?= out/studio
studio: .venv/.for-users
	@$(BIN)/stackcast studio $(FOLDER)

test: .venv/.for-developers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto

# What takes minutes: run before a release.
test-slow: .venv/.for-developers
	$(BIN)/pytest -n auto -m slow

# The studio in a real browser, as a person uses it, and 200 hostile requests: under ten minutes.
test-studio: .venv/.for-developers
	$(BIN)/pytest -n auto --dist loadfile -m "slow or not slow" tests/studio

# The pictures of the studio in the documentation, made anew.
pictures: .venv/.for-developers
	$(BIN)/python tools/pictures.py

# Build the site, and run every command of the documentation as it is shown: some minutes.
test-docs: docs
	$(BIN)/pytest -n auto -m slow tests/test_docs.py tests/cli/test_campaign_cli.py

# The slow tests that take seconds rather than minutes: ten minutes with those above.
test-more: test-docs
	$(BIN)/pytest -n auto -m slow tests/agents tests/auditing tests/claims tests/interop tests/principals \
	  tests/cli/test_names.py

# Break each formula on purpose and see the test that guards it fail.
bite: .venv/.for-developers
	$(BIN)/python tools/bite.py

# Hostile files and arguments through the command line: hours for the numbers on its page.
fuzz: .venv/.for-developers
	$(BIN)/python tools/fuzz.py --inputs 100000 --write

# Kill play, sweep and campaign tell at random moments, go on, and compare: hours as well.
kills: .venv/.for-developers
	$(BIN)/python tools/kills.py --kills 300 --write

bench: .venv/.for-benchmarks
	$(BIN)/python -m benchmarks

# The site, in out/site; a broken link or reference is an error.
docs: .venv/.for-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The site: file://$(CURDIR)/out/site/index.html"

# Do the pinned versions install on every Python that we support?
resolve: .venv/.for-developers
	$(BIN)/python tools/resolve.py 3.11 3.12 3.13

# The wheel and the source archive, in dist, tried in empty environments.
dist: .venv/.for-developers
	$(BIN)/python tools/release.py

format: .venv/.for-developers
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv out build dist

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "stackcast needs Python 3.11 or newer, found %d.%d: set PYTHON=…" % sys.version_info[:2])'
	@echo "Setting up a private environment in .venv (once; a minute or two) …"
	@$(PYTHON) -m venv .venv

.venv/.for-users: .venv/bin/python pyproject.toml constraints.txt
	@$(PIP_INSTALL) --editable '.[all]'
	@touch $@

.venv/.for-developers: .venv/bin/python pyproject.toml constraints.txt
	@$(PIP_INSTALL) --editable '.[all,dev]'
	@touch $@ .venv/.for-users

.venv/.for-docs: .venv/.for-developers
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@

.venv/.for-benchmarks: .venv/.for-developers
	@$(PIP_INSTALL) --editable '.[bench]' || echo "some peers are missing: their columns stay empty"
	@touch $@
