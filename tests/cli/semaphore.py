"""`mcds semaphore run` as the processes around it see it."""

import os
import signal
import sys

from fixture import ProcessTest, run_process_tests

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
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


class SemaphoreTest(ProcessTest):
    store, mcds = STORE, MCDS

    def hold(self, seconds, *options):
        return self.start("semaphore", "run", "job", "--permits", "3", "-t", LEASE, *options, "--", sys.executable, "-c",
                          INSIDE, str(seconds))

    def semaphore(self, *arguments):
        return self.run_to_end("semaphore", *arguments)

    def test_never_four_inside(self):
        stopped, killed = self.hold(1000), self.hold(1000)
        victims = [process.stdout.readline().split() for process in (stopped, killed)]
        stopped.send_signal(signal.SIGSTOP)
        killed.kill()
        others = [self.hold(1, "-w", "3m") for _ in range(10)]
        lines = [process.stdout.readline().split() for process in others]
        self.assertEqual([self.end(process) for process in others], [0] * 10)
        for alive, slot, _, _ in victims + lines:
            self.assertLessEqual(int(alive), 3)
            self.assertIn(slot, ("0", "1", "2"))
        self.assertEqual(len({tuple(line[1:3]) for line in victims + lines}), 12)
        # The lease of the stopped one ends; a holder of each permit sees it dead.
        last = [self.hold(6, "-w", "3m") for _ in range(3)]
        for process in last:
            self.assertLessEqual(int(process.stdout.readline().split()[0]), 3)
        self.assertEqual([self.end(process) for process in last], [0] * 3)
        self.assert_dead([line[3] for line in victims])
        stopped.send_signal(signal.SIGCONT)
        self.assertEqual(self.end(stopped), 79)

    def test_busy_and_resize(self):
        holders = [self.hold(1000) for _ in range(3)]
        for process in holders:
            process.stdout.readline()
        busy = self.semaphore("run", "job", "--permits", "3", "-n", "--", "true")
        self.assertEqual(busy.returncode, 75)
        self.assertIn("all permits are held, by 3", busy.stderr)
        self.assertEqual(len(self.semaphore("holders", "job").stdout.splitlines()), 3)
        self.assertEqual(self.semaphore("resize", "job", "1").stdout, "resized, 2 above it still held\n")
        self.assertEqual(self.semaphore("drop", "job").returncode, 75)
        for process in holders:
            process.terminate()
            self.assertEqual(self.end(process), 128 + signal.SIGTERM)
        self.assertEqual(self.semaphore("resize", "job", "1").stdout, "resized\n")
        slot = self.semaphore("run", "job", "--permits", "3", "--", "sh", "-c", 'echo "$MCDS_SLOT $MCDS_LOCK_NAME"')
        self.assertEqual(slot.stdout, "0 job\n")
        self.assertEqual(self.semaphore("run", "job", "--", "sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(self.semaphore("resize", "job", "5").stdout, "resized\n")
        other = self.semaphore("run", "job", "--permits", "4", "--", "true")
        self.assertEqual(other.returncode, 64)
        self.assertIn("it has --permits 5, not 4; give that", other.stderr)
        self.assertEqual(self.semaphore("drop", "job").stdout, "dropped\n")

    def test_a_new_semaphore_needs_permits(self):
        none = self.semaphore("run", "job", "--", "true")
        self.assertEqual(none.returncode, 64)
        self.assertIn("--permits", none.stderr)
        self.assertEqual(self.semaphore("holders", "job").returncode, 1)


if __name__ == "__main__":
    run_process_tests("semaphore", STORE)
