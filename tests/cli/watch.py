"""`mcds watch`: a line for each change, of every noun; the store goes away and comes back; its reader leaves."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from fixture import SKIPPED, Fixture, is_possible
from relay import Relay

STORE = sys.argv[1]
MCDS = os.path.abspath(sys.argv[2])
LIMIT_S = 300
HOSTILE = "a\x1b[2Jb"


class LateRelay(Relay):
    """Calls `change` once, after the server has answered a request that is these bytes alone, and before the answer is passed."""

    def __init__(self, path, server, request, change):
        self.request, self.change = request, change
        self.is_armed = self.is_next = False
        super().__init__(path, server, b"")

    def pass_request(self, data, server):
        self.is_next = self.is_armed and data.startswith(self.request) and data.count(b"\r\n") == 1
        super().pass_request(data, server)

    def pass_reply(self, data, client):
        if self.is_next:
            self.is_armed = self.is_next = False
            self.change()
        super().pass_reply(data, client)


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)

    def mcds(self, *words, data=None, code=0):
        done = subprocess.run([MCDS, "--timeout", "60s", *words], env=self.environment, input=data, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, (words, done))
        return done.stdout.decode()

    def watch(self, *words):
        """Starts a watch of these names and of a mark, and returns when it has read them once."""
        self.process = subprocess.Popen([MCDS, "--timeout", "60s", "watch", "mark", *words, "--interval", "20ms"], env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.lines, self.said = queue.Queue(), queue.Queue()
        for pipe, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.said)):
            threading.Thread(target=self.read, args=(pipe, lines), daemon=True).start()
        self.begin()

    def begin(self):
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            self.mcds("counter", "add", "mark")
            try:
                while "mark" in self.lines.get(timeout=0.2):
                    while not self.lines.empty():
                        self.lines.get()
                    self.settle()
                    return
            except queue.Empty:
                pass
        self.fail("it does not begin")

    def settle(self):
        """Takes the lines of the last addition to the mark."""
        value = self.mcds("counter", "get", "mark").strip()
        self.mcds("counter", "add", "mark", "1000000")
        value = str(int(value) + 1000000)
        while value not in self.lines.get(timeout=LIMIT_S):
            pass

    @staticmethod
    def read(pipe, lines):
        for line in pipe:
            lines.put(line.rstrip("\n"))

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def next(self, count=1):
        """The next lines without their times, sorted: those of one round have no order among each other."""
        try:
            return sorted("\t".join(self.lines.get(timeout=LIMIT_S).split("\t")[1:]) for _ in range(count))
        except queue.Empty:
            self.fail(f"no change is reported; the command says {list(self.said.queue)}, ends with {self.process.poll()}")

    def await_line(self, pattern):
        """Passes over lines, until one matches."""
        while not re.match(pattern, self.next()[0]):
            pass

    def test_numbers(self):
        self.mcds("counter", "add", "hits", "5")
        self.watch("hits", "chat")
        self.mcds("counter", "add", "hits", "2")
        self.assertEqual(self.next(), ["counter\thits\tchanged\t5\t7"])
        self.mcds("online", "beat", "chat", "ann", "--exact", "--width", "1d")
        self.assertEqual(self.next(), ["online\tchat\tchanged\t0\t1"])
        self.mcds("counter", "drop", "hits")
        self.assertEqual(self.next(), ["counter\thits\tdropped\t7"])
        self.mcds("counter", "add", "hits", "3", "--stripes", "4")
        line, = self.next()
        self.assertIn(line, ("counter\thits\tmade\t3",))

    @unittest.skipIf(STORE != "memcached", "a reply cannot be held: this store has no server")
    def test_made_while_it_looks(self):
        """A counter in stripes that is made between the look for its options and the read."""
        relay = LateRelay(f"{self.fixture.folder}/relay", self.fixture.socket, b"mg mcds:c1:hits ",
                          lambda: self.mcds("counter", "add", "hits", "3", "--stripes", "4"))
        self.addCleanup(relay.close)
        self.watch("hits", "-s", f"memcached://{relay.path}?connect_timeout=30000&timeout=120000")
        relay.is_armed = True
        self.assertEqual(self.next(), ["counter\thits\tmade\t3"])
        self.assertFalse(relay.is_armed)
        self.assertTrue(self.said.empty(), list(self.said.queue))

    def test_elements(self):
        self.mcds("set", "add", "s", "red", "green")
        self.mcds("table", "put", "t", "k", "v")
        self.watch("s", "t", "a", "bag")
        self.mcds("set", "add", "s", "blue")
        self.assertEqual(self.next(), ["set\ts\tadded\tblue"])
        self.mcds("set", "remove", "s", "red")
        self.assertEqual(self.next(), ["set\ts\tremoved\tred"])
        self.mcds("table", "put", "t", "k", "w")
        self.assertEqual(self.next(), ["table\tt\tchanged\tk\tv\tw"])
        self.mcds("table", "put", "t", "k2", "x")
        self.assertEqual(self.next(), ["table\tt\tadded\tk2\tx"])
        self.mcds("table", "remove", "t", "k")
        self.assertEqual(self.next(), ["table\tt\tremoved\tk\tw"])
        self.mcds("array", "set", "a", "x", "x", "y")
        self.assertEqual(self.next(3), ["array\ta\tadded\tx", "array\ta\tadded\tx", "array\ta\tadded\ty"])
        self.mcds("array", "change", "a", "--remove", "x")
        self.assertEqual(self.next(), ["array\ta\tremoved\tx"])
        self.mcds("set", "add", "bag", "nail", "--bag")
        self.assertEqual(self.next(), ["set\tbag\tadded\tnail\t1"])
        self.mcds("set", "add", "bag", "nail", "--bag")
        self.assertEqual(self.next(), ["set\tbag\tchanged\tnail\t1\t2"])
        self.mcds("table", "drop", "t")
        self.assertEqual(self.next(), ["table\tt\tdropped"])

    def test_jobs(self):
        """The counts of a queue: waiting, delayed, claimed, dead."""
        self.mcds("queue", "push", "q", "first", "--may-lose")
        self.watch("q", "other")
        self.mcds("queue", "push", "q", "second", "--may-lose")
        self.assertEqual(self.next(), ["queue\tq\tchanged\t2\t0\t0\t0"])
        self.mcds("queue", "next", "q", "--visible", "1h", "--may-lose")
        self.assertEqual(self.next(), ["queue\tq\tchanged\t1\t0\t1\t0"])
        self.mcds("queue", "push", "other", "later", "--delay", "1h", "--may-lose")
        self.await_line(r"^queue\tother\t(made|changed)\t0\t1\t0\t0$")  # it may be seen before its job
        self.mcds("queue", "drop", "q")
        self.await_line(r"^queue\tq\tdropped$")  # and it without its jobs

    def test_a_noun_that_is_not_watched(self):
        self.mcds("cache", "get", "pages", "home", "--", "true")
        self.mcds("cache", "get", "both", "home", "--", "true")
        self.mcds("counter", "add", "both")
        self.watch("pages", "both", "nothing")
        self.assertEqual(self.said.get(timeout=LIMIT_S),
                         "mcds: cache 'pages': this noun is not watched; 'mcds help watch' names those that are not")
        self.mcds("counter", "add", "pages")  # and the name is watched for the other nouns
        self.assertEqual(self.next(), ["counter\tpages\tmade\t1"])
        self.assertTrue(self.said.empty(), list(self.said.queue))

    def test_a_pattern(self):
        """It is a name, which may be made, and it is said that it is no pattern."""
        self.mcds("counter", "add", "hits")
        self.mcds("counter", "add", "there?")
        self.watch("hit*", "there?", "plain")
        self.assertEqual(self.said.get(timeout=LIMIT_S), "mcds: watch: 'hit*' is watched as a name, because watch takes no "
                         "patterns; 'mcds ls PATTERN' lists names")
        self.mcds("counter", "add", "hits")
        self.mcds("counter", "add", "hit*")
        self.assertEqual(self.next(), ["counter\thit*\tmade\t1"])
        self.assertTrue(self.said.empty(), list(self.said.queue))

    def test_what_is_appended(self):
        self.mcds("list", "push", "l", "one")
        self.mcds("log", "put", "g", "before")
        self.watch("l", "g", "new")
        self.mcds("list", "push", "l", "two")
        self.assertEqual(self.next(), ["list\tl\tappended\ttwo"])
        self.mcds("list", "clear", "l")
        self.assertEqual(self.next(), ["list\tl\tcleared"])
        self.mcds("list", "push", "l", "four")
        self.assertEqual(self.next(), ["list\tl\tappended\tfour"])
        self.mcds("log", "put", "g", "deploy v42")
        self.assertRegex(self.next()[0], r"^log\tg\tappended\t[-0-9T:.]+Z\tdeploy v42$")
        self.mcds("log", "put", "new", "first")
        self.assertRegex(self.next()[0], r"^log\tnew\tappended\t[-0-9T:.]+Z\tfirst$")

    def test_locks(self):
        self.watch("job")
        holder = subprocess.Popen([MCDS, "--timeout", "60s", "lock", "job", "--label", "me", "-t", "60s", "--", "cat"],
                                  env=self.environment, stdin=subprocess.PIPE)
        self.assertEqual(self.next(), ["lock\tjob\tacquired\tme\texclusive"])
        holder.communicate()
        self.assertEqual(self.next(), ["lock\tjob\treleased\tme"])

    def test_shared_locks(self):
        """Each caller that begins to share the lock, or ends, is a change."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def acquire(label, *options):
            self.mcds("lock", "acquire", "job", "-t", "1h", "--label", label, "--token", os.path.join(folder.name, label), *options)

        def release(label):
            self.mcds("lock", "release", "job", "--token", os.path.join(folder.name, label))

        self.watch("job")
        acquire("a", "--shared")
        self.assertEqual(self.next(), ["lock\tjob\tacquired\ta\tshared:1"])
        acquire("b", "--shared")
        self.assertRegex(self.next()[0], r"^lock\tjob\tchanged\t[ab]\tshared:2$")
        release("a")
        self.assertEqual(self.next(), ["lock\tjob\tchanged\tb\tshared:1"])
        release("b")
        self.assertEqual(self.next(), ["lock\tjob\treleased\tb"])
        acquire("c")
        self.assertEqual(self.next(), ["lock\tjob\tacquired\tc\texclusive"])

    def test_hostile_names_and_values(self):
        self.watch(HOSTILE)
        self.mcds("counter", "add", HOSTILE)
        self.assertEqual(self.next(), ["counter\t$'a\\x1b[2Jb'\tmade\t1"])
        self.mcds("set", "add", HOSTILE, "x\ty\nz")
        self.assertEqual(self.next(), ["set\t$'a\\x1b[2Jb'\tadded\t$'x\\ty\\nz'"])

    def test_objects(self):
        self.mcds("table", "put", "t", "k", "1\t2")
        self.mcds("queue", "push", "q", "job", "--may-lose")
        self.watch("t", "job", "hits", "q", "--json")
        self.mcds("table", "put", "t", "k", HOSTILE)
        seen = json.loads(self.lines.get(timeout=LIMIT_S))
        self.assertRegex(seen.pop("time"), r"^\d{4}-")
        self.assertEqual(seen, {"noun": "table", "name": "t", "change": "changed", "key": "k", "was": "1\t2", "value": HOSTILE})
        self.mcds("counter", "add", "hits", "4")
        seen = json.loads(self.lines.get(timeout=LIMIT_S))
        self.assertEqual((seen["change"], seen["value"]), ("made", 4))
        self.mcds("queue", "push", "q", "job", "--may-lose")
        seen = json.loads(self.lines.get(timeout=LIMIT_S))
        seen.pop("time")
        self.assertEqual(seen, {"noun": "queue", "name": "q", "change": "changed", "waiting": 2, "delayed": 0, "claimed": 0, "dead": 0})
        self.mcds("lock", "acquire", "job", "--label", "me", "-t", "1h", "--shared")
        seen = json.loads(self.lines.get(timeout=LIMIT_S))
        seen.pop("time")
        self.assertEqual(seen, {"noun": "lock", "name": "job", "change": "acquired", "holder": "me", "mode": "shared", "shared": 1})
        self.assertNotIn("\x1b", json.dumps(seen))

    def test_once(self):
        with subprocess.Popen([MCDS, "--timeout", "60s", "watch", "hits", "--once", "--interval", "10ms"], env=self.environment,
                              stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                self.mcds("counter", "add", "hits")
            self.assertRegex(process.stdout.read(), r"^\S+\tcounter\thits\t(made|changed)\t[0-9\t]+\n$")
            self.assertEqual(process.returncode, 0)

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.watch("hits")
            self.process.send_signal(number)
            self.assertEqual(self.process.wait(LIMIT_S), -number)
            self.stop()

    def test_a_reader_that_leaves(self):
        for quiet in (False, True):  # with nothing to print, too
            reader, writer = os.pipe()
            with subprocess.Popen([MCDS, "--timeout", "60s", "watch", "hits", "--interval", "10ms"], env=self.environment,
                                  stdout=writer, stderr=subprocess.PIPE, text=True) as process:
                os.close(writer)
                os.close(reader)
                if not quiet:
                    self.mcds("counter", "add", "hits")
                self.assertIn(process.wait(LIMIT_S), (0, 74))
                self.assertEqual(process.stderr.read(), "")

    def test_what_is_too_large(self):
        for i in range(3):
            self.mcds("table", "put", "t", f"k{i}", "-", data=b"x" * 200000)
        self.watch("t")
        for i in range(50):
            self.mcds("table", "put", "t", f"large{i}", "-", data=b"x" * 200000)
        self.assertIn("table 't': more than 262144 elements or 8 MB; from now on only their number is watched", self.said.get(timeout=LIMIT_S))
        while True:  # what was added before
            self.settle()
            if self.lines.empty():
                break
        self.mcds("table", "put", "t", "one more", "v")
        limit = time.monotonic() + LIMIT_S
        line = ""
        while not line.endswith("\t54") and time.monotonic() < limit:
            line, = self.next()
        self.assertRegex(line, r"^table\tt\tcount\t\d+\t54$")

    def test_the_store_goes_away_and_comes_back(self):
        if STORE != "memcached":
            self.skipTest("an lmdb file does not go away")
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?connect_timeout=1000&timeout=2000"
        self.watch("hits")
        self.mcds("counter", "add", "hits", "3")
        self.assertEqual(self.next(), ["counter\thits\tmade\t3"])
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.assertRegex(self.said.get(timeout=LIMIT_S), r"^mcds: watch: (?!\w+ ').*; waiting$")  # which is of no structure
        self.fixture.start_server()
        self.assertEqual(self.said.get(timeout=LIMIT_S), "mcds: the store answers again")
        lines = self.next(2)  # the new server is empty
        self.assertEqual(lines[0], "counter\thits\tdropped\t3")
        self.mcds("counter", "add", "hits", "9")
        self.assertEqual(self.next(), ["counter\thits\tmade\t9"])


    def follow(self, *words):
        """Starts a command that follows the store, and reads its sentences."""
        process = subprocess.Popen([MCDS, *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        lines, said = queue.Queue(), queue.Queue()
        for pipe, where in ((process.stdout, lines), (process.stderr, said)):
            threading.Thread(target=self.read, args=(pipe, where), daemon=True).start()
        return lines, said

    def test_who_follows_says_once_that_it_waits_and_once_that_the_store_answers(self):
        if STORE != "memcached":
            self.skipTest("an lmdb file does not go away")
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?connect_timeout=1000&timeout=2000"
        self.mcds("log", "put", "l", "first")
        followers = [self.follow("log", "tail", "-f", "l"), self.follow("top", "--json", "--interval", "100ms"),
                     self.follow("leader", "watch", "job"), self.follow("watch", "l", "--interval", "100ms")]
        for lines, _ in followers[:3]:
            lines.get(timeout=LIMIT_S)  # it has begun
        for _ in range(2):
            self.fixture.server.send_signal(signal.SIGSTOP)
            for _, said in followers:
                self.assertRegex(said.get(timeout=LIMIT_S), "^mcds: .*; waiting$")
            self.fixture.server.send_signal(signal.SIGCONT)
            for _, said in followers:
                self.assertEqual(said.get(timeout=LIMIT_S), "mcds: the store answers again")


class AloneTest(unittest.TestCase):
    def test_a_store_that_is_made_later(self):
        with Fixture("lmdb") as fixture:
            environment = fixture.environment(MCDS)
            with subprocess.Popen([MCDS, "watch", "hits", "--interval", "10ms", "--once"], env=environment, stdout=subprocess.PIPE,
                                  text=True) as process:
                subprocess.run([MCDS, "--timeout", "60s", "counter", "add", "hits", "2"], env=environment, check=True, stdout=subprocess.DEVNULL)
                # where it was made before the watch began, there is no change yet
                while process.poll() is None:
                    subprocess.run([MCDS, "--timeout", "60s", "counter", "add", "hits"], env=environment, check=True, stdout=subprocess.DEVNULL)
                self.assertRegex(process.stdout.read(), r"^\S+\tcounter\thits\t(made|changed)\t")
                self.assertEqual(process.wait(), 0)

    def test_what_is_refused(self):
        for words, code in ((["-s", "memory:", "watch", "x"], 64), (["watch"], 64), (["watch", "x", "--interval", "1ms"], 64),
                            (["-s", "lmdb:/none/at/all", "watch", "x"], 74)):
            done = subprocess.run([MCDS, *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done)

    def test_without_a_reader(self):
        """Standard output is closed, or takes nothing: a watch and the COMMAND of a cache do not begin."""
        with Fixture("lmdb") as fixture:
            environment = fixture.environment(MCDS)
            for words in ("watch x", "cache get pages home -- touch made"):
                for target in (">&-", ">/dev/full"):
                    done = subprocess.run(["sh", "-c", f"mcds {words} {target}"], env=environment, cwd=fixture.folder, capture_output=True,
                                          text=True, check=False, timeout=LIMIT_S)
                    self.assertEqual(done.returncode, 74, done)
                    self.assertRegex(done.stderr, "^mcds: standard output cannot be written: .*; nothing was done\n$")
            self.assertFalse(os.path.exists(os.path.join(fixture.folder, "made")))
            # The reader leaves while COMMAND runs, and the value is stored all the same.
            fill = subprocess.Popen(["mcds", "cache", "get", "pages", "home", "--", "sh", "-c", "echo started >&2; read go; echo v"],
                                    env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(fill.stderr.readline(), "started\n")
            fill.stdout.close()
            fill.stdin.write("go\n")
            fill.stdin.close()
            self.assertEqual(fill.wait(LIMIT_S), 74)
            self.assertEqual(fill.stderr.read(), "mcds: standard output cannot be written: Broken pipe; the change was made\n")
            fill.stderr.close()
            self.assertTrue(done.stderr.startswith("mcds: "), done)


if __name__ == "__main__":
    if not is_possible(STORE):
        print("watch: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
