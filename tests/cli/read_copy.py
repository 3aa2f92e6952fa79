"""A user who may write neither an lmdb: file nor its -lock reads a copy. Commands that follow the store refuse it, and
the shell says so."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from fixture import LIMIT_S, SKIPPED

NOBODY = 65534


class ReadCopyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.mcds = os.path.join(folder.name, "mcds")
        shutil.copy(os.path.abspath(sys.argv[1]), self.mcds)
        self.path = os.path.join(folder.name, "store")
        subprocess.run([self.mcds, "-s", f"lmdb:{self.path}?mode=0644", "counter", "add", "x", "5"], check=True,
                       stdout=subprocess.DEVNULL)

    def run_as_reader(self, *words, typed=None):
        return subprocess.run([self.mcds, "-s", f"lmdb:{self.path}", *words], check=False, input=typed,
                              stdin=None if typed else subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S, user=NOBODY, group=NOBODY, extra_groups=[])

    def test_commands_that_follow_refuse(self):
        for words in (["watch", "x"], ["log", "tail", "e", "-f"], ["leader", "watch", "l"], ["top"]):
            done = self.run_as_reader(*words)
            self.assertEqual(done.returncode, 74, (words, done.stderr))
            self.assertIn(f"{self.path}: this user may write neither it nor its -lock", done.stderr)

    def test_what_reads_once_reads(self):
        done = self.run_as_reader("counter", "get", "x")
        self.assertEqual((done.stdout, done.stderr), ("5\n", ""))
        done = self.run_as_reader("shell", typed="counter get x\n")
        self.assertEqual(done.stdout, "5\n")
        self.assertIn("reads a copy in memory", done.stderr)

    def test_a_cache_that_may_only_be_read(self):
        """COMMAND runs all the same, and its output is not stored."""
        for key in ("key", "key", "other"):
            done = self.run_as_reader("cache", "get", "pages", key, "--ttl", "1h", "--", "echo", "value")
            self.assertEqual((done.returncode, done.stdout), (0, "value\n"), done)
            self.assertIn("the value is not stored", done.stderr)

    def test_with_the_lock_file_it_follows(self):
        os.chmod(self.path + "-lock", 0o666)
        reader = subprocess.Popen([self.mcds, "-s", f"lmdb:{self.path}", "watch", "x", "--interval", "20ms", "--once"],
                                  stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[])
        self.addCleanup(reader.kill)
        while reader.poll() is None:
            subprocess.run([self.mcds, "-s", f"lmdb:{self.path}", "counter", "add", "x"], check=True,
                           stdout=subprocess.DEVNULL)
        with reader.stdout:
            self.assertIn("changed", reader.stdout.read())


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("read_copy: skipped: only root can become another user")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
