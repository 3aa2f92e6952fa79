"""--on-lost of the verbs that hold a lease around COMMAND, as the processes around it see it."""

import os
import sys
import unittest

from fixture import ProcessTest, run_process_tests

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
# A machine under load may keep a process from running for seconds; a loss shows at a third of it.
LEASE = "6s"
# Writes why and where it runs, and to both streams.
NOTE = 'echo "$MCDS_REASON $MCDS_NAME $MCDS_LOCK_FENCE" >>"ran-$MCDS_NAME"; echo out; echo err >&2'
# Which of them may depend on how busy the machine is.
REASONS = ("lost", "expired", "unrenewed")
# Prints its fence when it runs.
COMMAND = ["--", "sh", "-c", 'echo "$MCDS_LOCK_FENCE"; exec sleep 1000']
# Prints its pid, continues on TERM.
STUBBORN = ["--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"]


class OnLostTest(ProcessTest):
    store, mcds = STORE, MCDS

    def ran(self, name):
        try:
            with open(os.path.join(self.work, f"ran-{name}"), encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def hold(self, words, name, *options):
        """mcds, and the fence of its COMMAND."""
        process = self.start("-q", *words, name, "--on-lost", NOTE, *options, *COMMAND)
        return name, process, process.stdout.readline().strip()

    def expect_one_run(self, holders):
        for name, process, fence in holders:
            with self.subTest(name):
                self.assertEqual(self.end(process), 79)
                said = process.stderr.read()
                self.assertIn(self.ran(name), [f"{reason} {name} {fence}\n" for reason in REASONS], said)
                self.assertEqual(process.stdout.read(), "")
                self.assertIn("out\nerr\n", said)

    def hold_stubbornly(self):
        """mcds, and the pid of a COMMAND whose death its --on-lost waits for."""
        see = 'read -r pid <pid; while kill -0 "$pid"; do sleep 0.05; done 2>/dev/null; echo dead >seen'
        holder = self.start("lock", "stubborn", "-t", LEASE, "--on-lost", see, *STUBBORN)
        pid = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [pid])
        with open(os.path.join(self.work, "pid"), "w", encoding="ascii") as file:
            file.write(f"{pid}\n")
        return holder, pid

    def expect_no_delay(self, holder, pid):
        """It has seen, while it ran, that COMMAND was killed."""
        self.assertEqual(self.end(holder), 79)
        self.assert_dead([pid])
        self.assertTrue(os.path.exists(os.path.join(self.work, "seen")), holder.stderr.read())

    def test_a_loss_runs_it_once(self):
        self.run_to_end("queue", "push", "jobs", "x", "--may-lose")
        holders = [self.hold(["lock"], "locked", "-t", LEASE),
                   self.hold(["leader", "run"], "led", "-t", LEASE, "--once"),
                   self.hold(["once"], "key", "--run", LEASE),
                   self.hold(["queue", "work"], "jobs", "--visible", LEASE, "--may-lose", "--max-jobs", "1")]
        stubborn = self.hold_stubbornly()
        for words in (["lock", "stubborn", "--break"], ["lock", "locked", "--break"], ["lock", "led", "--break"],
                      ["once", "key", "--forget"], ["queue", "drop", "jobs"]):
            done = self.run_to_end(*words)
            self.assertEqual(done.returncode, 0, done)
        self.expect_one_run(holders)
        self.expect_no_delay(*stubborn)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file does not go away")
    def test_a_lease_that_cannot_be_renewed_runs_it(self):
        uri = f"memcached://{self.fixture.socket}?timeout=1000"
        self.environment["MCDS_STORE"] = uri
        holders = [self.hold(["lock"], "locked", "-t", LEASE),
                   self.hold(["semaphore", "run"], "permits", "-t", LEASE, "--permits", "2")]
        self.fixture.stop_server()
        self.expect_one_run(holders)

    def test_a_loss_that_the_release_finds_runs_it(self):
        held = self.run_to_end("lock", "job", "--on-lost", NOTE, "--", "mcds", "lock", "job", "--break")
        self.assertEqual(held.returncode, 79)
        self.assertTrue(self.ran("job").startswith("lost job "), held)
        self.assertEqual(held.stdout, "broken\n")

    def test_a_lease_that_is_kept_does_not_run_it(self):
        for code in (0, 3):
            held = self.run_to_end("lock", "job", "--on-lost", NOTE, "--", "sh", "-c", f"exit {code}")
            self.assertEqual((held.returncode, held.stderr), (code, ""))
        self.assertEqual(self.run_to_end("lock", "job", "--on-lost", NOTE, "--", "/none").returncode, 127)
        self.assertEqual(self.ran("job"), "")

    def test_only_a_command_has_a_lease_to_lose(self):
        for words in (["lock", "job", "--info"], ["once", "key", "--info"]):
            refused = self.run_to_end(*words, "--on-lost", "true")
            self.assertEqual(refused.returncode, 64, refused)
            self.assertIn("--on-lost", refused.stderr)


if __name__ == "__main__":
    run_process_tests("on_lost", STORE)
