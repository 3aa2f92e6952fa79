"""Signals while mcds reads lines of standard input, or carries out several operations of one command line: what was
carried out until then is printed, and what was not."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from fixture import SKIPPED, Fixture, is_possible, state_of
from relay import SilentRelay

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT_S = 200
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AMBIGUOUS = 80


class HoldingRelay(SilentRelay):
    """Holds the replies after a request that has this word, until it is told to pass them."""

    def __init__(self, path, server, word):
        super().__init__(path, server, word)
        self.may_pass, self.has_passed = threading.Event(), threading.Event()

    def pass_reply(self, data, client):
        if self.has_come.is_set():
            self.may_pass.wait(LIMIT_S)
        client.sendall(data)
        if self.may_pass.is_set():
            self.has_passed.set()


class InterruptTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)

    def start(self, *arguments, **options):
        process = subprocess.Popen([MCDS, *arguments], env=self.environment, text=True,
                                   **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                                      "stderr": subprocess.PIPE, **options})
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def read(self, *arguments):
        return subprocess.run([MCDS, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False).stdout

    def wait_for(self, is_so, otherwise):
        limit = time.monotonic() + LIMIT_S
        while not is_so():
            self.assertLess(time.monotonic(), limit, otherwise)
            time.sleep(0.01)

    @staticmethod
    def catches(process, number):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            caught = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
        return int(caught, 16) >> (number - 1) & 1 == 1

    @staticmethod
    def blocks(process, number):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            blocked = next(line.split()[1] for line in status if line.startswith("SigBlk:"))
        return int(blocked, 16) >> number - 1 & 1 == 1

    def push(self, lines, *options, **keywords):
        """A feed that has carried out all lines, and waits for more."""
        process = self.start(*options, "list", "push", "jobs", "-", **keywords)
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        self.wait_for(lambda: self.read("list", "count", "jobs") == f"{len(lines)}\n",
                      "the lines are not carried out")
        return process

    def assert_ended(self, process, code, stdout, stderr):
        self.assertEqual(process.wait(LIMIT_S), code)
        self.assertEqual((process.stdout.read(), process.stderr.read()), (stdout, stderr))

    def test_lines_are_counted(self):
        for number in SIGNALS:
            process = self.push(("one", "two"))
            process.send_signal(number)
            self.assert_ended(process, 128 + number, "pushed\t2\n",
                              "mcds: standard input: 2 lines were carried out\n"
                              "mcds: standard input: no line after line 2 was tried\n")
            self.read("list", "drop", "jobs")

    def test_a_line_without_an_end_is_no_line(self):
        process = self.push(("one",))
        process.stdin.write("hal")
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 130)
        self.assertEqual(process.stdout.read(), "pushed\t1\n")
        self.assertEqual(self.read("list", "scan", "jobs"), "one\n")

    def test_json(self):
        process = self.push(("one",), "--json")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT_S), 143)
        self.assertEqual(process.stdout.read(),
                         '{"noun":"list","verb":"push","name":"jobs","done":"pushed","changed":1,"read":1}\n')

    def test_a_batch(self):
        for number in SIGNALS:
            process = self.start("batch")
            process.stdin.write("counter add hits\ncounter get none\n")
            process.stdin.flush()
            self.assertNotEqual(process.stdout.readline(), "")
            self.assertEqual(process.stdout.readline(), "-\n")
            process.send_signal(number)
            self.assert_ended(process, 128 + number, "",
                              "mcds: line 2: counter 'none': there is none\n"
                              "mcds: standard input: 2 lines were carried out\n"
                              "mcds: standard input: no line after line 2 was tried\n")

    def test_a_batch_in_full_flow(self):
        """Every command that was carried out has its line."""
        source = subprocess.Popen(["yes", "counter add hits"], stdout=subprocess.PIPE)
        process = self.start("batch", stdin=source.stdout)
        source.stdout.close()
        for _ in range(1000):
            line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        for line in process.stdout:
            last = int(line)
        self.assertEqual(process.wait(LIMIT_S), 130)
        self.assertEqual(self.read("counter", "get", "hits"), f"{last}\n")
        self.assertEqual(process.stderr.read(),
                         f"mcds: standard input: {last} lines were carried out\n"
                         f"mcds: standard input: no line after line {last} was tried\n")
        source.wait(LIMIT_S)

    def test_lines_in_full_flow(self):
        source = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        process = self.start("list", "push", "jobs", "-", stdin=source.stdout)
        source.stdout.close()
        self.wait_for(lambda: self.read("list", "count", "jobs") not in ("", "0\n"), "no line is pushed")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 130)
        pushed = int(process.stdout.read().split()[1])
        self.assertEqual(self.read("list", "count", "jobs"), f"{pushed}\n")
        self.assertIn(f"{pushed} lines were carried out", process.stderr.read())
        source.wait(LIMIT_S)

    def test_an_array_is_set_whole_or_not(self):
        process = self.start("array", "set", "days", "-")
        process.stdin.write("monday\n")
        process.stdin.flush()
        self.wait_for(lambda: self.catches(process, signal.SIGINT), "SIGINT is not caught")
        process.send_signal(signal.SIGINT)
        self.assert_ended(process, 130, "", "mcds: standard input: ended by signal 2; nothing was set\n")
        self.assertEqual(self.read("array", "scan", "days"), "")

    def test_an_ignored_signal_stays_ignored(self):
        process = self.push(("one",), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.send_signal(signal.SIGINT)
        process.stdin.write("two\n")
        process.stdin.close()
        self.assert_ended(process, 0, "pushed\t2\n", "")

    def push_into_silence(self, timeout_ms):
        """A feed whose second line the server never answers."""
        relay = SilentRelay(f"{self.fixture.folder}/relay", self.fixture.socket, b"two")
        self.addCleanup(relay.close)
        process = self.push(("one",), "-s", f"memcached://{relay.path}?connect_timeout=30000&timeout={timeout_ms}")
        process.stdin.write("two\n")
        process.stdin.flush()
        self.assertTrue(relay.has_come.wait(LIMIT_S))
        return process

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_a_line_in_flight_is_in_doubt(self):
        process = self.push_into_silence(5000)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), AMBIGUOUS)
        self.assertEqual(process.stdout.read(), "pushed\t1\n")
        self.assertIn("mcds: standard input: 1 line was carried out; 1 may have been, or may still be: "
                      "check before you repeat\n"
                      "mcds: standard input: in doubt: lines 2\n"
                      "mcds: standard input: no line after line 2 was tried\n", process.stderr.read())

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_a_second_signal_ends_it_at_once(self):
        process = self.push_into_silence(3600000)
        process.send_signal(signal.SIGINT)
        self.wait_for(lambda: not self.catches(process, signal.SIGINT), "SIGINT is not taken")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), -signal.SIGINT)

    def signal_while_held(self, number, word, *words):
        """A command that a signal reaches before the replies that the server holds back: its results, and its sentences."""
        relay = HoldingRelay(f"{self.fixture.folder}/relay", self.fixture.socket, word)
        self.addCleanup(relay.close)
        process = self.start("-s", f"memcached://{relay.path}?connect_timeout=30000&timeout=120000", *words)
        self.assertTrue(relay.has_come.wait(LIMIT_S))
        process.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: state_of(process.pid)[0] == "T", "it does not stop")
        process.send_signal(number)
        relay.may_pass.set()
        relay.has_passed.wait(LIMIT_S)
        process.send_signal(signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 128 + number)
        relay.close()
        return stdout, stderr

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_several_names_are_awaited(self):
        self.read("counter", "add", "first", "5")
        for number in SIGNALS:
            self.assertEqual(self.signal_while_held(number, b"first", "counter", "get", "first", "second", "third"),
                             ("5\n",
                              "mcds: counter get: 1 operation was carried out\n"
                              "mcds: counter get: 'second' was not tried, nor anything after it\n"))

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_of_many_elements_some_are_not_tried(self):
        elements = [f"element{i}" for i in range(3000)]
        stdout, stderr = self.signal_while_held(signal.SIGTERM, b"element0", "set", "add", "s", *elements)
        added = int(self.read("set", "count", "s"))
        self.assertLess(added, len(elements))
        self.assertEqual(stdout, "added\n" * added)
        self.assertEqual(stderr,
                         f"mcds: set add: {added} operations were carried out\n"
                         f"mcds: set add: 'element{added}' was not tried, nor anything after it\n")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_rm(self):
        names = [f"name{i:04}" for i in range(1500)]
        subprocess.run([MCDS, "batch"], env=self.environment, check=True, capture_output=True, text=True,
                       input="".join(f"counter add {name}\n" for name in names))
        stdout, stderr = self.signal_while_held(signal.SIGINT, b"md ", "rm", "--yes", *names)
        dropped = stdout.count("dropped\n")
        self.assertEqual(self.read("ls").count("name"), len(names) - dropped)
        self.assertLess(dropped, len(names))
        self.assertEqual(stderr,
                         f"mcds: rm: {dropped} operations were carried out\n"
                         f"mcds: rm: '{names[dropped]}' was not tried, nor anything after it\n")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is never silent")
    def test_several_in_flight_are_in_doubt(self):
        relay = SilentRelay(f"{self.fixture.folder}/relay", self.fixture.socket, b"two")
        self.addCleanup(relay.close)
        process = self.start("-s", f"memcached://{relay.path}?connect_timeout=30000&timeout=5000", "set", "add", "s", "one", "two")
        self.assertTrue(relay.has_come.wait(LIMIT_S))
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=LIMIT_S)[1]
        self.assertEqual(process.returncode, AMBIGUOUS)
        self.assertIn("mcds: set add: 1 operation was carried out; 1 may have been, or may still be: "
                      "check before you repeat\n", stderr)

    def full_ms(self):
        """The time until all tokens of the limit are back."""
        return json.loads(self.read("--json", "limit", "get", "jobs", "jobs", "--rate", "1/h"))["full_ms"]

    def test_a_limit_gets_its_token_back(self):
        """A `limit run` that waits for its turn has taken its token."""
        hour_ms = 3600 * 1000
        self.assertEqual(self.read("limit", "run", "jobs", "--rate", "1/h", "--", "echo", "ran"), "ran\n")
        for number in SIGNALS:
            process = self.start("limit", "run", "jobs", "--rate", "1/h", "--", "echo", "not run")
            while self.full_ms() <= hour_ms:
                self.assertIsNone(process.poll())
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=LIMIT_S)
            self.assertEqual((process.returncode, stdout, stderr),
                             (128 + number, "", f"mcds: limit 'jobs': ended by signal {number:d} while it waited; "
                                                "the token is given back\n"))
            self.assertLessEqual(self.full_ms(), hour_ms)

    def test_a_wait_for_a_window_has_taken_nothing(self):
        run = ("limit", "run", "day", "--rate", "1/d", "--burst", "window", "--patience", "3d", "--", "echo", "ran")
        self.assertEqual(self.read(*run), "ran\n")
        for number in SIGNALS:
            process = self.start(*run)
            self.wait_for(lambda process=process, number=number: self.blocks(process, number), "it does not wait")
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=LIMIT_S)
            self.assertEqual((process.returncode, stdout, stderr),
                             (128 + number, "", f"mcds: limit 'day': ended by signal {number:d} while it waited; "
                                                "it has taken no token\n"))


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"interrupt: skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    if not os.path.exists("/proc/self/status"):
        print("interrupt: skipped: /proc is not mounted")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
