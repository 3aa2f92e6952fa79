"""Dump and load: what is dumped from one kind of store is made again in the other, byte for byte; what is cut off or
changed is refused and changes nothing; and a load that is killed anywhere is continued to the same result."""

import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse

from fixture import SKIPPED, Fixture, is_possible
from relay import CutRelay, Relay, SilentRelay

MCDS = os.path.abspath(sys.argv[1])
DONE, NO, DATA, UNREACHABLE, IO, BUSY, PROTOCOL, LOST, AMBIGUOUS = 0, 1, 65, 69, 74, 75, 76, 79, 80
TIMEOUT = "60s"
WAIT_S = 300
UNORDERED = (b"set", b"table")
GROWTH_MAX_KB = 5000


def quoted(data):
    """Bytes without \\ and ' in them as a field of a line of standard input."""
    named = {9: b"\\t", 10: b"\\n", 13: b"\\r"}
    text = b"".join(named.get(byte, b"\\x%02x" % byte if byte < 32 or 127 <= byte < 160 else bytes([byte])) for byte in data)
    return text if text == data else b"$'" + text + b"'"


def elements(dump):
    """What a dump says, in an order of its own: sets and tables have none. Sums depend on the order."""
    structures, here = [], None
    for line in dump.splitlines():
        word = line.split(b"\t")[0]
        if word == b"structure":
            here = [line]
            structures.append(here)
        elif word in (b"+", b"-"):
            here.append(line)
    for lines in structures:
        if lines[0].split(b"\t")[1] in UNORDERED and b"list" not in lines[0].split(b"\t")[3:]:
            lines[1:] = sorted(lines[1:])
    return structures


class KillingRelay(Relay):
    """Kills a process when so many bytes of requests have passed."""

    process = None

    def pass_request(self, data, server):
        self.left -= len(data)
        if self.left < 0 and self.process is not None:
            self.process.kill()
            data = data[:max(0, len(data) + self.left)]
        server.sendall(data)
        if self.left < 0 and self.process is not None:
            self.close()


class SlowRelay(Relay):
    """Delays each request."""

    def pass_request(self, data, server):
        time.sleep(0.1)
        server.sendall(data)


class DumpTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.fixture = Fixture("memcached").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.folder = self.fixture.folder
        self.environment = self.fixture.environment(MCDS)
        self.lmdb = f"lmdb:{self.folder}/store.mdb"
        self.memcached = f"memcached://{self.fixture.socket}"
        self.file = os.path.join(self.folder, "file")
        self.relays = 0

    def start(self, store, *words, namespace="mcds", timeout=TIMEOUT, **options):
        return subprocess.Popen([MCDS, "-s", store, "-N", namespace, "--timeout", timeout, *words], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                **({"stdin": subprocess.DEVNULL} | options))

    def mcds(self, store, *words, data=None, **options):
        process = self.start(store, *words, stdin=subprocess.DEVNULL if data is None else subprocess.PIPE, **options)
        out, err = process.communicate(data, timeout=WAIT_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def must(self, store, *words, code=DONE, **options):
        done = self.mcds(store, *words, **options)
        self.assertEqual(done.returncode, code, (words, done.stdout[:1000], done.stderr[:1000]))
        return done.stdout

    def relay(self, kind, limit):
        self.relays += 1
        path = f"{self.folder}/relay{self.relays}"
        relay = kind(path, self.fixture.socket, limit)
        self.addCleanup(relay.close)
        return relay, f"memcached://{path}"

    def write(self, data):
        with open(self.file, "wb") as file:
            file.write(data)

    def fill(self, store, large=100_000):
        """One of each noun and form, with every byte in names and in values."""
        every = [bytes([byte]) for byte in range(256)]
        name = bytes(range(1, 256))
        lines = b"".join(quoted(byte) + b"\n" for byte in every)
        pairs = b"".join(quoted(b"k" + byte) + b"\t" + quoted(byte * 3) + b"\n" for byte in every)
        big = random.randbytes(large)
        for at in range(0, 255, 15):
            self.must(store, "counter", "add", "--", name[at:at + 15], "7")
        for words in (["a"], ["b", "--plain"], ["c", "--stripes", "5"], ["d", "--exact"]):
            self.must(store, "counter", "add", words[0], "1234567890123", *words[1:])
        self.must(store, "counter", "add", "below", "--", "-5")
        for form in ([], ["--bag"], ["--list"]):
            self.must(store, "set", "add", "set" + "".join(form), *form, data=lines + lines[:50])
        self.must(store, "table", "put", "table", data=pairs)
        self.must(store, "table", "put", "table", "big", "-", data=big)
        self.must(store, "list", "push", "list", data=lines)
        self.must(store, "list", "push", "list", "--raw", data=big.replace(b"\n", b"\r"))
        self.must(store, "array", "set", "array", data=lines)
        self.must(store, "log", "put", "log", "--late", "1h", data=lines)
        self.must(store, "log", "put", "log", "--at", "30m", data=lines)
        self.must(store, "log", "put", "log", "--raw", data=big.replace(b"\n", b"\r"))
        self.must(store, "log", "put", "arrivals", "x", "y", "--by-arrival", "--at", "2020-01-01", "--retention", "60d")
        self.must(store, "log", "put", "arrivals", "z", "--at", "2021-01-01T00:00:00.5Z")

    def test_there_and_back(self):
        self.fill(self.lmdb)
        first = self.must(self.lmdb, "dump", "--all")
        self.assertEqual(self.must(self.memcached, "load", "-", data=first), b"loaded\t30\t%d\n" %
                         sum(line.startswith(b"+\t") for line in first.splitlines()))
        second = self.must(self.memcached, "dump", "--all")
        self.assertEqual(elements(first), elements(second))
        self.must(self.lmdb, "load", "-", data=second, namespace="back")
        self.assertEqual(elements(first), elements(self.must(self.lmdb, "dump", "--all", namespace="back")))
        for words in (["counter", "get", "d"], ["list", "scan", "list"], ["log", "scan", "log"], ["array", "scan", "array"],
                      ["set", "scan", "set--list"], ["log", "scan", "arrivals", "--json"]):
            self.assertEqual(self.must(self.lmdb, *words), self.must(self.memcached, *words))
        for store in (self.lmdb, self.memcached):  # the options too
            self.must(store, "counter", "add", "d", "--exact")
            self.must(store, "counter", "add", "c", "--stripes", "5")
            self.must(store, "log", "put", "log", "late", "--at", "59m", "--late", "1h")

    def dumped(self, store, word):
        lines = self.must(store, "dump", word).splitlines()
        return sorted(line.split(b"\t")[2].decode() for line in lines if line.startswith(b"structure\t"))

    def test_names_that_look_like_patterns(self):
        """A name of more than 100 bytes is in the store as a hash only, which no pattern matches."""
        long = "x" * 110
        for store in (self.lmdb, self.memcached):
            for name in (f"{long}*", f"{long}?", f"{long}[a]", f"{long}y", "[ab]", "a", "b", "~*"):
                self.must(store, "set", "add", name, "element")
            for word, names in ((f"{long}*", [f"{long}*"]), (f"{long}?", [f"{long}?"]), (f"{long}[a]", [f"{long}[a]"]),
                                (f"{long}\\*", [f"{long}*"]), (f"{long}\\[a]", [f"{long}[a]"]), ("[ab]", ["[ab]", "a", "b"]),
                                ("\\[ab]", ["[ab]"]), ("\\[[ab]b]", ["[ab]"]), (f"{long}y", [f"{long}y"])):
                self.assertEqual(self.dumped(store, word), names, word)
            for word in ("[xyz]", "\\[xyz]", f"{long}\\?\\?"):
                self.must(store, "dump", word, code=NO)

    def test_a_pattern_that_may_match_a_long_name(self):
        """The store has only its hash. A pattern that leaves it out says so; a name leaves out nothing."""
        long = "page/" + "x" * 110
        for store in (self.lmdb, self.memcached):
            self.must(store, "counter", "add", long, "7")
            self.must(store, "counter", "add", "page/1")
            for words, count in ((["page/*"], 1), (["other*"], 0), (["--all"], 1), (["*"], 1)):
                done = self.mcds(store, "dump", *words)
                self.assertEqual(done.returncode, NO, done)
                self.assertEqual(done.stdout.count(b"structure\t"), count, done)
                self.assertEqual(done.stdout.count(b"omitted\tcounter\t~"), 1, done)
                self.assertRegex(done.stderr, rb"dump: counter '~[^']{27}' is left out: the store has only a hash of its "
                                 rb"name, which has more than 100 bytes[^\n]*: dump it by its NAME\n")
            for words in ["page/1"], [long], [long, "page/1"]:
                self.assertEqual(self.mcds(store, "dump", *words).stderr, b"")

    def test_what_is_empty(self):
        for store in (self.lmdb, self.memcached):
            for noun, add, remove in (("set", ["add", "x"], ["remove", "x"]), ("table", ["put", "x", "y"], ["remove", "x"]),
                                      ("list", ["push", "x"], ["clear"])):
                self.must(store, noun, add[0], "none", *add[1:])
                self.must(store, noun, remove[0], "none", *remove[1:])
            self.must(store, "array", "set", "none", data=b"")
            self.must(store, "semaphore", "run", "none", "--permits", "3", "--", "true")
            dump = self.must(store, "dump", "none")
            self.assertEqual([line.split(b"\t")[1] for lines in elements(dump) for line in lines],
                             [b"array", b"list", b"semaphore", b"set", b"table"])
            self.must(store, "load", "-", data=dump, namespace="other")
            self.assertEqual(elements(self.must(store, "dump", "none", namespace="other")), elements(dump))

    def test_semaphores(self):
        """The permits, and no holder."""
        for store in (self.lmdb, self.memcached):
            inner = [MCDS, "-s", store, "--timeout", TIMEOUT]
            self.must(store, "semaphore", "run", "builds", "--permits", "3", "--", "true")
            self.must(store, "semaphore", "resize", "builds", "5")
            dump = self.must(store, "semaphore", "run", "builds", "--", *inner, "dump", "builds")
            self.assertEqual(elements(dump), [[b"structure\tsemaphore\tbuilds\tpermits=5"]])
            self.must(store, "load", "-", data=dump, namespace="other")
            self.assertEqual(self.must(store, "dump", "builds", namespace="other"), dump)
            self.must(store, "semaphore", "run", "builds", "--permits", "5", "--", "true", namespace="other")
            self.assertEqual(self.must(store, "semaphore", "holders", "builds", namespace="other"), b"")
            self.must(store, "load", "-", data=dump, code=NO)
            self.write(dump)
            self.must(store, "semaphore", "run", "builds", "--", *inner, "load", "--replace", self.file, code=BUSY)
            self.must(store, "semaphore", "resize", "builds", "2")
            self.must(store, "load", "--replace", self.file)
            self.assertEqual(elements(self.must(store, "dump", "builds")), elements(dump))
        for line in (b"structure\tsemaphore\tbuilds", b"structure\tsemaphore\tbuilds\tpermits=61"):
            self.write(self.resum(dump.replace(b"structure\tsemaphore\tbuilds\tpermits=5", line)))
            self.must(self.lmdb, "load", self.file, namespace="bad", code=DATA)
        self.write(self.resum(dump.replace(b"permits=5\n", b"permits=5\n+\tx\n").replace(b"sum\t0", b"sum\t1")))
        self.must(self.lmdb, "load", self.file, namespace="bad", code=DATA)

    def jobs(self, dump, *states):
        """The times and the jobs of a dump, of these states."""
        rows = [line.split(b"\t", 4)[1:] for line in dump.splitlines() if line.startswith(b"+\t")]
        return [(int(row[2]), row[3]) for row in rows if row[0] in states]

    def test_queues(self):
        """Each job is handed out in the other store, once, in the order of the pushes; a dead one stays dead."""
        jobs = [b"job %05d %s" % (i, b"x" * random.randrange(2000)) for i in range(100)]
        jobs += [bytes([byte]) * 3 for byte in range(0, 256, 5) if byte not in b"\n\r'\\"]
        self.must(self.lmdb, "queue", "push", "q", "dead", "slow")
        self.must(self.lmdb, "-q", "queue", "work", "q", "--tries", "1", "--max-jobs", "1", "--", "false", code=NO)
        self.must(self.lmdb, "queue", "next", "q", "--visible", "1h")
        self.must(self.lmdb, "queue", "push", "q", "later", "--delay", "2h")
        self.must(self.lmdb, "queue", "push", "q", data=b"".join(quoted(job) + b"\n" for job in jobs))
        large = random.randbytes(65536)
        self.write(large)
        self.must(self.lmdb, "queue", "push", "q", "--file", self.file)
        self.must(self.lmdb, "queue", "push", "none", "x")
        self.must(self.lmdb, "queue", "work", "none", "--until-empty", "--", "true")
        dump = self.must(self.lmdb, "dump", "q", "none")
        self.assertEqual([lines[0] for lines in elements(dump)], [b"structure\tqueue\tnone", b"structure\tqueue\tq"])
        self.assertEqual([job for _, job in self.jobs(dump, b"claimed", b"delayed", b"dead")], [b"slow", b"later", b"dead"])
        done = self.mcds(self.memcached, "load", "-", data=dump)
        self.assertEqual((done.returncode, b"give --may-lose; nothing was loaded" in done.stderr), (PROTOCOL, True), done)
        self.assertEqual(self.must(self.memcached, "ls"), b"")
        self.must(self.memcached, "load", "-", "--may-lose", data=dump)
        self.must(self.memcached, "load", "-", "--may-lose", data=dump, code=NO)
        self.assertEqual(self.must(self.memcached, "queue", "count", "none"), b"0\t0\t0\t0\n")
        self.assertEqual(self.must(self.memcached, "queue", "dead", "q").split(b"\t")[1:], [b"1", b"dead\n"])
        before = self.jobs(dump, b"claimed", b"delayed")
        after = self.jobs(self.must(self.memcached, "dump", "q"), b"delayed")
        self.assertEqual([job for _, job in before], [job for _, job in after])
        for (due, _), (later, _) in zip(before, after):
            self.assertTrue(due <= later < due + 60_000, (before, after))
        self.must(self.memcached, "queue", "work", "q", "--may-lose", "--wait", "0", "--", "sh", "-c", "cat >>done; echo >>done")
        with open(os.path.join(self.folder, "done"), "rb") as file:
            self.assertEqual(file.read(), b"".join(job + b"\n" for job in jobs + [large]))
        self.assertEqual(self.must(self.memcached, "queue", "count", "q"), b"0\t2\t0\t1\n")
        for line in (b"+\twaiting\t0\t5\tx", b"+\tdelayed\t0\t0\tx", b"+\tdead\t0\t0\tx", b"+\tasleep\t0\t0\tx", b"+\twaiting\t0\tx"):
            self.check_refused(self.resum(b"mcds-dump\t1\nstructure\tqueue\tq\n" + line + b"\nsum\t1\tx\nend\t1\t1\t0\tx\n"), line)

    def test_queues_with_stripes(self):
        """The queue is made with as many, also one without jobs. A dump without the number makes a queue of one stripe."""
        jobs = [b"job %d" % i for i in range(300)]
        self.must(self.memcached, "queue", "push", "q", "--may-lose", "--stripes", "3", data=b"\n".join(jobs))
        self.must(self.memcached, "queue", "push", "none", "x", "--may-lose", "--stripes", "32")
        self.must(self.memcached, "queue", "work", "none", "--may-lose", "--until-empty", "--", "true")
        first = self.must(self.memcached, "dump", "q", "none")
        begins = [b"structure\tqueue\tnone\tstripes=32", b"structure\tqueue\tq\tstripes=3"]
        self.assertEqual([lines[0] for lines in elements(first)], begins)
        self.assertEqual(sorted(job for _, job in self.jobs(first, b"waiting")), sorted(jobs))
        self.must(self.lmdb, "load", "-", data=first)
        second = self.must(self.lmdb, "dump", "q", "none")
        self.assertEqual([lines[0] for lines in elements(second)], begins)
        self.assertEqual(sorted(self.jobs(first, b"waiting")), sorted(self.jobs(second, b"waiting")))
        self.write(self.resum(first.replace(b"\tstripes=32\n", b"\n").replace(b"\tstripes=3\n", b"\n")))
        self.must(self.lmdb, "load", self.file, namespace="older")
        older = self.must(self.lmdb, "dump", "q", "none", namespace="older")
        self.assertEqual([lines[0] for lines in elements(older)], [b"structure\tqueue\tnone", b"structure\tqueue\tq"])
        self.assertEqual(self.jobs(first, b"waiting"), self.jobs(older, b"waiting"))
        for option in (b"stripes=0", b"stripes=33", b"stripes", b"stripes=3\tstripes=3"):
            self.check_refused(self.resum(first.replace(b"stripes=3\n", option + b"\n")), option)

    def test_a_log_whose_events_are_over(self):
        """The dump is older than what its log keeps: the log is made, with its options and without events."""
        for retention, chunk, late in (("10s", "4s", "1s"), ("60d", "1d", "1d")):
            name = "log" + retention
            self.must(self.lmdb, "log", "put", name, "old", "--retention", retention, "--chunk", chunk, "--late", late)
            dump = self.must(self.lmdb, "dump", name)
            old = [line for line in dump.splitlines() if line.startswith(b"+")]
            past = b"+\t1000000000000\t1000000000000\told"
            self.write(self.resum(dump.replace(old[0], past) if old else dump))
            for store in (self.lmdb, self.memcached):
                self.must(store, "load", self.file, namespace="past")
                again = self.must(store, "dump", name, namespace="past")
                self.assertEqual(elements(again), [[elements(dump)[0][0]]])
                self.must(store, "log", "put", name, "new", namespace="past")

    def test_an_event_of_a_distant_time(self):
        """A log by arrival takes each time that `log put` takes."""
        latest = b"140737488355000"  # less than 2^47
        for when in "2300-01-01T00:00:00Z", "@140737488355":
            self.must(self.lmdb, "log", "put", "far", "event", "--by-arrival", "--at", when)
        dump = self.must(self.lmdb, "dump", "far")
        self.assertIn(b"+\t" + latest + b"\t", dump)
        self.write(dump)
        self.must(self.memcached, "load", self.file)
        self.assertEqual(elements(self.must(self.memcached, "dump", "far")), elements(dump))
        self.check_refused(self.resum(dump.replace(latest, b"%d" % 2**47)), "beyond it", b"not the fields")

    def resum(self, dump):
        """The dump with sums that fit: what xxhsum prints is defined in docs/formats.md."""
        lines, one = [], b""
        for line in dump.splitlines():
            fields = line.split(b"\t")
            if fields[0] == b"structure":
                one = b""
            if fields[0] == b"sum":
                line = b"sum\t" + fields[1] + b"\t" + self.xxh64(one)
            if fields[0] == b"end":
                line = b"\t".join(fields[:4]) + b"\t" + self.xxh64(b"".join(lines))
            one += line + b"\n"
            lines.append(line + b"\n")
        return b"".join(lines)

    @staticmethod
    def xxh64(data):
        mask = (1 << 64) - 1
        p1, p2, p3, p4, p5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                              2870177450012600261)

        def rotate(number, bits):
            return (number << bits | number >> (64 - bits)) & mask

        def mix(number, word):
            return rotate((number + word * p2) & mask, 31) * p1 & mask
        at, four = 0, [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while at + 32 <= len(data):
            four = [mix(number, int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little")) for i, number in enumerate(four)]
            at += 32
        total = p5
        if len(data) >= 32:
            total = sum(rotate(number, bits) for number, bits in zip(four, (1, 7, 12, 18))) & mask
            for number in four:
                total = ((total ^ mix(0, number)) * p1 + p4) & mask
        total = (total + len(data)) & mask
        while at + 8 <= len(data):
            total = (rotate(total ^ mix(0, int.from_bytes(data[at:at + 8], "little")), 27) * p1 + p4) & mask
            at += 8
        if at + 4 <= len(data):
            total = (rotate(total ^ int.from_bytes(data[at:at + 4], "little") * p1 & mask, 23) * p2 + p3) & mask
            at += 4
        for byte in data[at:]:
            total = rotate(total ^ byte * p5 & mask, 11) * p1 & mask
        total = (total ^ total >> 33) * p2 & mask
        total = (total ^ total >> 29) * p3 & mask
        return b"%016x" % (total ^ total >> 32)

    def small(self):
        self.must(self.lmdb, "counter", "add", "hits", "41")
        self.must(self.lmdb, "set", "add", "tags", "red", "green")
        self.must(self.lmdb, "list", "push", "jobs", "-", data=b"x" * 20000 + b"\nshort\n")
        self.must(self.lmdb, "log", "put", "deploys", "v1", "v2")
        return self.must(self.lmdb, "dump", "--all")

    def check_refused(self, dump, why, sentence=b""):
        self.write(dump)
        done = self.mcds(self.lmdb, "load", self.file, namespace="other")
        self.assertEqual(done.returncode, DATA, (why, done))
        self.assertIn(b"nothing was loaded", done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_each_damage_has_its_sentence(self):
        self.must(self.lmdb, "counter", "add", "c", "1")
        self.must(self.lmdb, "set", "add", "s", "a")
        self.must(self.lmdb, "queue", "push", "q", "j")
        dump = self.must(self.lmdb, "dump", "--all")
        lines = dump.splitlines(keepends=True)
        counter, one, counter_sum = lines[1:4]
        job, = (line for line in lines if line.startswith(b"+") and line.endswith(b"\tj\n"))
        for old, new, sentence in (
                (counter, b"structure\tcounter\t\n", "not a name"),
                (counter, b"structure\tcounter\t" + 1025 * b"c" + b"\n", "not a name"),
                (counter, b"structure\ttable\tz\n", "not the fields that the noun has"),
                (counter, b"structure\tlock\tc\n", "not a noun that a dump can have"),
                (counter, b"structure\tcounter\tc\tfoo=1\n", "no option of this version of mcds: 'foo=1'"),
                (one + counter_sum, counter_sum.replace(b"sum\t1", b"sum\t0"), "a counter without a value"),
                (counter + one + counter_sum, counter + one, "the structure before has no end"),
                (counter_sum, counter_sum * 2, "the end of no structure"),
                (counter_sum, counter_sum + counter + one + counter_sum, "the structures are not in order"),
                (counter_sum, counter_sum + one, "an element of no structure"),
                (b"+\ta\n", b"+\t\n", "an element that is empty or longer than 1024 bytes"),
                (b"+\ta\n", b"+\t" + 1025 * b"a" + b"\n", "an element that is empty or longer than 1024 bytes"),
                (b"+\ta\n", b"+\ta" + 90 * b"\tb" + b"\n", "more fields than a line of a dump has"),
                (b"+\ta\n", b"-\ta\n", "the beginning of a value has no end"),
                (b"+\ta\n", b"-\ta\tb\n+\ta\n", "not a part of a value of at most 64 MB"),
                (b"+\ta\n", b"a\n", "not a line of a dump"),
                (job, b"".join([b"-\t" + 20000 * b"j" + b"\n"] * 4) + job, "a job of more than 64 KB"),
                (lines[-1], lines[-1].replace(b"end\t3", b"end\t4"), "other numbers than the lines before have"),
                (lines[-1], lines[-1] * 2, "something follows the end")):
            self.assertEqual(dump.count(old), 1, old)
            self.check_refused(self.resum(dump.replace(old, new)), sentence, sentence.encode())
        self.check_refused(dump[:-17] + 16 * b"0" + b"\n", "sum", b"the checksum is not that of the lines before")
        self.check_refused(dump.replace(counter_sum, counter_sum[:-17] + 16 * b"0" + b"\n"), "sum of one",
                           b"the checksum is not that of the lines of the structure")
        self.assertEqual(self.must(self.lmdb, "ls", namespace="other"), b"")

    def test_sums_are_those_of_the_document(self):
        dump = self.small()
        self.assertEqual(self.resum(dump), dump)

    def test_half_a_file(self):
        dump = self.small()
        lines = dump.splitlines(keepends=True)
        for count in range(len(lines)):
            self.check_refused(b"".join(lines[:count]), f"{count} lines")
            if count > 0:
                self.check_refused(b"".join(lines[:count] + lines[count + 1:]), f"without line {count}")
        for _ in range(20):
            length = random.randrange(1, len(dump) - 1)
            self.check_refused(dump[:length], f"{length} bytes")
        self.assertEqual(self.must(self.lmdb, "ls", namespace="other"), b"")

    def test_flipped_bits(self):
        dump = self.small()
        for _ in range(100):
            bit = random.randrange(8 * len(dump))
            changed = bytearray(dump)
            changed[bit // 8] ^= 1 << bit % 8
            self.check_refused(bytes(changed), f"bit {bit}")
        self.assertEqual(self.must(self.lmdb, "ls", namespace="other"), b"")

    def many(self):
        """Enough for several writes, in all nouns."""
        lines = b"".join(b"%d\n" % i for i in range(1500))
        self.must(self.lmdb, "batch", data=b"".join(b"counter add c%d %d\n" % (i, i) for i in range(300)))
        self.must(self.lmdb, "counter", "add", "exact", "9", "--exact")
        self.must(self.lmdb, "list", "push", "list", data=lines)
        self.must(self.lmdb, "set", "add", "bag", "--bag", data=lines + lines)
        self.must(self.lmdb, "set", "add", "line", "--list", data=lines)
        self.must(self.lmdb, "set", "add", "tags", data=lines)
        self.must(self.lmdb, "table", "put", "table", data=b"".join(b"%d\tvalue\n" % i for i in range(1500)))
        self.must(self.lmdb, "log", "put", "log", data=lines)
        self.must(self.lmdb, "array", "set", "array", data=lines)
        self.must(self.lmdb, "dump", "--all", "-o", self.file)
        with open(self.file, "rb") as file:
            return file.read()

    def killed(self, left, *options, namespace):
        """Whether a load was killed after so many bytes of requests."""
        relay, store = self.relay(KillingRelay, left)
        process = self.start(store, "load", self.file, *options, namespace=namespace)
        relay.process = process
        _, err = process.communicate(timeout=WAIT_S)
        self.assertIn(process.returncode, (DONE, -signal.SIGKILL), err)
        return process.returncode != DONE

    def test_a_load_that_is_killed(self):
        dump, kills = self.many(), 0
        for number, left in enumerate((3000, 9000, 20000, 40000, 80000, 160000, 300000)):
            namespace = f"killed{number}"
            is_killed = self.killed(left, namespace=namespace)
            while is_killed:  # and so is each that continues it, but ever later
                kills += 1
                left = left * 3 // 2 + 10000
                is_killed = self.killed(left, "--resume", namespace=namespace)
            self.assertEqual(elements(self.must(self.memcached, "dump", "--all", namespace=namespace)), elements(dump))
            self.assertNotIn(b"mcds-load", self.must(self.memcached, "ls", namespace=namespace))
        self.assertGreater(kills, 5)

    def test_a_load_into_a_file_that_is_killed(self):
        dump = self.many()
        path = os.path.join(self.folder, "killed.mdb")
        for size in (60_000, 200_000, 400_000):
            process = self.start(f"lmdb:{path}", "load", self.file, "--resume")
            while process.poll() is None and (not os.path.exists(path) or os.path.getsize(path) < size):
                time.sleep(0.001)
            process.kill()
            process.communicate()
        done = self.mcds(f"lmdb:{path}", "load", self.file, "--resume")
        self.assertIn(done.returncode, (DONE, NO), done)  # NO: the last was not killed in time
        self.assertEqual(elements(self.must(f"lmdb:{path}", "dump", "--all")), elements(dump))

    def test_replacing_that_is_killed(self):
        dump = self.many()
        self.must(self.memcached, "set", "add", "tags", "other", "--bag")
        self.must(self.memcached, "counter", "add", "c7", "1000")
        self.assertTrue(self.killed(90000, "--replace", namespace="mcds"))
        done = self.mcds(self.memcached, "load", self.file)
        self.assertEqual(done.returncode, NO)
        self.assertIn(b"--resume continues it", done.stderr)
        self.must(self.memcached, "load", self.file, "--resume")
        self.assertEqual(elements(self.must(self.memcached, "dump", "--all")), elements(dump))

    def test_what_was_lost_meanwhile_is_loaded_again(self):
        dump = self.many()
        self.assertTrue(self.killed(300000, namespace="mcds"))
        for words in (["array", "drop", "array"], ["counter", "drop", "c5"]):
            self.mcds(self.memcached, *words)
        self.must(self.memcached, "load", self.file, "--resume")
        self.assertEqual(elements(self.must(self.memcached, "dump", "--all")), elements(dump))

    def test_replies_that_are_lost(self):
        dump, codes = self.many(), set()
        for number, passed in enumerate((2000, 12000, 20000, 30000, 60000)):
            namespace = f"cut{number}"
            _, store = self.relay(CutRelay, passed)
            done = self.mcds(store, "load", self.file, namespace=namespace, timeout="1s")
            codes.add(done.returncode)
            if done.returncode == DONE:
                continue
            self.assertIn(done.returncode, (UNREACHABLE, AMBIGUOUS), done)
            self.assertEqual(done.stderr.count(b"\n"), 1, done)
            self.must(self.memcached, "load", self.file, "--resume", namespace=namespace)
            self.assertEqual(elements(self.must(self.memcached, "dump", "--all", namespace=namespace)), elements(dump))
        self.assertTrue(codes & {UNREACHABLE, AMBIGUOUS}, codes)

    def test_a_counter_that_somebody_changes(self):
        """As an addition of a killed load would, which arrives late."""
        dump = self.many()
        test = self

        class ChangingRelay(Relay):
            def pass_request(self, data, server):
                if self.left > 0 and b"value" in data:  # the counters are loaded before the table
                    self.left = 0
                    test.must(test.memcached, "counter", "add", "c9")
                server.sendall(data)
        _, store = self.relay(ChangingRelay, 1)
        done = self.mcds(store, "load", self.file)
        self.assertEqual(done.returncode, AMBIGUOUS, done)
        self.assertIn(b"counter 'c9' has another value than the dump", done.stderr)
        self.must(self.memcached, "load", self.file, "--resume")
        self.assertEqual(elements(self.must(self.memcached, "dump", "--all")), elements(dump))

    def test_two_loads_at_once(self):
        """One of them loads, the others say that they may not."""
        dump = self.many()
        loads = [self.start(self.memcached, "load", self.file) for _ in range(4)]
        ended = [(load.communicate(timeout=WAIT_S)[1], load.returncode) for load in loads]
        self.assertEqual(sorted(code for _, code in ended), [DONE, NO, NO, NO], ended)
        self.assertEqual(elements(self.must(self.memcached, "dump", "--all")), elements(dump))

    def test_while_others_write(self):
        """What nobody changes is in each dump, once; and each dump can be loaded."""
        lines = b"".join(b"stays%d\n" % i for i in range(2000))
        for store in (self.lmdb, self.memcached):
            self.must(store, "set", "add", "set", data=lines)
            self.must(store, "table", "put", "table", data=lines.replace(b"\n", b"\tv\n"))
            self.must(store, "list", "push", "list", data=lines)
            script = 'i=0; while :; do i=$((i + 1)); echo "set add set n$i"; echo "set remove set n$((i - 9))"; ' \
                'echo "table put table n$i v"; echo "list push list n$i"; echo "counter add hits"; done'
            writer = subprocess.Popen(["sh", "-c", f'({script}) | "$0" -s "$1" -q --timeout {TIMEOUT} batch', MCDS, store],
                                      env=self.environment, stdout=subprocess.DEVNULL, start_new_session=True)
            try:
                for number in range(3):
                    dump = self.must(store, "dump", "set", "table", "list")
                    kept = [[line.split(b"\t")[1] for line in found[1:] if b"\tstays" in line] for found in elements(dump)]
                    self.assertEqual(kept, [lines.splitlines(), sorted(lines.splitlines()), sorted(lines.splitlines())])
                    self.must(store, "load", "-", data=dump, namespace=f"copy{number}")
            finally:
                os.killpg(writer.pid, signal.SIGKILL)
                writer.wait()

    def peak_kb(self, *words, namespace):
        """As seen until shortly before the end. (What wait4 returns is at least the memory of this process.)"""
        process, peak = self.start(self.memcached, *words, namespace=namespace), 0
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                found = re.search(r"^VmHWM:\s*(\d+) kB", status.read(), re.MULTILINE)
            peak = max(peak, int(found[1])) if found else peak
            time.sleep(0.001)
        process.communicate()
        self.assertEqual(process.returncode, DONE)
        return peak

    def test_memory(self):
        """Any number of elements takes the same."""
        with open(MCDS, "rb") as program:
            if re.search(rb"__[amt]san_init", program.read()):
                self.skipTest("the sanitizer keeps memory that was freed")
        peaks = []
        for count in (3000, 60000):
            lines, namespace = b"".join(b"%d\n" % i for i in range(count)), f"n{count}"
            self.must(self.memcached, "set", "add", "set", data=lines, namespace=namespace)
            self.must(self.memcached, "table", "put", "table", data=lines.replace(b"\n", b"\tv\n"), namespace=namespace)
            self.must(self.memcached, "list", "push", "list", data=lines, namespace=namespace)
            peaks.append((self.peak_kb("dump", "--all", "-o", self.file, namespace=namespace),
                          self.peak_kb("load", self.file, namespace=namespace + "again")))
        for few, many in zip(*peaks):
            self.assertLess(many - few, GROWTH_MAX_KB)

    def test_a_signal(self):
        """What is in flight is awaited, and --resume continues."""
        dump, test = self.many(), self

        class SignallingRelay(Relay):
            def pass_request(self, data, server):
                if self.left > 0 and b"value" in data:
                    self.left = 0
                    test.process.send_signal(signal.SIGINT)
                server.sendall(data)
        for options in ({"stdin": subprocess.DEVNULL}, {"stdin": open(self.file, "rb")}):
            name = self.file if options["stdin"] == subprocess.DEVNULL else "-"
            namespace = "fromfile" if name != "-" else "frominput"
            _, store = self.relay(SignallingRelay, 1)
            self.process = self.start(store, "load", name, namespace=namespace, **options)
            _, err = self.process.communicate(timeout=WAIT_S)
            self.assertEqual(self.process.returncode, 128 + signal.SIGINT, err)
            self.assertIn(b"--resume", err)
            self.must(self.memcached, "load", self.file, "--resume", namespace=namespace)
            self.assertEqual(elements(self.must(self.memcached, "dump", "--all", namespace=namespace)), elements(dump))
            if name == "-":
                options["stdin"].close()

    def ask(self, words):
        """The answer of the server."""
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.fixture.socket)
            server.sendall(words + b"\r\n")
            seen = b""
            while not seen.endswith((b"END\r\n", b"DELETED\r\n", b"STORED\r\n")):
                seen += server.recv(65536)
            return seen

    def keys(self, begin):
        words = self.ask(b"lru_crawler metadump all").split()
        keys = [urllib.parse.unquote_to_bytes(word[4:]) for word in words if word.startswith(b"key=")]
        return [key for key in keys if key.startswith(begin)]

    def test_a_part_that_is_lost(self):
        """The dump has the rest, says so, and can be loaded."""
        self.must(self.memcached, "list", "push", "list", data=b"".join(b"%09d\n" % i for i in range(9000)))
        second = [key for key in self.keys(b"mcds:lp1:list:") if key.endswith(b":1")]
        self.ask(b"delete " + second[0])
        done = self.mcds(self.memcached, "dump", "list", "-o", "file")
        self.assertEqual(done.returncode, LOST, done)
        self.assertIn(b"list 'list': a part of it is lost; the dump has the rest", done.stderr)
        self.must(self.memcached, "load", self.file, namespace="rest")
        self.assertIn(b"000008999\n", self.must(self.memcached, "list", "scan", "list", namespace="rest"))

    def lose_numbers(self):
        """Deletes the key that has the numbers of the queue q: no job can be claimed then."""
        for key in self.keys(b"mcds:q1:q:"):
            _, flags, rest = self.ask(b"get " + key).split(b" ", 3)[1:]
            value = rest.partition(b"\r\n")[2].removesuffix(b"\r\nEND\r\n")
            self.ask(b"delete " + key)
            if b"the list of its parts is gone" in self.mcds(self.memcached, "queue", "ls", "q").stderr:
                return
            self.ask(b"set %s %s 0 %d\r\n" % (key, flags, len(value)) + value)
        self.fail("no key has the numbers")

    def test_a_queue_whose_numbers_are_lost(self):
        """The dump has the dead jobs and the other jobs that are left."""
        jobs = [b"%02d" % i + b"x" * 8000 for i in range(40)]
        self.must(self.memcached, "queue", "push", "q", "--may-lose", "--stripes", "2", data=b"\n".join(jobs))
        self.must(self.memcached, "-q", "queue", "work", "q", "--may-lose", "--tries", "1", "--max-jobs", "10", "--", "false",
                  code=NO)
        self.lose_numbers()
        done = self.mcds(self.memcached, "dump", "q")
        self.assertEqual(done.returncode, LOST, done)
        dead = [job for _, job in self.jobs(done.stdout, b"dead")]
        left = [job for _, job in self.jobs(done.stdout, b"waiting")]
        self.assertTrue(dead and left and set(dead + left) <= set(jobs), (dead, left))
        self.assertFalse(set(dead) & set(left))

    def test_what_a_server_evicts_meanwhile(self):
        """A server without room answers to everything and keeps a part: a load is not done then."""
        value = b"v" * 1000
        self.must(self.lmdb, "list", "push", "first", "x", "y")
        self.must(self.lmdb, "list", "push", "second", data=(value + b"\n") * 6000)
        self.must(self.lmdb, "log", "put", "events", data=(value + b"\n") * 6000)
        for name, said in (("second", b"of 6000 elements of list 'second'"), ("events", b"elements of log 'events'")):
            with self.subTest(name=name), Fixture("memcached", 2) as small:
                self.must(self.lmdb, "dump", name, "-o", "file")
                done = self.mcds(f"memcached://{small.socket}", "load", self.file)
                self.assertEqual(done.returncode, LOST, done)
                self.assertIn(said, done.stderr)
                self.must(self.memcached, "load", self.file)
        with Fixture("memcached", 2) as small:
            self.must(self.lmdb, "dump", "first", "second", "-o", "file")
            done = self.mcds(f"memcached://{small.socket}", "load", self.file)
            self.assertEqual(done.returncode, LOST, done)
            self.assertIn(b"elements of list", done.stderr)

    def test_progress(self):
        """On a terminal, after a second, and erased at the end; elsewhere nothing."""
        self.must(self.lmdb, "list", "push", "list", data=b"".join(b"value number %d\n" % i for i in range(3000)))
        dump = self.must(self.lmdb, "dump", "list")
        self.write(dump)
        for number, has_terminal in enumerate((True, False)):
            _, store = self.relay(SlowRelay, 0)
            reader, writer = pty.openpty() if has_terminal else os.pipe()
            process = subprocess.Popen([MCDS, "-s", store, "-N", f"n{number}", "--timeout", TIMEOUT, "load", self.file],
                                       env=self.environment, stdout=subprocess.PIPE, stderr=writer, stdin=subprocess.DEVNULL)
            os.close(writer)
            seen = b""
            try:
                while data := os.read(reader, 4096):
                    seen += data
            except OSError:  # a terminal whose other end is closed
                pass
            os.close(reader)
            self.assertEqual(process.communicate()[0], b"loaded\t1\t3000\n")
            if has_terminal:
                self.assertRegex(seen, rb"\rmcds: \d+ elements loaded \(\d+ %\), \d+ each second")
                self.assertRegex(seen, rb"\r *\r$")
            else:
                self.assertEqual(seen, b"")

    def test_a_store_that_does_not_answer(self):
        """It is asked once, and the sentence names no noun."""
        asked = []

        class SilentRelay(Relay):
            """Passes only the questions about the server."""

            def pass_request(self, data, server):
                if b"mcds-probe" in data or data.startswith(b"version"):
                    server.sendall(data)
                else:
                    asked.append(data)

        self.must(self.memcached, "counter", "add", "a")
        relay, store = self.relay(SilentRelay, 0)
        del relay
        done = self.mcds(store, "dump", "a", timeout="300ms")
        self.assertEqual((done.returncode, done.stdout), (69, b""), done)
        self.assertRegex(done.stderr, rb"\Amcds: dump: 'a': [^\n]*/relay1: [^\n]*; nothing was written\n\Z")
        self.assertEqual(len(asked), 1, asked)

    def test_no_half_file_under_the_name(self):
        self.must(self.lmdb, "list", "push", "list", data=b"x" * 500_000)
        self.write(b"before")
        done = subprocess.run(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", MCDS, "-s", self.lmdb, "dump", "--all", "-o", "file"],
                              env=self.environment, cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(done.returncode, IO, done)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), b"before")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("file.")], [])

    def test_what_the_store_does_not_take(self):
        """The sentence names what was too large and the way out: --resume is none."""
        self.must(self.lmdb, "table", "put", "rows", "large", "-", data=b"x" * 1000000)
        self.must(self.lmdb, "array", "set", "blocks", "-", data=b"x" * 60000 + b"\n")
        self.must(self.lmdb, "dump", "--all", "-o", self.file)
        done = self.mcds(self.memcached, "load", self.file)
        self.assertEqual(done.returncode, DATA, done)
        self.assertIn(b"table 'rows': put: the value has 1000000 bytes; at most 262016 here", done.stderr)
        self.assertNotIn(b"--resume", done.stderr)
        mark = re.search(rb"the table '(mcds-load:[0-9a-f]+)'", done.stderr)
        self.must(self.memcached, "rm", "--yes", "blocks", mark[1].decode())
        self.assertEqual(self.must(self.memcached, "ls"), b"")

    def test_a_dump_that_is_ended(self):
        self.must(self.memcached, "list", "push", "list", data=b"x\n" * 100)
        _, store = self.relay(SilentRelay, b":lp1:list")
        process = self.start(store, "dump", "list", "-o", "file")
        limit = time.monotonic() + WAIT_S
        while not any(name.startswith("file.") for name in os.listdir(self.folder)):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("file")], [])


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("dump: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
