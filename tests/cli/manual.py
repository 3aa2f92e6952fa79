"""Run the examples of the manual pages: each prints what its page shows.

    manual.py MCDS FRAME...              the frames are those of cli/help/man
    manual.py --rewrite MCDS FRAME...    take what is printed as expected

The examples of one page run in an empty folder with a store of their own, which memcached://cache1 is too."""

import os
import re
import subprocess
import sys

from fixture import Fixture
from golden import be_patient

TIMES_AND_NUMBERS = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{9,}|(?<=_ms\":)\d+|(?<=\t)[\d.]+(?=\t\d{9})|(?<=\t)\d+\.\d{3}(?=\t-)")
INDENT = "    "


def run(command, folder, environment):
    command = command.replace("memcached://cache1", "lmdb:cache1")
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    return done.stdout.splitlines()


def play(path, mcds):
    """The lines of a frame with what its examples print."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    begin = lines.index(".Sh EXAMPLES")
    seen = lines[:begin]
    with Fixture("lmdb") as fixture:
        environment = be_patient(fixture, fixture.environment(mcds))
        folder = os.path.join(fixture.folder, "work")
        os.mkdir(folder)
        for line in lines[begin:]:
            if line.startswith(INDENT + "$ "):
                seen += [line, *(INDENT + printed for printed in run(line[len(INDENT) + 2:], folder, environment))]
            elif not line.startswith(INDENT):
                seen.append(line)
    return lines, seen


def main():
    is_rewriting = sys.argv[1] == "--rewrite"
    mcds, *frames = sys.argv[1 + is_rewriting:]
    mcds, failed = os.path.abspath(mcds), 0
    for path in frames:
        lines, seen = play(path, mcds)
        if is_rewriting:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(seen) + "\n")
        elif [TIMES_AND_NUMBERS.sub("N", line) for line in lines] != [TIMES_AND_NUMBERS.sub("N", line) for line in seen]:
            print(f"{path}: its examples print\n" + "\n".join(seen[seen.index(".Sh EXAMPLES"):]))
            failed += 1
    print(f"manual: the examples of {len(frames) - failed} of {len(frames)} pages are right")
    sys.exit(1 if failed > 0 or not frames else 0)


main()
