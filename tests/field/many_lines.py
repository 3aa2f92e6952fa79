"""Verbs that read standard input get very many lines: each is answered or stored, and memory is
bounded. FIELD_ROUNDS=100 is a million lines each."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zlib

from field import rounds, skip
from fixture import Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LINES = 10000
LIMIT_S = 800
# What is under way and what the store keeps in the process; of lmdb the pages of its file count too.
MOST_KB = {"lmdb": 400000, "memcached": 64000}


class ManyLinesTest(unittest.TestCase):
    def setUp(self):
        fixture = Fixture(STORE, megabytes=1024).__enter__()
        self.addCleanup(fixture.__exit__)
        self.environment = fixture.environment(MCDS)
        if STORE == "lmdb":
            self.environment["MCDS_STORE"] = f"lmdb:{fixture.folder}/store?sync=async&timeout=60000&create=1"
        self.folder = fixture.folder
        self.count = LINES * rounds(10)

    def run_with(self, arguments, lines=(), take=None):
        """The most memory of the command in KB, and what `take` makes of the lines of its output.
        Nothing here holds all of them: the system counts this process's memory with the child's."""
        with tempfile.TemporaryFile(dir=self.folder) as work, \
                tempfile.TemporaryFile(dir=self.folder) as output:
            work.writelines(lines)
            work.seek(0)
            child = subprocess.Popen([MCDS, *arguments], stdin=work, stdout=output,
                                     env=self.environment)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            output.seek(0)
            return usage.ru_maxrss, take(output) if take is not None else None

    def write(self, *arguments, lines, take=None):
        most_kb, taken = self.run_with(arguments, lines, take)
        print(f"{' '.join(arguments)}: {self.count} lines, {most_kb} KB", flush=True)
        self.assertLess(most_kb, MOST_KB[STORE])
        return taken

    def numbered(self, pattern):
        return (pattern.replace(b"%", b"%d" % i) for i in range(self.count))

    @staticmethod
    def digest(lines):
        """The same for the same lines in any order."""
        count = total = 0
        for line in lines:
            count += 1
            total += zlib.crc32(line)
        return count, total

    def test_batch(self):
        answers = self.write("batch", lines=(b"counter add hits 1\n" for _ in range(self.count)),
                             take=lambda output: sum(1 for _ in output))
        self.assertEqual(answers, self.count)
        _, value = self.run_with(["counter", "get", "hits"], take=lambda output: output.read())
        self.assertEqual(value, b"%d\n" % self.count)

    def test_list_push(self):
        self.write("list", "push", "x", lines=self.numbered(b"value %\n"))
        _, same = self.run_with(["list", "scan", "x"], take=lambda output: all(
            seen == written for seen, written in
            itertools.zip_longest(output, self.numbered(b"value %\n"))))
        self.assertTrue(same)

    def compare(self, verb, look, pattern):
        self.write(*verb, lines=self.numbered(pattern))
        is_log = look[0] == "log"
        _, seen = self.run_with(look, take=lambda output: self.digest(
            line.split(b"\t", 1)[1] if is_log else line for line in output))
        self.assertEqual(seen, self.digest(self.numbered(pattern)))

    def test_set_add(self):
        self.compare(["set", "add", "x"], ["set", "scan", "x"], b"element %\n")

    def test_table_put(self):
        self.compare(["table", "put", "x"], ["table", "scan", "x"], b"key %\tvalue\n")

    def test_log_put(self):
        self.compare(["log", "put", "x", "--by-arrival"], ["log", "scan", "x"], b"event %\n")

    def test_set_remove(self):
        self.run_with(["set", "add", "x"], self.numbered(b"element %\n"))
        self.write("set", "remove", "x", lines=self.numbered(b"element %\n"))
        self.assertEqual(self.run_with(["set", "count", "x"], take=lambda output: output.read())[1], b"0\n")

    def test_table_remove(self):
        self.run_with(["table", "put", "x"], self.numbered(b"key %\tvalue\n"))
        self.write("table", "remove", "x", lines=self.numbered(b"key %\n"))
        self.assertEqual(self.run_with(["table", "scan", "x"], take=lambda output: output.read())[1], b"")

    def test_array_set(self):
        self.write("array", "set", "x", "-", lines=self.numbered(b"element %\n"))
        _, same = self.run_with(["array", "scan", "x"], take=lambda output: all(
            seen == written for seen, written in
            itertools.zip_longest(output, self.numbered(b"element %\n"))))
        self.assertTrue(same)

    def count_distinct(self, verb, look, fields):
        """Every third line names a visitor again."""
        self.write(*verb, "-", lines=(b"visitor %d\n" % (i - i % 3 // 2) for i in range(self.count)))
        _, told = self.run_with(["--json", *look], take=json.load)
        self.assertEqual(sum(told[field] for field in fields), self.count - self.count // 3)

    def test_visitors_hit(self):
        self.count_distinct(["visitors", "hit", "x", "--period", "0"], ["visitors", "get", "x", "--period", "0"],
                            ["current"])

    def test_online_beat(self):
        """At midnight, the visitors before it are those of a closed bucket."""
        self.count_distinct(["online", "beat", "x", "--width", "1d"], ["online", "get", "x", "--width", "1d"],
                            ["current", "closed"])

    def test_views_hit(self):
        options = ["--flush-every", "1h", "--database", f"lmdb:{self.folder}/views?create=1"]
        self.write("views", "hit", "x", "-", *options, lines=(b"page %d\n" % (i % 100) for i in range(self.count)))
        for page in (0, 57, 99):
            _, views = self.run_with(["views", "get", "x", f"page {page}", *options], take=lambda output: output.read())
            self.assertEqual(views, b"%d\n" % (self.count // 100))


if __name__ == "__main__":
    if not is_possible(STORE):
        skip(f"{STORE} is not installed")
    unittest.main(argv=sys.argv[:1], verbosity=2)
