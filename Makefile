# Everything a developer does, from a clean clone with Python >= 3.10, make and g++. Build tools come
# from PyPI into .venv; a second call of any target only does what has changed.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PARITY := .venv-parity
PARITY_PY := $(PARITY)/bin/python
INFERENCE := .venv-inference
INFERENCE_PY := $(INFERENCE)/bin/python
ARGS ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
MINUTES ?= 5
FUZZ_ARGS ?=

PIP := -m pip --disable-pip-version-check --no-input -q -q
CMAKE := $(VENV)/bin/cmake
NINJA := $(CURDIR)/$(VENV)/bin/ninja
CONFIGURE := $(CMAKE) -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(NINJA) -DPython_EXECUTABLE=$(CURDIR)/$(PY)
LOCK := $(if $(shell command -v flock),flock build/.lock)
PYTHON_FILES := weft tests bench examples tools docs/*.py
CXX_FILES = $(wildcard csrc/*/*.cpp csrc/*/*.h)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build run gallery test parity fuzz docs bench sanitize tsan clang lint types stubs format wheel wheels \
  page browser check-all clean distclean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

build: build/dev/build.ninja ## build weft/_C into the source tree (again: only what changed)
	@$(LOCK) $(CMAKE) --build build/dev

run: build ## train a network on the bundled handwritten digits (again: resume; ARGS=--fresh: anew)
	@$(PY) examples/digits.py $(ARGS)

gallery: build $(VENV)/.test ## run all examples; each must reach its goal (docs/gallery.md)
	@$(PY) -m weft examples --page docs/gallery.md

test: build $(VENV)/.test ## run the tests
	@$(PY) -m pytest tests -q --ignore=tests/parity $(PYTEST_ARGS)

parity: build $(PARITY)/.done ## compare weft with PyTorch, in a venv of its own
	@$(PARITY_PY) -m pytest tests/parity -q $(PYTEST_ARGS)

fuzz: build $(VENV)/.test ## look for crashes and silent errors with random input, for MINUTES=5
	@cd tests && ../$(PY) -m fuzz --minutes $(MINUTES) $(FUZZ_ARGS)

docs: build $(VENV)/.docs ## build the documentation as a site, into build/site/
	@$(PY) docs/generate.py
	@$(PY) -m sphinx -q -E -W --keep-going -j auto -b html docs build/site
	@echo "build/site/index.html"

bench: build wheel $(PARITY)/.done $(INFERENCE)/.done build/bare/pkg ## measure weft, PyTorch, engines and (if installed there) JAX in one run
	@WEFT_BARE_PATH=$(CURDIR)/build/bare/pkg WEFT_BENCH_PYTHON_ONNXRUNTIME=$(CURDIR)/$(INFERENCE_PY) \
	  WEFT_BENCH_PYTHON_OPENVINO=$(CURDIR)/$(INFERENCE_PY) $(PARITY_PY) -m bench $(BENCH_ARGS)
	@$(if $(BENCH_ARGS),,$(PARITY_PY) -m bench.sweep)

# --- Environments --------------------------------------------------------------------------------

# Prints the requirements that pyproject.toml states: "build-system", "project" or the name of an extra.
define REQUIREMENTS
import sys
try:
    import tomllib
except ModuleNotFoundError:
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as f:
    table = tomllib.load(f)
groups = {
    "build-system": table["build-system"]["requires"],
    "project": table["project"]["dependencies"],
    **table["project"]["optional-dependencies"],
}
print(*(r for name in sys.argv[1:] for r in groups[name]), sep="\n")
endef
export REQUIREMENTS

# $(call install,python,groups): installs those groups, and lets that Python import weft from this tree.
define install
	@$(1) -c "$$REQUIREMENTS" $(2) > $(@D)/$(@F).txt
	@$(1) $(PIP) install -r $(@D)/$(@F).txt
	@$(1) -c "import sysconfig, pathlib as p; p.Path(sysconfig.get_path('purelib'), 'weft-dev.pth').write_text('$(CURDIR)\n')"
	@touch $@
endef

$(PY): # what another Python built is of no use to this one
	@echo "creating $(VENV)"
	@rm -rf build
	@$(PYTHON) -m venv $(VENV)

$(PARITY_PY):
	@echo "creating $(PARITY)"
	@$(PYTHON) -m venv $(PARITY)

$(INFERENCE_PY):
	@echo "creating $(INFERENCE)"
	@$(PYTHON) -m venv $(INFERENCE)

$(VENV)/.build: pyproject.toml | $(PY)
	$(call install,$(PY),build-system build project)

$(VENV)/.test: pyproject.toml $(VENV)/.build
	$(call install,$(PY),test vision audio tensorboard search distributed examples)

$(VENV)/.lint: pyproject.toml $(VENV)/.build
	$(call install,$(PY),lint)

$(VENV)/.docs: pyproject.toml $(VENV)/.test
	$(call install,$(PY),docs)

$(VENV)/.types: pyproject.toml $(VENV)/.build
	$(call install,$(PY),types notebook)

$(PARITY)/.done: pyproject.toml | $(PARITY_PY)
	$(call install,$(PARITY_PY),project parity)

$(INFERENCE)/.done: pyproject.toml | $(INFERENCE_PY)
	$(call install,$(INFERENCE_PY),project inference)

# --- Builds --------------------------------------------------------------------------------------

build/dev/build.ninja: $(VENV)/.build
	@$(CONFIGURE) -B build/dev > /dev/null
	@touch $@

# Other ways to build the same sources, each in a package directory of its own: the Python files are
# links into weft/, the native module is that build's.
FLAGS_sanitize := -DWEFT_SANITIZE=address,undefined,float-cast-overflow
FLAGS_tsan := -DWEFT_SANITIZE=thread
FLAGS_bare := -DWEFT_NO_PROVENANCE=ON

build/sanitize/build.ninja build/tsan/build.ninja build/bare/build.ninja: build/%/build.ninja: $(VENV)/.build
	@$(CONFIGURE) -B build/$* -DWEFT_PACKAGE_DIR=$(CURDIR)/build/$*/pkg/weft $(FLAGS_$*) > /dev/null
	@touch $@

# `bare` is without provenance and counters: `make bench` measures what they cost.
.PHONY: build/sanitize/pkg build/tsan/pkg build/bare/pkg
build/sanitize/pkg build/tsan/pkg build/bare/pkg: build/%/pkg: build/%/build.ninja
	@$(LOCK) $(CMAKE) --build build/$*
	@find $@/weft -maxdepth 1 -type l -delete
	@for f in weft/*; do case $$f in weft/_C.*.so) ;; *) ln -s $(CURDIR)/$$f $@/weft/ ;; esac; done

# Python itself is not instrumented, so the sanitizers' runtimes are loaded before it. Leaks are left to the
# tests that count live bytes: CPython keeps memory until it exits. Tests that limit their memory cannot do so
# under a sanitizer, which refuses large blocks instead.
SANITIZERS = $(shell for l in asan ubsan stdc++; do g++ -print-file-name=lib$$l.so; done)
sanitize: build/sanitize/pkg $(VENV)/.test ## run the tests under the address and undefined-behaviour sanitizers
	@export LD_PRELOAD="$(SANITIZERS)" PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/build/sanitize/pkg \
	  WEFT_SANITIZE=sanitize UBSAN_OPTIONS=print_stacktrace=1 \
	  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:max_allocation_size_mb=4096; \
	cd build/sanitize/pkg && \
	$(CURDIR)/$(PY) $(CURDIR)/tests/robustness/sanitize_canary.py heap ub && \
	$(CURDIR)/$(PY) -m pytest $(CURDIR)/tests -q -p no:cacheprovider --ignore=$(CURDIR)/tests/parity $(PYTEST_ARGS)

# fork is left to tests/robustness/test_fork.py: the sanitizer does not follow the children of a process with threads.
CHAOS ?= 60
tsan: build/tsan/pkg $(VENV)/.test ## look for races: threads, signals and CHAOS seconds of both, under ThreadSanitizer
	@export LD_PRELOAD="$(shell g++ -print-file-name=libtsan.so)" PYTHONPATH=$(CURDIR)/build/tsan/pkg WEFT_SANITIZE=tsan \
	  TSAN_OPTIONS=suppressions=$(CURDIR)/tests/robustness/tsan.supp:die_after_fork=0:report_signal_unsafe=0:history_size=4; \
	cd build/tsan/pkg && \
	$(CURDIR)/$(PY) $(CURDIR)/tests/robustness/sanitize_canary.py race && \
	$(CURDIR)/$(PY) $(CURDIR)/tests/robustness/threads_chaos.py $(CHAOS) && \
	$(CURDIR)/$(PY) -m pytest $(wildcard $(CURDIR)/tests/robustness/test_threads*.py) $(CURDIR)/tests/robustness/test_signals.py \
	  -q -p no:cacheprovider -k 'not fork' $(PYTEST_ARGS)

wheel: $(VENV)/.build ## build a wheel into dist/
	@mkdir -p build
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(LOCK) $(PY) $(PIP) wheel . --no-deps --no-build-isolation -w dist
	@ls -l dist

wheels: $(VENV)/.build ## build a wheel for every Python here, install each in an empty environment, try it
	@$(PY) -m tools.wheels $(PYTHONS)

# --- The page of the live view -------------------------------------------------------------------

WEB := weft/view/live/web

page: $(WEB)/node_modules ## build the page of the live view from its TypeScript (needs Node; the result is checked in)
	@cd $(WEB) && npm run --silent build

$(WEB)/node_modules: $(WEB)/package-lock.json
	@cd $(WEB) && npm ci --silent --no-audit --no-fund
	@touch $@

# What the tests of the page want beside Python: without it they are skipped, so that nothing here may fail.
browser: ## install Chromium and the page's tools for `make test`, where this machine allows it
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; } \
	    > /dev/null 2>&1 || echo "browser: Chromium could not be installed; its tests are skipped"; \
	else echo "browser: no Chromium here, and no right to install it; its tests are skipped"; fi
	@if command -v npm > /dev/null; then \
	  $(MAKE) --no-print-directory $(WEB)/node_modules || echo "browser: npm ci failed; the tests of TypeScript are skipped"; fi

# --- Care ----------------------------------------------------------------------------------------

# Calls clang++ for each file as CMake would, but only to check it.
define CLANG
import concurrent.futures, json, os, shlex, subprocess, sys
def check(row):
    args = [a for a in shlex.split(row["command"]) if not a.endswith("ccache")]
    del args[args.index("-o") : args.index("-o") + 2]
    run = subprocess.run([*args, "-fsyntax-only"], cwd=row["directory"], capture_output=True, text=True)
    return run.stderr
with open("build/clang/compile_commands.json") as f:
    rows = [row for row in json.load(f) if "/csrc/" in row["file"]]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    found = [text for text in pool.map(check, rows) if text]
sys.exit("\n".join(found)[-20000:] if found else 0)
endef
export CLANG

clang: $(VENV)/.build ## check that clang++ (apt-get install clang) compiles csrc without a warning
	@$(CONFIGURE) -B build/clang -DCMAKE_CXX_COMPILER=clang++ -DWEFT_PACKAGE_DIR=$(CURDIR)/build/clang/pkg > /dev/null
	@$(PY) -c "$$CLANG"

lint: $(VENV)/.lint $(if $(shell command -v clang++),clang) ## check style and types: ruff, mypy, clang-format, and clang++ if there is one
	@$(VENV)/bin/ruff check $(wildcard $(PYTHON_FILES))
	@$(VENV)/bin/ruff format --check $(wildcard $(PYTHON_FILES))
	@$(VENV)/bin/mypy
	@$(if $(CXX_FILES),$(VENV)/bin/clang-format --dry-run --Werror $(CXX_FILES))

types: build $(VENV)/.test $(VENV)/.types ## see weft as mypy, pyright and a notebook see it
	@WEFT_CHECKERS=1 $(PY) -m pytest tests/typing tests/view/test_notebook.py tests/view/test_magics.py -q $(PYTEST_ARGS)

stubs: build ## write what editors know of weft (stubs/) anew from the registry of ops
	@$(PY) -m tools.stubs

# Hours: before a release, or by night. Each part can be run by itself.
FUZZ_MINUTES ?= 30
check-all: ## all checks there are: tests, parity, types, long fuzzing, sanitizers, races, wheels for all Pythons
	@$(MAKE) lint
	@$(MAKE) test
	@$(MAKE) parity
	@$(MAKE) types
	@$(MAKE) fuzz MINUTES=$(FUZZ_MINUTES)
	@$(MAKE) sanitize
	@$(MAKE) tsan
	@$(MAKE) wheels

format: $(VENV)/.lint ## bring the sources into that style
	@$(VENV)/bin/ruff check --fix-only $(wildcard $(PYTHON_FILES))
	@$(VENV)/bin/ruff format $(wildcard $(PYTHON_FILES))
	@$(if $(CXX_FILES),$(VENV)/bin/clang-format -i $(CXX_FILES))

clean: ## remove what was built
	@rm -rf build dist docs/reference weft/_C.*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find weft tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove the virtual environments too
	@rm -rf $(VENV) $(PARITY) $(INFERENCE)
