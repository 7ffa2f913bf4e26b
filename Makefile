# A thin front to the CMake presets. `make help` lists what there is.

# Fixtures from outside the tree, where they exist; tests that need them say when they are skipped.
LLAP_SHARED ?= $(wildcard ../shared)
ifneq ($(LLAP_SHARED),)
export LLAP_GOLDEN ?= $(abspath $(LLAP_SHARED)/golden)
export LLAP_DATA ?= $(abspath $(LLAP_SHARED)/data)
endif

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
LONG = long|slow|learning
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS) -LE

# What hostile bytes and odd shapes reach first: also under the sanitizers in `make test`, but for what trains for long.
READERS = base data graph fuzz cli

# Fuzz executions per target in test-all.
FUZZ_RUNS ?= 1000000

.DEFAULT_GOAL := release
.PHONY: help release debug asan tsan cuda clang fuzz coverage demo test test-all test-learning test-gpu gpu-bundle bench \
        wheel format install clean setup-build setup-test setup-all

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | column -t -s '	'

setup-build setup-test setup-all: setup-%:
	@tools/setup $*

release: setup-build ## build the library and the program into build/ (the default)
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS) --target programs

# Another preset by its name: make asan, make clang, ... (with the tests)
debug asan tsan cuda clang fuzz coverage: setup-all
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)

demo: release ## build, then show what llapdiff does
	@tools/demo

test: setup-test ## build and run the tests: release, readers under sanitizers, short fuzzing, the Python package
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS) --target llapdiff-program $(READERS:%=tests-%)
	@cd build-asan && $(CTEST) '$(LONG)|trains' -R '^($(subst $(eval) ,|,$(READERS)))/'
	@tools/test-python
	@cd build && $(CTEST) '$(LONG)' -E '^fuzz/'

test-all: setup-all test ## the tests, both compilers, threads, coverage and long fuzzing
	@tools/test-all $(FUZZ_RUNS)

test-learning: setup-test ## train the small networks on synthetic data, half an hour of two cores
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS) --target test_train_learning_small
	@cd build && ctest --output-on-failure --no-tests=error -L learning

test-gpu: cuda ## everything that needs a GPU: parity, gradients, golden, determinism, sanitizers
	@tools/test-gpu build-cuda

gpu-bundle: cuda ## build-cuda/bundle: programs that run on a machine with only the driver and CUDA
	@cmake --build --preset cuda -j $(JOBS) --target bench_gpu bench_peer bench_copies
	@tools/gpu-bundle build-cuda build-cuda/bundle

wheel: setup-build ## build-wheel/dist: the Python package for every Python from 3.10 on, checked and tried
	@tools/wheel

bench: setup-all release ## measure; figures go to standard output
	@cmake --build --preset release -j $(JOBS) --target benches
	@tools/bench

format: setup-all ## apply .clang-format
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

install: release ## install under $(DESTDIR)$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install build
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

clean: ## remove everything built
	rm -rf build build-*
