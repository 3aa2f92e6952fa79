"""Run each case and compare what it prints, and its exit code, with the files beside it.

A case is cases/NAME.sh with NAME.out, NAME.err and NAME.exit. It runs under sh in an empty folder
with an empty store of its own; `run ARGS` shows, runs and tells the exit code of one mcds. A
first line "# home: HOME" keeps a case from the other homes; what it prints is the same on all.
"""

import argparse
import os
import subprocess
import sys

from place import SKIPPED, Place, is_possible

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
CASE_S = 300
PRELUDE = """
run() {
    echo "\\$ mcds $*"
    mcds "$@"
    echo "-> $?"
}
set -u
. "$0"
"""


def names(home, wanted):
    for file in sorted(os.listdir(CASES)):
        name, extension = os.path.splitext(file)
        if extension != ".sh" or (wanted and name not in wanted):
            continue
        with open(os.path.join(CASES, file), encoding="utf-8") as case:
            first = case.readline().strip()
        if not first.startswith("# home: ") or first == "# home: " + home:
            yield name


def run(name, home, mcds):
    with Place(home) as place:
        work = os.path.join(place.folder, "work")
        os.mkdir(work)
        done = subprocess.run(["sh", "-c", PRELUDE, os.path.join(CASES, name + ".sh")], cwd=work,
                              env=place.environment(mcds), capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=CASE_S)
        folder = place.folder.encode()
        return {"out": done.stdout.replace(folder, b"FOLDER"),
                "err": done.stderr.replace(folder, b"FOLDER"),
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
    parser.add_argument("--home", default="lmdb", choices=["lmdb", "memcached"])
    parser.add_argument("--rewrite", action="store_true", help="take what is seen as expected")
    parser.add_argument("mcds")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    if not is_possible(arguments.home):
        print(f"golden: skipped: {arguments.home} is not installed")
        sys.exit(SKIPPED)
    failed = total = 0
    for name in names(arguments.home, arguments.case):
        total += 1
        seen = run(name, arguments.home, os.path.abspath(arguments.mcds))
        if arguments.rewrite:
            rewrite(name, seen)
        elif differs(name, seen):
            failed += 1
    print(f"golden: {arguments.home}: {total - failed} of {total} cases passed")
    sys.exit(1 if failed > 0 or total == 0 else 0)


if __name__ == "__main__":
    main()
