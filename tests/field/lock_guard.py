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
MCDS, TURNCOAT, STOP_AT_FORK = map(os.path.abspath, sys.argv[2:5])
LIMIT_S = 120
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


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


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
        process = subprocess.Popen([MCDS, *arguments], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.finish, process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

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

    def wait_dead(self, pids):
        limit = time.monotonic() + LIMIT_S
        while not all(is_dead(pid) for pid in pids):
            self.assertLess(time.monotonic(), limit, f"of {pids} some live on")
            time.sleep(0.01)

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

    def test_a_lease_that_ended_before_the_command_starts_nothing(self):
        """mcds has the lock, stops before it makes a process, and goes on when another has it."""
        seen = subprocess.run([MCDS, "--version"], env=dict(os.environ, LD_PRELOAD=STOP_AT_FORK),
                              capture_output=True, check=False)
        if seen.returncode != 0:
            self.skipTest("the sanitizer allows no other library before its own")
        mark = os.path.join(self.fixture.folder, "mark")
        self.environment["LD_PRELOAD"] = STOP_AT_FORK
        holder = self.start("lock", "job", "-t", LEASE, "--", "touch", mark)
        del self.environment["LD_PRELOAD"]
        _, status = os.waitpid(holder.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
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
        self.addCleanup(process.stdin.close)
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

    def test_the_guard_keeps_no_file_open_without_proc(self):
        inherited, kept = os.pipe()
        self.addCleanup(os.close, inherited)
        holder = subprocess.Popen(
            [*self.hide_proc(), MCDS, "lock", "job", "--", "sh", "-c",
             f"exec {kept}>&-; echo ready; read line"], env=self.environment, pass_fds=[kept],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, holder)
        self.addCleanup(holder.stdin.close)
        os.close(kept)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        guard = children(holder.pid)[0]
        files, limit = [], time.monotonic() + LIMIT_S
        while len(files) != 3 + 4:  # the streams, two pipes, signals, the time
            self.assertLess(time.monotonic(), limit, files)
            files = sorted(int(name) for name in os.listdir(f"/proc/{guard}/fd"))

    def test_a_killed_guard_takes_the_command_along(self):
        holder = self.start("lock", "job", "--", "sh", "-c", "echo $$; sleep 1000 & wait")
        pids = self.read_pids(holder)
        guards = children(holder.pid)
        self.assertEqual(len(guards), 1)
        os.kill(guards[0], signal.SIGKILL)
        self.wait_dead(pids)
        self.assertEqual(holder.wait(LIMIT_S), 70)
        self.assertEqual(self.contend("0s")[0], 0)

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
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
