# The front door. Each target does its own set-up; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
JOBS ?= 2
MINUTES ?= 5
KILLS ?= 2000
PRESETS := release debug asan tsan clang fuzz

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z\/%-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install the Debian packages that are missing for build, tests and lint
	@tools/setup.sh

.PHONY: setup-build setup-test setup-lint setup-fuzz
setup-build:
	@tools/setup.sh build
setup-test:
	@tools/setup.sh build test
setup-lint:
	@tools/setup.sh build test lint
setup-fuzz:
	@tools/setup.sh build test fuzz

# build/<preset>/built is never made, so each of these asks Ninja, which knows what has changed.
.PHONY: $(PRESETS:%=compile-%)
$(PRESETS:%=compile-%): compile-%:
	@[ -f build/$*/build.ninja ] || cmake --preset $* >/dev/null
	@cmake --build --preset $* --parallel $(JOBS)

.PHONY: build
build: setup-test compile-release ## Build the program and its tests (build/release)

.PHONY: run
run: setup-build ## Build Horae, start it and say what to do next
	@[ -f build/release/build.ninja ] || cmake --preset release -DHORAE_TESTS=OFF >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae
	@exec build/release/src/cli/horae serve --demo

.PHONY: test
test: setup-test ## Run every test (what CI runs)
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@$(MAKE) --no-print-directory compile-release
	@ctest --preset release

.PHONY: lint
lint: setup-lint ## Check format, layers, words, sizes, scripts and clang-tidy
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@tools/lint.sh

.PHONY: format
format: setup-lint ## Format all C++ files in place
	@tools/format.sh

.PHONY: asan
asan: setup-test compile-asan ## Run the tests under AddressSanitizer and UBSan
	@ctest --preset asan

.PHONY: tsan
tsan: setup-test compile-tsan ## Run the tests under ThreadSanitizer
	@ctest --preset tsan

.PHONY: clang
clang: setup-fuzz compile-clang ## Build everything with Clang as well

.PHONY: fuzz
fuzz: setup-fuzz compile-fuzz ## Fuzz each parser for MINUTES (default 5) minutes
	@tools/fuzz.sh $(MINUTES)

.PHONY: bench
bench: bench/store bench/http bench/slots ## Run every bench; each ends with lines `result NAME VALUE`

.PHONY: bench/store
bench/store: setup-test ## Measure the stores beside their floors, and the combiner
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target store_bench postgres_bench
	@cd build && release/bench/store_bench
	@cd build && release/bench/postgres_bench

.PHONY: bench/schedules
bench/schedules: setup-test ## Measure how many schedules fire a second on PostgreSQL, and how late with three nodes
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target schedules_bench
	@cd build && release/bench/schedules_bench

.PHONY: bench/layouts
bench/layouts: setup-test ## Compare layouts for the SQLite store (docs/internals/adr/0006)
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target sqlite_layouts
	@cd build && release/bench/sqlite_layouts

.PHONY: soak
soak: build ## Kill a process on each store KILLS (default 2000) times, and PostgreSQL itself a tenth as often
	@HORAE_KILLS=$(KILLS) build/release/tests/crash/crash_test
	@HORAE_KILLS=$(KILLS) build/release/tests/crash/postgres_crash_test
	@for store in sqlite postgres; do \
	  RC_PARAMS="seed=$$RANDOM$$RANDOM max_success=500" build/release/tests/store_contract/$${store}_contract_test \
	    --gtest_filter='RandomOperations.*'; \
	done

.PHONY: soak/delay
soak/delay: build ## Kill nodes of a delay queue on real Kafka KILLS (default 500) times; nothing may be lost
	@DELAY_KILLS=$(if $(filter command,$(origin KILLS)),$(KILLS),500) build/release/tests/e2e/kafka_e2e_test \
	  --gtest_filter='*LosesNothingWhenNodesAreKilled:*DelayCrash*'

.PHONY: bench/http
bench/http: setup-test ## Measure submits, lives and pickups over HTTP, an idle node, and three of them
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target http_bench cluster_bench workers_bench
	@cd build && release/bench/http_bench
	@cd build && release/bench/cluster_bench
	@cd build && release/bench/workers_bench

.PHONY: bench/slots
bench/slots: setup-test ## How nodes share long tasks, serve urgent ones, and how many empty tasks their slots run; BEFORE=program compares
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae private_postgres
	@python3 bench/slots.py build/release/src/cli/horae --postgres build/release/bench/private_postgres $(if $(BEFORE),--before $(BEFORE))

.PHONY: bench/delay
bench/delay: setup-test ## Measure the delay queue between real topics; SHORT=1 for a quick look, WAITING=10000000 with a full table
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target delay_bench
	@tools/kafka/kafka.sh fetch
	@cd build && release/bench/delay_bench $(if $(SHORT),--short) $(if $(WAITING),--waiting $(WAITING))

.PHONY: bench/memory
bench/memory: setup-test ## Resident memory of a node on either store after 10,000 lives, and after a million and 100,000 connections
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae private_postgres
	@python3 bench/memory.py build/release/src/cli/horae
	@python3 bench/memory.py build/release/src/cli/horae --postgres build/release/bench/private_postgres

.PHONY: bench/siege
bench/siege: setup-test ## Calls of one client while 10,000 hostile connections of every kind attack the node, under a memory limit
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae
	@python3 bench/siege/siege.py build/release/src/cli/horae

.PHONY: siege/soak
siege/soak: setup-test ## Attack a node by random mixes of hostile connections for MINUTES (default 5); with SEED=n from that one on
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae
	@python3 bench/siege/soak.py build/release/src/cli/horae --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(WORLD),--world $(WORLD))

.PHONY: chaos
chaos: setup-test ## Kill, pause and cut off nodes, workers and PostgreSQL for MINUTES (default 5); nothing may be lost
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae_chaos
	@build/release/tests/chaos/horae_chaos $$(( $(MINUTES) * 60 )) $(SEED)

.PHONY: kafka
kafka: setup-test ## Run a Kafka broker on free loopback ports until Ctrl-C
	@tools/kafka/kafka.sh demo

.PHONY: demo/delay
demo/delay: setup-test ## Show a delay queue: Kafka, PostgreSQL and two nodes, of which one is killed; until Ctrl-C
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae private_postgres
	@tools/delay_demo.py build/release $(SECONDS)

# The simulator; docs/internals/testing.md explains it.
.PHONY: build-sim
build-sim: setup-test
	@cmake --preset release -DHORAE_TESTS=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target horae_sim

.PHONY: sim
sim: build-sim ## Simulate a fixed set of worlds; with SEED=n that one, and all that happens in it (WORLD=delay: one with a delay queue)
	@build/release/tests/sim/horae_sim $(if $(SEED),--seed $(SEED))

.PHONY: sim/soak
sim/soak: build-sim ## Simulate new worlds for MINUTES (default 5) minutes; prints the seeds that fail
	@build/release/tests/sim/horae_sim --minutes $(MINUTES) $(if $(WORLD),--world $(WORLD))

.PHONY: sim/mutants
sim/mutants: build-sim ## Plant bugs one by one and show how many worlds find each
	@build/release/tests/sim/horae_sim --mutants $(if $(WORLD),--world $(WORLD))

.PHONY: docs
docs: setup-test compile-release ## Write the generated documents anew
	@build/release/tools/state_machine_doc > docs/reference/state_machine.md
	@build/release/src/cli/horae manual configuration > docs/reference/configuration.md
	@build/release/src/cli/horae manual page > docs/reference/horae.1

.PHONY: clean
clean: ## Remove everything that was built
	@rm -rf build
