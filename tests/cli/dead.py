"""Every noun and verb on a server that refuses the connection: the sentence names the structure and the verb
that was typed, and the fixture; nothing was done, and the exit code says so. A batch waits once for a server, and
for a file that another process has."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import fixture

MCDS = os.path.abspath(sys.argv[1])
UNAVAILABLE = 69

VERBS = """
counter: add x 5; get x; take x; drop x; add x 5 --signed; add x 5 --plain; add x 5 --stripes 4; get x --stripes 4
counter: add x 5 --exact; get x --exact; drop x --exact; add x 5 --exact --copies 1
visitors: hit x; hit x ann; hit x ann --exact; hit x ann --estimated; get x; get x --exact; drop x
online: beat x ann; beat x ann --width 1d; get x; get x --width 1d; drop x; drop x --width 1d
set: add x a; add x a --bag; add x a --list; has x a; remove x a; count x; scan x; scan x --bag; drop x
table: put x k 1; put x k 1 --if-absent; put x k 2 --if-is 1; get x k; incr x k; remove x k; count x; scan x; drop x
list: push x a; count x; scan x; clear x; drop x
log: put x a; scan x; tail x; drop x
array: set x a; scan x; change x --add b; drop x
"""


class DeadServerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/tmp")  # a disk, where a commit takes so long that it can be stopped
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "socket")
        self.bound = socket.socket(socket.AF_UNIX)  # and nobody listens
        self.bound.bind(self.path)
        self.addCleanup(self.bound.close)

    def mcds(self, *words):
        # a refused connection needs no time, however long the machine takes
        return subprocess.run([MCDS, "-s", f"memcached://{self.path}?timeout=300", *words], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=os.environ | {"LC_ALL": "C", "HOME": self.folder.name})

    def check(self, prefix, *words):
        with self.subTest(command=" ".join(words)):
            done = self.mcds(*words)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith(f"mcds: {prefix}"), done.stderr)
            self.assertIn(self.path, done.stderr)
            self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)

    def test_every_verb(self):
        for line in VERBS.strip().splitlines():
            noun, verbs = line.split(": ")
            for verb in verbs.split("; "):
                words = verb.split()
                self.check(f"{noun} 'x': {words[0]}: ", noun, *words)

    def test_views(self):
        database = f"lmdb:{self.folder.name}/kept"
        for verb in ("hit x page", "get x page", "flush x", "drop x"):
            words = verb.split()
            self.check(f"views 'x': {words[0]}: ", "views", *words, "--database", database)

    def test_batch(self):
        """Only the first line on a name waits for the server, whatever the machine makes of the rest."""
        for lines, name in (("counter add c\n" * 300, "counter 'c'"), ("table put t k v\n" * 300, "table 't'")):
            done = subprocess.run([MCDS, "-s", f"memcached://{self.path}?timeout=300", "batch"], check=False,
                                  input=lines, capture_output=True, text=True)
            self.assertEqual(done.stdout, "-\n" * 300)
            self.assertEqual(done.returncode, UNAVAILABLE)
            self.assertIn(f"line 300: {name}: ", done.stderr)
            self.assertIn(": not tried: its server was unreachable less than a second ago", done.stderr)

    def hold_file(self, store):
        """Starts a process and stops it in a commit to the file."""
        writer = subprocess.Popen([MCDS, "-s", store, "batch"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.stdin.close)
        self.addCleanup(writer.kill)
        for _ in range(200):
            os.kill(writer.pid, signal.SIGCONT)
            writer.stdin.write(b"counter add d\n" * 2000)
            writer.stdin.flush()
            os.kill(writer.pid, signal.SIGSTOP)
            probe = subprocess.run([MCDS, "-s", store + "?timeout=100", "counter", "add", "p"], check=False,
                                   capture_output=True)
            if probe.returncode == UNAVAILABLE:
                return
        self.fail("the writer was never stopped in a commit")

    def test_batch_on_a_file_of_a_stopped_process(self):
        """Each line would wait for the whole timeout, after the line before it on its name."""
        store = f"lmdb:{self.folder.name}/held"
        self.hold_file(store)
        done = subprocess.run([MCDS, "-s", store + "?timeout=300", "batch"], check=False,
                              input="counter add c\n" * 20, capture_output=True, text=True)
        self.assertEqual(done.stdout, "-\n" * 20)
        self.assertEqual(done.returncode, UNAVAILABLE)
        self.assertIn("line 1: counter 'c': add: ", done.stderr)
        self.assertIn("line 20: counter 'c': not tried: another process had the file less than a second ago",
                      done.stderr)

    def test_one_server_of_two(self):
        """What is on the other server is read in time, although commands before and after it wait for the dead one."""
        names = [f"c{i}" for i in range(12)]
        with fixture.Fixture("memcached") as alive:
            def run(lines, *words):
                store = f"memcached://{alive.socket},{self.path}?timeout=1000&connect_timeout=30000"
                return subprocess.run([MCDS, "-s", store, *words], check=False, input=lines, capture_output=True,
                                      text=True)
            added = run("".join(f"counter add {name}\n" for name in names), "batch").stdout.split()
            self.assertEqual(set(added), {"1", "-"})
            for words in (["batch"], ["counter", "get", *names]):
                lines = "".join(f"counter get {name}\n" for name in names)
                done = run(lines if words == ["batch"] else "", *words)
                self.assertEqual(done.stdout.split(), added, done.stderr)
                self.assertNotIn("deadline", done.stderr)
                self.assertNotIn(alive.socket, done.stderr)

    def test_lock(self):
        self.check("lock 'x': acquire: ", "lock", "x", "--", "true")
        self.check("lock 'x': ", "lock", "x", "--info")
        self.check("lock 'x': break: ", "lock", "x", "--break")
        self.check("lock 'x': drop: ", "lock", "x", "--drop")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
