# Thin wrappers around CMake, ctest and scripts. BUILD=dir builds elsewhere; CMAKE_FLAGS=-D... are
# given to the first configuration; SECONDS=N is the length of `make fuzz`.
BUILD ?= build
CMAKE_FLAGS ?=
SECONDS ?= 60
RUN_TESTS = python3 tools/run_tests.py $(BUILD)

.PHONY: build demo test test-all test-gpu bench bench-gpu fuzz docs format lint check clean

build: ## installs what is missing and leaves the binary at build/ingot
	@scripts/install.sh build
	@$(MAKE) --no-print-directory compile TARGET=programs

.PHONY: compile
TARGET ?= all
compile: $(BUILD)/build.ninja
	@echo "build: compiling $(TARGET) into $(BUILD)"
	@cmake --build $(BUILD) --target $(TARGET)

$(BUILD)/build.ninja:
	@echo "build: configuring $(BUILD)"
	@cmake --log-level=WARNING -G Ninja -B $(BUILD) -S . $(CMAKE_FLAGS) >/dev/null

demo: build ## a real ONNX model on real files of this machine
	@scripts/install.sh demo
	@python3 scripts/demo.py --build $(BUILD) $(FILES)

test: ## all that CI runs
	@scripts/install.sh build test
	@scripts/install.sh browser || echo "install: no browser: the tests of the HTML pages are skipped"
	@scripts/nvrtc.sh $(BUILD)/nvrtc
	@scripts/selenium.sh $(BUILD)/selenium
	@$(MAKE) --no-print-directory compile check
	@echo "test: running"
	@$(RUN_TESTS) --exclude long

test-all: ## and the long ones, and the tests under the address, undefined-behaviour and thread sanitizers
	@scripts/install.sh build test
	@scripts/install.sh browser || echo "install: no browser: the tests of the HTML pages are skipped"
	@scripts/nvrtc.sh $(BUILD)/nvrtc
	@scripts/selenium.sh $(BUILD)/selenium
	@$(MAKE) --no-print-directory compile check
	@$(MAKE) --no-print-directory compile BUILD=build-sanitize CMAKE_FLAGS=-DINGOT_SANITIZE=address,undefined
	@echo "test-all: running under sanitizers"
	@python3 tools/run_tests.py build-sanitize --exclude long
	@$(MAKE) --no-print-directory compile BUILD=build-threads CMAKE_FLAGS=-DINGOT_SANITIZE=thread
	@setarch -R python3 tools/run_tests.py build-threads --exclude long
	@echo "test-all: running"
	@$(RUN_TESTS)

test-gpu: ## the tests of folder tests/gpu, on a machine with a GPU; then under compute-sanitizer
	@scripts/install.sh build test
	@$(MAKE) --no-print-directory compile
	@$(RUN_TESTS) --only gpu --jobs $$(nproc)
	@python3 tools/compute_sanitizer.py $(BUILD)

bench: ## every program of bench/ but gpu_*, then the same works in NumExpr and JAX
	@scripts/install.sh build
	@$(MAKE) --no-print-directory compile
	@for program in $$(find $(BUILD)/bench -maxdepth 1 -type f -executable ! -name 'gpu_*' 2>/dev/null | sort); do \
	  echo "bench: $$program"; $$program || exit $$?; done
	@[ -x $(BUILD)/peers/bin/python ] || { echo "bench: pip installs numexpr and jax into $(BUILD)/peers"; \
	  python3 -m venv $(BUILD)/peers && $(BUILD)/peers/bin/pip install -q numpy numexpr jax || \
	  echo "bench: no peers: pip could not install them"; }
	@$(BUILD)/peers/bin/python bench/cpu_peers.py --build $(BUILD)

bench-gpu: ## writes bench/gpu-results.jsonl
	@scripts/install.sh build
	@$(MAKE) --no-print-directory compile
	@python3 bench/gpu.py --build $(BUILD) --out bench/gpu-results.jsonl

fuzz: ## every program of tests/fuzz for SECONDS
	@scripts/install.sh build test
	@$(MAKE) --no-print-directory compile
	@for program in $$(find $(BUILD)/tests/fuzz -maxdepth 1 -type f -name '*_fuzz' 2>/dev/null | sort); do \
	  echo "fuzz: $$program for $(SECONDS) s"; $$program $(SECONDS) || exit $$?; done

docs: build ## rewrites what the program generates in docs/, README.md and include/ingot/ops.h
	@python3 tools/update_docs.py --program $(BUILD)/ingot

format: ## rewrites the sources in the project's style
	@scripts/install.sh test
	@python3 tools/format.py

lint: ## clang-tidy, warnings are errors
	@scripts/install.sh build lint
	@$(MAKE) --no-print-directory compile
	@python3 tools/lint.py $(BUILD)

check: ## what needs no compiler: includes, sizes, format
	@echo "check: includes, types, sizes, format"
	@python3 tools/check_includes.py
	@python3 tools/check_types.py
	@python3 tools/sizes.py
	@python3 tools/format.py --check

clean: ## removes build folders
	@echo "clean: removing $(BUILD) build-sanitize build-threads"
	@rm -rf $(BUILD) build-sanitize build-threads
