"""`mcds cache get` and `mcds cache hold` as the processes around them see them: signals, and a command that prints
without an end. Waits are for events: a line, the end of a process."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

from fixture import SKIPPED, Fixture, is_possible, state_of, takes
from relay import Relay

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT_S = 200
CLAIM_S = 10  # after which another caller fills the key in any case
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOO_LONG = "cache 'en': the command has printed more than 64 MB"
# Prints its own pid, and a line for the signal.
TRAPPER = """
trap 'echo INT >&2; exit 0' INT
trap 'echo TERM >&2; exit 0' TERM
trap 'echo HUP >&2; exit 0' HUP
echo $$ >&2
while :; do sleep 0.05; done
"""
# Ignores SIGTERM and the end of its pipe.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), file=sys.stderr, flush=True)
try:
    while True:
        os.write(1, bytes(65536))
except BrokenPipeError:
    time.sleep(1000)
"""


class SignalRelay(Relay):
    """Passes the reply to a write when the test has sent its signal."""

    def __init__(self, *arguments):
        self.is_reached, self.may_pass = threading.Event(), threading.Event()
        super().__init__(*arguments)

    def pass_reply(self, data, client):
        if b"HD" in data or b"STORED" in data:
            self.is_reached.set()
            self.may_pass.wait(LIMIT_S)
        client.sendall(data)


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)

    def start(self, *words):
        process = subprocess.Popen([MCDS, "cache", *words], env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def end(self, process):
        stdout, stderr = process.communicate(timeout=LIMIT_S)
        return process.returncode, stdout, stderr

    def run_to_end(self, *words):
        return self.end(self.start(*words))

    def pid_of(self, process):
        pid = int(process.stderr.readline())
        self.addCleanup(self.kill, pid)
        return pid

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def assert_dead(self, pid):
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_store_without_room_to_open(self):
        """COMMAND runs all the same. A path that is wrong is refused."""
        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        get = ("cache", "get", "c", "key", "--ttl", "1m")
        full = subprocess.run([MCDS, "-s", f"lmdb:{self.fixture.folder}/new.mdb", *get, "--json", "--", "echo", "value"],
                              env=self.environment, preexec_fn=limit_files, capture_output=True, text=True, check=False)
        self.assertEqual(full.returncode, 0, full)
        self.assertEqual((json.loads(full.stdout)["value"], json.loads(full.stdout)["state"]), ("value\n", "unstored"))
        self.assertIn("ulimit -f", full.stderr)
        self.assertIn("the value is not stored", full.stderr)
        for words in ((), ("--", "echo", "value")):
            wrong = subprocess.run([MCDS, "-s", "lmdb:/dev/null/new.mdb", *get, *words], env=self.environment, check=False,
                                   capture_output=True, text=True)
            self.assertGreaterEqual(wrong.returncode, 64, wrong)
            self.assertEqual(wrong.stdout, "")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file compares and sets")
    def test_a_server_without_compare_and_set(self):
        """COMMAND runs each time, as the fill of mcds_cache_fetch does, and nothing is stored."""
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.fixture.start_server("-C")
        for value in ("one", "two"):
            code, stdout, stderr = self.run_to_end("get", "c", "k", "--", "echo", value)
            self.assertEqual((code, stdout), (0, f"{value}\n"), stderr)
            self.assertRegex(stderr, r"^mcds: cache 'c'[^\n]*start it without -C[^\n]*; the value is not stored\n$")
        code, stdout, _ = self.run_to_end("--json", "get", "c", "k", "--", "echo", "three")
        self.assertEqual((code, json.loads(stdout)["state"]), (0, "unstored"))
        self.assertEqual(self.run_to_end("get", "c", "k", "--", "sh", "-c", "exit 3")[0], 3)
        code, stdout, stderr = self.run_to_end("get", "c", "k")
        self.assertEqual((code, stdout), (76, ""))
        self.assertIn("start it without -C", stderr)

    def test_too_long(self):
        process = self.start("get", "en", "k", "--", "cat", "/dev/zero")
        self.assertEqual(self.end(process), (65, "", f"mcds: {TOO_LONG}\n"))

    def test_too_long_and_stubborn(self):
        process = self.start("--json", "get", "en", "k", "--", sys.executable, "-c", STUBBORN)
        pid = self.pid_of(process)
        code, stdout, _ = self.end(process)
        self.assertEqual(code, 65)
        self.assertEqual(json.loads(stdout)["error"], TOO_LONG)
        self.assert_dead(pid)

    def test_a_signal_is_passed_and_the_claim_released(self):
        for number in SIGNALS:
            process = self.start("get", "en", number.name, "--", "sh", "-c", TRAPPER)
            pid = self.pid_of(process)
            process.send_signal(number)
            code, stdout, stderr = self.end(process)
            self.assertEqual((code, stdout), (128 + number, ""))
            self.assertEqual(stderr, f"{number.name[3:]}\nmcds: cache 'en': ended by signal {number:d}; "
                                     "the value is not stored\n")
            self.assert_dead(pid)
            began = time.monotonic()
            self.assertEqual(self.run_to_end("get", "en", number.name, "--", "echo", "next"), (0, "next\n", ""))
            self.assertLess(time.monotonic() - began, CLAIM_S / 2, "the claim was not released")

    def test_a_signal_before_the_command_starts(self):
        """The claim is in the store, and mcds does not have its reply yet."""
        for number in SIGNALS if STORE == "memcached" else ():
            began = time.monotonic()
            path = os.path.join(self.fixture.folder, f"relay-{number}.sock")
            relay = SignalRelay(path, self.fixture.socket, 0)
            self.addCleanup(relay.close)
            self.environment["MCDS_STORE"] = f"memcached://{path}?connect_timeout=30000&timeout=120000"
            process = self.start("get", "en", number.name, "--", "echo", "not printed")
            self.assertTrue(relay.is_reached.wait(LIMIT_S))
            process.send_signal(number)
            relay.may_pass.set()
            self.assertEqual(self.end(process), (128 + number, "", f"mcds: cache 'en': ended by signal {number:d}; "
                                                 "the value is not stored\n"))
            self.environment = self.fixture.environment(MCDS)
            self.assertEqual(self.run_to_end("get", "en", number.name, "--", "echo", "next"), (0, "next\n", ""))
            self.assertLess(time.monotonic() - began, CLAIM_S, "the claim was not released")

    def test_a_signal_while_another_fills(self):
        filler = self.start("get", "en", "k", "--", "sh", "-c", TRAPPER)
        self.pid_of(filler)
        for number in SIGNALS:
            waiter = self.start("get", "en", "k", "--", "echo", "not run")
            # The thread sanitizer drops a signal that arrives before the first wait.
            while not (takes(waiter.pid, signal.SIGTERM) and state_of(waiter.pid)[0] == "S"):
                self.assertIsNone(waiter.poll())
            waiter.send_signal(number)
            self.assertEqual(self.end(waiter), (128 + number, "", f"mcds: cache 'en': ended by signal {number:d}\n"))

    def test_others_get_the_code_of_the_command(self):
        """Each further failure doubles the time in which no caller runs it, so that one of these is in time."""
        sentence = "cache 'en': the command exited with 22; no caller runs it again yet"
        for _ in range(7):
            code, stdout, stderr = self.run_to_end("--json", "get", "en", "k", "--", "sh", "-c", "exit 22")
            self.assertEqual((code, json.loads(stdout)["exit"]), (22, 22))
            if stderr == f"mcds: {sentence}\n":
                break
        self.assertEqual(json.loads(stdout)["error"], sentence)

    def test_a_command_that_cannot_be_run_is_no_failure_of_the_source(self):
        self.assertEqual(self.run_to_end("get", "en", "k", "--", "./missing")[0], 127)
        self.assertEqual(self.run_to_end("get", "en", "k", "--", "/")[0], 126)
        self.assertEqual(self.run_to_end("get", "en", "k", "--", "echo", "run"), (0, "run\n", ""))

    def test_without_a_command_it_does_not_wait(self):
        """While another caller fills the key, one with a COMMAND waits, and one without does not."""
        filler = self.start("get", "cc", "k", "--", "sh", "-c", f"echo $$ >&2; while [ ! -e {self.fixture.folder}/end ]; do sleep .1; done; echo v")
        self.pid_of(filler)
        waiter = self.start("get", "cc", "k", "--", "echo", "mine")
        self.assertEqual(self.run_to_end("get", "cc", "k"), (1, "", "mcds: cache 'cc' has nothing for 'k'\n"))
        self.assertIsNone(filler.poll())
        self.assertIsNone(waiter.poll())
        with open(f"{self.fixture.folder}/end", "w", encoding="ascii"):
            pass
        self.assertEqual(self.end(filler), (0, "v\n", ""))
        self.assertEqual(self.end(waiter), (0, "v\n", ""))

    def test_what_a_command_leaves_does_not_keep_mcds(self):
        process = self.start("get", "en", "k", "--", "sh", "-c", "sleep 1000 2>/dev/null & echo $! >&2; wait")
        self.pid_of(process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT_S), 143)

    def test_a_signal_while_held(self):
        for number in SIGNALS:
            self.assertEqual(self.run_to_end("get", "en", "k", "--", "echo", "old")[0], 0)
            process = self.start("hold", "en", "k", "--for", "10m", "--", "sh", "-c", TRAPPER)
            pid = self.pid_of(process)
            process.send_signal(number)
            self.assertEqual(self.end(process), (128 + number, "", f"{number.name[3:]}\n"))
            self.assert_dead(pid)
            self.assertEqual(self.run_to_end("get", "en", "k", "--", "echo", "new")[1], "new\n")
            self.assertEqual(self.run_to_end("get", "en", "k")[1], "new\n")  # it is stored: no hold is left
            self.run_to_end("forget", "en", "k")

    def test_a_command_that_outlives_its_hold(self):
        hold_s = 3 if STORE == "memcached" else 0.05
        late = f"mcds: cache 'en': the command ran longer than the hold, --for {'3s' if hold_s == 3 else '50ms'}: others may have " \
               "read the old value meanwhile; choose a longer --for\n"
        for for_s, said in (600, ""), (hold_s, late):
            self.assertEqual(self.run_to_end("hold", "en", "k", "--for", f"{for_s}", "--", "sh", "-c",
                                             f"sleep {hold_s}; exit 3"), (3, "", said))

    def test_a_failure_is_an_object(self):
        code, stdout, _ = self.run_to_end("--json", "get", "en", "k", "--", "sh", "-c", "exit 22")
        self.assertEqual(code, 22)
        self.assertEqual(json.loads(stdout), {"noun": "cache", "verb": "get", "name": "en", "key": "k", "result": "MCDS_IO",
                                              "error": "cache 'en': the command exited with 22", "exit": 22})
        code, stdout, _ = self.run_to_end("--json", "get", "en", "other", "--", "./missing")
        self.assertEqual((code, json.loads(stdout)["exit"], json.loads(stdout)["result"]), (127, 127, "MCDS_IO"))


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"cache: skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
