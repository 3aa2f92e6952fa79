"""Lines of standard input in flight when the server goes away: the exit code says that some may have been applied,
and the last sentences say which were not carried out and which are in doubt."""

import os
import re
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture, is_possible
from relay import CutRelay

MCDS = os.path.abspath(sys.argv[1])
AMBIGUOUS = 80
LINES = 2000
TIMEOUT_MS = 1000
BEGIN = r"mcds: standard input: (\d+) lines? (?:was|were) carried out; "
DOUBT = re.compile(BEGIN + r"(\d+) may have been, or may still be: check before you repeat\n")
CLEAR = re.compile(BEGIN[:-2] + "\n")
LISTS = re.compile(r"mcds: standard input: (in doubt|not carried out): lines ([\d, -]*\d)\n")
LAST = re.compile(r"mcds: standard input: no line after line (\d+) was tried\n")


def named(stderr):
    """The numbers of the lines in doubt, and of those not carried out."""
    lists = {"in doubt": set(), "not carried out": set()}
    for what, ranges in LISTS.findall(stderr):
        for one in ranges.split(", "):
            first, _, end = one.partition("-")
            lists[what].update(range(int(first), int(end or first) + 1))
    for last in LAST.findall(stderr):
        lists["not carried out"].update(range(int(last) + 1, LINES + 1))
    return lists["in doubt"], lists["not carried out"]


class DoubtTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("memcached").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.rounds = self.passed = 0

    def mcds(self, command, namespace, store=None, data=None):
        uri = store or f"memcached://{self.fixture.socket}?timeout=120000"
        return subprocess.run([MCDS, "-s", uri, "-N", namespace, *command.split()],
                              env=self.environment, check=False, input=data, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL if data is None else None)

    def cut(self, command, data, passed):
        """Cuts the connection after this many bytes of replies. self.passed: how many there were."""
        self.rounds += 1
        namespace, path = f"n{self.rounds}", f"{self.fixture.folder}/relay{self.rounds}"
        relay = CutRelay(path, self.fixture.socket, passed)
        done = self.mcds(command, namespace, f"memcached://{path}?timeout={TIMEOUT_MS}", data)
        relay.close()
        self.passed = passed - relay.left
        return done, namespace

    def check(self, command, data, read, cuts=(300, 1000, 3000, 5000)):
        """`read` returns the numbers of the lines that are there. True: some of the lines were in doubt."""
        is_ever_in_doubt = False
        for passed in cuts:
            done, namespace = self.cut(command, data, passed)
            with self.subTest(command=command, passed=passed):
                applied = read(namespace)
                if done.returncode == 0:  # not as many bytes were needed
                    self.assertEqual(len(applied), LINES)
                    continue
                doubt, clear = DOUBT.search(done.stderr), CLEAR.search(done.stderr)
                in_doubt, not_done = named(done.stderr)
                self.assertEqual(done.returncode == AMBIGUOUS, "may have been" in done.stderr)
                self.assertEqual(done.returncode == AMBIGUOUS, doubt is not None, done.stderr)
                if doubt is not None:
                    carried_out, doubtful = map(int, doubt.groups())
                    self.assertLessEqual(carried_out, len(applied), done.stderr)
                    self.assertLessEqual(len(applied), carried_out + doubtful, done.stderr)
                    self.assertEqual(len(in_doubt), doubtful, done.stderr)
                    is_ever_in_doubt = True
                elif command != "batch":
                    self.assertEqual(int(clear.group(1)) if clear else 0, len(applied), done.stderr)
                if command != "batch" and (doubt or clear):
                    self.assertFalse(applied & not_done, done.stderr)
                    self.assertEqual(set(range(1, LINES + 1)) - not_done - in_doubt - applied, set(), done.stderr)
        return is_ever_in_doubt

    def lines(self, command, field=0):
        return lambda namespace: {int(line.split("\t")[field]) + 1
                                  for line in self.mcds(command, namespace).stdout.splitlines()}

    def test_each_line_by_itself(self):
        numbers = "".join(f"{i}\n" for i in range(LINES))
        self.assertTrue(self.check("set add x", numbers, self.lines("set scan x")))
        self.check("table put x", "".join(f"{i}\tv\n" for i in range(LINES)), self.lines("table scan x"))

    def test_many_lines_in_one_change(self):
        numbers = "".join(f"{i}\n" for i in range(LINES))
        self.assertTrue(self.check("list push x", numbers, self.lines("list scan x")))
        self.assertTrue(self.check("log put x", numbers, self.lines("log scan x", 1)))

    def test_batch(self):
        def count(namespace):
            return range(int(self.mcds("counter get x", namespace).stdout or 0))
        # Adds in flight to one counter share requests: all but the last few bytes are of the greeting.
        lines = "counter add x\n" * LINES
        self.cut("batch", lines, 1 << 20)
        cuts = [self.passed - missing for missing in (5, 15, 30, 60, 100)]
        self.assertTrue(self.check("batch", lines, count, cuts))


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("doubt: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
