"""Progress: a line on the terminal that waits, and on nothing else."""

import os
import re
import subprocess
import sys
import threading
import time
import unittest

from fixture import SKIPPED, Fixture
from screen import Terminal, has_terminals

MCDS = os.path.abspath(sys.argv[1])
LINE = re.compile(r"mcds: \d+ [a-z]+ [a-z ]+( \(\d+ %\))?, \d+ each second(, (\d+h )?(\d+m )?\d+[sm] left)?$", re.M)


class ProgressTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.terminal_environment(MCDS)
        self.pipe = os.path.join(self.fixture.folder, "pipe")
        self.out = os.path.join(self.fixture.folder, "out")
        os.mkfifo(self.pipe)

    def show(self, script, rows=24, columns=80):
        terminal = Terminal(["sh", "-c", script], self.environment, rows, columns)
        self.addCleanup(terminal.close)
        return terminal

    def feed(self, line):
        """Writes the line into the pipe again and again, until stop() is called."""
        is_over = threading.Event()

        def write():
            with open(self.pipe, "w", encoding="ascii") as pipe:
                while not is_over.is_set():
                    pipe.write(line)
                    pipe.flush()
                    time.sleep(0.01)
        writer = threading.Thread(target=write)
        writer.start()

        def stop():
            is_over.set()
            writer.join()
        self.addCleanup(stop)
        return stop

    def watch(self, script, line, columns=80):
        """What the terminal shows while lines come, and after the last."""
        terminal = self.show(script, columns=columns)
        stop = self.feed(line)
        if columns >= 80:
            terminal.wait_until(lambda screen: LINE.search(screen.text()))
        else:
            terminal.wait_until(lambda screen: "mcds: " in screen.text())
        meanwhile = terminal.screen.text()
        stop()
        self.assertEqual(terminal.end(), 0, terminal.screen.text())
        self.assertEqual(terminal.screen.strange, [])
        return meanwhile, terminal

    def test_lines_of_standard_input(self):
        meanwhile, terminal = self.watch(f"exec mcds list push jobs - <{self.pipe} >{self.out}", "job\n")
        self.assertRegex(meanwhile, r"^mcds: \d+ lines pushed, \d+ each second$")
        self.assertEqual(terminal.screen.text(), "")  # it is erased
        self.assertNotIn(b"\x1b", terminal.raw)

    def test_a_batch(self):
        meanwhile, terminal = self.watch(f"exec mcds batch <{self.pipe} >{self.out}", "counter add hits\n")
        self.assertRegex(meanwhile, r"^mcds: \d+ commands carried out, \d+ each second$")
        self.assertEqual(terminal.screen.text(), "")

    def test_a_narrow_terminal_has_one_line(self):
        meanwhile, terminal = self.watch(f"exec mcds list push jobs - <{self.pipe} >{self.out}", "job\n", columns=20)
        self.assertEqual(len(meanwhile.splitlines()), 1, meanwhile)
        self.assertEqual(terminal.screen.text(), "")

    def test_a_sentence_is_not_written_into_it(self):
        terminal = self.show(f"exec mcds batch <{self.pipe} >{self.out}")
        stop = self.feed("counter add hits\nmistake\n")
        terminal.wait_until(lambda screen: LINE.search(screen.text()))
        stop()
        self.assertEqual(terminal.end(), 64)
        for line in terminal.screen.lines():
            self.assertTrue(line in ("",) or line.startswith("mcds: line "), line)

    def test_it_is_for_those_who_wait(self):
        """Not with -q, not beside what is printed, and not in a file."""
        said = os.path.join(self.fixture.folder, "said")
        for script in (f"mcds -q list push jobs - <{self.pipe} >{self.out}", f"mcds batch <{self.pipe}",
                       f"mcds list push jobs - <{self.pipe} 2>{said} >{self.out}"):
            terminal = self.show(f"{script}; echo over")
            stop = self.feed("counter add hits\n" if "batch" in script else "job\n")
            begun = time.monotonic()
            while time.monotonic() < begun + 1.5:
                terminal.read()
            stop()
            terminal.wait_for("over")
            terminal.end()
            self.assertNotIn(b"each second", terminal.raw, script)
        self.assertEqual(os.path.getsize(said), 0)

    def test_a_file_says_how_long_it_takes(self):
        """The time left is known from the part of the file that has been read."""
        lines = os.path.join(self.fixture.folder, "lines")
        count = 20000
        while True:
            with open(lines, "w", encoding="ascii") as file:
                file.writelines(f"k{i}\tvalue {i}\n" for i in range(count))
            terminal = self.show(f"exec mcds --timeout 60s table put t{count} <{lines} >{self.out}")
            seen = []

            def look(screen, seen=seen):
                seen += LINE.findall(screen.text())
                return False
            try:
                terminal.wait_until(look)
            except AssertionError:
                pass
            self.assertEqual(terminal.end(), 0)
            self.assertEqual(terminal.screen.text(), "")
            if seen or count > 10 ** 6:
                break
            count *= 4  # a fast machine
        self.assertTrue(any(share and left for share, left, *_ in seen), seen)

    def test_a_load(self):
        """Also: it reads its file, and waits for no key."""
        dump = os.path.join(self.fixture.folder, "dump")
        lines = "".join(f"k{i}\tvalue {i}\n" for i in range(2000))
        subprocess.run([MCDS, "table", "put", "t"], env=self.environment, input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
        terminal = self.show(f"mcds dump t -o {dump} && mcds --timeout 60s load --replace {dump} && echo over")
        terminal.wait_for("over")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(terminal.screen.text(), "dumped\t1\t2000\nloaded\t1\t2000\nover".expandtabs(8).replace("\t", " "))


if __name__ == "__main__":
    if not has_terminals():
        print("progress: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
