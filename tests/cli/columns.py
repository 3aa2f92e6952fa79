"""Columns and colours: on a terminal and nowhere else, in any width, for any name."""

import os
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture
from screen import Terminal, has_terminals

MCDS = os.path.abspath(sys.argv[1])
HOSTILE = "a\x1b[2J\x1b]0;title\x07b"
CSI = b"c\xc2\x9b31m"


class ColumnsTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.terminal_environment(MCDS)

    def mcds(self, *words):
        done = subprocess.run([MCDS, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.stdout.decode()

    def show(self, *words, rows=24, columns=80, **environment):
        terminal = Terminal([MCDS, *words], {**self.environment, **environment}, rows, columns)
        self.addCleanup(terminal.close)
        terminal.end()
        self.assertEqual(terminal.screen.strange, [])
        return terminal

    def fill(self):
        for words in (["counter", "add", "hits", "120000"], ["counter", "add", "über", "3"], ["counter", "add", "日本語"],
                      ["set", "add", "tags", "red"]):
            self.mcds(*words)

    def test_a_long_listing(self):
        self.fill()
        seen = self.show("ls", "-l")
        self.assertEqual(seen.screen.text(), "noun     name      size  left  holder\n"
                                             "counter  hits    120000     -  -\n"
                                             "counter  über         3     -  -\n"
                                             "counter  日本語       1     -  -\n"
                                             "set      tags         -     -  -")
        self.assertIn("36", seen.screen.colors)

    def test_no_colors(self):
        self.fill()
        plain = self.show("ls", "-l").screen.text()
        for options, environment in (((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"}), (("--color", "never"), {})):
            seen = self.show(*options, "ls", "-l", **environment)
            self.assertEqual((seen.screen.text(), seen.screen.colors), (plain, set()), (options, environment))
            self.assertNotIn(b"\x1b", seen.raw)
        self.assertIn("36", self.show("--color=always", "ls", "-l", NO_COLOR="1").screen.colors)

    def test_no_utf8(self):
        self.fill()
        seen = self.show("ls", "-l", LC_ALL="C")
        self.assertIn("counter  $'\\xc3\\xbcber' ", seen.screen.text())
        self.assertTrue(all(byte < 0x80 for byte in seen.raw), seen.raw)
        for words in (("set", "add", "tags", "grün"), ("table", "put", "t", "k", "grün"), ("table", "put", "t", "ß", "v")):
            self.mcds(*words)
        for words, said in ((("set", "scan", "tags"), "$'gr\\xc3\\xbcn'"), (("ls",), "$'\\xc3\\xbcber'"),
                            (("table", "get", "t", "k"), "$'gr\\xc3\\xbcn'"), (("table", "scan", "t"), "$'\\xc3\\x9f'"),
                            (("table", "get", "t", "k", "ß"), "$'gr\\xc3\\xbcn'"), (("top", "--once"), "$'\\xc3\\xbcber'"),
                            (("--color=never", "set", "scan", "tags"), "$'gr\\xc3\\xbcn'"),
                            (("counter", "get", "grün"), "counter 'gr\\xc3\\xbcn': there is none"),
                            (("table", "get", "t", "k", "--raw"), "grün")):
            seen = self.show(*words, LC_ALL="C")
            self.assertIn(said, seen.raw.decode(), words)
            self.assertEqual(any(byte >= 0x80 for byte in seen.raw), "--raw" in words, seen.raw)
            self.assertNotIn("\\x", self.show(*words).raw.decode())
        done = subprocess.run([MCDS, "set", "scan", "tags"], env={**self.environment, "LC_ALL": "C"}, capture_output=True,
                              check=True)
        self.assertIn("grün\n", done.stdout.decode())

    def test_a_pipe_gets_neither(self):
        self.fill()
        self.assertEqual(self.mcds("ls", "-l").splitlines()[0], "counter\thits\t120000\t-\t-")
        self.assertNotIn("\x1b", self.mcds("ls", "-l") + self.mcds("doctor"))
        self.assertEqual(self.mcds("ls", "-l", "--json"), self.show("ls", "-l", "--json", columns=200).raw.decode().replace("\r", ""))

    def test_hostile_names_do_not_act(self):
        self.mcds("counter", "add", HOSTILE)
        self.mcds("table", "put", "t", HOSTILE, HOSTILE)
        subprocess.run([MCDS, "counter", "add", CSI], env=self.environment, check=True, stdout=subprocess.DEVNULL)
        for words in (("ls", "-l"), ("table", "scan", "t"), ("counter", "get", HOSTILE, "other"), ("--color=always", "ls", "-l")):
            seen = self.show(*words, columns=200)
            self.assertIn("\\x1b[2J", seen.screen.text())
            self.assertNotIn(b"\x1b[2J", seen.raw)
            self.assertNotIn(b"\xc2\x9b", seen.raw)

    def test_a_table_of_many_blocks(self):
        """Lines are aligned by the block, and none is lost."""
        lines = "".join(f"k{i}\tv{i}\n" for i in range(1000))
        subprocess.run([MCDS, "table", "put", "t"], env=self.environment, input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
        raw = self.show("table", "scan", "t", "--color=never").raw.decode().replace("\r\n", "\n").splitlines()
        self.assertEqual(raw[0].split(), ["key", "value"])
        self.assertEqual(sorted(raw[1:]), sorted(f"{f'k{i}':4}  v{i}" for i in range(1000)))

    def test_several_numbers(self):
        for visitor in ("ann", "bob"):
            self.mcds("online", "beat", "chat", visitor, "--exact")
        self.assertEqual(self.show("online", "get", "chat", "lobby-two", "--exact").screen.text(),
                         "name       number\nchat            2\nlobby-two       0")
        self.assertEqual(self.show("online", "get", "chat", "--exact").screen.text(), "2")

    def test_the_doctor_wraps_its_sentences(self):
        self.mcds("counter", "add", "hits")
        for columns in (40, 80, 200):
            lines = self.show("doctor", columns=columns, rows=60).raw.decode().replace("\x1b[36m", "").replace("\x1b[0m", "").split("\r\n")
            whole = " ".join(" ".join(lines).split())
            self.assertIn("fact mcds 0.1.0", whole)
            self.assertIn("mcds backup copies it while it is used, cp does not", whole)
            paths = len(self.fixture.folder) + 60
            self.assertLessEqual(max(map(len, lines)), max(columns, paths), columns)
            self.assertEqual([line for line in lines if line.endswith(" ")], [])


if __name__ == "__main__":
    if not has_terminals():
        print("columns: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
