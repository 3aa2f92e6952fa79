"""What the command wrote, read by a reader that knows nothing but docs/formats.md.

agree.py MCDS QUEUE [TEST...]: every key that is found must be one of the document's, and, when all tests
are run, every one of the document's must be found."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weblog"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import document  # noqa: E402
import jobs  # noqa: E402
import maps  # noqa: E402
import memcached  # noqa: E402
import segments  # noqa: E402
import reader  # noqa: E402

MCDS = QUEUE = None
MANY = 1500
PATIENCE_S = 20
DAY_MS = 86400000
met = set()


class Gate:
    """In front of a server. After a request with `key` it passes no request on until it is opened."""

    def __init__(self, path, server, key):
        self.path, self.server, self.key = path, server, key
        self.opened = threading.Event()
        self.is_shut = False
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
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, target, source is client),
                                 daemon=True).start()

    def pump(self, source, target, is_request):
        while data := source.recv(1 << 20):
            if is_request and self.is_shut:
                self.opened.wait()
            target.sendall(data)
            self.is_shut = self.is_shut or (is_request and self.key in data)
        target.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.opened.set()
        self.listener.close()


class AgreeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.uri, self.server, started = self.start()
        self.path = started.path

    def start(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        started = memcached.Server(folder)
        started.__enter__()
        self.addCleanup(started.__exit__)
        server = reader.Server(started.path)
        self.addCleanup(server.close)
        self.addCleanup(self.check_keys, server)
        return started.uri, server, started

    def check_keys(self, server):
        """Every key is understood, and what it holds can be read."""
        for key in server.keys():
            item = server.get(key)
            if item is not None:
                met.add(document.read(key, *item))

    def mcds(self, *arguments, lines=None, uri=None):
        given = None if lines is None else "".join(line + "\n" for line in lines)
        done = subprocess.run([MCDS, "-s", uri or self.uri, *arguments], input=given, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def await_key(self, beginning):
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            for key in self.server.keys():
                if key.startswith(beginning) and self.server.get(key):
                    return key, *self.server.get(key)
            time.sleep(0.01)
        self.fail("no key %r" % beginning)

    def keys_of(self, tag):
        return sorted(key for key in self.server.keys() if key.split(b":")[1] == tag)

    def test_a_key_that_is_not_in_the_document_is_refused(self):
        with self.assertRaises(AssertionError):
            document.read(b"mcds:zz1:name", 0, b"1")
        with self.assertRaises(AssertionError):
            document.read(b"mcds:c1:name:01", 1700000000, b"1")
        with self.assertRaises(AssertionError):
            document.read(b"mcds:vb1:site:page", 0, b"mdB\1" + bytes(16) + b"good")

    def test_caches(self):
        large = "x" * 700000
        get = ["cache", "get", "pages"]
        self.assertEqual(self.mcds(*get, "/a", "--tag", "red", "--stale", "10m", "--", "echo", "a"), "a\n")
        self.mcds(*get, "/b", "--", "printf", "%700000d", "0")
        items = {key: reader.cached(key, *self.server.get(key)) for key in self.keys_of(b"ki1")}
        own = reader.generation(b"mcds:kg1:pages", *self.server.get(b"mcds:kg1:pages"))
        red = reader.generation(b"mcds:kt1:pages:red", *self.server.get(b"mcds:kt1:pages:red"))
        kind, held, times, failures, carried, tags, rest = items[b"mcds:ki1:pages:/a"]
        self.assertEqual((kind, held, failures, rest), (1, False, 0, b"a\n"))
        self.assertEqual((carried, tags), (own[1], {b"red": red[1]}))
        self.assertEqual(times[2] - times[1], 600000)
        kind, _, _, _, _, tags, rest = items[b"mcds:ki1:pages:/b"]
        life, length, each, total = struct.unpack("<QQII", rest)
        pieces = [b"mcds:kp1:pages:/b:%016x:%d" % (life, i) for i in range(-(-length // each))]
        self.assertEqual(sorted(pieces), self.keys_of(b"kp1"))
        whole = b"".join(self.server.get(piece)[1] for piece in pieces)
        self.assertEqual((kind, tags, len(whole), length), (2, {}, len(large), len(large)))
        self.assertEqual(reader.crc32c(whole), total)
        self.mcds("cache", "hold", "pages", "--tag", "red", "--", "true")
        self.assertNotEqual(red, reader.generation(b"mcds:kt1:pages:red",
                                                   *self.server.get(b"mcds:kt1:pages:red")))
        self.mcds(*get, "/c", "--ttl", "1ms", "--stale", "10m", "--", "echo", "c")
        self.assertEqual(self.mcds(*get, "/c", "--stale", "10m", "--", "false"), "c\n")
        _, *refresh = self.await_key(b"mcds:kr1:pages:/c")
        kind, _, _, failures, _, _, rest = reader.cached(b"mcds:kr1:pages:/c", *refresh)
        self.assertEqual((kind, failures, rest), (5, 1, b"the command exited with 1"))

    def test_counters(self):
        self.mcds("counter", "add", "hits: all", "41")
        self.mcds("counter", "add", "hits: all")
        key = b"mcds:c1:hits%3A%20all"
        value, incarnation = reader.number(key, *self.server.get(key))
        self.assertEqual(value, 42)
        self.assertLess(abs(incarnation - time.time()), 60)
        self.mcds("counter", "add", "depth", "--signed", "-7")
        self.assertEqual(reader.number(b"mcds:c1:depth", *self.server.get(b"mcds:c1:depth"))[0], -7)
        self.mcds("counter", "add", "page", "--plain", "7")
        self.assertEqual(self.server.get(b"mcds:c1:page")[1], b"7")
        self.mcds("counter", "add", "a" * 300)
        self.assertRegex(self.keys_of(b"c1")[-1], rb"^mcds:c1:~[\w-]{27}$")

    def test_striped_counter(self):
        for delta in ("5", "-2", "8", "1"):
            self.mcds("counter", "add", "wide", delta, "--stripes", "4")
        head, *keys = self.keys_of(b"c1")
        self.assertEqual((head, self.settings(head)), (b"mcds:c1:wide", (4,)))
        self.assertTrue({key.rsplit(b":", 1)[1] for key in keys} <= {b"0", b"1", b"2", b"3"})
        self.assertEqual(sum(reader.number(key, *self.server.get(key))[0] for key in keys), 12)

    def test_exact_counter(self):
        for delta in ("41", "-7", "8"):
            self.mcds("counter", "add", "orders", "--exact", delta)
        value, writers, _ = reader.exact([self.server], b"mcds:c1:orders")
        self.assertEqual(value, 42)
        self.assertEqual({mark for _, _, _, mark in writers}, {1})

    def test_a_drop_of_an_exact_counter(self):
        numbers = set()
        for _ in range(2):
            self.mcds("counter", "add", "gone", "--exact")
            self.mcds("counter", "drop", "gone", "--exact")
            self.assertEqual([key for key in self.server.keys() if b":gone" in key], [b"mcds:cy1:gone"])
            self.check_keys(self.server)
            numbers.add(reader.exact_drop(b"mcds:cy1:gone", *self.server.get(b"mcds:cy1:gone")))
        self.assertEqual(len(numbers), 2)

    def test_copies(self):
        uris, servers, started = zip(*[self.start() for _ in range(3)])
        hosts = [uri[len("memcached://"):].split("?")[0] for uri in uris]
        uri = "memcached://%s?%s" % (",".join(hosts), uris[0].split("?")[1])
        for delta in ("41", "-7", "8"):
            self.mcds("counter", "add", "orders", "--copies", "3", delta, uri=uri)
        self.mcds("counter", "add", "two", "--copies", "2", uri=uri)
        value, _, holders = reader.exact(servers, b"mcds:c1:orders")
        self.assertEqual((value, holders), (42, [0, 1, 2]))
        value, _, holders = reader.exact(servers, b"mcds:c1:two")
        self.assertEqual(value, 1)
        self.assertEqual(len(holders), 2)
        for server in servers:
            self.assertEqual(reader.exact([server], b"mcds:c1:orders")[0], 42)

    def test_lock(self):
        holder = subprocess.Popen([MCDS, "-s", self.uri + "&protocol=classic", "lock", "nightly",
                                   "--label", "web3", "--", "cat"], stdin=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        key, *item = self.await_key(b"mcds:lk1:")
        held, token, renewed, label = reader.lease(key, *item)
        self.assertEqual((key, held, renewed, label), (b"mcds:lk1:nightly", True, 0, b"web3"))
        self.check_keys(self.server)
        fence, _ = reader.number(b"mcds:lf1:nightly", *self.server.get(b"mcds:lf1:nightly"))
        self.assertLess(abs(fence / 1e9 - time.time()), 60)
        self.assertEqual(self.mcds("lock", "nightly", "--info").split("\t")[::2],
                         ["web3", "%d\n" % fence])
        holder.stdin.close()
        self.assertEqual(holder.wait(), 0)
        item = self.server.get(key)
        if item is not None:  # a tombstone stays for 3 seconds
            self.assertEqual(reader.lease(key, *item)[:2], (False, token))

    def test_readers(self):
        holders = []
        for label in ("one", "two"):
            holders.append(subprocess.Popen([MCDS, "-s", self.uri, "lock", "files", "--shared", "--label", label, "--",
                                             "cat"], stdin=subprocess.PIPE))
            self.addCleanup(holders[-1].wait)
            self.addCleanup(holders[-1].stdin.close)
            self.await_count(b"mcds:lk1:files", len(holders))
        intent, found = reader.readers(b"mcds:lk1:files", *self.server.get(b"mcds:lk1:files"))
        self.assertIsNone(intent)
        self.assertEqual([label for _, _, _, label in found], [b"one", b"two"])
        self.assertNotEqual(found[0][0], found[1][0])
        self.assertEqual(json.loads(self.mcds("lock", "files", "--info", "--json"))["shared"], 2)
        for holder in holders:
            holder.stdin.close()
            self.assertEqual(holder.wait(), 0)
        self.check_keys(self.server)

    def await_count(self, key, count):
        """Waits until so many share the lock."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            item = self.server.get(key)
            if item is not None and len(reader.readers(key, *item)[1]) == count:
                return
            time.sleep(0.01)
        self.fail("%s is not shared by %d" % (key, count))

    def test_semaphore(self):
        holder = subprocess.Popen([MCDS, "-s", self.uri, "semaphore", "run", "builds", "--permits", "5", "--label",
                                   "web3", "--", "cat"], stdin=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        key, *item = self.await_key(b"mcds:sl1:")
        held, token, renewed, label = reader.lease(key, *item)
        self.assertEqual((held, renewed, label), (True, 0, b"web3"))
        self.check_keys(self.server)
        slot = int(key.removeprefix(b"mcds:sl1:builds:"))
        self.assertIn(slot, range(5))
        settings = b"mcds:sm1:builds"
        self.assertEqual(reader.permits(settings, *self.server.get(settings)), (5, 5))
        fence_key = b"mcds:sf1:builds:%d" % slot
        fence, _ = reader.number(fence_key, *self.server.get(fence_key))
        self.assertLess(abs(fence / 1e9 - time.time()), 60)
        self.assertEqual(self.mcds("semaphore", "holders", "builds").split("\t")[::3],
                         ["%d" % slot, "%d\n" % fence])
        self.assertIn("resized", self.mcds("semaphore", "resize", "builds", "6"))
        self.assertEqual(reader.permits(settings, *self.server.get(settings)), (6, 5))
        holder.stdin.close()
        self.assertEqual(holder.wait(), 0)

    def settings(self, key):
        return reader.settings(key, *self.server.get(key))

    def settings_root(self, key):
        return reader.descriptor(key, *self.server.get(key))

    def test_visitors(self):
        for visitor in ("ann", "bob", "ann"):
            self.mcds("visitors", "hit", "site", visitor, "--period", "0s")
        self.mcds("visitors", "hit", "hourly", "ann", "--period", "1h")
        key = b"mcds:vc1:site:0:0"
        self.assertEqual(reader.number(key, *self.server.get(key))[0], 2)
        self.assertEqual(self.settings(b"mcds:vc1:site"), (0, 0))
        self.assertEqual(self.settings(b"mcds:vc1:hourly"), (3600000, 0))
        hour = self.keys_of(b"vc1")[1]
        self.assertTrue(hour.startswith(b"mcds:vc1:hourly:3600000:"))
        mark = hour.replace(b":vc1:", b":vu1:") + b":ann"
        slot, _ = reader.pair(b"V")(mark, *self.server.get(mark))
        self.assertEqual(slot, int(hour.rsplit(b":", 1)[1]))
        self.assertEqual(slot, int(time.time()) // 3600)

    def test_online(self):
        for visitor in ("ann", "bob", "ann"):
            self.mcds("online", "beat", "chat", visitor, "--width", "1h", "--buckets", "2")
        head, *windows = self.keys_of(b"ow1")
        self.assertEqual(self.settings(head), (3600000, 2, 0))
        counts = [reader.number(window, *self.server.get(window))[0] for window in windows]
        self.assertEqual(counts, [2 << 32, (2 << 32) + 2, (2 << 32) + 2])
        slots = [int(window.rsplit(b":", 1)[1]) for window in windows]
        self.assertEqual(slots, [slots[0], slots[0] + 1, slots[0] + 2])
        for visitor in (b"ann", b"bob"):
            key = b"mcds:os1:chat:3600000:2:" + visitor
            self.assertEqual(reader.beats(key, *self.server.get(key)), slots[:1])

    def members(self, noun, verb, name, *options):
        lines = ["%s %s %s 'visitor %d' %s" % (noun, verb, name, i, " ".join(options))
                 for i in range(MANY)]
        answers = self.mcds("batch", lines=lines)
        self.assertEqual(len(answers.splitlines()), MANY)

    def test_members(self):
        everybody = {b"visitor %d" % i for i in range(MANY)}
        self.members("visitors", "hit", "site", "--period", "0s", "--exact")
        self.assertEqual(set(maps.read(self.server, b"mcds:vm2:site:0:0")), everybody)
        self.members("online", "beat", "chat", "--width", "1d", "--exact")
        top = min(self.keys_of(b"om2"), key=len)
        self.assertEqual(set(maps.read(self.server, top)), everybody)
        self.members("visitors", "hit", "guess", "--period", "0s", "--estimated")
        key = b"mcds:vm2:guess:0:0"
        root = reader.descriptor(key, *self.server.get(key))
        self.assertEqual(root.form, maps.ESTIMATED)
        settings = self.settings_root(b"mcds:vc1:guess")
        self.assertEqual(root.hash_key, settings.hash_key)
        self.assertEqual(self.settings_root(b"mcds:vc1:site").hash_key, bytes(16))
        registers = maps.registers(maps.read(self.server, key))
        self.assertEqual(registers, maps.registers_of(everybody, root.hash_key))
        guess = maps.estimate(registers)
        told = self.mcds("visitors", "get", "guess", "--period", "0s", "--estimated")
        self.assertEqual(round(guess), int(told))
        self.assertLess(abs(guess - MANY), 0.08 * MANY)

    def test_small_sets(self):
        for form in ("set", "bag", "list"):
            option = [] if form == "set" else ["--" + form]
            for element in ("a", "b", "a"):
                self.mcds("set", "add", form, element, *option)
        self.mcds("set", "remove", "list", "a", "--list")
        self.assertEqual(set(maps.read(self.server, b"mcds:s2:set")), {b"a", b"b"})
        bag = maps.read(self.server, b"mcds:s2:bag")
        self.assertEqual({element: int(value) for element, (value, _) in bag.items()},
                         {b"a": 2, b"b": 1})
        self.assertEqual(maps.places(maps.read(self.server, b"mcds:s2:list")), [b"b", b"a"])
        forms = {name: reader.descriptor(name, *self.server.get(name)).form
                 for name in self.keys_of(b"s2") if name.count(b":") == 2}
        self.assertEqual(forms, {b"mcds:s2:set": maps.PLAIN, b"mcds:s2:bag": maps.BAG,
                                 b"mcds:s2:list": maps.LIST})

    def test_large_sets(self):
        elements = ["element %d" % i for i in range(MANY)]
        for form in ("set", "bag", "list"):
            option = [] if form == "set" else ["--" + form]
            self.mcds("set", "add", form, "-", *option, lines=elements)
            self.mcds("set", "add", form, "-", *option, lines=elements[:MANY // 2])
            self.assertGreater(len(self.keys_of(b"s2")), 16)
        found = maps.read(self.server, b"mcds:s2:set")
        self.assertEqual(set(found), {element.encode() for element in elements})
        bag = maps.read(self.server, b"mcds:s2:bag")
        self.assertEqual(bag[b"element 0"][0], b"2")
        self.assertEqual(sum(int(value) for value, _ in bag.values()), MANY + MANY // 2)
        told = self.mcds("set", "scan", "list", "--list").splitlines()
        seen = maps.places(maps.read(self.server, b"mcds:s2:list"))
        self.assertEqual([element.decode() for element in seen], told)
        self.assertEqual(len(seen), MANY + MANY // 2)

    def test_table(self):
        self.mcds("table", "put", "hosts", "web3", "10.0.0.3")
        self.mcds("table", "put", "hosts", "web4", "10.0.0.4", "--ttl", "1h")
        self.mcds("table", "put", "hosts", "web5", "10.0.0.5")
        self.mcds("table", "put", "hosts", "web3", "10.0.1.3", "--if-is", "10.0.0.3")
        self.mcds("table", "remove", "hosts", "web5")
        self.mcds("table", "put", "hosts", "runs", "5", "--ttl", "1h")
        self.mcds("table", "incr", "hosts", "runs", "-7")
        for _ in range(100):
            self.mcds("table", "incr", "hosts", "boots")
        found = maps.read(self.server, b"mcds:t2:hosts")
        self.assertEqual(found.pop(b"web3"), (b"10.0.1.3", 0))
        value, expires = found.pop(b"web4")
        self.assertEqual(value, b"10.0.0.4")
        self.assertGreater(expires, 1600000000000)
        value, expires = found.pop(b"runs")
        self.assertEqual(value, b"-2")
        self.assertGreater(expires, 1600000000000)
        self.assertEqual(found, {b"boots": (b"100", 0)})
        entries = {"key %d" % i: "value %d" % (i * i) for i in range(MANY)}
        self.mcds("table", "put", "large", "-", lines=map("\t".join, entries.items()))
        found = maps.read(self.server, b"mcds:t2:large")
        self.assertEqual({key.decode(): value.decode() for key, (value, _) in found.items()}, entries)

    def test_ids(self):
        for bits in ("53", "63"):
            taken = self.mcds("ids", "next", "orders" + bits, "--bits", bits, "--count", "9", "--spread", "10ms").split()
            key = b"mcds:id1:orders" + bits.encode()
            read_bits, following = reader.ids(key, *self.server.get(key))
            self.assertEqual([int(id_) for id_ in taken], list(range(int(taken[0]), int(taken[0]) + 9)))
            self.assertEqual(read_bits, int(bits))
            self.assertLess(int(taken[-1]), following)
            self.assertLess(abs((following >> read_bits - 41) / 1000 + 1577836800 - time.time()), 60)
        self.mcds("ids", "drop", "orders53")
        self.assertEqual(self.keys_of(b"id1"), [b"mcds:id1:orders63"])

    def test_once(self):
        """What the command writes, and a strict claim and a result with a negative code of the library."""
        self.mcds("once", "k", "--", "sh", "-c", "echo out; echo told >&2")
        kind, strict, _, request, began_ms, until_ms, code, result = reader.once(
            b"mcds:o1:once:k", *self.server.get(b"mcds:o1:once:k"))
        self.assertEqual((kind, strict, request, code), (2, False, 0, 0))
        self.assertEqual(sorted(reader.transcript(result)), [(1, b"out\n"), (2, b"told\n")])
        self.assertLess(abs(until_ms - began_ms - DAY_MS), 60000)
        self.mcds("once", "done elsewhere", "--in", "pay", "--keep", "1h", "--settle", "7", "receipt 9")
        found = reader.once(b"mcds:o1:pay:done%20elsewhere", *self.server.get(b"mcds:o1:pay:done%20elsewhere"))
        self.assertEqual((found[0], found[6], found[7]), (2, 7, b"receipt 9"))
        self.assertEqual(reader.transcript(found[7]), [(1, b"receipt 9")])
        self.mcds("once", "done elsewhere", "--in", "pay", "--forget")
        self.assertEqual(reader.once(b"mcds:o1:pay:done%20elsewhere",
                                     *self.server.get(b"mcds:o1:pay:done%20elsewhere"))[0], 3)
        stored = {
            b"mcds:o1:pay:order%3A1": (True, 0, b"",
                "6d644e01010140c81b57a022232f010000000000000061f1107b432ef30cad10161ca2010000"
                "0dfb161ca201000000000000228e3c92"),
            b"mcds:o1:pay:order%3A2": (False, -7, b"receipt",
                "6d644e01020049cea6adf65d601d01000000000000000000000000000000b210161ca2010000"
                "b26c3c21a2010000f9ffffff72656365697074ffb5ca47")}
        for key, (strict, code, result, value) in stored.items():
            self.server.set(key, 0, bytes.fromhex(value))
            kind, is_strict, token, request, began_ms, until_ms, *found = reader.once(key, *self.server.get(key))
            self.assertEqual((kind, is_strict, found), (1 if strict else 2, strict, [code, result]))
            self.assertEqual((token[8:], request & 1), ((1).to_bytes(8, "little"), int(strict)))
            self.assertEqual(until_ms - began_ms, 60000 if strict else DAY_MS)

    def queue_of(self, name):
        """The ranges of a queue, its parts by number, its dead jobs, and the numbers of its done records."""
        found = maps.read(self.server, b"mcds:q1:" + name)
        incarnation, ranges = jobs.numbers(found.pop(b"h")[0])
        kept, dead, done = {}, [], []
        for element, (value, expires) in found.items():
            self.assertEqual(element[1:9], incarnation.to_bytes(8, "little"))
            number = int.from_bytes(element[9:15], "little")
            if element[:1] == b"x" and value == b"":
                done.append((number, int.from_bytes(element[15:], "little")))
                self.assertAlmostEqual(expires / 1000 - time.time(), 7200, delta=60)
                continue
            if element[:1] == b"x":
                dead.append((number, *jobs.dead(value)))
                continue
            self.assertEqual((element[:1], len(element)), (b"p", 15))
            kept[number] = jobs.Part(value)
            self.assertEqual(expires > 0, number < ranges[jobs.stripe_of(number)][0])
        return ranges, kept, dead, done

    def test_queue(self):
        """The command leaves no such queues, so a program of the tests does."""
        told = subprocess.run([QUEUE, self.uri], text=True, stdout=subprocess.PIPE, check=True).stdout.encode().splitlines()
        self.assertEqual(told[:2], [b"job 299", b"job 300"])
        ((first, last),), kept, dead, done = self.queue_of(b"jobs")
        self.assertTrue(first > 0 and last > first)
        self.assertEqual((dead, done), ([(1, 1, b"job 299")], [(0, 0)]))
        self.assertEqual(sorted(kept), list(range(last + 1)))
        left = [job for number in sorted(kept) for job in kept[number].jobs]
        self.assertEqual([job[4] for job in left], [b"job %d" % i for i in range(300, 700)])
        self.assertEqual([job[1:3] for job in left], [[1, 1]] + [[0, 0]] * 399)
        self.assertEqual({job[3] for job in left[1:-1]}, {jobs.AT_ONCE})
        self.assertEqual({kept[number].state for number in range(last)}, {jobs.CLOSED})
        self.assertAlmostEqual(left[0][3] / 1000 - time.time(), 3600, delta=60)
        self.assertAlmostEqual(left[-1][3] / 1000 - time.time(), 3600, delta=60)
        self.check_spread(*told[2:])
        (tombstone,) = [key for key in self.keys_of(b"q1") if key.startswith(b"mcds:q1:gone")]
        self.assertTrue(segments.tombstone(tombstone, *self.server.get(tombstone)))

    def check_spread(self, dead_job, claimed_job):
        """A queue of three stripes with 900 jobs, of which each stripe keeps the order."""
        ranges, kept, dead, done = self.queue_of(b"spread")
        self.assertEqual(len(ranges), 3)
        self.assertEqual([job[1:] for job in dead], [(1, dead_job)])
        self.assertTrue({jobs.stripe_of(part) for part, *_ in dead + done} <= {0, 1, 2})
        self.assertEqual(len(done), 1)
        self.assertTrue(any(first % jobs.STRIPE > 0 for first, _ in ranges), ranges)
        left, claimed, pushed = [], [], []
        for stripe, (_, last) in enumerate(ranges):
            parts = [kept.pop(number) for number in range(stripe * jobs.STRIPE, last + 1)]
            pushed.append(sum(part.next for part in parts))
            mine = [int(job[4][4:]) for part in parts for job in part.jobs]
            self.assertEqual(mine, sorted(mine))
            left += mine
            claimed += [job[4] for part in parts for job in part.jobs if job[2]]
        self.assertTrue(min(pushed) > 0 and sum(pushed) == 900, pushed)
        self.assertEqual((kept, len(set(left)), len(left), claimed), ({}, 40, 40, [claimed_job]))

    def test_limit(self):
        rates = ["--rate", "100/d", "--burst", "90", "--rate", "500/d"]
        for _ in range(60):
            self.mcds("limit", "take", "api", "10.0.0.7", *rates)
        self.mcds("limit", "give", "api", "10.0.0.7", "5", *rates[:4])
        self.mcds("limit", "take", "api", "ann", "20", *rates)
        found = maps.read_flat(self.server, b"mcds:r1:api")
        self.assertEqual(set(found), {b"10.0.0.7", b"ann"})
        for identity, used, second in ((b"10.0.0.7", 55, 60), (b"ann", 20, 20)):
            time_ns, kept = maps.bucket(found[identity][0])
            self.assertEqual([rate[0] for rate in kept], [864 * 10**9, 1728 * 10**8])
            self.assertLess(abs(time_ns / 1e9 - time.time()), 60)
            self.assertAlmostEqual((kept[0][1] - time_ns) / kept[0][0], used, delta=1)
            self.assertAlmostEqual((kept[1][1] - time_ns) / kept[1][0], second, delta=1)
            left = int(self.mcds("limit", "get", "api", identity.decode(), *rates))
            self.assertEqual(left, 90 - used)
        self.mcds("limit", "drop", "api")
        (tombstone,) = self.keys_of(b"r1")
        self.assertTrue(segments.tombstone(tombstone, *self.server.get(tombstone)))
        self.mcds("limit", "take", "again", "ann", "--rate", "100/d")

    def test_limit_of_windows(self):
        for number in ("3", "4"):
            self.mcds("limit", "take", "mails", "ann", number, "--rate", "10/8d", "--burst", "window")
        keys = self.keys_of(b"rw1")
        self.assertIn(len(keys), (1, 2))
        slot = int(keys[-1].split(b":")[-2])
        self.assertEqual(keys[-1], b"mcds:rw1:mails:86400000:%d:ann" % slot)
        self.assertLessEqual(abs(slot - time.time() // 86400), 1)
        self.assertEqual(sum(reader.number(key, *self.server.get(key))[0] for key in keys), 7)
        blocks = self.keys_of(b"rb1")
        self.assertEqual(blocks[-1], b"mcds:rb1:mails:86400000:%d:ann" % (slot // 8))
        self.assertEqual(sum(reader.number(key, *self.server.get(key))[0] for key in blocks), 7)

    def test_drops_of_sets_and_tables(self):
        for noun, tag in (("set", b"s2"), ("table", b"t2")):
            self.mcds(noun, *(("put", "gone", "k", "v") if noun == "table" else ("add", "gone", "k")))
            root = b"mcds:%s:gone" % tag
            (first,) = (key for key in self.keys_of(tag) if key.startswith(root + b":"))
            life = first[len(root):]
            self.mcds(noun, "drop", "gone")
            left = [key for key in self.keys_of(tag) if key.startswith(root)]
            self.assertEqual(left, [root + life + life])
            self.assertTrue(segments.tombstone(left[0], *self.server.get(left[0])))

    def test_a_drop_of_members(self):
        made = ("gone", "ann", "--period", "0", "--exact")
        self.mcds("visitors", "hit", *made)
        root = b"mcds:vm2:gone:0:0"
        (first,) = (key for key in self.keys_of(b"vm2") if key.startswith(root + b":"))
        life = first[len(root):]
        self.mcds("visitors", "drop", "gone", *made[2:])
        left = [key for key in self.keys_of(b"vm2") if key.startswith(root)]
        self.assertEqual(left, [root + life + life])
        self.assertTrue(segments.tombstone(left[0], *self.server.get(left[0])))

    def test_list(self):
        values = ["job %d" % i for i in range(MANY * 2)]
        values[MANY:MANY] = ["x" * 1200000, "", "y" * 9000]
        self.mcds("list", "push", "jobs", lines=values)
        found, count = segments.list_(self.server, b"mcds:l1:jobs")
        self.assertEqual([value.decode() for value in found], values)
        self.assertGreater(count, 2)
        self.check_keys(self.server)
        self.mcds("list", "clear", "jobs")
        self.assertEqual(segments.list_(self.server, b"mcds:l1:jobs"), ([], 0))
        ends = [flags for flags, _ in map(self.server.get, self.keys_of(b"lp1"))]
        self.assertEqual(set(ends), {segments.SEGMENT_END})
        self.mcds("list", "push", "jobs", "again")
        self.assertEqual(segments.list_(self.server, b"mcds:l1:jobs"), ([b"again"], 1))

    def test_log(self):
        events = ["event %d" % i for i in range(MANY)] + ["z" * 1100000]
        begin_ms = time.time() * 1000 - 1
        self.mcds("log", "put", "deploys", lines=events)
        settings, found = segments.log(self.server, b"mcds:e1:deploys")
        self.assertEqual(settings[:2] + settings[3:4], (0, 60000, 7 * DAY_MS))
        self.assertEqual([event.decode() for _, _, event in found], events)
        for filed, when, _ in found:
            self.assertEqual(filed, when)
            self.assertTrue(begin_ms <= when <= time.time() * 1000)

    def test_log_by_arrival(self):
        options = ["--by-arrival", "--retention", "2d", "--chunk", "1h", "--late", "5m",
                   "--ahead", "1s"]
        self.mcds("log", "put", "old", "birth", "--at", "@1000000000", *options)
        settings, ((filed, when, event),) = segments.log(self.server, b"mcds:e1:old")
        self.assertEqual(settings, (1, 300000, 1000, 2 * DAY_MS, 3600000))
        self.assertEqual((when, event), (1000000000000, b"birth"))
        self.assertLess(abs(filed / 1000 - time.time()), 60)
        life, _ = segments.root(b"mcds:e1:old", *self.server.get(b"mcds:e1:old"))
        self.mcds("log", "drop", "old")
        self.assertIsNone(self.server.get(b"mcds:e1:old"))
        ended = b"mcds:e1:old:%d" % (life >> 32 & 0x3FFFFFFF)
        self.assertTrue(segments.tombstone(ended, *self.server.get(ended)))

    def test_root_of_a_log_added_again(self):
        key = b"mcds:e1:lost"
        self.mcds("log", "put", "lost", "before")
        flags, value = self.server.get(key)
        self.server.set(key, flags | reader.AGAIN, value)
        self.assertEqual(len(segments.log(self.server, key)[1]), 1)
        self.assertRegex(self.mcds("log", "scan", "lost"), "\\tbefore\n$")
        self.assertEqual(self.server.get(key), (flags | reader.AGAIN, value))
        self.mcds("log", "put", "lost", "after")
        self.assertEqual(self.server.get(key)[0], flags)
        self.mcds("log", "drop", "lost")
        self.server.set(key, flags | reader.AGAIN, value)
        self.assertIsNone(segments.log(self.server, key))
        self.mcds("log", "put", "lost", "other")
        self.assertNotEqual(self.server.get(key)[0], flags)
        self.assertEqual([event for _, _, event in segments.log(self.server, key)[1]], [b"other"])

    def test_array(self):
        self.mcds("array", "set", "small", "a", "", "a b")
        self.assertEqual(reader.array(self.server, b"mcds:a1:small"), [b"a", b"", b"a b"])
        self.mcds("array", "change", "small", "--remove", "a", "--add", "c")
        self.assertEqual(reader.array(self.server, b"mcds:a1:small"), [b"", b"a b", b"c"])
        large = ["%d%s" % (i, "x" * 100000) for i in range(25)]
        self.mcds("array", "set", "large", "-", lines=large)
        self.assertGreater(len(self.keys_of(b"a1c")), 1)
        self.assertEqual([one.decode() for one in reader.array(self.server, b"mcds:a1:large")], large)
        self.mcds("array", "drop", "small")
        self.assertIsNone(reader.array(self.server, b"mcds:a1:small"))

    def test_views(self):
        database = "lmdb:" + os.path.join(self.folder, "views")
        options = ["--database", database, "--flush-every", "1d"]
        self.mcds("batch", lines=["views hit site 'page %d' 3 %s" % (i, " ".join(options))
                                  for i in range(MANY)])
        top = min(self.keys_of(b"vd2"), key=len)
        pages = maps.read(self.server, top)
        self.assertEqual(set(pages), {b"page %d" % i for i in range(MANY)})
        key = top.replace(b":vd2:", b":vw1:") + b":page%207"
        self.assertEqual(reader.number(key, *self.server.get(key))[0], 3)
        slot = int(top.rsplit(b":", 1)[1])
        self.mcds("views", "flush", "site", *options)
        self.assertEqual(self.settings(b"mcds:vw1:site"), (86400000, reader.COMMAND))
        key = b"mcds:vf1:site:86400000"
        saved, _ = reader.pair(b"M")(key, *self.server.get(key))
        self.assertEqual(saved, slot - 1)
        gate = Gate(os.path.join(self.folder, "gate"), self.path, b":vl1:")
        self.addCleanup(gate.close)
        asks = subprocess.Popen([MCDS, "-s", f"memcached://{gate.path}?timeout=120000", "views", "get",
                                 "site", "page 7", *options], stdout=subprocess.PIPE)
        try:
            self.assertEqual(self.await_key(b"mcds:vl1:")[0], b"mcds:vl1:site:page%207")
            self.check_keys(self.server)
        finally:
            gate.opened.set()
        self.assertEqual(asks.communicate()[0], b"3\n")
        key = b"mcds:vb1:site:page%207"
        self.assertEqual(reader.pair(b"B")(key, *self.server.get(key)), (0, slot - 1))


def main():
    global MCDS, QUEUE
    MCDS = sys.argv.pop(1)
    QUEUE = sys.argv.pop(1)
    if not memcached.present():
        print("skipped: memcached is not installed")
        sys.exit(77)
    ran = unittest.main(exit=False)
    if not ran.result.wasSuccessful():
        sys.exit(1)
    missed = sorted(set(document.FORMS) - met) if len(sys.argv) == 1 else []
    for form, kind in missed:
        print("no key of the form %s with a value of the kind '%s' was found" % (form, kind))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
