# A short front for CMake; `cmake --preset NAME` does the same without it.
# On a machine without make, tools/demo and tools/test are the first two commands.

PREFIX ?= /usr/local

all:
	tools/setup build
	cmake --preset release
	cmake --build --preset release

demo:
	tools/demo

test:
	tools/test

# With six busy loops beside the tests.
test-busy:
	tools/test-busy

asan tsan msan:
	tools/test $@

cov:
	tools/setup build test check
	tools/test cov
	gcovr --root . --filter src/ --print-summary --html-details build/cov/coverage.html build/cov

# With another C library, with 32 bits, and big-endian.
portable:
	tools/portable

# Every target so many times: hours. tools/fuzz SECONDS [TARGET]... is shorter.
FUZZ_RUNS ?= 10000000
fuzz:
	tools/fuzz --fast --runs $(FUZZ_RUNS)
	tools/fuzz --runs 1000000

mutants:
	tools/mutants

bench:
	tools/setup build bench
	cmake --preset release -DMCDS_BUILD_BENCH=ON
	cmake --build --preset release
	build/release/bench/mcds-bench --place build --out build/bench.json
	mkdir -p build/curves
	build/release/bench/mcds-bench --place build --curves build/curves

# Each promise of docs/guarantees.md and its tests; fails where one has none.
promises:
	tools/promises

# The library, the command with its manual and completions, and the Python package where python3-cffi is.
# DESTDIR stages; without it root also updates the list of the dynamic linker.
install: installable
	DESTDIR="$(DESTDIR)" cmake --install build/release
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig

uninstall: installable
	DESTDIR="$(DESTDIR)" tools/uninstall build/release
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig

installable:
	tools/setup build
	cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DMCDS_BUILD_PYTHON=ON
	cmake --build --preset release

# The source archive of the last commit, its bill of materials (SPDX), and checksums: build/dist.
dist:
	tools/dist

# Debian packages: build/deb/*.deb.
deb:
	tools/deb

# In fresh Debians: installed, used, upgraded and purged.
deb-test:
	tests/deb/run

check:
	tools/check

# Each structure on each kind of store for a minute: eight processes, two of them killed.
stress:
	STRESS_SECONDS=60 STRESS_ADDS=100000 tools/test debug -L stress

# Real stores under continuous faults, two minutes each; every history is judged.
chaos:
	CHAOS_SECONDS=120 tools/test debug -V -R '^chaos/'

# Circumstances that nobody's own tests have: other users, full disks, strange names, other clocks.
field:
	FIELD_SECONDS=60 FIELD_ROUNDS=100 tools/test debug -L field

# A million schedules of each structure in the simulated world.
sim:
	tools/setup build test
	cmake --preset release -B build/sim -DMCDS_BUILD_TESTS=ON
	cmake --build build/sim
	tools/mcds-sim --build build/sim --prove

# The algorithms of the article and those of mcds under the same faults on real servers; one table.
duel:
	DUEL_SECONDS=120 tools/test debug -V -R '^duel$$'

prove: sim stress chaos field duel portable mutants fuzz
	tools/setup build check
	tools/models

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

.PHONY: all demo test test-busy asan tsan msan cov portable fuzz mutants bench promises install uninstall installable dist deb deb-test check stress chaos field duel sim prove format clean
