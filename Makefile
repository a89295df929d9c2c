# The commands of the README, and the few others a developer needs.
#   make demo    the end-to-end story in the terminal
#   make serve   the console and the HTTP API over a demo world
#   make test    everything that decides whether the tree is good
# They set everything up first: a virtual environment, the locked dependencies, nothing else.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Servers, workers and commands are started hundreds of times by the tests: compiled once, not each time.
unexport PYTHONDONTWRITEBYTECODE

# Two steps may install a program, and Debian's installer runs once at a time: also with `make -j`.
.NOTPARALLEL:

.DEFAULT_GOAL := help
.PHONY: help setup model browser pooler style demo serve test lint fix coverage figures trace bench faults \
	canaries moving picture drawings reference freeze baseline-dump docs wheel wheel-check stranger lock clean

help:
	@echo "make demo            the end-to-end story in the terminal (sets everything up first)"
	@echo "make serve           the console and the HTTP API over a demo world; Ctrl-C stops it"
	@echo "make test            lint, types, layers and the whole test suite"
	@echo "make test T=path     only the tests of that path, and no lint"
	@echo "make lint            only lint, types and layers"
	@echo "make fix             mend what lint can mend by itself, and format"
	@echo "make coverage        the whole test suite (or T=path), and how much of the code it runs"
	@echo "make figures         files, lines and explanation of each room of src/"
	@echo "make trace           the way of a note to the driver, the files that a close runs through"
	@echo "make bench [T=name]  one benchmark (quality, relevance, answers, peers, sts, model, extract, dedup,"
	@echo "                     write, concurrency, recall, anchor, threshold, growth, start, close, gates, notes, guard,"
	@echo "                     shadow, stall, persona, http),"
	@echo "                     or all;"
	@echo "                     make bench T=against TREE=path compares with another checkout"
	@echo "make faults          the long form of what kills processes and servers"
	@echo "make canaries        fifty tenants, a hundred thousand operations, no canary seen"
	@echo "make moving          export, import, export of ten thousand entries: equal to the byte"
	@echo "make picture         the console's pictures in the docs, taken anew"
	@echo "make reference       the Python reference from docstrings, the HTTP tables from declarations"
	@echo "make drawings        the pictures of tables and rooms in the documentation, drawn anew"
	@echo "make freeze          what this release froze, compared; ANEW=1 freezes it once more"
	@echo "make baseline-dump   the dump of the baseline that upgrades are tested with, made anew"
	@echo "make docs            the documentation as a site, in site/"
	@echo "make wheel           the source archive and the wheel, in dist/"
	@echo "make wheel-check     the wheel in an empty environment, and each of its extras alone"
	@echo "make stranger        the tutorial and the README's tour, followed from a fresh clone"
	@echo "make lock            renew requirements.lock"
	@echo "make clean           remove the virtual environment and caches"

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Idetic needs Python 3.11 or newer; try: make PYTHON=python3.12 setup" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ echo "This Python has no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up .venv (once; a minute or two) ..."
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@$(BIN)/python tests/support/install.py $(BIN)/python
	@touch $@

model: setup
	@$(BIN)/idetic model verify >/dev/null 2>&1 || $(BIN)/idetic model install || \
		echo "Going on without the model: recall says so, and the other signals answer." >&2

# What the console's tests look through: Chromium, best without its windows, which takes a quarter of
# the work. Only root may install it.
browser:
	@command -v chromium-headless-shell >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && \
			echo "Installing Chromium for the console's tests ..." && apt-get update -qq && \
			apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null; } || \
		command -v chromium >/dev/null 2>&1 || \
		{ echo "The console's tests need Chromium; on Debian: apt-get install chromium-headless-shell" >&2; exit 1; }

# What the tests of pooled connections put in front of the server. Only root may install it; it
# lies where only root looks for programs.
pooler:
	@PATH="$$PATH:/usr/sbin"; command -v pgbouncer >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && \
			echo "Installing PgBouncer for the tests of pooled connections ..." && \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null; } || \
		{ echo "The tests of pooled connections need PgBouncer; on Debian: apt-get install pgbouncer" >&2; exit 1; }

demo: setup model
	@$(BIN)/idetic demo

serve: setup model
	@$(BIN)/idetic serve --demo

style: setup
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/lint-imports --no-logo

lint: style
	$(BIN)/mypy

fix: setup
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

# Three at a time, each with a server of its own; a file's tests stay together and in order. The
# longest files first (tests/support/long_files.py), the others in the order of their folders.
SUITE := -n 3 --dist loadfile --no-loadscope-reorder

# Three processes would each compile what all of them import, side by side: one does, once, while
# types are checked on the other core.
COMPILED := .venv/.compiled

# A path's tests run in one process: quicker for a few, and asked for by a server that is given.
# Only where T is typed: a variable of the environment must not shorten the verdict.
ifeq ($(origin T),command line)
test: setup model
	$(BIN)/python -m pytest $(T)
else
# Types take two minutes from nothing, and one core: they are checked beside the tests, told at the
# end, and either fails the whole.
TYPES := .mypy_cache/told
test: style model browser pooler
	@mkdir -p $(dir $(TYPES)); $(BIN)/mypy > $(TYPES) 2>&1 & types=$$!; trap 'kill $$types 2>/dev/null' INT TERM; \
		[ -e $(COMPILED) ] || { $(BIN)/python -m pytest --collect-only -q >/dev/null; touch $(COMPILED); }; \
		$(BIN)/python -m pytest $(SUITE); tests=$$?; \
		wait $$types; types=$$?; cat $(TYPES); [ $$tests = 0 ] && [ $$types = 0 ]
endif

# Slower than the tests alone, so no part of them. A failure still gives a figure, and fails.
coverage: setup model browser pooler
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest $(if $(T),$(T),$(SUITE)); result=$$?; \
		$(BIN)/coverage combine --quiet && $(BIN)/coverage report && exit $$result

figures: setup
	@$(BIN)/python -m tests.support.house

trace: setup
	@$(BIN)/python -m tests.support.trace

TASKS := quality relevance answers peers sts model extract dedup write concurrency recall anchor threshold growth \
	start close gates notes guard shadow stall persona http
# Those that other memories take part in.
PEERED := recall peers
PEERS_READY := .venv-peers/.ready
bench: setup model $(if $(filter $(PEERED),$(or $(T),$(TASKS))),$(PEERS_READY))
	@for task in $(or $(T),$(TASKS)); do \
		case " $(PEERED) " in *" $$task "*) bin=.venv-peers/bin;; *) bin=$(BIN);; esac; \
		echo "== $$task"; $$bin/python -m bench.$$task $(if $(TREE),--tree $(TREE)) || exit $$?; done

# Other memories have an environment of their own, with the locked packages behind theirs: what they
# need contradicts the lock (mem0ai wants protobuf < 7). Hindsight's server has one more, with nothing
# of ours. One that does not install is told here and in the table; the others run.
$(PEERS_READY): $(READY) bench/peers.txt bench/hindsight.txt
	@echo "Setting up .venv-peers and .venv-hindsight (once; some minutes) ..."
	@rm -rf .venv-peers .venv-hindsight
	@$(BIN)/python -m venv .venv-peers && $(BIN)/python -m venv .venv-hindsight
	@$(BIN)/python -c 'import sysconfig; \
		print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' > \
		$$(.venv-peers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/locked.pth
	@for env in peers hindsight; do while read -r peer; do \
		.venv-$$env/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" \
			2> .venv-$$env/pip.log || \
			{ echo "$$peer does not install:"; grep ERROR .venv-$$env/pip.log | tail -n 2; }; \
		done < bench/$$env.txt; done
	@touch $@

# The long form of what kills processes and servers; the short form is part of `make test`.
faults: setup model
	IDETIC_FAULTS=1 IDETIC_KILLS=25 $(BIN)/python -m pytest tests/faults tests/property tests/surfaces/test_http_*.py \
		tests/integration/test_conflicts.py tests/integration/test_profiles.py

# Fifty tenants, a hundred thousand operations; a shorter form is part of `make test`.
canaries: setup
	IDETIC_CANARIES=100000 $(BIN)/python -m pytest -s tests/security/test_canaries.py

# A warning is an error. The variable is about the theme, not about our pages: it is kept until
# May 2027, and its successor reads the same mkdocs.yml.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pictures of search, person and why view, of the demo world.
picture: setup model browser
	$(BIN)/python -m tests.support.picture

# The Python reference from docstrings, the tables of the HTTP reference from declarations.
reference: setup
	$(BIN)/python -m tests.support.openapi_page
	$(BIN)/python -m tests.support.python_page

# The tables from the catalog, the rooms from the imports; tests compare both.
drawings: setup
	$(BIN)/python -m tests.support.schema_picture
	$(BIN)/python -m tests.support.rooms_picture

# Databases have run what a release froze: the second form is for one that is not released yet.
freeze: setup
	$(BIN)/python -m tests.support.freeze $(if $(ANEW),--anew)

baseline-dump: setup
	$(BIN)/python -m tests.support.baseline_dump

wheel: setup
	@rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

# What takes minutes, because it installs from nothing; the short forms are part of `make test`.
wheel-check: setup
	IDETIC_LONG=1 $(BIN)/python -m pytest -s tests/acceptance/test_wheel.py

stranger: setup
	IDETIC_LONG=1 $(BIN)/python -m pytest -s tests/acceptance/test_tutorial.py

# Export, import, export of ten thousand entries with history; a thousand are part of `make test`.
moving: setup
	IDETIC_MOVED=10000 $(BIN)/python -m pytest -s tests/integration/test_moving_many.py

lock: setup
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra dev --extra docs --extra bench --extra llm --extra server --extra console --extra client \
		--extra mcp \
		--extra langgraph --extra langchain --extra openai-agents --extra anthropic \
		--extra llamaindex --extra google-adk --extra otel --extra sentry \
		pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .venv-peers .venv-hindsight .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* dist site
