"""`mcds once KEY -- COMMAND` as the processes around it see it."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from guard import stand_guard
from fixture import SKIPPED, Fixture, is_possible
from relay import Relay

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT_S = 200
RUN = "3s"
RENEWED = "6s"
BINARY = bytes(range(256)) * 1000
# Writes a line for each run, so that a second one shows.
WORK = ["sh", "-c", "echo run >>runs; echo started; read -r _ <go; echo done; echo told >&2; exit 3"]


class RefusingRelay(Relay):
    """Refuses values of more than 64 KB by itself, as a proxy may, and notes how long those were."""

    SET = re.compile(rb"ms \S+ (\d+)[^\n]*\n")

    def __init__(self, *arguments):
        self.refused = []
        super().__init__(*arguments)

    def pump(self, source, target, pass_data):
        if pass_data == self.pass_request:
            with source.makefile("rb") as requests:
                self.filter(requests, source, target)
        else:
            super().pump(source, target, pass_data)

    def filter(self, requests, client, server):
        try:
            while line := requests.readline():
                found = self.SET.fullmatch(line)
                data = requests.read(int(found[1]) + 2) if found else b""
                if len(data) > 65536:
                    self.refused.append(len(data))
                    client.sendall(b"SERVER_ERROR object too large for cache\r\n")
                else:
                    server.sendall(line + data)
        except OSError:  # the other direction has closed the relay
            pass


class OnceTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.work = tempfile.mkdtemp(dir=self.fixture.folder)
        os.mkfifo(os.path.join(self.work, "go"))

    def start(self, *arguments, **options):
        process = subprocess.Popen([MCDS, "once", *arguments], env=self.environment, cwd=self.work, **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.addCleanup(self.finish, process)
        return process

    def finish(self, process):
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if process.poll() is None:
            process.terminate()
            process.wait(LIMIT_S)

    def once(self, *arguments, **options):
        done = subprocess.run([MCDS, "once", *arguments], env=self.environment, cwd=self.work, check=False,
                              capture_output=True, timeout=LIMIT_S, **options)
        return done.returncode, done.stdout, done.stderr

    def go(self):
        """Lets one COMMAND that runs end."""
        with open(os.path.join(self.work, "go"), "w", encoding="ascii") as file:
            file.write("\n")

    def runs(self):
        with open(os.path.join(self.work, "runs"), encoding="ascii") as file:
            return len(file.readlines())

    def told(self, key):
        return json.loads(self.once(key, "--info", "--json")[1])

    def test_ten_at_once(self):
        callers = [self.start("k", "--", *WORK) for _ in range(10)]
        self.go()
        ended = [(*caller.communicate(timeout=LIMIT_S), caller.returncode) for caller in callers]
        self.assertEqual(ended, [(b"started\ndone\n", b"told\n", 3)] * 10)
        self.assertEqual(self.runs(), 1)
        self.assertEqual(self.once("k", "--", *WORK), (3, b"started\ndone\n", b"told\n"))
        self.assertEqual(self.once("k", "--in", "another", "--", "echo", "new")[:2], (0, b"new\n"))

    def test_output_comes_as_it_is_printed(self):
        caller = self.start("k", "--", *WORK)
        self.assertEqual(caller.stdout.readline(), b"started\n")
        self.assertEqual(self.told("k")["state"], "running")
        code, out, said = self.once("k", "--no-wait", "--", *WORK)
        self.assertEqual((code, out), (75, b""))
        self.assertRegex(said, rb"^mcds: once 'k': another caller runs it, and its claim ends in \d+\.\d s\n$")
        self.assertEqual(self.once("k", "-n", "-E", "9", "--", *WORK)[0], 9)
        self.go()
        self.assertEqual(caller.communicate(timeout=LIMIT_S), (b"done\n", b"told\n"))

    def kill(self, *options):
        """A runner dies; returns what the next caller gets, and its seconds."""
        caller = self.start("k", "--run", RUN, *options, "--", *WORK)
        self.assertEqual(caller.stdout.readline(), b"started\n")
        caller.kill()
        caller.wait()
        begun = time.monotonic()
        ended = self.once("k", *options, "--", "echo", "second")
        return ended, time.monotonic() - begun

    def test_a_runner_that_dies(self):
        ended, seconds = self.kill()
        self.assertEqual(ended, (0, b"second\n", b""))
        self.assertGreater(seconds, 0.5)
        self.assertEqual(self.once("k", "--", "false"), (0, b"second\n", b""))

    def test_a_strict_runner_that_dies(self):
        (code, out, said), _ = self.kill("--strict")
        self.assertEqual((code, out), (79, b""))
        self.assertIn(b"settle or forget the key", said)
        self.assertEqual(self.told("k")["state"], "vanished")
        self.assertEqual(self.once("k", "--settle", "4", "-", input=BINARY)[:2], (0, b"settled\n"))
        self.assertEqual(self.once("k", "--strict", "--", "false"), (4, BINARY, b""))

    def test_a_strict_command_that_a_signal_ends(self):
        code, _, said = self.once("k", "--strict", "--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(code, 128 + signal.SIGKILL)
        self.assertIn(b"nobody knows what it has done", said)
        self.assertEqual(self.told("k")["state"], "running")  # until its claim ends
        self.assertEqual(self.once("k", "--strict", "--no-wait", "--", "echo", "no")[:2], (75, b""))

    def await_renewals(self, key):
        """A claim that is not renewed ends, and then nothing is told of it."""
        told = self.told(key)
        until = told["until_ms"] + 4000
        while told["until_ms"] < until:
            time.sleep(0.1)
            told = self.told(key)
            self.assertEqual(told.get("state"), "running", told)

    def test_a_claim_is_renewed(self):
        caller = self.start("k", "--run", RENEWED, "--", *WORK)
        self.assertEqual(caller.stdout.readline(), b"started\n")
        self.await_renewals("k")
        self.go()
        self.assertEqual(caller.wait(LIMIT_S), 3)
        self.assertEqual(self.runs(), 1)

    def test_a_claim_that_is_lost(self):
        caller = self.start("k", "--run", RUN, "--", *WORK)
        self.assertEqual(caller.stdout.readline(), b"started\n")
        self.assertEqual(self.once("k", "--forget")[:2], (0, b"forgotten\n"))
        _, said = caller.communicate(timeout=LIMIT_S)
        self.assertEqual(caller.returncode, 79)
        self.assertRegex(said, rb"^mcds: once 'k': the claim was lost; stopping the command \((?!once)[^\n]+\)\n")
        self.assertEqual(self.once("k", "--", "echo", "next"), (0, b"next\n", b""))

    def test_signals(self):
        for number, kept in ((signal.SIGSEGV, True), (signal.SIGABRT, True), (signal.SIGTERM, False),
                             (signal.SIGKILL, False), (signal.SIGUSR1, False), (signal.SIGALRM, False)):
            key = f"k{number}"
            code, out, _ = self.once(key, "--", "sh", "-c", f"echo partly; kill -{number} $$")
            self.assertEqual((code, out), (128 + number, b"partly\n"))
            code, out, _ = self.once(key, "--", "echo", "whole")
            self.assertEqual((code, out), (128 + number, b"partly\n") if kept else (0, b"whole\n"))

    def test_a_signal_to_mcds(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            caller = self.start(f"k{number}", "--", *WORK)
            self.assertEqual(caller.stdout.readline(), b"started\n")
            caller.send_signal(number)
            _, said = caller.communicate(timeout=LIMIT_S)
            self.assertEqual(caller.returncode, 128 + number)
            self.assertIn(b"the next caller runs it again", said)
            self.assertEqual(self.once(f"k{number}", "--", "echo", "next"), (0, b"next\n", b""))

    def test_streams(self):
        self.assertEqual(self.once("in", "--", "cat", input=BINARY), (0, BINARY, b""))
        self.assertEqual(self.once("in", "--", "false"), (0, BINARY, b""))
        self.assertEqual(self.once("none", "--", "true"), (0, b"", b""))
        self.assertEqual(self.once("none", "--", "echo", "no"), (0, b"", b""))

    def test_a_program_reads_standard_output(self):
        """It is the result of the key, unless it looks as if it had a header."""
        path = os.path.join(self.work, "file")
        with_header = b"mo\x01\x00"
        for key, output in (("plain", b"an output of its own\n"), ("none", b""), ("odd", with_header)):
            for command in ("cat", "false"):
                self.assertEqual(self.once(key, "-s", f"lmdb:{path}", "--", command, input=output), (0, output, b""))
        with open(path, "rb") as file:
            stored = file.read()
        self.assertIn(b"an output of its own\n", stored)
        self.assertNotIn(with_header + b"\x01" + (21).to_bytes(4, "little") + b"an output", stored)
        self.assertIn(with_header + b"\x01" + (4).to_bytes(4, "little") + with_header, stored)

    def test_long_output(self):
        code, out, said = self.once("k", "--", "sh", "-c", "head -c 5000000 /dev/zero; echo end >&2; exit 5")
        self.assertEqual((code, len(out)), (5, 5000000))
        self.assertIn(b"end\n", said)
        self.assertIn(b"the output is too long: the rest is not kept", said)
        code, out, said = self.once("k", "--", "true")
        self.assertEqual(code, 5)
        self.assertGreater(len(out), 990000)
        self.assertEqual(out, bytes(len(out)))
        self.assertIn(b"the rest of the output was not kept", said)
        self.assertTrue(self.told("k")["cut"])

    def test_a_receipt_that_is_too_long(self):
        """It is refused, and the key stays free: no part of it is stored."""
        code, out, said = self.once("k", "--settle", "0", "-", input=bytes(1000001))
        self.assertEqual((code, out), (65, b""))
        self.assertIn(b"result", said)
        self.assertEqual(self.once("k", "--info")[0], 1)
        self.assertEqual(self.once("k", "--settle", "0", "-", input=bytes(999991))[:2], (0, b"settled\n"))
        self.assertEqual(self.once("k", "--", "false"), (0, bytes(999991), b""))

    @unittest.skipUnless(STORE == "memcached", "-I: this store has no such option")
    def test_a_server_of_small_values(self):
        self.fixture.stop_server()
        self.fixture.start_server("-I", "512k")
        code, out, said = self.once("k", "--", "head", "-c", "600000", "/dev/zero")
        self.assertEqual((code, len(out)), (0, 600000))
        self.assertEqual(said.count(b"the output is too long: the rest is not kept"), 1)
        code, out, said = self.once("k", "--", "false")
        self.assertEqual(code, 0)
        self.assertGreater(len(out), 500000)
        self.assertIn(b"the rest of the output was not kept", said)

    @unittest.skipUnless(STORE == "memcached", "a server that stops: this store has no server")
    def test_a_server_that_refuses_without_a_bound(self):
        """No request is sent twice; as much is kept as the server has taken."""
        path = os.path.join(self.fixture.folder, "relay.sock")
        relay = RefusingRelay(path, self.fixture.socket, 0)
        self.addCleanup(relay.close)
        self.environment["MCDS_STORE"] = f"memcached://{path}?timeout=120000"
        code, out, said = self.once("k", "--", "sh", "-c", "head -c 200000 /dev/zero; exit 4")
        self.assertEqual((code, len(out)), (4, 200000))
        self.assertEqual(said.count(b"the output is too long: the rest is not kept"), 1)
        code, out, said = self.once("k", "--", "false")
        self.assertEqual(code, 4)
        self.assertGreater(len(out), 40000)
        self.assertIn(b"the rest of the output was not kept", said)
        self.assertEqual(len(relay.refused), 2)
        self.assertLess(relay.refused[1], 101000)

    @unittest.skipUnless(STORE == "memcached", "a server that stops: this store has no server")
    def test_a_store_that_fails_at_the_end(self):
        """The claim ends while mcds tries to store the result: the failure is reported, not an overlap."""
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?timeout=300"
        caller = self.start("k", "--run", RENEWED, "--", "sh", "-c", "echo begin; read -r _ <go")
        caller.stdout.readline()
        self.fixture.stop_server()
        self.go()
        said = caller.communicate(timeout=LIMIT_S)[1]
        self.assertIn(b"the result was not stored: the next caller after the end of the claim", said)
        self.assertNotIn(b"overlapped", said)
        self.assertEqual(caller.returncode, 69)
        self.fixture.start_server()

    @unittest.skipUnless(STORE == "memcached", "a server that stops: this store has no server")
    def test_a_claim_that_cannot_be_given_back(self):
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?timeout=300"
        caller = self.start("k", "--", *WORK)
        self.assertEqual(caller.stdout.readline(), b"started\n")
        self.fixture.stop_server()
        caller.terminate()
        said = caller.communicate(timeout=LIMIT_S)[1]
        self.assertIn(b"the command was ended, and the next caller runs it again when the claim ends (", said)
        self.assertEqual(said.count(b"the next caller"), 1, said)
        self.fixture.start_server()

    def test_a_reader_that_stops(self):
        """It holds up neither the renewals nor, in the end, the result."""
        caller = self.start("k", "--run", RENEWED, "--", "sh", "-c", "echo begin; read -r _ <go; head -c 500000 /dev/zero")
        self.go()  # the pipe is not empty: it cannot take a page for each piece
        self.await_renewals("k")
        self.assertEqual(len(caller.communicate(timeout=LIMIT_S)[0]), 500006)
        self.assertEqual(len(self.once("k", "--", "true")[1]), 500006)

    def test_a_reader_that_leaves(self):
        """The output is kept, and the exit code of the first caller and of later ones is that of all commands."""
        for command in (("sh", "-c", "head -c 500000 /dev/zero; echo end"), ("true",)):
            caller = self.start("k", "--", *command)
            caller.stdout.close()
            self.assertEqual((caller.wait(LIMIT_S), caller.stderr.read()), (74, b""))
        self.assertEqual(len(self.once("k", "--", "true")[1]), 500004)

    def test_a_reader_of_errors_that_leaves(self):
        for command in (("sh", "-c", "head -c 500000 /dev/zero >&2; echo end"), ("true",)):
            caller = self.start("k", "--", *command)
            caller.stderr.close()
            self.assertEqual((caller.stdout.read(), caller.wait(LIMIT_S)), (b"end\n", 74))
        self.assertEqual(len(self.once("k", "--", "true")[2]), 500000)

    def test_what_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            caller = self.start("k", "--", "echo", "hello", stdout=full)
        self.assertIn(b"cannot be written: No space left on device", caller.communicate(timeout=LIMIT_S)[1])
        self.assertEqual(caller.returncode, 74)
        self.assertEqual(self.once("k", "--", "false"), (0, b"hello\n", b""))

    def test_failures(self):
        self.assertEqual(self.once("k", "--", "no-such-command")[0], 127)
        self.assertEqual(self.once("k", "--retry-failed", "--", "sh", "-c", "exit 8")[0], 8)
        self.assertEqual(self.once("k", "--retry-failed", "--", "echo", "good")[:2], (0, b"good\n"))
        self.assertEqual(self.once("k", "--", "false")[:2], (0, b"good\n"))
        self.assertEqual(self.once("bad", "--", "sh", "-c", "exit 8")[0], 8)
        self.assertEqual(self.once("bad", "--", "true")[0], 8)

    def test_what_a_command_leaves_running(self):
        """A process in the background has the pipe, and does not hold up mcds."""
        caller = self.start("k", "--", "sh", "-c", "setsid sleep 1000 & echo $!")
        pid = int(caller.stdout.readline())
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.assertEqual(caller.wait(LIMIT_S), 0)
        self.assertEqual(self.once("k", "--", "false")[1], b"%d\n" % pid)


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"once: skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    if not os.path.exists("/proc/self/status"):
        print("once: skipped: /proc is not mounted")
        sys.exit(SKIPPED)
    stand_guard()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
