"""`mcds semaphore run` as the processes around it see it."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

from guard import stand_guard
from fixture import SKIPPED, Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT_S = 200
LEASE = "5s"
# Holds a file lock as long as it lives, and prints how many do, and its slot.
INSIDE = """
import fcntl, os, sys, time
own = open(f"inside.{os.getpid()}", "w")
fcntl.flock(own, fcntl.LOCK_EX)
alive = 0
for name in os.listdir("."):
    with open(name) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            alive += 1
print(alive, os.environ["MCDS_SLOT"], os.environ["MCDS_LOCK_FENCE"], os.getpid(), flush=True)
time.sleep(float(sys.argv[1]))
"""


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class SemaphoreTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.work = tempfile.mkdtemp(dir=self.fixture.folder)

    def start(self, seconds, *options):
        process = subprocess.Popen(
            [MCDS, "semaphore", "run", "job", "--permits", "3", "-t", LEASE, *options, "--", sys.executable, "-c",
             INSIDE, str(seconds)], env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(LIMIT_S)
        process.stdout.close()

    def run_to_end(self, *arguments):
        return subprocess.run([MCDS, "semaphore", *arguments], env=self.environment, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    def test_never_four_inside(self):
        stopped, killed = self.start(1000), self.start(1000)
        victims = [process.stdout.readline().split() for process in (stopped, killed)]
        stopped.send_signal(signal.SIGSTOP)
        killed.kill()
        others = [self.start(1, "-w", "3m") for _ in range(10)]
        lines = [process.stdout.readline().split() for process in others]
        self.assertEqual([process.wait(LIMIT_S) for process in others], [0] * 10)
        for alive, slot, _, _ in victims + lines:
            self.assertLessEqual(int(alive), 3)
            self.assertIn(slot, ("0", "1", "2"))
        self.assertEqual(len({tuple(line[1:3]) for line in victims + lines}), 12)
        # The lease of the stopped one ends; a holder of each permit sees it dead.
        last = [self.start(6, "-w", "3m") for _ in range(3)]
        for process in last:
            self.assertLessEqual(int(process.stdout.readline().split()[0]), 3)
        self.assertEqual([process.wait(LIMIT_S) for process in last], [0] * 3)
        self.assertTrue(all(is_dead(line[3]) for line in victims))
        stopped.send_signal(signal.SIGCONT)
        self.assertEqual(stopped.wait(LIMIT_S), 79)

    def test_busy_and_resize(self):
        holders = [self.start(1000) for _ in range(3)]
        for process in holders:
            process.stdout.readline()
        busy = self.run_to_end("run", "job", "--permits", "3", "-n", "--", "true")
        self.assertEqual(busy.returncode, 75)
        self.assertIn("all permits are held, by 3", busy.stderr)
        self.assertEqual(len(self.run_to_end("holders", "job").stdout.splitlines()), 3)
        self.assertEqual(self.run_to_end("resize", "job", "1").stdout, "resized, 2 above it still held\n")
        self.assertEqual(self.run_to_end("drop", "job").returncode, 75)
        for process in holders:
            process.terminate()
            self.assertEqual(process.wait(LIMIT_S), 128 + signal.SIGTERM)
        self.assertEqual(self.run_to_end("resize", "job", "1").stdout, "resized\n")
        slot = self.run_to_end("run", "job", "--permits", "3", "--", "sh", "-c", 'echo "$MCDS_SLOT $MCDS_LOCK_NAME"')
        self.assertEqual(slot.stdout, "0 job\n")
        self.assertEqual(self.run_to_end("run", "job", "--", "sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(self.run_to_end("drop", "job").stdout, "dropped\n")

    def test_a_new_semaphore_needs_permits(self):
        none = self.run_to_end("run", "job", "--", "true")
        self.assertEqual(none.returncode, 64)
        self.assertIn("--permits", none.stderr)
        self.assertEqual(self.run_to_end("holders", "job").returncode, 1)


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"semaphore: skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    if not os.path.exists("/proc/self/status"):
        print("semaphore: skipped: /proc is not mounted")
        sys.exit(SKIPPED)
    stand_guard()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
