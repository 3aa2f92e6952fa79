"""Run the examples of the manual pages and of `mcds help NOUN`: each prints what is shown.

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


def play(lines, mcds):
    """The lines with what the examples in them print."""
    seen = []
    with Fixture("lmdb") as fixture:
        environment = be_patient(fixture, fixture.environment(mcds))
        folder = os.path.join(fixture.folder, "work")
        os.mkdir(folder)
        for line in lines:
            if line.startswith(INDENT + "$ "):
                seen += [line, *(INDENT + printed for printed in run(line[len(INDENT) + 2:], folder, environment))]
            elif not line.startswith(INDENT):
                seen.append(line)
    return seen


def play_page(path, mcds):
    """The lines of a frame, and the same with what its examples print."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    begin = lines.index(".Sh EXAMPLES")
    return lines, lines[:begin] + play(lines[begin:], mcds)


def differ(lines, seen):
    return [TIMES_AND_NUMBERS.sub("N", line) for line in lines] != [TIMES_AND_NUMBERS.sub("N", line) for line in seen]


def is_help_right(noun, mcds):
    """Whether the examples of `mcds help NOUN` print what it shows, as one session, and use each verb."""
    text = subprocess.run([mcds, "help", noun], capture_output=True, check=True, encoding="utf-8").stdout
    begin, _, rest = text.partition("\nExamples:\n")
    lines = [line for line in rest.splitlines() if line.startswith(INDENT)]
    missing = [verb for verb in re.findall(rf"^  mcds {noun} ([a-z]+)", begin, re.M)
               if not any(re.match(rf"    \$ .*\bmcds (-q )?{noun} {verb}\b", line) for line in lines)]
    seen = play(lines, mcds) if rest and not missing else []
    if missing:
        print(f"mcds help {noun}: no example of {', '.join(missing)}")
    elif differ(lines, seen):
        print(f"mcds help {noun}: its examples print\n" + "\n".join(seen))
    return not missing and not differ(lines, seen)


def main():
    is_rewriting = sys.argv[1] == "--rewrite"
    mcds, *frames = sys.argv[1 + is_rewriting:]
    mcds, failed = os.path.abspath(mcds), 0
    for path in frames:
        lines, seen = play_page(path, mcds)
        if is_rewriting:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(seen) + "\n")
        elif differ(lines, seen):
            print(f"{path}: its examples print\n" + "\n".join(seen[seen.index(".Sh EXAMPLES"):]))
            failed += 1
        noun = os.path.basename(path).partition(".")[0]
        if not is_rewriting and noun != "mcds" and not is_help_right(noun, mcds):
            failed += 1
    print(f"manual: {failed} failures in the examples of {len(frames)} pages and of the help")
    sys.exit(1 if failed > 0 or not frames else 0)


main()
