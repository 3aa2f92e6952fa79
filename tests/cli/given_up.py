"""A signal during the wait for a server that does not answer: the command ends long before the timeout, and says what
became of its change. A line of a shell ends so, and the shell continues."""

import itertools
import os
import signal
import sys
import unittest

from fixture import LIMIT_S, ProcessTest, run_process_tests
from relay import SilentRelay
from screen import Terminal, has_terminals

MCDS = os.path.abspath(sys.argv[2])
AMBIGUOUS = 80
READ, CHANGE, ADD = b"mg mcds:", b"ms mcds:", b"ma mcds:"  # the first request for a key of a structure
OPTIONS = "?connect_timeout=30000&timeout=3600000"
DOUBT = "; it may have been {}, or may still be: check before you repeat it"


class GivenUpTest(ProcessTest):
    store, mcds = sys.argv[1], MCDS

    def silent(self, word):
        relay = SilentRelay(os.path.join(self.fixture.folder, "relay"), self.fixture.socket, word)
        self.addCleanup(relay.close)
        self.environment["MCDS_STORE"] = f"memcached://{relay.path}{OPTIONS}"
        return relay

    def give_up(self, word, number, *words, lines="", before=()):
        """The exit code and what the command prints, after a signal that comes when the server is silent. Another
        command has an answer before."""
        relay = self.silent(None)
        if before:
            self.assertEqual(self.run_to_end(*before).returncode, 0)
        relay.word = word
        process = self.start(*words)
        process.stdin.write(lines)
        process.stdin.flush()
        self.wait_until(lambda: relay.has_come.is_set() or process.poll() is not None)
        self.assertIsNone(process.poll(), words)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=LIMIT_S)
        relay.close()
        return process.returncode, stdout, stderr

    def test_a_read(self):
        for word, *words in ((b"mg", "counter", "get", "N"), (b"mg", "set", "scan", "s"), (b"lru", "ls", "-l"),
                             (b"mg", "table", "get", "t", "k"), (b"mg", "dump", "N"), (b"mg", "watch", "N"),
                             (b"lru", "rm", "--yes", "s")):
            self.assertEqual(self.give_up(word, signal.SIGINT, *words), (-signal.SIGINT, "", ""))

    def test_a_change_that_was_sent(self):
        for word, words, said in ((ADD, ("counter", "add", "N"), "counter 'N': given up" + DOUBT.format("added")),
                                  (CHANGE, ("set", "add", "s", "a"), "set 's': given up" + DOUBT.format("added")),
                                  (b"ms mcds:ep1", ("log", "put", "l", "x"), "log 'l': given up" + DOUBT.format("put"))):
            for number in (signal.SIGINT, signal.SIGTERM):
                self.assertEqual(self.give_up(word, number, *words), (AMBIGUOUS, "", f"mcds: {said}\n"))

    @unittest.skipUnless(has_terminals(), "this system has no pseudo-terminals")
    def test_the_keyboard_hides_no_doubt(self):
        """The code is that of the doubt, also to a script that gets the signal itself."""
        relay = self.silent(ADD)
        terminal = Terminal(["bash", "-c", "trap : INT; mcds counter add N; echo code $?"], {**self.environment, "TERM": "xterm"})
        self.addCleanup(terminal.close)
        self.assertTrue(relay.has_come.wait(LIMIT_S))
        terminal.type("\x03")
        terminal.wait_for("given up", f"code {AMBIGUOUS}")

    def test_a_change_that_was_not_sent(self):
        self.assertEqual(self.give_up(READ, signal.SIGTERM, "set", "add", "s", "a"),
                         (-signal.SIGTERM, "", "mcds: set 's': given up; nothing was added\n"))

    def test_several(self):
        code, stdout, stderr = self.give_up(CHANGE, signal.SIGINT, "set", "add", "s", "a", "b")
        self.assertEqual((code, stdout), (AMBIGUOUS, "-\n-\n"), stderr)
        for element in "ab":
            self.assertIn(f"mcds: '{element}': set 's': given up", stderr)

    def test_lines(self):
        for words, line in ((("batch",), "set add s elem\n"), (("set", "add", "s", "-"), "elem\n"),
                            (("list", "push", "l", "-"), "elem\n")):
            code, _, stderr = self.give_up(b"elem", signal.SIGINT, *words, lines=line)
            self.assertEqual(code, AMBIGUOUS, stderr)
            self.assertIn("given up; it may have been", stderr)
            self.assertIn("in doubt: lines 1\n", stderr)

    def test_a_claim(self):
        """It may be held: an attempt to give it back is made, and reported if nobody answers."""
        numbers = itertools.cycle((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
        for noun, lease, words in (("lock", "lease", ("lock", "acquire", "N")),
                                   ("lock", "lease", ("lock", "N", "--", "true")),
                                   ("lock", "lease", ("lock", "N", "-n", "--", "true")),
                                   ("lock", "lease", ("lock", "N", "--shared", "-w", "1h", "--", "true")),
                                   ("semaphore", "lease", ("semaphore", "run", "N", "--permits", "2", "--", "true")),
                                   ("leader", "lease", ("leader", "run", "N", "--", "true")),
                                   ("once", "claim", ("once", "N", "--", "true"))):
            word = b"ms mcds:sl1" if noun == "semaphore" else CHANGE
            number = next(numbers)
            self.assertEqual(self.give_up(word, number, *words),
                             (128 + number, "", f"mcds: {noun} 'N': ended by signal {number:d}; the {lease} may be "
                                                "held, and ends by itself\n"))

    def test_a_lease_of_a_script(self):
        for verb, word in (("renew", b"ms mcds:lk1"), ("release", b"md mcds:lk1")):
            token = os.path.join(self.work, verb)
            acquire = ("lock", "acquire", verb, "--token", token)
            code, _, stderr = self.give_up(word, signal.SIGTERM, "lock", verb, verb, "--token", token,
                                           before=acquire)
            self.assertEqual(code, AMBIGUOUS, stderr)
            self.assertIn(f"lock '{verb}': given up; it may have been {verb}", stderr)

    def test_a_job(self):
        self.assertEqual(self.run_to_end("queue", "push", "q", "job", "--may-lose").returncode, 0)
        self.assertEqual(self.give_up(CHANGE, signal.SIGTERM, "queue", "work", "q", "--may-lose", "--", "true")[0],
                         128 + signal.SIGTERM)
        code, _, stderr = self.give_up(CHANGE, signal.SIGTERM, "queue", "push", "q", "more", "--may-lose")
        self.assertEqual(code, AMBIGUOUS, stderr)

    def test_a_cache(self):
        code, _, stderr = self.give_up(READ, signal.SIGINT, "cache", "get", "c", "k", "--", "echo", "made")
        self.assertEqual((code, stderr), (130, "mcds: cache 'c': ended by signal 2\n"))
        code, stdout, stderr = self.give_up(b"made", signal.SIGINT, "cache", "get", "c", "k", "--", "echo", "made")
        self.assertEqual(stdout, "made\n")
        self.assertRegex(stderr, "^mcds: cache 'c': .*; the value may not be stored\n$")
        code, _, stderr = self.give_up(CHANGE, signal.SIGINT, "cache", "hold", "c", "k", "--", "echo", "made")
        self.assertEqual((code, stderr), (AMBIGUOUS, "mcds: cache 'c': given up" + DOUBT.format("applied") + "\n"))

    def test_a_limit(self):
        code, _, stderr = self.give_up(CHANGE, signal.SIGINT, "limit", "run", "l", "--rate", "1/s", "--", "true")
        self.assertEqual((code, stderr), (AMBIGUOUS, "mcds: limit 'l': given up" + DOUBT.format("applied") + "\n"))

    def test_a_release_after_the_command(self):
        """The code is that of the command."""
        code, _, stderr = self.give_up(b"md mcds:lk1", signal.SIGINT, "lock", "N", "--", "true")
        self.assertEqual(code, AMBIGUOUS, stderr)
        self.assertIn("the lock may not have been released, and then expires by itself", stderr)

    def test_a_script_ends(self):
        for word, line, code in ((READ, "counter get N", 130), (CHANGE, "set add s a b c", AMBIGUOUS),
                                 (CHANGE, "lock N -- true", 130)):
            ended, stdout, stderr = self.give_up(word, signal.SIGINT, "shell", lines=f"{line}\ncounter add more\n")
            self.assertEqual(ended, code, stderr)
            self.assertNotIn("line 2", stderr)
            self.assertEqual(stdout.replace("-\n", ""), "")


if __name__ == "__main__":
    run_process_tests("given_up", sys.argv[1])
