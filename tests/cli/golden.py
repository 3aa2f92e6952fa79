"""Run each case and compare what it prints, and its exit code, with the files beside it.

A case is cases/NAME.sh with NAME.out, NAME.err and NAME.exit. It runs under sh in an empty folder
with an empty store of its own; `run ARGS` shows, runs and prints the exit code of one mcds. A
first line "# store: STORE" keeps a case from the other stores; what it prints is the same on all.
A first line "# not with tsan: REASON" leaves the case out of a build with the thread sanitizer, and "# not with
asan: REASON" with the address sanitizer.
"""

import argparse
import os
import shutil
import subprocess
import sys

from fixture import SKIPPED, Fixture, is_possible

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
CASE_S = 300
TIMEOUT = "60s"
PRELUDE = """
run() {
    echo "\\$ mcds $*"
    mcds "$@"
    echo "-> $?"
}
set -u
. "$0"
"""


def sanitizers_of(mcds):
    with open(mcds, "rb") as program:
        code = program.read()
    return [name for name in ("asan", "tsan") if f"__{name}_init".encode() in code]


def names(store, mcds, wanted):
    left_out = tuple(f"# not with {name}: " for name in sanitizers_of(mcds))
    for file in sorted(os.listdir(CASES)):
        name, extension = os.path.splitext(file)
        if extension != ".sh" or (wanted and name not in wanted):
            continue
        with open(os.path.join(CASES, file), encoding="utf-8") as case:
            first = case.readline().strip()
        if left_out and first.startswith(left_out):
            print(f"golden: {name} is left out: " + first.partition(": ")[2])
            continue
        if not first.startswith("# store: ") or first == "# store: " + store:
            yield name


def be_patient(fixture, environment):
    """A loaded machine may keep the writer of a file from running for more than the default timeout."""
    folder = os.path.join(fixture.folder, "bin")
    os.mkdir(folder)
    with open(os.path.join(folder, "mcds"), "w", encoding="ascii") as script:
        script.write(f'#!/bin/sh\nexec "$PATIENT" --timeout {TIMEOUT} "$@"\n')
    os.chmod(script.name, 0o755)
    environment["PATIENT"] = shutil.which("mcds", path=environment["PATH"])
    environment["PATH"] = folder + ":" + environment["PATH"]
    return environment


def hide_places(fixture, text):
    """A sentence names the server or the file; the rest is the same on all stores."""
    folder = fixture.folder.encode()
    for place in (b"/state/mcds/default.lmdb", b"/memcached.sock"):
        text = text.replace(b": " + folder + place + b": ", b": PLACE: ")
    return text.replace(folder, b"FOLDER")


def run(name, store, mcds):
    with Fixture(store) as fixture:
        work = os.path.join(fixture.folder, "work")
        os.mkdir(work)
        environment = fixture.environment(mcds)
        environment.pop("ASAN_OPTIONS")
        if store == "lmdb":
            environment = be_patient(fixture, environment)
        done = subprocess.run(["sh", "-c", PRELUDE, os.path.join(CASES, name + ".sh")], cwd=work,
                              env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=CASE_S)
        return {"out": hide_places(fixture, done.stdout),
                "err": hide_places(fixture, done.stderr),
                "exit": b"%d\n" % done.returncode}


def differs(name, seen):
    bad = False
    for part, bytes_seen in seen.items():
        path = os.path.join(CASES, name + "." + part)
        try:
            diff = subprocess.run(["diff", "-u", "--label", name + "." + part, "--label", "seen",
                                   path, "-"], input=bytes_seen, capture_output=True, check=False)
        except OSError as error:
            sys.exit(f"golden: diff: {error}")
        if diff.returncode != 0:
            sys.stdout.flush()
            sys.stdout.buffer.write(diff.stdout + diff.stderr)
            bad = True
    return bad


def rewrite(name, seen):
    for part, bytes_seen in seen.items():
        with open(os.path.join(CASES, name + "." + part), "wb") as file:
            file.write(bytes_seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", default="lmdb", choices=["lmdb", "memcached"])
    parser.add_argument("--rewrite", action="store_true", help="take what is seen as expected")
    parser.add_argument("mcds")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    if not is_possible(arguments.store):
        print(f"golden: skipped: {arguments.store} is not installed")
        sys.exit(SKIPPED)
    failed = total = 0
    for name in names(arguments.store, arguments.mcds, arguments.case):
        total += 1
        seen = run(name, arguments.store, os.path.abspath(arguments.mcds))
        if arguments.rewrite:
            rewrite(name, seen)
        elif differs(name, seen):
            failed += 1
    print(f"golden: {arguments.store}: {total - failed} of {total} cases passed")
    sys.exit(1 if failed > 0 or total == 0 else 0)


if __name__ == "__main__":
    main()
