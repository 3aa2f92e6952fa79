"""`mcds lock NAME -- COMMAND` as the processes around it see it. Waits are for events: a line, the
end of a process, a lock that is free."""

import os
import signal
import subprocess
import sys
import time
import unittest

from fixture import ProcessTest, is_dead, run_process_tests, state_of, takes

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
# For what waits until a lease ends. A machine under load may keep a process from running for seconds,
# and mcds rightly ends a command whose lease it could not renew.
LEASE = "5s"
LONG = "10s"
# Prints its own pid and its child's, and on TERM leaves a mark but continues.
STUBBORN = """
trap 'echo TERM >>mark' TERM
sh -c 'trap "" TERM; echo $$; exec sleep 1000' &
echo $$
while :; do wait; done
"""

# Stops mcds, which is the parent of its parent, first of all; prints its own pid.
STOPPER = """
read -r _ _ _ mcds _ <"/proc/$PPID/stat"
kill -STOP "$mcds"
echo $$
exec sleep 1000
"""

# Leaves its group, and in it a dead child for which it does not wait; prints its pid.
NEGLIGENT = """
import os, signal, sys
if os.fork() == 0:
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
    os.setsid()
    os.close(2)
    print(os.getpid(), flush=True)
    os.close(1)
    signal.pause()
sys.stdin.readline()
sys.exit(3)
"""
# Leaves its group, in another session, and prints the pid; the command ends with its input.
DAEMON = """
setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &
cat
exit 3
"""
# Leaves a process in its group whose first thread has ended; prints the pid.
HEADLESS = """
import ctypes, os, sys, threading, time
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    print(os.getpid(), flush=True)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    ctypes.CDLL(None).pthread_exit(None)
sys.stdin.readline()
sys.exit(3)
"""


class LockTest(ProcessTest):
    store, mcds = STORE, MCDS

    def hold(self, *options):
        """A command that holds the lock until its input ends."""
        process = self.start("lock", "job", *options, "--", "sh", "-c", "echo ready; cat")
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def hold_stubbornly(self, *arguments):
        """mcds, and the pids of its command and its command's child."""
        process = self.start(*arguments, "--", "sh", "-c", STUBBORN)
        pids = [int(process.stdout.readline()) for _ in range(2)]
        self.addCleanup(self.kill_all, pids)
        return process, pids

    def assert_free(self):
        self.assertEqual(self.run_to_end("lock", "job", "--info").returncode, 1)

    def mark(self):
        try:
            with open(os.path.join(self.work, "mark"), encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_waits_for_the_holder(self):
        holder = self.hold()
        contender = self.start("lock", "job", "-w", "30s", "--", "echo", "mine")
        self.assertEqual(self.run_to_end("lock", "job", "-n", "--", "true").returncode, 75)
        self.assertIsNone(contender.poll())
        holder.stdin.close()
        self.assertEqual(self.end(holder), 0)
        self.assertEqual(contender.stdout.readline(), "mine\n")
        self.assertEqual(self.end(contender), 0)
        self.assert_free()

    def is_refused(self, wait_ms):
        """Whether a contender is refused because the lock is held; that is never before its time is over.
        If not, the store could not answer within that time."""
        begun = time.clock_gettime(time.CLOCK_BOOTTIME)  # the clock of the wait
        contender = self.run_to_end("lock", "job", "-w", f"{wait_ms}ms", "--", "true")
        if contender.returncode in (69, 80):
            return False
        self.assertEqual(contender.returncode, 75)
        self.assertGreaterEqual(time.clock_gettime(time.CLOCK_BOOTTIME) - begun, wait_ms / 1000)
        return True

    def test_waits_until_its_time_is_over(self):
        holder = self.hold("-t", "5m")
        for wait_ms in (50, 300, 1000):
            self.assertTrue(any(self.is_refused(wait_ms * factor) for factor in (1, 4, 16, 64)))
        holder.stdin.close()
        self.assertEqual(self.end(holder), 0)

    def test_fences_grow(self):
        fences = [int(self.run_to_end("lock", "job", "--", "sh", "-c",
                                      "echo $MCDS_LOCK_FENCE").stdout) for _ in range(5)]
        self.assertEqual(fences, sorted(set(fences)))

    def contend_with_renewals(self, lease_s):
        """Whether a contender that waits two and a half leases does not get the lock. If it does, the
        machine has kept the holder from running for a whole lease, and the holder says so. A busy machine
        may also keep the store from answering the contender in time."""
        holder = self.hold("-t", f"{lease_s}s")
        contender = self.run_to_end("lock", "job", "-w", f"{lease_s * 5 // 2}s", "-t",
                                    f"{lease_s}s", "--", "true")
        if contender.returncode == 0:
            self.assertEqual(self.end(holder), 79)
            return False
        self.assertIn(contender.returncode, (69, 75, 80))
        self.assertIsNone(holder.poll())
        holder.stdin.close()
        self.assertEqual(self.end(holder), 0)
        return contender.returncode == 75

    def test_renews(self):
        """A contender that waits several leases long does not get it."""
        shortest_s = {"lmdb": 2, "memcached": 3}[STORE]
        self.assertTrue(any(self.contend_with_renewals(shortest_s * factor)
                            for factor in (1, 4, 16)))

    def test_lost_lease_stops_the_group(self):
        holder, pids = self.hold_stubbornly("lock", "job", "-t", LONG)
        self.assertEqual(self.run_to_end("lock", "job", "--break").returncode, 0)
        self.assertEqual(self.end(holder), 79)
        self.assert_dead(pids)
        self.assertEqual(self.mark(), "TERM\n")
        self.assertIn("the lease was lost; stopping the command", holder.stderr.read())

    def test_loser_does_not_take_anothers_lock(self):
        holder, _ = self.hold_stubbornly("lock", "job", "-t", LONG)
        self.assertEqual(self.run_to_end("lock", "job", "--break").returncode, 0)
        second = self.hold("--label", "second")
        self.assertEqual(self.end(holder), 79)
        info = self.run_to_end("lock", "job", "--info")
        self.assertTrue(info.stdout.startswith("second\t"), info.stdout)
        second.stdin.close()
        self.assertEqual(self.end(second), 0)

    def test_stopped_beyond_the_deadline(self):
        """The group is dead before another gets the lock, though mcds is not there to kill it."""
        holder, pids = self.hold_stubbornly("lock", "job", "-t", LEASE)
        holder.send_signal(signal.SIGSTOP)
        self.assertEqual(
            self.run_to_end("lock", "job", "-w", "60s", "--", "true").returncode, 0)
        self.assert_dead(pids)
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(self.end(holder), 79)
        self.assert_dead(pids)
        self.assertEqual(self.mark(), "")

    def test_stopped_as_soon_as_the_command_runs(self):
        """Before mcds has done anything after the start. Often enough to meet that moment."""
        holders = [self.start("lock", f"job-{i}", "-t", LEASE, "--", "sh", "-c", STOPPER)
                   for i in range(8)]
        lines = [holder.stdout.readline() for holder in holders]
        pids = [int(line) for line in lines if line != ""]  # those that lived long enough to tell
        self.addCleanup(self.kill_all, pids)
        self.assertNotEqual(pids, [])
        for pid in pids:
            self.wait_dead(pid)
        for holder in holders:
            holder.send_signal(signal.SIGCONT)
            self.assertEqual(self.end(holder), 79)

    def test_signals_are_passed_on(self):
        for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"),
                             (signal.SIGHUP, "HUP")):
            with self.subTest(name):
                holder = self.start("lock", "job", "--", "sh", "-c",
                                    f"trap 'echo got; exit 5' {name}; echo ready; "
                                    "while :; do sleep 0.05; done")
                self.assertEqual(holder.stdout.readline(), "ready\n")
                holder.send_signal(number)
                self.assertEqual(holder.stdout.readline(), "got\n")
                self.assertEqual(self.end(holder), 5)
                self.assert_free()

    def test_signal_ends_the_wait(self):
        holder = self.hold()
        contender = self.start("lock", "job", "-t", LEASE, "--", "true")
        # It takes TERM before it asks for the lock; until then TERM ends it as it does anyone.
        self.wait_until(lambda: takes(contender.pid, signal.SIGTERM))
        contender.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(contender), 128 + signal.SIGTERM)
        self.assertIsNone(holder.poll())
        holder.stdin.close()
        self.assertEqual(self.end(holder), 0)
        self.assert_free()

    def test_rest_of_the_group_is_stopped(self):
        """What the command leaves behind is gone before the lock is given back."""
        holder = self.start("lock", "job", "--", "sh", "-c",
                            "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")
        rest = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [rest])
        self.assertEqual(self.end(holder), 3)
        self.assertTrue(is_dead(rest))
        self.assert_free()

    def test_a_zombie_is_no_rest(self):
        """The dead in the group hold nothing up, though no signal ends them."""
        holder = self.start("lock", "job", "--", sys.executable, "-c", NEGLIGENT)
        negligent = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [negligent])
        holder.stdin.write("\n")
        holder.stdin.close()
        self.assertEqual(self.end(holder), 3)
        self.assertEqual(holder.stderr.read(), "")
        self.assert_free()

    def test_a_process_without_its_first_thread_is_rest(self):
        holder = self.start("lock", "job", "--", sys.executable, "-c", HEADLESS)
        rest = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [rest])
        self.wait_until(lambda: state_of(rest)[0] == "Z")
        holder.stdin.write("\n")
        holder.stdin.close()
        self.assertEqual(self.end(holder), 3)
        self.assertTrue(is_dead(rest))
        self.assert_free()

    def test_rest_may_end_by_itself(self):
        holder = self.start("lock", "job", "--", "sh", "-c",
                            "echo first; (cat >/dev/null; echo last) & exec 0<&-")
        self.assertEqual(holder.stdout.readline(), "first\n")
        self.assertEqual(self.end(holder), 0)
        self.assertEqual(holder.stdout.read(), "last\n")

    def test_kill_takes_the_command_along(self):
        holder = self.start("lock", "job", "--", "sh", "-c", "echo $$; read line")
        command = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [command])
        holder.kill()
        self.assertEqual(self.end(holder), -signal.SIGKILL)
        self.wait_dead(command)

    @staticmethod
    def guard_of(holder):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                    head, _, rest = stat.read().rpartition(")")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if head.endswith("(mcds-lock-guard") and int(rest.split()[1]) == holder.pid:
                return int(name)
        raise AssertionError("there is no guard")

    def hold_with_daemon(self, *options):
        """mcds, and the pid of a process that has left the group of the command."""
        holder = self.start("lock", "job", "-t", LONG, *options, "--", "sh", "-c", DAEMON)
        daemon = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [daemon])
        return holder, daemon

    def test_a_killed_guard_takes_all_along(self):
        """Nothing of the command runs when mcds ends, which says why."""
        holder, daemon = self.hold_with_daemon()
        os.kill(self.guard_of(holder), signal.SIGKILL)
        self.assertEqual(self.end(holder), 70)
        self.assertTrue(is_dead(daemon))
        self.assertIn("mcds-lock-guard was killed", holder.stderr.read())
        self.assert_free()

    def test_a_guard_that_is_killed_after_the_command(self):
        """What has left the group is left alone."""
        holder = self.start("lock", "job", "-t", LONG, "--", "sh", "-c",
                            "(trap '' TERM; exec sleep 1000 >/dev/null 2>&1) & echo $! $$; " + DAEMON)
        rest, command = map(int, holder.stdout.readline().split())
        daemon = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [rest, command, daemon])
        guard = self.guard_of(holder)
        holder.stdin.close()
        self.wait_dead(command)
        if not is_dead(guard):  # the rest of the group has 6 s
            os.kill(guard, signal.SIGKILL)
        self.assertEqual(self.end(holder), 3)
        self.assertTrue(is_dead(rest))
        self.assertFalse(is_dead(daemon))

    def test_a_guard_that_is_killed_before_it_saw_the_end(self):
        """Also when it is stopped before it could tell mcds that the command runs: then mcds does not
        renew."""
        holder = self.start("lock", "job", "-t", "5m", "--", "sh", "-c", DAEMON)
        daemon = int(holder.stdout.readline())
        self.addCleanup(self.kill_all, [daemon])
        guard = self.guard_of(holder)
        with open(f"/proc/{guard}/task/{guard}/children", encoding="ascii") as children:
            command = int(children.read().split()[0])
        holder.send_signal(signal.SIGSTOP)  # it would continue the guard
        os.kill(guard, signal.SIGSTOP)
        holder.stdin.close()
        self.wait_dead(command)
        os.kill(guard, signal.SIGKILL)
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(self.end(holder), 3)
        self.assertFalse(is_dead(daemon))

    def test_a_stopped_guard_is_continued(self):
        """mcds learns of the end of the command from the guard, and would hold the lock for ever."""
        holder = self.start("lock", "job", "-t", "5m", "--", "sh", "-c", "echo; read line; exit 4")
        holder.stdout.readline()
        guard = self.guard_of(holder)
        while not all(state_of(pid)[0] == "S" for pid in (holder.pid, guard)):  # both wait
            time.sleep(0.01)
        os.kill(guard, signal.SIGSTOP)
        holder.stdin.close()
        self.assertEqual(self.end(holder), 4)
        self.assert_free()

    def test_a_killed_guard_and_other_children(self):
        """What was a child before mcds began, as of the shell that became mcds, is left alone."""
        holder = subprocess.Popen(["sh", "-c", 'sleep 1000 >/dev/null 2>&1 & echo $!; exec "$0" lock job -- sh -c "$1"',
                                   MCDS, DAEMON], env=self.environment, cwd=self.work, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, holder)
        other, daemon = (int(holder.stdout.readline()) for _ in range(2))
        self.addCleanup(self.kill_all, [other, daemon])
        os.kill(self.guard_of(holder), signal.SIGKILL)
        self.assertEqual(self.end(holder), 70)
        self.assertTrue(is_dead(daemon))
        self.assertFalse(is_dead(other))

    def test_a_stopped_guard_does_its_work(self):
        holder, daemon = self.hold_with_daemon()
        os.kill(self.guard_of(holder), signal.SIGSTOP)
        self.assertEqual(self.run_to_end("lock", "job", "--break").returncode, 0)
        self.assertEqual(self.end(holder), 79)
        self.assertTrue(is_dead(daemon))

    def test_inherits_signals_as_they_were(self):
        """A pipeline below the lock ends quietly, and no signal is blocked there."""
        seen = self.run_to_end("lock", "job", "--", "sh", "-c",
                               "grep -E '^Sig(Blk|Ign)' /proc/self/status")
        plain = subprocess.run(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], text=True,
                               env=self.environment, capture_output=True, check=True)
        self.assertEqual(seen.stdout, plain.stdout)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file does not go away")
    def test_server_that_goes_away(self):
        uri = f"memcached://{self.fixture.socket}?timeout=1000"  # the end waits as long for the server
        holder, pids = self.hold_stubbornly("-s", uri, "lock", "job", "-t", LONG)
        self.fixture.stop_server()
        self.assertEqual(self.end(holder), 79)
        self.assert_dead(pids)
        self.assertEqual(self.mark(), "TERM\n")
        # Without the brackets: on a slow machine, where the first try to renew is still under way.
        self.assertRegex(holder.stderr.read(),
                         r"cannot be renewed; stopping the command( \(/.+\))?\n$")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is not restarted")
    def test_server_that_forgets(self):
        """Who has lost the lease because its server was restarted is told that."""
        holder, pids = self.hold_stubbornly("lock", "job", "-t", LONG)
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.fixture.start_server()
        self.assertEqual(self.end(holder), 79)
        self.assert_dead(pids)
        self.assertIn("the store has lost the lease and its fence", holder.stderr.read())

    @unittest.skipUnless(STORE == "memcached", "an lmdb file compares and sets")
    def test_a_server_without_compare_and_set(self):
        """Nothing is run under a lock that cannot be renewed."""
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.fixture.start_server("-C")
        refused = self.run_to_end("lock", "job", "--", "echo", "mine")
        self.assertEqual((refused.returncode, refused.stdout), (76, ""))
        self.assertIn("no compare-and-set", refused.stderr)
        self.assert_free()
        self.run_to_end("counter", "add", "c")
        self.run_to_end("array", "set", "a", "x")
        for command in (["counter", "take", "c"], ["array", "change", "a", "--add", "y"]):
            refused = self.run_to_end(*command)
            self.assertEqual((refused.returncode, refused.stdout), (76, ""))
            self.assertIn("no compare-and-set (memcached: start it without -C)", refused.stderr)
        self.assertEqual(self.run_to_end("counter", "get", "c").stdout, "1\n")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file cannot be stopped")
    def test_a_wait_outlasts_a_silent_server(self):
        uri = f"memcached://{self.fixture.socket}?timeout=300"
        self.assertEqual(self.run_to_end("lock", "job", "--", "true").returncode, 0)
        self.fixture.server.send_signal(signal.SIGSTOP)
        plain = self.start("-s", uri, "lock", "job", "--", "echo", "mine")
        self.assertIn(self.end(plain), (69, 80))
        for command in (["lock", "job"], ["once", "job"], ["semaphore", "run", "job", "--permits", "2"]):
            brief = self.run_to_end("-s", uri, *command, "-w", "1s", "--", "echo", "mine")
            self.assertIn(brief.returncode, (69, 75, 80), brief)
            self.assertRegex(brief.stderr, rf"^mcds: [^\n]*{self.fixture.socket}: [^\n]*\n$")
        contender = self.start("-s", uri, "lock", "job", "-w", "60s", "--", "echo", "mine")
        self.assertIn("; waiting", contender.stderr.readline())
        self.fixture.server.send_signal(signal.SIGCONT)
        self.assertEqual(contender.stderr.readline(), "mcds: the store answers again\n")
        self.assertEqual(contender.stdout.readline(), "mine\n")
        self.assertEqual(self.end(contender), 0)

    def path(self, name):
        return os.path.join(self.work, name)

    def acquire_by_token(self, *options):
        done = self.run_to_end("lock", "acquire", "job", "-t", "10m", "--token", "token", *options)
        self.assertEqual(done.returncode, 0, done)
        return int(done.stdout)

    def test_a_script_holds_the_lock(self):
        """From one process to the next; others are excluded as by a COMMAND."""
        fence = self.acquire_by_token("--label", "script")
        self.assertEqual(os.stat(self.path("token")).st_mode & 0o777, 0o600)
        busy = self.run_to_end("lock", "job", "-n", "--", "true")
        self.assertEqual(busy.returncode, 75)
        self.assertIn("held by script", busy.stderr)
        self.assertEqual(self.run_to_end("lock", "acquire", "job", "-n", "--token", "other").returncode, 75)
        self.assertFalse(os.path.exists(self.path("other")))
        renewed = self.run_to_end("lock", "renew", "job", "--token", "token")
        self.assertEqual((renewed.returncode, int(renewed.stdout)), (0, fence))
        self.assertIn("script", self.run_to_end("lock", "job", "--info").stdout)
        self.assertEqual(self.run_to_end("lock", "release", "job", "--token", "token").returncode, 0)
        self.assertFalse(os.path.exists(self.path("token")))
        self.assert_free()
        again = self.run_to_end("lock", "release", "job", "--token", "token")
        self.assertEqual(again.returncode, 1, again)

    def test_a_busy_sentence_names_those_that_share(self):
        def said(*options):
            return self.run_to_end("lock", *options, "--", "true").stderr

        def share(lines):
            done = subprocess.run([self.mcds, "shell"], env=self.environment, cwd=self.work, input="".join(lines), text=True,
                                  stdout=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 0)

        share(f"lock acquire pair --shared -t {lease} --label {label}\n" for label, lease in (("short", "20m"), ("long", "2h")))
        alone = r"^mcds: lock 'pair': shared by long and 1 more for [67]\d\d\d\.\d s more$"
        self.assertRegex(said("pair", "-n"), alone)
        for wait_ms in (200, 800, 3200, 12800):
            self.assertNotIn("another waits", said("pair", "-w", f"{wait_ms}ms"))  # it is the only one that waits
            shared = said("pair", "--shared", "-n", "-t", "20m")
            if shared != "":
                break
        self.assertRegex(shared, alone.replace("more$", "more; another waits, or has just waited, to have it alone$"))
        share(f"lock acquire full --shared -t 2h --label r{i}\n" for i in range(64))
        self.assertEqual(said("full", "--shared", "-n"), "mcds: lock 'full': 64 callers share it, which is the most; "
                         "wait longer with -w, or use several locks\n")

    def test_the_token_of_an_ended_lease_touches_no_other(self):
        self.acquire_by_token()
        self.assertEqual(self.run_to_end("lock", "job", "--break").returncode, 0)
        holder = self.hold()
        for verb in ("renew", "release"):
            self.assertEqual(self.run_to_end("lock", verb, "job", "--token", "token").returncode, 79)
        self.assertFalse(os.path.exists(self.path("token")))
        self.assertEqual(self.run_to_end("lock", "job", "-n", "--", "true").returncode, 75)
        holder.stdin.close()
        self.assertEqual(self.end(holder), 0)

    def test_a_token_is_written_to_no_file_of_others(self):
        """Nor through a link, and the lock is not acquired then. An empty file, as mktemp makes it, is replaced."""
        with open(self.path("full"), "w", encoding="ascii") as file:
            file.write("mine\n")
        os.symlink("nowhere", self.path("link"))
        os.mkfifo(self.path("pipe"))
        for name in ("full", "link", "pipe", "."):
            self.assertEqual(self.run_to_end("lock", "acquire", "job", "--token", name).returncode, 64, name)
        self.assertEqual(self.run_to_end("lock", "acquire", "job", "--token", "none/token").returncode, 74)
        self.assert_free()
        for name in ("link", "pipe", "."):
            self.assertEqual(self.run_to_end("lock", "release", "job", "--token", name).returncode, 64, name)
        with open(self.path("token"), "w", encoding="ascii"):
            pass
        self.acquire_by_token()
        with open(self.path("full"), encoding="ascii") as file:
            self.assertEqual(file.read(), "mine\n")
        self.assertEqual(sorted(name for name in os.listdir(self.path(".")) if name.startswith("token")), ["token"])

    def test_a_lock_whose_token_cannot_be_written_is_released(self):
        full = subprocess.run(["sh", "-c", 'exec mcds lock acquire job --token-fd 7 7>/dev/full'], env=self.environment,
                              cwd=self.work, capture_output=True, text=True, check=False)
        self.assertEqual(full.returncode, 74, full)
        self.assertIn("No space left", full.stderr)
        self.assert_free()

    @unittest.skipUnless(STORE == "memcached", "an lmdb file cannot be stopped")
    def test_a_wait_ends_in_time_while_the_server_is_silent(self):
        """However long an operation may take."""
        self.assertEqual(self.run_to_end("lock", "job", "--", "true").returncode, 0)
        self.fixture.server.send_signal(signal.SIGSTOP)
        uri = f"memcached://{self.fixture.socket}?timeout=3600000"
        for wait in ("300ms", "2s"):
            silent = self.run_to_end("-s", uri, "lock", "job", "-w", wait, "--", "true")
            self.assertIn(silent.returncode, (69, 80))
        self.fixture.stop_server()
        gone = self.run_to_end("-s", uri, "lock", "job", "-w", "1s", "--", "true")
        self.assertEqual(gone.returncode, 69)
        self.assertIn("connection refused", gone.stderr)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file cannot be stopped")
    def test_server_that_hangs(self):
        """A renewal without an answer does not keep the runner from watching its clock."""
        holder, pids = self.hold_stubbornly("--timeout", "1m", "lock", "job", "-t", LEASE)
        self.fixture.server.send_signal(signal.SIGSTOP)
        for pid in pids:
            self.wait_dead(pid)
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.fixture.start_server()
        self.assertEqual(self.end(holder), 79)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file cannot be stopped")
    def test_a_renewal_without_an_answer_is_told(self):
        """Once, and once that the store answers again; COMMAND is not stopped."""
        uri = f"memcached://{self.fixture.socket}?timeout=300"
        holder = self.start("-s", uri, "lock", "job", "-t", "15s", "--", "sh", "-c", "echo runs; read -r line; echo $line")
        self.assertEqual(holder.stdout.readline(), "runs\n")
        self.fixture.server.send_signal(signal.SIGSTOP)
        self.assertRegex(holder.stderr.readline(), r"^mcds: lock 'job': the lease is not renewed: .*; waiting$")
        self.fixture.server.send_signal(signal.SIGCONT)
        self.assertEqual(holder.stderr.readline(), "mcds: the store answers again\n")
        holder.stdin.write("done\n")
        holder.stdin.close()
        self.assertEqual(holder.stdout.readline(), "done\n")
        self.assertEqual(self.end(holder), 0)


if __name__ == "__main__":
    run_process_tests("lock", STORE)
