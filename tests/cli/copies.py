"""A counter with copies is read, watched, dumped and dropped without its options, also where the server that its name
selects is down or has returned empty."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from fixture import LIMIT_S, SKIPPED, Fixture, is_possible

MCDS = os.path.abspath(sys.argv[1])
SERVERS = 3
NAMES = [f"n{i}" for i in range(9)]  # the first server differs


class CopiesTest(unittest.TestCase):
    def setUp(self):
        self.fixtures = []
        for _ in range(SERVERS):
            self.fixtures.append(Fixture("memcached"))
            self.enterContext(self.fixtures[-1])
        self.environment = self.fixtures[0].environment(MCDS)
        places = ",".join(fixture.socket for fixture in self.fixtures)
        self.environment["MCDS_STORE"] = f"memcached://{places}?timeout=4000"
        for name in NAMES:
            self.mcds("counter", "add", name, "5", "--copies", "3")

    def run_mcds(self, *words):
        return subprocess.run([MCDS, *words], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.environment, timeout=LIMIT_S)

    def mcds(self, *words):
        done = self.run_mcds(*words)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def restart_empty(self, fixture):
        if fixture.server is not None:
            fixture.stop_server()
        os.unlink(fixture.socket)
        fixture.start_server()

    def test_each_server_may_be_down_and_return_empty(self):
        for fixture in self.fixtures:
            fixture.stop_server()
            for name in NAMES[:4]:
                self.assertEqual(self.mcds("counter", "get", name), "5\n")
            self.restart_empty(fixture)
            self.assertEqual([self.mcds("counter", "get", name) for name in NAMES], ["5\n"] * len(NAMES))

    def test_a_server_that_is_silent_leaves_time_for_the_others(self):
        server = self.fixtures[0].server
        server.send_signal(signal.SIGSTOP)
        self.addCleanup(server.send_signal, signal.SIGCONT)  # the fixture ends it afterwards
        for name in NAMES:
            self.assertEqual(self.mcds("counter", "get", name), "5\n")

    def test_dump_list_and_drop_need_no_options(self):
        for fixture in self.fixtures:
            self.restart_empty(fixture)
            for name in NAMES:
                self.assertEqual(self.mcds("ls", "-l", name).split("\t")[:3], ["counter", name, "5"])
            self.restart_empty(fixture)
            for name in NAMES:
                self.assertIn("copies=3\n+\t5", self.mcds("dump", name))
        self.restart_empty(self.fixtures[0])
        self.mcds("counter", "drop", NAMES[0])
        self.assertEqual(self.mcds("rm", "--yes", *NAMES[1:]).count("dropped"), len(NAMES) - 1)
        for name in NAMES:
            done = self.run_mcds("counter", "get", name, "--copies", "3")
            self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))

    def test_what_is_missing_is_missing_in_each_place(self):
        done = self.run_mcds("counter", "get", "other")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("none", done.stderr)
        for fixture in self.fixtures[1:]:
            fixture.stop_server()
        self.assertEqual(self.run_mcds("counter", "get", "other").returncode, 69)

    def test_watch_finds_the_other_copies(self):
        self.restart_empty(self.fixtures[0])
        watch = subprocess.Popen([MCDS, "watch", *NAMES, "--interval", "50ms"], env=self.environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        seen = set()

        def read():
            with watch.stdout:
                for line in watch.stdout:
                    seen.add(line.split("\t")[2])

        threading.Thread(target=read, daemon=True).start()
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until and len(seen) < len(NAMES):
            for name in NAMES:
                self.mcds("counter", "add", name, "1", "--copies", "3")
        self.assertEqual(seen, set(NAMES))


if __name__ == "__main__":
    if not is_possible("memcached"):
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
