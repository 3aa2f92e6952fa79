"""Commands that ask all servers, where several are silent: each is named, and they are waited for at the same
time."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

MCDS = os.path.abspath(sys.argv[1])
UNAVAILABLE = 69
COUNT = 3


class Server:
    """Takes connections, and answers none before `may_answer`; then it holds no key."""

    def __init__(self, path, arrived, may_answer):
        self.path, self.arrived, self.may_answer = path, arrived, may_answer
        self.clients = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            for line in client.makefile("rb"):
                self.arrived(self.path)
                self.may_answer.wait()
                client.sendall(self.answer(line))
        except OSError:
            pass

    @staticmethod
    def answer(line):
        if line.startswith(b"version"):
            return b"VERSION 1.6.18\r\n"
        if line.startswith((b"lru_crawler", b"stats", b"get")):
            return b"END\r\n"
        return b"ERROR\r\n"

    def close(self):
        for end in [self.listener, *self.clients]:
            end.close()


class SilentServersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.may_answer = threading.Event()
        self.addCleanup(self.may_answer.set)
        self.mutex = threading.Lock()
        self.seen = set()
        self.opens_at = COUNT + 1
        self.servers = []
        for i in range(COUNT):
            path = os.path.join(self.folder.name, f"server{i}")
            self.servers.append(Server(path, self.arrived, self.may_answer))
            self.addCleanup(self.servers[-1].close)

    def arrived(self, path):
        with self.mutex:
            self.seen.add(path)
            if len(self.seen) >= self.opens_at:
                self.may_answer.set()

    def mcds(self, options, *words):
        uri = "memcached://" + ",".join(server.path for server in self.servers) + options
        return subprocess.run([MCDS, "-s", uri, *words], check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})

    def test_each_silent_server_is_named(self):
        done = self.mcds("?connect_timeout=50", "ls")
        self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
        for server in self.servers:
            self.assertIn(server.path + ": no answer", done.stderr)
        self.assertIn("the keys of 3 of 3 servers are missing", done.stderr)
        done = self.mcds("?connect_timeout=50", "doctor")
        self.assertEqual(done.returncode, 1, done.stderr)
        for server in self.servers:
            self.assertIn(f"problem\t{server.path}\tunreachable: connected, but it does not", done.stdout)

    def test_servers_are_greeted_at_the_same_time(self):
        """Nobody answers before all have been asked."""
        self.opens_at = COUNT
        for word in ("ls", "doctor"):
            self.may_answer.clear()
            self.seen.clear()
            done = self.mcds("?connect_timeout=10000&timeout=60000&protocol=classic", word)
            self.assertNotIn("no answer", done.stderr)
            self.assertNotIn("unreachable", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
