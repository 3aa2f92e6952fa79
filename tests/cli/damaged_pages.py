"""Damages each page of an lmdb: file in turn. Every verb then answers as before, or names the file and refuses: it
neither crashes nor waits, and no answer is wrong. It exits with 80 only after the file has got a part of its change, and
with another code only if the file has got nothing.

    damaged_pages.py MCDS          one kind of damage for each page
    damaged_pages.py MCDS --all    every kind for each page, and more verbs: hours
"""

import concurrent.futures
import os
import random
import subprocess
import sys
import unittest

from fixture import HANDLED, Fixture, has_sanitizer

MCDS = os.path.abspath(sys.argv[1])
IS_LONG = "--all" in sys.argv
PAGE = 4096
LIMIT_S = 300
SIGNAL = 128  # exit codes from here on
NO, USAGE, AMBIGUOUS = 1, 64, 80
TRANSACTION = 144  # the place of its number, in the first two pages
COUNTERS = 250
SEEDS = range(1, 13) if IS_LONG else (3, 7)
READS = ("ls", "dump --all", "set count s", "set has s 5", "counter get c0001", "counter get c0200")
MORE_READS = ("ls -l", "dump s", "dump q", "dump l", "set scan s", "queue count q", "list scan l", "log tail g", "table get t k3", "cache list c")
WRITES = ("counter add c0100", "rm c0002 --yes", "set add s 900", "set remove s 5", "set drop s", "rm s --yes")
MORE_WRITES = ("table drop t", "queue next q", "list push l z", "table put t k3 w", "log put g z", "once o -- true", "lock k -- true",
               "limit take m a --rate 3/h", "semaphore run p --permits 2 -- true")
VERBS = READS + WRITES + (MORE_READS + MORE_WRITES if IS_LONG else ())
# The places that a lease or a message takes differ from run to run.
ANY_ANSWER = ("queue next q", "list push l z", "log put g z", "limit take m a --rate 3/h", "ls -l")


def last_transaction(content):
    return max(int.from_bytes(content[page + TRANSACTION:page + TRANSACTION + 8], sys.byteorder) for page in (0, PAGE))


def lines(count, text="{}"):
    return "".join(text.format(i) + "\n" for i in range(count))


@unittest.skipIf(has_sanitizer(MCDS), HANDLED)
class PagesTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.run_mcds("made", "batch", lines(COUNTERS, "counter add c{:04} 7"))
        self.run_mcds("made", "set add s", lines(300))
        self.run_mcds("made", "set add big", lines(3000))
        if IS_LONG:
            self.run_mcds("made", "queue push q", lines(60))
            self.run_mcds("made", "list push l", lines(200))
            self.run_mcds("made", "log put g", lines(50))
            self.run_mcds("made", "batch", lines(20, "table put t k{} v"))
        self.run_mcds("made", "backup base")
        with open(self.path("base"), "rb") as file:
            self.base = file.read()
        self.sound = {verb: self.try_verb("base" + str(i), self.base, verb) for i, verb in enumerate(VERBS)}

    def path(self, name):
        return os.path.join(self.fixture.folder, name)

    def run_mcds(self, name, words, data=""):
        # A deadline that no wait for a store reaches: a damaged file is not waited for.
        return subprocess.run([MCDS, "--timeout", "600s", "-s", "lmdb:./" + name, *words.split()], env=self.environment,
                              cwd=self.fixture.folder, input=data, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    def try_verb(self, name, content, verb):
        with open(self.path(name), "wb") as copy:
            copy.write(content)
        done = self.run_mcds(name, verb)
        with open(self.path(name), "rb") as copy:
            done.has_changed = last_transaction(copy.read()) != last_transaction(content)
        for file in (name, name + "-lock", name + "-writer"):
            if os.path.exists(self.path(file)):
                os.remove(self.path(file))
        return done

    def with_page(self, page, content):
        return self.base[:page * PAGE] + content + self.base[(page + 1) * PAGE:]

    def damages(self, page):
        """The kinds of damage, with their names."""
        yield "zeros", self.with_page(page, bytes(PAGE))
        for seed in SEEDS:
            yield f"random {seed}", self.with_page(page, random.Random(seed).randbytes(PAGE))
        other = 2 + (page * 7 + 3) % (len(self.base) // PAGE - 2)
        yield f"page {other}", self.with_page(page, self.base[other * PAGE:(other + 1) * PAGE])
        yield "cut", self.base[:page * PAGE]
        yield "half", self.with_page(page, self.base[page * PAGE:page * PAGE + PAGE // 2] + random.Random(page).randbytes(PAGE // 2))

    def judge(self, name, what, content, verb):
        try:
            done = self.try_verb(name, content, verb)
        except subprocess.TimeoutExpired:
            return f"{what}: {verb}: waits"
        sound = self.sound[verb]
        is_same = done.returncode == sound.returncode and (done.stdout == sound.stdout or verb in ANY_ANSWER)
        is_refusal = done.returncode >= USAGE and done.returncode < SIGNAL and (name in done.stderr or "damage" in done.stderr)
        is_true = is_same or "crashed" in done.stderr or done.has_changed == (done.returncode == AMBIGUOUS)
        return None if (is_same or is_refusal) and is_true else (f"{what}: {verb}: {done.returncode} {done.has_changed} "
                                                                 f"{done.stdout[:200]!r} {done.stderr[-300:]!r}")

    def test_each_page(self):
        tasks = []
        for page in range(2, len(self.base) // PAGE):
            kinds = list(self.damages(page))
            for kind, content in kinds if IS_LONG else [kinds[page % len(kinds)]]:
                tasks += [(f"page {page}, {kind}", content, verb) for verb in VERBS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda task: self.judge(f"copy{task[0]}", *task[1]), enumerate(tasks)))
        wrong = [fault for fault in found if fault is not None]
        self.assertFalse(wrong, f"{len(wrong)} of {len(found)}:\n" + "\n".join(wrong[:100]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [word for word in sys.argv[2:] if word != "--all"])
