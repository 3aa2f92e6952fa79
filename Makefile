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

asan tsan:
	tools/test $@

cov:
	tools/setup build test check
	tools/test cov
	gcovr --root . --filter src/ --print-summary --html-details build/cov/coverage.html build/cov

fuzz:
	tools/fuzz

bench:
	tools/setup build bench
	cmake --preset release -DMCDS_BUILD_BENCH=ON
	cmake --build --preset release
	build/release/bench/mcds-bench --place build --out build/bench.json

install: all
	cmake --install build/release --prefix "$(DESTDIR)$(PREFIX)"

check:
	tools/check

prove:
	tools/models

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

.PHONY: all demo test asan tsan cov fuzz bench install check prove format clean
