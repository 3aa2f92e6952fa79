"""A store of a test's own: an lmdb file below a temporary folder, or a memcached there; and tests that start mcds
with it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from guard import stand_guard

SKIPPED = 77
HANDLED = "the sanitizer has its own handlers of crashes"
START_S = 200
LIMIT_S = 200
# A background job ignores some signals. The mcds that a test starts would ignore them too, and never end.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
# A search for leaks takes as long as a command that ends at once. The golden files are searched.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")

count_skip = unittest.TextTestResult.addSkip


def announce_skip(result, test, reason):
    """Prints a skipped case as the other tests do, for tools/test."""
    name = test.id().rpartition(".")[2]
    print(f"\n[  SKIPPED ] {name}\nskipped: {reason}", flush=True)
    count_skip(result, test, reason)


unittest.TextTestResult.addSkip = announce_skip


class Fixture:
    def __init__(self, store, megabytes=64):
        self.store = store
        self.megabytes = megabytes
        self.server = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="mcds-cli-")
        if self.store == "memcached":
            self.start_server()
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.stop_server()
        shutil.rmtree(self.folder)

    @property
    def socket(self):
        return os.path.join(self.folder, "memcached.sock")

    def start_server(self, *options):
        # -u is obeyed when we are root, and refused to others only if it names somebody else
        self.server = subprocess.Popen(["memcached", "-u", "root", "-m", str(self.megabytes), "-s", self.socket, *options])
        limit = time.monotonic() + START_S
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(self.socket)
                    return
            except OSError:
                if self.server.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError("memcached did not start") from None
                time.sleep(0.01)

    def stop_server(self):
        self.server.kill()
        self.server.wait()
        self.server = None

    def environment(self, mcds):
        names = ("MCDS_STORE", "MCDS_CONFIG", "MCDS_PROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME")
        environment = {k: v for k, v in os.environ.items() if k not in names}
        environment["PATH"] = os.path.dirname(mcds) + ":" + environment["PATH"]
        environment["LC_ALL"] = "C"
        environment["HOME"] = self.folder
        environment["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        if self.store == "memcached":
            environment["MCDS_STORE"] = f"memcached://{self.socket}?connect_timeout=30000&timeout=120000"
            environment["SOCKET"] = self.socket
        return environment

    def terminal_environment(self, mcds):
        """The same, for a program on a terminal."""
        environment = self.environment(mcds)
        environment.update(TERM="xterm", LC_ALL="C.UTF-8")
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        return environment


def has_sanitizer(program):
    with open(program, "rb") as file:
        content = file.read()
    return any(name in content for name in (b"__asan_init", b"__tsan_init", b"__msan_init"))


def is_possible(store):
    return store != "memcached" or shutil.which("memcached") is not None


def state_of(pid):
    """State and number of threads of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return fields[0], int(fields[17])


def is_dead(pid):
    """A zombie is dead unless only its first thread is."""
    try:
        state, threads = state_of(pid)
        return state in "ZX" and threads <= 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def takes(pid, number):
    """Whether a process blocks or catches a signal, which then does not end it."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigBlk:", "SigCgt:"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def reads_signals(pid):
    """Whether a process has opened the file from which it reads its signals. The thread sanitizer can lose one that comes
    while the handler of the start is taken away."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{name}") == "anon_inode:[signalfd]" for name in os.listdir(folder))
    except FileNotFoundError:
        return False


class ProcessTest(unittest.TestCase):
    """Starts mcds, and ends it after the test. Waits are for events: a line, the end of a process."""
    store = mcds = None

    def setUp(self):
        self.fixture = Fixture(self.store).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(self.mcds)
        self.work = tempfile.mkdtemp(dir=self.fixture.folder)

    def start(self, *arguments, through=()):
        process = subprocess.Popen([*through, self.mcds, *arguments], env=self.environment, cwd=self.work, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def run_to_end(self, *arguments):
        return subprocess.run([self.mcds, *arguments], env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=LIMIT_S)

    @staticmethod
    def end(process):
        """Waits for the end of mcds; the output of the command may live longer than that."""
        return process.wait(LIMIT_S)

    def wait_until(self, is_so, otherwise="it does not come"):
        limit = time.monotonic() + LIMIT_S
        while not is_so():
            self.assertLess(time.monotonic(), limit, otherwise)
            time.sleep(0.005)

    def wait_dead(self, pid):
        self.wait_until(lambda: is_dead(pid), f"process {pid} lives on")

    def assert_dead(self, pids):
        self.assertTrue(all(is_dead(pid) for pid in pids))

    @staticmethod
    def kill_all(pids):
        """Only a runner that is wrong leaves anybody to be killed."""
        for pid in pids:
            if not is_dead(pid):
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)


def run_process_tests(noun, store):
    if not is_possible(store):
        print(f"{noun}: skipped: {store} is not installed")
        sys.exit(SKIPPED)
    if not os.path.exists("/proc/self/status"):
        print(f"{noun}: skipped: /proc is not mounted")
        sys.exit(SKIPPED)
    stand_guard()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
