# A short front for CMake; `cmake --preset NAME` does the same without it. `make help` lists the targets.
# On a machine without make, tools/demo and tools/test are the first two commands.

PREFIX ?= /usr/local

all: ## the library and the command, optimised: build/release
	tools/setup build
	cmake --preset release
	cmake --build --preset release

help: ## this list
	@sed -n 's/^\([a-z][a-z -]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: ## counts an access log with two processes
	tools/demo

test: ## every test; installs missing packages first
	tools/test

test-busy: ## the tests that CI runs, with six busy loops beside them
	tools/test-busy

asan tsan msan: ## every test under a sanitizer; msan without lmdb and TLS
	tools/test $@

# A process that a test kills while it writes its counts leaves a file that gcov cannot read.
cov: ## coverage: build/cov/coverage.html
	tools/setup build test check
	tools/test cov
	gcovr --root . --gcov-ignore-parse-errors --filter src/ --filter cli/ --print-summary --html-details build/cov/coverage.html build/cov

portable: ## with another C library, with 32 bits, and big-endian
	tools/portable

# Every target so many times: hours. tools/fuzz SECONDS [TARGET]... is shorter.
FUZZ_RUNS ?= 10000000
fuzz: ## each fuzz target FUZZ_RUNS times: hours
	tools/fuzz --fast --runs $(FUZZ_RUNS)
	tools/fuzz --runs 1000000

mutants: ## one deliberate mistake at a time; a test must fail for each
	tools/mutants

bench: ## the table of figures beside the peers: build/bench.json
	tools/setup build bench
	cmake --preset release -DMCDS_BUILD_BENCH=ON -DMCDS_WHOLE=ON
	cmake --build --preset release
	build/release/bench/mcds-bench --place build --out build/bench.json
	mkdir -p build/curves
	build/release/bench/mcds-bench --place build --curves build/curves

site: ## the documents and manual pages as a web site: build/site/index.html
	tools/setup build site
	cmake --preset release
	cmake --build --preset release --target mcds_manual
	tools/site build/release/man build/site

promises: ## each promise of docs/guarantees.md has its tests
	tools/promises

# The library, the command with its manual and completions, and the Python package where python3-cffi is.
# DESTDIR stages; without it root also updates the list of the dynamic linker. All users can read what root
# installs, whatever umask root has.
install: installable ## under PREFIX, /usr/local if not given; DESTDIR stages
	umask 022 && DESTDIR="$(DESTDIR)" cmake --install build/release
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig

uninstall: installable ## removes what install installed
	DESTDIR="$(DESTDIR)" tools/uninstall build/release
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig

installable:
	tools/setup build
	cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DMCDS_BUILD_PYTHON=ON
	cmake --build --preset release

# The source archive of the last commit, its bill of materials (SPDX), and checksums: build/dist.
dist: ## the source archive of the last commit with checksums: build/dist
	tools/dist

deb: ## Debian packages: build/deb
	tools/deb

deb-test: ## the packages in fresh Debians; needs root
	tests/deb/run

check: ## static checks
	tools/check

# Each structure on each kind of store for a minute: eight processes, two of them killed.
stress: ## each structure on each store for a minute with killed processes
	STRESS_SECONDS=60 STRESS_ADDS=100000 STRESS_JOBS=100000 tools/test debug -L stress

chaos: ## real stores under continuous faults; every history is judged
	CHAOS_SECONDS=120 tools/test debug -V -R '^chaos/'

field: ## odd circumstances: other users, full disks, strange names, other clocks
	FIELD_SECONDS=60 FIELD_ROUNDS=100 tools/test debug -L field

next: ## the tests of memcached against the version of the next Debian release
	tools/test-next

sim: ## a million schedules of each structure in the simulated world
	tools/setup build test
	cmake --preset release -B build/sim -DMCDS_BUILD_TESTS=ON
	cmake --build build/sim
	tools/mcds-sim --build build/sim --prove

duel: ## the algorithms of the article beside those of mcds under faults
	DUEL_SECONDS=120 tools/test debug -V -R '^duel$$'

prove: sim stress chaos field duel portable mutants fuzz ## the long proofs, one after the other
	tools/setup build check
	tools/models
	tools/test-next || [ $$? -eq 77 ]

format: ## clang-format over everything
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## removes build
	rm -rf build

.PHONY: all help demo test test-busy asan tsan msan cov portable fuzz mutants bench site promises install uninstall installable dist deb deb-test check stress chaos field duel next sim prove format clean
