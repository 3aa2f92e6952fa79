"""The verbs that run COMMAND while they hold something: their messages and exit codes if the release fails, the
signals that end them, and a COMMAND that cannot be run or a file of the store that is replaced."""

import os
import signal
import sys
import unittest

from fixture import ProcessTest, run_process_tests, takes
from relay import SilentRelay

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LEASE = "1h"
# The words of each verb, and what it holds. The queue has a job.
VERBS = ((["lock", "x", "-t", LEASE], "lock"),
         (["semaphore", "run", "x", "--permits", "2", "-t", LEASE], "permit"),
         (["-q", "leader", "run", "x", "--once", "-t", LEASE], "lead"),
         (["once", "x", "--run", LEASE], "result"),
         (["queue", "work", "x", "--max-jobs", "1", "--may-lose", "--visible", LEASE], "job"))
# Without the store, a sentence of one line says that what was held is not given back, and why.
HELD = {"lock": r"lock 'x': release: {}; the lock {} by itself{}",
        "permit": r"semaphore 'x': run: {}; the permit {} by itself{}",
        "lead": r"leader 'x': run: {}; the lead {} by itself{}",
        "result": r"once 'x': the result was not stored: the next caller after the end of the claim runs the command "
                  r"again \({}{}\)",
        "job": r"queue 'x': job 0\.0: the command has exited with {} at try 1: the job is due again when its claim ends "
               r"\({}{}\)"}


IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
IGNORING = ("sh", "-c", "trap '' TERM INT HUP QUIT; exec \"$@\"", "sh")


class RunnerTest(ProcessTest):
    store, mcds = STORE, MCDS

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.fixture.folder, "store.mdb")
        if STORE == "lmdb":
            self.environment["MCDS_STORE"] = f"lmdb:{self.path}"
        os.mkfifo(os.path.join(self.work, "go"))

    def push(self):
        done = self.run_to_end("queue", "push", "x", "--may-lose", "a")
        self.assertEqual(done.returncode, 0, done)

    def begin(self, *words, then):
        """mcds, when its COMMAND runs; that waits for go()."""
        process = self.start(*words, "--", "sh", "-c", f"echo runs; read -r _ <go; {then}")
        self.assertEqual(process.stdout.readline(), "runs\n", process)
        return process

    def go(self):
        with open(os.path.join(self.work, "go"), "w", encoding="ascii") as file:
            file.write("\n")

    def expect_held(self, process, thing, code, cause, advice=""):
        command_code = code if code < 10 else 0
        if thing == "job":
            wanted = HELD[thing].format(command_code, cause, advice)
        elif thing == "result":
            wanted = HELD[thing].format(cause, advice)
        else:
            wanted = HELD[thing].format(cause, "was not released, and expires", advice)
        self.assertEqual(self.end(process), code)
        self.assertRegex(process.stderr.read(), f"^mcds: {wanted}\n$")

    def test_signals_that_were_ignored(self):
        """They end neither mcds nor COMMAND, and the next COMMAND runs."""
        self.push()
        self.push()
        kills = "; ".join(f"kill -{number.value} $$" for number in IGNORED)
        for words in (["queue", "work", "x", "--may-lose"], ["-q", "leader", "run", "x", "--rest", "10ms"]):
            with self.subTest(words[1]):
                process = self.start(*words, "--", "sh", "-c", f"echo runs; read -r _ <go; {kills}; echo ends",
                                     through=IGNORING)
                self.assertEqual(process.stdout.readline(), "runs\n")
                for number in IGNORED:
                    process.send_signal(number)
                self.go()
                self.assertEqual(process.stdout.readline(), "ends\n")
                self.assertEqual(process.stdout.readline(), "runs\n")
                process.kill()
                self.assertEqual(process.stdout.read(), "")

    @unittest.skipUnless(STORE == "lmdb", "a file that is removed: this store has no file")
    def test_a_file_that_is_removed_meanwhile(self):
        """Nothing can be given back: the exit code says so, unless COMMAND has failed itself."""
        cause = ".*/store.mdb: the file has been removed or replaced; end all programs that use it"
        for words, thing in VERBS:
            for code in 0, 3:
                with self.subTest(thing, code=code):
                    self.push()
                    # From 100 ms after it was removed on, the file is not written.
                    process = self.begin(*words, then=f"rm {self.path}*; sleep 0.2; exit {code}")
                    self.go()
                    self.expect_held(process, thing, code or 74, cause)

    @unittest.skipUnless(STORE == "memcached", "a server that ends: this store has no server")
    def test_a_server_that_ends_meanwhile(self):
        cause = f"{self.fixture.socket}: [^:;]*connection[^:;]*: no server listens there"
        advice = "; 'mcds doctor' reports more"
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?timeout=300"
        for words, thing in VERBS:
            for code in 0, 3:
                with self.subTest(thing, code=code):
                    self.push()
                    process = self.begin(*words, then=f"exit {code}")
                    self.fixture.stop_server()
                    self.go()
                    self.expect_held(process, thing, code or 69, cause, advice)
                    os.unlink(self.fixture.socket)
                    self.fixture.start_server()

    @unittest.skipUnless(STORE == "memcached", "a silent server: this store has no server")
    def test_a_server_that_becomes_silent(self):
        """One sentence says what becomes of what is held, and why. The verb waits, and writes no other."""
        for words in (["-q", "leader", "run", "x", "--rest", "10ms", "-t", LEASE],
                      ["queue", "work", "x", "--may-lose", "--visible", LEASE]):
            with self.subTest(words[0]):
                self.push()
                path = os.path.join(self.fixture.folder, words[-3])
                relay = SilentRelay(path, self.fixture.socket, None)
                self.addCleanup(relay.close)
                process = self.begin("-s", f"memcached://{path}?timeout=300", *words, then="exit 0")
                relay.word = b"m"
                self.go()
                self.assertRegex(process.stderr.readline(), "no answer before the deadline|it does not answer: it is stopped")
                count = len(relay.ends)
                self.wait_until(lambda: len(relay.ends) > count + 4, "it does not ask again")
                process.terminate()
                self.assertEqual(self.end(process), 128 + signal.SIGTERM)
                self.assertEqual(process.stderr.read(), "")

    def test_signals_for_the_command(self):
        """SIGUSR1 and SIGUSR2 reach COMMAND. They end neither mcds nor its wait, in which they do nothing."""
        for number in signal.SIGUSR1, signal.SIGUSR2:
            for words in (["leader", "run", "x", "--rest", "10ms"], ["queue", "work", "x", "--may-lose", "--delay", "0"]):
                with self.subTest(words[0], signal=number):
                    process = self.start(*words, "--", "sh", "-c", "echo runs; exec sleep 1000")
                    self.push()
                    self.assertEqual(process.stdout.readline(), "runs\n")
                    process.send_signal(number)
                    self.assertEqual(process.stdout.readline(), "runs\n")
                    process.terminate()
                    self.assertEqual(self.end(process), 128 + signal.SIGTERM)
                    self.assertEqual(self.run_to_end("rm", "x", "--yes").returncode, 0)
            self.expect_waits_on(number)

    def expect_waits_on(self, number):
        holder = self.begin("lock", "x", then="exit 0")
        waiting = [self.start("lock", "x", "--", "true"), self.start("leader", "run", "x", "--once", "--", "true"),
                   self.start("queue", "work", "y", "--may-lose", "--max-jobs", "1", "--", "true")]
        for process in waiting:
            self.wait_until(lambda process=process: takes(process.pid, number))
            process.send_signal(number)
        self.assertEqual(self.run_to_end("queue", "push", "y", "--may-lose", "b").returncode, 0)
        self.go()
        self.assertEqual([self.end(process) for process in (holder, *waiting)], [0] * 4)

    def write_program(self, name, text, mode=0o755):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def test_a_script_without_an_interpreter(self):
        """Each verb runs it with sh, even if it is found in PATH."""
        path = self.write_program("plain", "echo \"<$1>\"\n")
        self.environment["PATH"] += ":" + self.work
        verbs = [words for words, _ in VERBS] + [["limit", "run", "l", "--rate", "1000/s"], ["cache", "get", "c", "k"],
                                                 ["cache", "hold", "c", "k"]]
        for program in path, "plain":
            self.push()
            for words in verbs:
                with self.subTest(program=program, verb=words[:2]):
                    done = self.run_to_end(*words, "--", program, "a b")
                    self.assertEqual((done.returncode, done.stdout), (0, "<a b>\n"), done)
            self.run_to_end("cache", "forget", "c", "k")

    def bad_programs(self):
        """Each has its message and its exit code."""
        missing, denied = "No such file or directory", "Permission denied"
        script = self.write_program("broken-program", "#! /no/such -x\n")
        self.environment["PATH"] += ":" + self.work
        return (("./none", missing, 127), ("none", missing, 127), (self.work, denied, 126),
                (self.write_program("text", "", 0o644), denied, 126),
                (script, f"its interpreter /no/such: {missing}", 126), ("broken-program", f"its interpreter /no/such: {missing}", 126),
                (self.write_program("second", f"#!{script}"), f"its interpreter /no/such: {missing}", 126),
                (self.write_program("third", f"#!{self.work}/text\n"), f"its interpreter {self.work}/text: {denied}", 126))

    def test_a_command_that_cannot_be_run(self):
        """Nobody waits for it, and it uses neither a try of a job nor a token."""
        self.push()
        self.begin("lock", "x", then="exit 0")
        self.begin("semaphore", "run", "x", "--permits", "1", then="exit 0")
        verbs = [words for words, _ in VERBS] + [["limit", "run", "l", "--rate", "1/h"], ["cache", "get", "c", "k"],
                                                 ["cache", "hold", "c", "k"]]
        for program, why, code in self.bad_programs():
            for words in verbs:
                with self.subTest(program=program, verb=words[:2]):
                    done = self.run_to_end(*words, "--", program)
                    self.assertEqual(done.returncode, code, done)
                    self.assertRegex(done.stderr, f"^mcds: [^\n]* '[xlck]': {program} cannot be run: {why}\n$")
        self.assertIn("waiting\t0\t", self.run_to_end("queue", "ls", "x").stdout)
        self.assertEqual(self.run_to_end("limit", "run", "l", "--rate", "1/h", "--", "true").returncode, 0)
        for words in ["once", "x"], ["cache", "get", "c", "k"]:
            self.assertEqual(self.run_to_end(*words, "--", "echo", "kept").stdout, "kept\n")
            done = self.run_to_end(*words, "--", "./none")  # it need not run
            self.assertEqual((done.returncode, done.stdout), (0, "kept\n"))

    @unittest.skipUnless(STORE == "lmdb", "a file that is replaced: this store has no file")
    def test_a_file_that_is_replaced_during_a_wait(self):
        """What waits ends with a sentence: nothing comes from a file that nobody else uses."""
        self.run_to_end("log", "put", "l", "event")
        self.begin("lock", "x", then="exit 0")
        waiting = [self.start(*words) for words in (
            ["queue", "work", "q", "--", "true"], ["lock", "x", "--", "true"], ["leader", "run", "x", "--", "true"],
            ["leader", "watch", "x"], ["log", "tail", "l", "-f"])]
        for process in waiting[3:]:
            self.assertNotEqual(process.stdout.readline(), "")
        for process in waiting[:3]:
            self.wait_until(lambda process=process: takes(process.pid, signal.SIGHUP))
        for end in "", "-lock", "-writer":
            os.rename(self.path + end, self.path + ".old" + end)
        self.run_to_end("log", "put", "l", "event")
        for process in waiting:
            with self.subTest(process.args[1:]):
                self.assertEqual(self.end(process), 74)
                self.assertRegex(process.stderr.read(), "^mcds: [^\n]*removed or replaced[^\n]*\n$")


if __name__ == "__main__":
    run_process_tests("runner", STORE)
