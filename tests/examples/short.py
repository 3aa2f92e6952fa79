"""The programs of examples/short: what they print, also where the store is away or a reply is lost.

  short.py c MCDS EXAMPLES PROGRAMS          the C and shell programs, built in the folder PROGRAMS
  short.py python MCDS EXAMPLES LIBRARY      the Python programs, with the package in LIBRARY
"""

import os
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from fixture import SKIPPED, Fixture, is_possible
from relay import Relay

LANGUAGE, MCDS, EXAMPLES, PLACE = sys.argv[1:5]
HANG_S = 600


class Short(unittest.TestCase):
    """A store of its own for each case, and one that is away."""

    store = "lmdb"

    def setUp(self):
        if not is_possible(self.store):
            self.skipTest("memcached is not installed")
        self.fixture = Fixture(self.store).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(os.path.abspath(MCDS))
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if LANGUAGE == "python":
            self.environment["PYTHONPATH"] = PLACE
        if self.store == "memcached":
            self.uri = self.environment["MCDS_STORE"]
        else:
            self.uri = f"lmdb:{self.path('store')}?sync=async&timeout=120000"
        self.away = f"memcached://{self.path('none.sock')}?timeout=1000"

    def path(self, name):
        return os.path.join(self.fixture.folder, name)

    def command(self, name, *words):
        if LANGUAGE == "python":
            return [sys.executable, os.path.join(EXAMPLES, f"{name}.py"), *words]
        return [os.path.join(PLACE, name), *words]

    def start(self, command):
        return subprocess.Popen(command, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_example(self, name, *words):
        """What it prints on standard output, its exit code, and what it says."""
        done = subprocess.run(self.command(name, *words), env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S)
        return done.stdout, done.returncode, done.stderr

    def check(self, printed, code, name, *words):
        stdout, returncode, stderr = self.run_example(name, *words)
        self.assertEqual((stdout, returncode), (printed, code), stderr)
        return stderr

    def mcds(self, *words):
        return subprocess.run([MCDS, "-s", self.uri, *words], env=self.environment, text=True, check=True,
                              capture_output=True, timeout=HANG_S).stdout


class BothLanguages(Short):
    def test_usage(self):
        for name in ("deploys", "flags", "login", "online", "pages", "payment"):
            stdout, code, stderr = self.run_example(name)
            self.assertEqual((stdout, code), ("", 64), stderr)
            self.assertIn(f"usage: {name}", stderr)

    def test_flags(self):
        self.check("off\n", 0, "flags", self.uri, "checkout", "off")
        self.check("on\n", 0, "flags", self.uri, "checkout", "on")
        self.mcds("table", "put", "flags", "checkout", "on")
        self.assertEqual(self.check("on\n", 0, "flags", self.uri, "checkout", "off"), "")
        self.mcds("table", "put", "flags", "checkout", "off")
        self.check("off\n", 0, "flags", self.uri, "checkout", "on")
        self.mcds("table", "put", "flags", "checkout", "yes")
        said = self.check("off\n", 0, "flags", self.uri, "checkout", "off")
        self.assertIn("checkout is neither on nor off", said)

    def test_flags_without_store(self):
        for default in ("on", "off"):
            said = self.check(f"{default}\n", 0, "flags", self.away, "checkout", default)
            self.assertIn("the default applies", said)
        self.check("on\n", 0, "flags", "nowhere:", "checkout", "on")

    def test_login(self):
        for left in (4, 3, 2, 1, 0):
            said = self.check("200 the password may be checked\n", 0, "login", self.uri, "10.0.0.7")
            self.assertIn(f"{left} more attempts", said)
        stdout, code, said = self.run_example("login", self.uri, "10.0.0.7")
        found = re.fullmatch(r"429 too many attempts, try again in (\d+) s\n", stdout)
        self.assertTrue(found and 0 < int(found[1]) <= 720, stdout + said)
        self.assertEqual(code, 1)
        self.check("200 the password may be checked\n", 0, "login", self.uri, "10.0.0.8")

    def test_login_without_store(self):
        said = self.check("200 the password may be checked\n", 0, "login", self.away, "10.0.0.7")
        self.assertIn("without a limit", said)

    def deployed(self):
        stdout, code, said = self.run_example("deploys", self.uri, "tail", self.path("position"))
        self.assertEqual((code, said), (0, ""))
        for line in stdout.splitlines():
            self.assertRegex(line, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ ")
        return [line.split(" ", 1)[1] for line in stdout.splitlines()]

    def test_deploys(self):
        self.assertEqual(self.deployed(), [])
        self.check("", 0, "deploys", self.uri, "put", "v41 on web1")
        self.check("", 0, "deploys", self.uri, "put", "v41 on web2")
        self.assertEqual(self.deployed(), ["v41 on web1", "v41 on web2"])
        self.check("", 0, "deploys", self.uri, "put", "v42 on web1")
        self.assertEqual(self.deployed(), ["v42 on web1"])
        self.assertEqual(self.deployed(), [])

    def test_deploys_without_store(self):
        said = self.check("", 69, "deploys", self.away, "put", "v41 on web1")
        self.assertIn("not in the log", said)
        said = self.check("", 69, "deploys", self.away, "tail", self.path("position"))
        self.assertIn("call again for the rest", said)

    def write(self, text):
        with open(self.path("page"), "w", encoding="utf-8") as file:
            file.write(text)

    def got(self):
        stdout, code, said = self.run_example("pages", self.uri, "get", self.path("page"))
        self.assertEqual(code, 0, said)
        return stdout.replace("fresh:", "kept:")  # Python does not say which

    def test_pages(self):
        self.write("one")
        self.assertEqual(self.got(), "filled: one\n")
        self.write("unseen")
        self.assertEqual(self.got(), "kept: one\n")
        self.check("", 0, "pages", self.uri, "put", self.path("page"), "two")
        self.assertEqual(self.got(), "filled: two\n")
        self.assertEqual(self.got(), "kept: two\n")

    def test_pages_read_once(self):
        """The source is a pipe: a second reader of it would wait for ever."""
        os.mkfifo(self.path("page"))
        readers = [self.start(self.command("pages", self.uri, "get", self.path("page"))) for _ in range(5)]
        with open(self.path("page"), "w", encoding="utf-8") as file:
            file.write("slow")
        printed = sorted(reader.communicate(timeout=HANG_S)[0] for reader in readers)
        self.assertEqual(printed[0], "filled: slow\n")
        self.assertEqual({line.split(": ")[1] for line in printed[1:]}, {"slow\n"})
        self.assertNotIn("filled: slow\n", printed[1:])

    def test_pages_without_source(self):
        stdout, code, said = self.run_example("pages", self.uri, "get", self.path("page"))
        self.assertEqual((stdout, code), ("", 69))
        self.assertIn("the source cannot be read", said)

    def test_pages_without_store(self):
        self.write("one")
        stdout, code, said = self.run_example("pages", self.away, "get", self.path("page"))
        self.assertEqual(code, 0, said)
        self.assertRegex(stdout, "^(not stored|filled): one\n$")
        said = self.check("", 75, "pages", self.away, "put", self.path("page"), "two")
        self.assertIn("may get the old page", said)

    def test_payment(self):
        self.check("act: 9 EUR\n200 done\n", 0, "payment", self.uri, "evt_1", "9 EUR")
        self.check("200 done before\n", 0, "payment", self.uri, "evt_1", "9 EUR")
        self.assertEqual(self.mcds("table", "get", "payments", "evt_1"), "done\n")

    def test_payment_at_once(self):
        senders = [self.start(self.command("payment", self.uri, "evt_2", "9 EUR")) for _ in range(8)]
        printed = "".join(sender.communicate(timeout=HANG_S)[0] for sender in senders)
        self.assertEqual(printed.count("act: 9 EUR\n"), 1, printed)
        self.assertEqual(len(re.findall("(?m)^200 done$", printed)), 1, printed)

    def test_payment_after_a_death(self):
        self.mcds("table", "put", "payments", "evt_3", "claimed 0123456789abcdef")
        self.check("503 claimed by another process\n", 75, "payment", self.uri, "evt_3", "9 EUR")
        self.mcds("table", "remove", "payments", "evt_3")
        self.check("act: 9 EUR\n200 done\n", 0, "payment", self.uri, "evt_3", "9 EUR")

    def test_payment_without_store(self):
        self.check("503 not claimed\n", 75, "payment", self.away, "evt_4", "9 EUR")


class SilentRelay(Relay):
    """No replies for `left` seconds from the first claim on: the claim is made, and its program does not learn it."""

    until = None

    def pass_request(self, data, server):
        if b"claimed " in data and self.until is None:
            self.until = time.monotonic() + self.left
        server.sendall(data)

    def pass_reply(self, data, client):
        if self.until is None or time.monotonic() > self.until:
            client.sendall(data)


class LostReplies(Short):
    store = "memcached"

    def test_payment(self):
        """The second try finds the claim of the first, and knows it as its own."""
        timeout_ms = 10000
        relay = SilentRelay(self.path("relay.sock"), self.fixture.socket, timeout_ms / 1000)
        self.addCleanup(relay.close)
        uri = f"memcached://{relay.path}?timeout={timeout_ms}"
        self.check("act: 9 EUR\n200 done\n", 0, "payment", uri, "evt_1", "9 EUR")
        self.check("200 done before\n", 0, "payment", uri, "evt_1", "9 EUR")


class OnlinePage(Short):
    def test_page(self):
        self.run_example("online", self.uri, "alice")
        self.run_example("online", self.uri, "alice")
        stdout, code, said = self.run_example("online", self.uri, "<bob>")
        self.assertEqual((code, said), (0, ""))
        self.assertTrue(stdout.startswith("Content-Type: text/html; charset=utf-8\n\n"))
        self.assertIn("<h1>Online: 2</h1>", stdout)
        self.assertEqual(sorted(re.findall("<li>(.*)</li>", stdout)), ["&#60;bob&#62;", "alice"])

    def test_page_without_store(self):
        stdout, code, said = self.run_example("online", self.away, "alice")
        self.assertEqual(code, 0)
        self.assertIn("<h1>Online: unknown</h1>", stdout)
        self.assertIn("The names are not available.", stdout)
        self.assertIn("alice is not noted", said)


class CutRelay(Relay):
    """When it is cut, passes one addition to the hits and then breaks all connections instead of passing the reply."""

    is_cut = False

    def pass_request(self, data, server):
        server.sendall(data)
        if self.is_cut and b"hits" in data:
            self.close()

    def pass_reply(self, data, client):
        if not self.is_cut:
            client.sendall(data)


class Hits(Short):
    store = "memcached"

    def visit(self, port):
        with socket.create_connection(("127.0.0.1", port), timeout=HANG_S) as visitor:
            return visitor.makefile().read()

    def test_hits_uv(self):
        if not os.path.exists(self.command("hits_uv")[0]):
            self.skipTest("libuv is not installed")
        relay = CutRelay(self.path("relay.sock"), self.fixture.socket, None)
        self.addCleanup(relay.close)
        server = self.start(self.command("hits_uv", f"memcached://{relay.path}?timeout=120000", "0"))
        try:
            port = int(server.stdout.readline().split()[1])
            self.assertEqual(self.visit(port), "You are visitor 1\n")
            self.assertEqual(self.visit(port), "You are visitor 2\n")
            relay.is_cut = True
            self.assertEqual(self.visit(port), "You were counted, or were not\n")
        finally:
            server.kill()
            server.communicate()


class Nightly(Short):
    def nightly(self, *command):
        return self.start([os.path.join(EXAMPLES, "nightly"), self.uri, self.path("log"), *command])

    def setUp(self):
        super().setUp()
        self.environment["HOLD"] = "0"

    def runs(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def test_nightly(self):
        """The first run lasts until the test writes to a pipe; the second finds the lock held."""
        os.mkfifo(self.path("pipe"))
        first = self.nightly("cat", self.path("pipe"))
        with open(self.path("pipe"), "w", encoding="utf-8") as pipe:  # waits until cat has begun
            second = self.nightly("echo", "twice")
            self.assertEqual((*second.communicate(timeout=HANG_S), second.returncode), ("", "", 0))
            pipe.write("once\n")
        self.assertEqual((*first.communicate(timeout=HANG_S), first.returncode), ("", "", 0))
        self.assertRegex(self.runs(), r"^run \d+\nonce\n$")

    def test_nightly_fails(self):
        job = self.nightly("sh", "-c", "exit 7")
        self.assertEqual(job.communicate(timeout=HANG_S)[1], "nightly: COMMAND ended with 7\n")
        self.assertEqual(job.returncode, 7)

    def test_nightly_without_store(self):
        self.uri = self.away
        job = self.nightly("echo", "never")
        self.assertIn("nightly: not run: the store is away or slow\n", job.communicate(timeout=HANG_S)[1])
        self.assertEqual((job.returncode, self.runs()), (69, ""))


class OnlineServer(Short):
    def page(self, uri, *names):
        server = self.start(self.command("online", uri, "0"))
        try:
            url = server.stdout.readline().strip()
            for name in names:
                with urllib.request.urlopen(f"{url}?name={name}", timeout=HANG_S) as reply:
                    page = reply.read().decode()
        finally:
            server.kill()
            server.communicate()
        return page

    def test_page(self):
        page = self.page(self.uri, "alice", "alice", "%3Cbob%3E")
        self.assertIn("<h1>Online: 2</h1>", page)
        self.assertEqual(sorted(re.findall("<li>(.*)</li>", page)), ["&lt;bob&gt;", "alice"])

    def test_page_without_store(self):
        page = self.page(self.away, "alice")
        self.assertIn("<h1>Online: unknown</h1>", page)
        self.assertIn("The names are not available.", page)


def missing():
    """What the Python package lacks; the C programs need nothing."""
    if LANGUAGE == "c":
        return ""
    script = os.path.join(EXAMPLES, "..", "..", "bindings", "python", "tests", "missing")
    return subprocess.run([script, "--build", sys.executable], text=True, check=True,
                          capture_output=True).stdout.strip()


if __name__ == "__main__":
    if lacks := missing():
        print(f"skipped: {lacks} is not installed")
        sys.exit(SKIPPED)
    others = {"c": [OnlinePage, Hits, Nightly], "python": [OnlineServer]}
    classes = [BothLanguages, LostReplies, *others[LANGUAGE]]
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, classes))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
