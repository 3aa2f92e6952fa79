"""The sentence about events that a server has lost names the log, the verb and the server."""

import os
import re
import socket
import subprocess
import sys
import unittest
from urllib.parse import unquote

from fixture import SKIPPED, Fixture, is_possible

MCDS = os.path.abspath(sys.argv[1])
LOST = 79


class GapsTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("memcached").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)

    def run_mcds(self, *words):
        return subprocess.run([MCDS, *words], env=self.environment, check=False, capture_output=True, text=True)

    def say(self, line, end):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.fixture.socket)
            server.sendall(line.encode() + b"\r\n")
            said = b""
            while not said.endswith(end):
                said += server.recv(1 << 16)
            return said.decode()

    def lose_a_part(self):
        """Erases the key of the third part of the log. A listing leaves out what is in use at that moment."""
        parts = []
        while not parts:
            listing = self.say("lru_crawler metadump all", b"\r\n")
            parts = [key for key in map(unquote, re.findall(r"key=(\S+)", listing)) if key.endswith(":2")]
        part = parts[0]
        self.assertEqual(self.say(f"delete {part}", b"\r\n"), "DELETED\r\n")

    def test_a_lost_part(self):
        for _ in range(40):
            done = self.run_mcds("log", "put", "site", "x" * 5000, "--chunk", "1d", "--retention", "7d")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.lose_a_part()
        told = f"{self.fixture.socket}: events are missing in 1 place"
        for verb, words in (("scan", ()), ("tail", ("--from", "1h"))):
            done = self.run_mcds("log", verb, "site", *words)
            self.assertEqual((done.returncode, done.stderr), (LOST, f"mcds: log 'site': {verb}: {told}\n"))


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("gaps: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
