"""Signals of a crash end mcds, from any sender; if the store is an lmdb: file, a sentence names doctor."""

import os
import signal
import sys
import unittest

from fixture import HANDLED, LIMIT_S, Fixture, ProcessTest, has_sanitizer, is_possible

MCDS = os.path.abspath(sys.argv[1])
SENTENCE = "mcds: store: {}: mcds crashed while it used this file; if the file is damaged or was truncated, 'mcds doctor' reports that\n"
IO = 74


@unittest.skipIf(has_sanitizer(MCDS), HANDLED)
class CrashTest(ProcessTest):
    store = "lmdb"
    mcds = MCDS

    def wait_with(self, uri):
        """A command that has used the store, and waits for its next line."""
        process = self.start("-s", uri, "batch")
        process.stdin.write("counter add n\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "1\n")
        return process

    def check_signals(self, uri, told):
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
            process = self.wait_with(uri(number.name))
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT_S), -number)
            path = uri(number.name).removeprefix("lmdb:")
            self.assertEqual(process.stderr.read(), SENTENCE.format(path) if number in told else "", (uri, number))

    def test_signals_with_a_file(self):
        self.check_signals(lambda name: f"lmdb:{self.work}/{name}", (signal.SIGSEGV, signal.SIGBUS))

    def test_signals_without_a_file(self):
        self.check_signals(lambda name: "memory:", ())

    @unittest.skipUnless(is_possible("memcached"), "memcached is not installed")
    def test_signals_with_a_server(self):
        with Fixture("memcached") as server:
            self.check_signals(lambda name: f"memcached://{server.socket}?ns={name}&timeout=60000", ())

    def test_a_file_that_was_cut(self):
        process = self.wait_with(f"lmdb:{self.work}/cut")
        os.truncate(f"{self.work}/cut", 0)
        process.stdin.write("counter get n\n")
        process.stdin.flush()
        self.assertEqual(process.wait(LIMIT_S), IO)
        self.assertEqual(process.stderr.read(), SENTENCE.format(f"{self.work}/cut"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
