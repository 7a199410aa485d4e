# Two commands set up a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs

.PHONY: install warm demo test test-full fuzz fuzz-turns fuzz-pairs fuzz-run fuzz-inputs check style types contracts unused bench wheel docs screenshot tables samples ptx fatbins clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

install: $(STAMP)

# The builds of the emulator that the tests use; at once where they are in the cache.
warm: $(STAMP)
	$(BIN)/python -m tests.support.kits.suite.warm

demo: $(STAMP)
	$(BIN)/python -m binalloc demo --machine gtx680 --host-steps
	$(BIN)/python -m binalloc rewrite samples/sharing/srad/SRAD2.ptx --machine gpgpusim-sharing --sharing auto \
		--launch samples/sharing/srad/SRAD2.toml --size test

# A quarter of the random cases: which one follows from the commit. All of them: make test-full.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo none)
# Property tests draw by the commit, too.
SEED := $(firstword $(shell printf %s "$(COMMIT)" | cksum))
# Plugins by name: where they are looked for, pytest rewrites the assertions of all of binalloc, which has one.
PLUGINS := -p xdist -p hypothesispytest -p binalloc.testing.plugin
test: warm
	BINALLOC_ROTATE=$(COMMIT) PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest $(PLUGINS) \
		-n 2 --dist loadscope --no-loadscope-reorder -m 'not full' --hypothesis-seed=$(SEED)

test-full: warm
	$(BIN)/python -m pytest -n 2 --dist worksteal

# FUZZ_COUNT cases from FUZZ_SEED on; each target has its own number where none is given.
# Random programs through every allocator, the checker and the emulator.
fuzz: FUZZ_COUNT ?= 10000
fuzz: FUZZ_SEED ?= 0
fuzz: FUZZ_JOBS ?= 2
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz.programs --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs $(FUZZ_JOBS)

# Random kernels whose blocks use shared memory in turns, in every version, under every scheduler.
fuzz-turns: FUZZ_COUNT ?= 10000
fuzz-turns: FUZZ_SEED ?= 0
fuzz-turns: FUZZ_JOBS ?= 2
fuzz-turns: $(STAMP)
	$(BIN)/python -m tests.fuzz.turns --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs $(FUZZ_JOBS)

# Random kernels whose blocks share memory two by two, moved and released in every way, under every scheduler.
fuzz-pairs: FUZZ_COUNT ?= 10000
fuzz-pairs: FUZZ_SEED ?= 0
fuzz-pairs: FUZZ_JOBS ?= 2
fuzz-pairs: $(STAMP)
	$(BIN)/python -m tests.fuzz.pairs --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs $(FUZZ_JOBS)

# Damaged files and options through every command, in the bounds-checked build of the compiled engine.
fuzz-inputs: FUZZ_COUNT ?= 200000
fuzz-inputs: FUZZ_SEED ?= 1
fuzz-inputs: FUZZ_JOBS ?= 2
fuzz-inputs: $(STAMP)
	$(BIN)/python -m tests.fuzz.inputs --bounds-checked --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) \
		--jobs $(FUZZ_JOBS)

# Two at a time: make -j 2 check
check: style types contracts unused

style: $(STAMP)
	$(BIN)/ruff check binalloc tests samples docs

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

unused: $(STAMP)
	$(BIN)/vulture binalloc
	$(BIN)/vulture binalloc tests samples

# Hostile programs in the emulator, for five minutes; with BINALLOC_BOUNDSCHECK=1 every index is checked.
fuzz-run: $(STAMP)
	$(BIN)/python -m tests.fuzz.run --count 100000 --seconds 300 --modes

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks.speed.bench_path
	$(BIN)/python -m tests.benchmarks.speed.bench_analysis
	$(BIN)/python -m tests.benchmarks.speed.bench_allocation
	$(BIN)/python -m tests.benchmarks.speed.bench_import
	$(BIN)/python -m tests.benchmarks.speed.bench_hazards
	$(BIN)/python -m tests.benchmarks.transform.register_demand
	$(BIN)/python -m tests.benchmarks.transform.against_ptxas
	$(BIN)/python -m tests.benchmarks.emulator.emulator_rates --cold

# A wheel for Linux on x86-64 that carries the compiled emulator, to build/wheel. Needs gcc or clang, to link.
wheel: $(STAMP)
	rm -rf build/lib build/bdist.* build/pure build/wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/pure .
	$(BIN)/python -m binalloc.emulator.packing.wheel build/pure/*.whl build/wheel

$(DOCS_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $(DOCS_STAMP)

# The picture, in docs, of a page. Needs chromium.
screenshot: $(STAMP)
	$(BIN)/python docs/screenshot.py

# The site, to build/docs. Offline once its tools are installed.
docs: $(DOCS_STAMP)
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . build/docs
	@echo build/docs/index.html

# The generated tables of ISA.md and PTX.md, all of JSON.md, and the JSON Schema.
tables: $(STAMP)
	$(BIN)/python -m binalloc.isa.table.doc
	$(BIN)/python -m binalloc.frontend.doc
	$(BIN)/python -m binalloc.report.shapes.doc

samples: $(STAMP)
	$(BIN)/python samples/build.py
# Needs nvcc; without it the kept .ptx files stay as they are.
ptx: $(STAMP)
	$(BIN)/python samples/build.py --ptx

# Needs nvcc, too: objects, programs and libraries for tests, which are kept.
fatbins:
	tests/data/fatbin/build.sh

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
