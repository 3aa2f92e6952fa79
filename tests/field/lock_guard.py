"""`mcds lock` when mcds, or the process that guards its command, is killed or stopped, when the command
leaves its process group, and when it becomes another user's."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from guard import stand_guard
from fixture import SKIPPED, Fixture, is_possible

STORE = sys.argv[1]
MCDS, TURNCOAT, STOP_AT_FORK, GUARD_POINTS = map(os.path.abspath, sys.argv[2:6])
LIMIT_S = 300
LEASE = "5s"
# Longer than mcds takes from TERM to giving up on what KILL does not end.
PATIENCE = "14s"
USER, OTHER_USER = 65533, 65534
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")

# A command with a child in its group and a daemon out of it: three process ids.
FAMILY = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pids = [os.getpid()]
read, write = os.pipe()
child = os.fork()
if child == 0:
    signal.pause()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b"%d" % os.getpid())
        signal.pause()
    os._exit(0)
print(os.getpid(), child, os.read(read, 20).decode(), flush=True)
while True:
    signal.pause()
"""


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def is_dead(pid):
    return state_of(pid) in "ZX"


def children(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class LockGuardTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.pids = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for pid in self.pids:
            if not is_dead(pid):
                os.kill(pid, signal.SIGKILL)

    def start(self, *arguments, **options):
        options = {"env": self.environment, "stdin": subprocess.DEVNULL, **options}
        process = subprocess.Popen([MCDS, *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.finish, process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def read_pids(self, process):
        pids = [int(word) for word in process.stdout.readline().split()]
        self.pids += pids
        return pids

    def contend(self, wait, **options):
        """The exit code of another who wants the lock, and how many of ours lived when it came."""
        script = "for pid in $PIDS; do kill -0 $pid 2>/dev/null && echo $pid; done; exit 0"
        environment = dict(self.environment, PIDS=" ".join(map(str, self.pids)))
        other = subprocess.run([MCDS, "--timeout", "60s", "lock", "job", "-w", wait, "--", "sh",
                                "-c", script],
                               env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, check=False, timeout=LIMIT_S, **options)
        return other.returncode, [pid for pid in other.stdout.split() if not is_dead(pid)]

    def wait_for(self, is_so, otherwise):
        limit = time.monotonic() + LIMIT_S
        while not is_so():
            self.assertLess(time.monotonic(), limit, otherwise)
            time.sleep(0.01)

    def wait_dead(self, pids):
        self.wait_for(lambda: all(map(is_dead, pids)), f"of {pids} some live on")

    def test_nothing_outlives_a_killed_mcds(self):
        holder = self.start("lock", "job", "-t", LEASE, "--", sys.executable, "-c", FAMILY)
        pids = self.read_pids(holder)
        self.assertEqual(len(pids), 3)
        holder.kill()
        self.wait_dead(pids)
        self.assertEqual(self.contend("60s"), (0, []))

    def test_nothing_outlives_the_lease_of_a_stopped_mcds(self):
        holder = self.start("lock", "job", "-t", LEASE, "--", sys.executable, "-c", FAMILY)
        pids = self.read_pids(holder)
        holder.send_signal(signal.SIGSTOP)
        self.assertEqual(self.contend("60s"), (0, []))
        self.wait_dead(pids)
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(LIMIT_S), 79)

    def preload(self, library, **variables):
        environment = dict(self.environment, LD_PRELOAD=library, **variables)
        seen = subprocess.run([MCDS, "--version"], env=environment, capture_output=True,
                              check=False)
        if seen.returncode != 0:
            self.skipTest("the sanitizer allows no other library before its own")
        return environment

    def wait_stopped(self, process):
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))

    def test_a_lease_that_ended_before_the_command_starts_nothing(self):
        """mcds has the lock, stops before it makes a process, and goes on when another has it."""
        environment = self.preload(STOP_AT_FORK)
        mark = os.path.join(self.fixture.folder, "mark")
        holder = self.start("lock", "job", "-t", LEASE, "--", "touch", mark, env=environment)
        self.wait_stopped(holder)
        self.assertEqual(self.contend("60s"), (0, []))
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(LIMIT_S), 79)
        self.assertIn("the lease ended before the command could start", holder.stderr.read())
        self.assertFalse(os.path.exists(mark))

    def test_a_lost_lease_ends_daemons_too(self):
        holder = self.start("lock", "job", "-t", "10s", "--", sys.executable, "-c", FAMILY)
        pids = self.read_pids(holder)
        subprocess.run([MCDS, "lock", "job", "--break"], env=self.environment, check=True)
        self.assertEqual(holder.wait(LIMIT_S), 79)
        self.assertTrue(all(map(is_dead, pids)))
        self.assertIn("the lease was lost", holder.stderr.read())

    def hide_proc(self):
        """What runs a command where /proc shows no process."""
        prefix = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
        prefix += ["sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        seen = subprocess.run([*prefix, "ls", "/proc"], capture_output=True, text=True, check=False)
        if seen.returncode != 0 or seen.stdout != "":
            self.skipTest("no mount namespace can be made")
        return prefix

    def start_without_proc(self, *arguments):
        process = subprocess.Popen([*self.hide_proc(), MCDS, *arguments], env=self.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, process)
        return process

    def test_nothing_outlives_a_killed_mcds_without_proc(self):
        holder = self.start_without_proc("lock", "job", "-t", LEASE, "--", sys.executable, "-c",
                                         FAMILY)
        pids = self.read_pids(holder)
        self.assertEqual(len(pids), 3)
        holder.kill()
        self.wait_dead(pids)

    def test_a_lost_lease_ends_daemons_too_without_proc(self):
        holder = self.start_without_proc("lock", "job", "-t", "10s", "--", sys.executable, "-c",
                                         FAMILY)
        pids = self.read_pids(holder)
        subprocess.run([*self.hide_proc(), MCDS, "lock", "job", "--break"], env=self.environment,
                       check=True)
        self.assertEqual(holder.wait(LIMIT_S), 79)
        self.assertTrue(all(map(is_dead, pids)))

    def expect_files_closed(self, *before, env):
        """The guard keeps only its own files, and none of those that mcds has or has inherited."""
        inherited, kept = os.pipe()
        self.addCleanup(os.close, inherited)
        holder = subprocess.Popen(
            [*before, MCDS, "lock", "job", "--", "sh", "-c",
             f"exec {kept}>&-; echo ready; read line"], env=env, pass_fds=[kept],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, holder)
        os.close(kept)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        guard = children(holder.pid)[0]
        files, limit = [], time.monotonic() + LIMIT_S
        while len(files) != 3 + 4:  # the streams, two pipes, signals, the time
            self.assertLess(time.monotonic(), limit, files)
            files = sorted(int(name) for name in os.listdir(f"/proc/{guard}/fd"))

    def test_the_guard_keeps_no_file_open(self):
        self.expect_files_closed(env=self.environment)

    def test_the_guard_keeps_no_file_open_on_an_old_kernel(self):
        """One that has no close_range."""
        self.expect_files_closed(env=self.preload(GUARD_POINTS, GUARD_POINT="no-close-range"))

    def test_the_guard_keeps_no_file_open_without_proc(self):
        self.expect_files_closed(*self.hide_proc(), env=self.environment)

    def test_no_thread_for_the_renewals(self):
        """The command ends before the lease does."""
        holder = self.start_at("threadless", "-t", LEASE, "--", "sh", "-c", "echo $$; exec sleep 1000")
        pids = self.read_pids(holder)
        self.assertEqual(self.contend("60s"), (0, []))
        self.assertEqual(holder.wait(LIMIT_S), 79)
        self.assertTrue(all(map(is_dead, pids)))
        self.assertIn("be renewed", holder.stderr.read())

    def test_a_killed_guard_takes_the_command_along(self):
        holder = self.start("lock", "job", "--", "sh", "-c", "echo $$; sleep 1000 & wait")
        pids = self.read_pids(holder)
        guards = children(holder.pid)
        self.assertEqual(len(guards), 1)
        os.kill(guards[0], signal.SIGKILL)
        self.wait_dead(pids)
        self.assertEqual(holder.wait(LIMIT_S), 70)
        self.assertEqual(self.contend("0s")[0], 0)

    def test_the_command_dies_with_mcds_and_its_guard(self):
        """Also when both are killed before either can do anything."""
        holder = self.start("lock", "job", "--", "sh", "-c", "echo $$; exec sleep 1000")
        pids = self.read_pids(holder)
        guard, = children(holder.pid)
        for pid in (holder.pid, guard):  # mcds would continue its guard
            os.kill(pid, signal.SIGSTOP)
            self.wait_for(lambda pid=pid: state_of(pid) == "T", "it does not stop")
        holder.kill()
        holder.wait(LIMIT_S)
        os.kill(guard, signal.SIGKILL)
        self.wait_dead(pids)

    def start_at(self, point, *arguments, **options):
        return self.start("lock", "job", *arguments, env=self.preload(GUARD_POINTS, GUARD_POINT=point),
                          **options)

    def test_a_guard_that_is_killed_before_mcds_knows_that_the_command_runs(self):
        holder = self.start_at("running", "--", "sh", "-c", "echo $$; sleep 1000 & wait")
        self.assertEqual(holder.wait(LIMIT_S), 70)
        self.read_pids(holder)
        self.assertIn("mcds-lock-guard was killed, so the command and its descendants are too",
                      holder.stderr.read())
        self.assertTrue(all(map(is_dead, self.pids)))
        self.assertEqual(self.contend("0s")[0], 0)

    def test_a_guard_that_is_killed_before_mcds_knows_that_the_command_has_ended(self):
        for code in (0, 1, 3, 126):
            holder = self.start_at("ended", "--", "sh", "-c", f"exit {code}")
            self.assertEqual(holder.wait(LIMIT_S), code)
            self.assertEqual(holder.stderr.read(), "")

    def test_a_guard_that_is_killed_before_it_knows_why_the_command_did_not_run(self):
        folder = self.fixture.folder
        for program, code in ((os.path.join(folder, "none"), 127), (folder, 126)):
            holder = self.start_at("failed", "--", program)
            self.assertEqual(holder.wait(LIMIT_S), code)
            self.assertIn("cannot be run", holder.stderr.read())

    def test_a_guard_that_is_killed_before_the_command_could_start(self):
        mark = os.path.join(self.fixture.folder, "mark")
        for point in ("unforked", "forked"):
            holder = self.start_at(point, "--", "touch", mark)
            self.assertEqual(holder.wait(LIMIT_S), 70)
            self.assertIn("mcds-lock-guard was killed before the command could start",
                          holder.stderr.read())
            self.assertFalse(os.path.exists(mark))
            self.assertEqual(self.contend("0s")[0], 0)

    def test_a_guard_that_is_stopped_before_mcds_knows_that_the_command_runs(self):
        holder = self.start_at("running-stopped", "-t", LEASE, "--", "sh", "-c",
                               "echo $$; exec sleep 1000")
        self.read_pids(holder)
        self.assertEqual(self.contend("60s"), (0, []))
        self.assertEqual(holder.wait(LIMIT_S), 79)

    def test_a_guard_that_is_stopped_before_the_command_could_start(self):
        mark = os.path.join(self.fixture.folder, "mark")
        holder = self.start_at("unforked-stopped", "-t", LEASE, "--", "touch", mark)
        self.assertEqual(holder.wait(LIMIT_S), 79)
        self.assertIn("the lease ended before the command could start", holder.stderr.read())
        self.assertFalse(os.path.exists(mark))

    def test_the_last_news_of_a_killed_guard_counts(self):
        """It reports the end of the command after mcds has read its reports, and is killed before
        mcds sees its end."""
        holder = self.start_at("reaping", "-t", "60s", "--", "sh", "-c", "echo $$; cat; exit 3",
                               stdin=subprocess.PIPE)
        command, = self.read_pids(holder)
        guard, = children(holder.pid)
        holder.send_signal(signal.SIGCONT)  # wakes mcds
        self.wait_stopped(holder)
        holder.stdin.close()
        self.wait_for(lambda: not os.path.exists(f"/proc/{command}"), "the guard does not reap")
        os.kill(guard, signal.SIGKILL)
        self.wait_dead([guard])
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(LIMIT_S), 3)
        self.assertEqual(holder.stderr.read(), "")

    def test_the_exit_code_comes_through(self):
        for code in (0, 1, 79, 255):
            holder = self.start("lock", "job", "--", "sh", "-c", f"exit {code}")
            self.assertEqual(holder.wait(LIMIT_S), code)
        holder = self.start("lock", "job", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(holder.wait(LIMIT_S), 128 + signal.SIGKILL)

    def as_user(self):
        """The fixture and programs for USER, and one that turns into OTHER_USER when USER runs it."""
        if os.geteuid() != 0:
            self.skipTest("only root can make a set-uid program")
        folder = tempfile.mkdtemp(prefix="mcds-field-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        mcds = shutil.copy(MCDS, folder)
        turncoat = shutil.copy(TURNCOAT, folder)
        os.chown(turncoat, OTHER_USER, OTHER_USER)
        os.chmod(turncoat, 0o755 | stat.S_ISUID)
        for root, _, _ in os.walk(self.fixture.folder):
            os.chown(root, USER, USER)
        if STORE == "memcached":
            os.chmod(self.fixture.socket, 0o777)
        seen = subprocess.run([turncoat, "--who"], capture_output=True, text=True, check=False,
                              user=USER, group=USER, extra_groups=[], cwd="/")
        if seen.stdout.strip() != str(OTHER_USER):
            self.skipTest("set-uid programs do not work in /var/tmp")
        return mcds, turncoat, {"user": USER, "group": USER, "extra_groups": [], "cwd": "/"}

    def test_who_cannot_be_signalled_is_named_and_keeps_the_lock(self):
        mcds, turncoat, options = self.as_user()
        holder = subprocess.Popen(
            [mcds, "lock", "job", "-t", LEASE, "--", "sh", "-c",
             f"{turncoat} & read line </dev/null; sleep 0.2; exit 3"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.finish, holder)
        pids = self.read_pids(holder)
        sentence = holder.stderr.readline()
        self.assertIn(f"process {pids[0]} (", sentence)
        self.assertIn("runs as another user and cannot be stopped", sentence)
        self.assertEqual(self.contend(PATIENCE, **options)[0], 75)
        self.assertFalse(is_dead(pids[0]))
        os.kill(pids[0], signal.SIGKILL)
        self.assertEqual(holder.wait(LIMIT_S), 3)
        self.assertEqual(self.contend("60s", **options)[0], 0)

    def test_who_cannot_be_signalled_is_told_of_without_proc(self):
        mcds, turncoat, _ = self.as_user()
        if shutil.which("setpriv") is None:
            self.skipTest("setpriv is not installed")
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        holder = subprocess.Popen(
            [*self.hide_proc(), *user, mcds, "lock", "job", "-t", LEASE, "--", "sh", "-c",
             f"{turncoat} & read line </dev/null; exit 3"], env=self.environment, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, holder)
        pids = self.read_pids(holder)
        # A sanitizer warns that it cannot read /proc either.
        said = next(line for line in holder.stderr if "==WARNING: " not in line)
        self.assertIn("a process of the command runs as another user and cannot be stopped", said)
        os.kill(pids[0], signal.SIGKILL)
        self.assertEqual(holder.wait(LIMIT_S), 3)

    def make_cgroup(self):
        for root in CGROUPS:
            path = f"{root}/mcds-field-{os.getpid()}"
            if not os.path.exists(f"{root}/cgroup.procs"):
                continue
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.addCleanup(self.remove_cgroup, path)
            for name in ("", "/cgroup.procs"):
                os.chown(path + name, USER, USER)
            if os.path.exists(f"{path}/cgroup.kill"):
                return path
        self.skipTest("there is no cgroup of version 2 to be made")
        return None

    @staticmethod
    def remove_cgroup(path):
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            try:
                for name in os.listdir(path):
                    if os.path.isdir(f"{path}/{name}"):
                        os.rmdir(f"{path}/{name}")
                os.rmdir(path)
                return
            except OSError:
                time.sleep(0.05)

    def test_a_delegated_cgroup_reaches_other_users(self):
        mcds, turncoat, options = self.as_user()
        cgroup = self.make_cgroup()
        script = f'echo $$ >{cgroup}/cgroup.procs; exec setpriv --reuid={USER} --regid={USER} ' \
                 f'--clear-groups {mcds} lock job -t {LEASE} -- {turncoat}'
        if shutil.which("setpriv") is None:
            self.skipTest("setpriv is not installed")
        holder = subprocess.Popen(["sh", "-c", script], env=self.environment, cwd="/",
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, holder)
        pids = self.read_pids(holder)
        holder.kill()
        self.wait_dead(pids)
        self.assertEqual(self.contend("60s", **options), (0, []))


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"lock_guard: skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    if not os.path.exists("/proc/self/status"):
        print("lock_guard: skipped: /proc is not mounted")
        sys.exit(SKIPPED)
    stand_guard()
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
