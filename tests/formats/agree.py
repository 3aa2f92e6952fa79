"""What the command wrote, read by a reader that knows nothing but docs/formats.md.

agree.py MCDS"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weblog"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import memcached  # noqa: E402
import reader  # noqa: E402

MCDS = None
MANY = 1500


class AgreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        server = memcached.Server(folder)
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.uri = server.uri
        self.server = reader.Server(server.path)
        self.addCleanup(self.server.socket.close)
        self.addCleanup(self.server.file.close)

    def mcds(self, *arguments, lines=None):
        given = None if lines is None else "".join(line + "\n" for line in lines)
        done = subprocess.run([MCDS, "-s", self.uri, *arguments], input=given, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def test_numbers(self):
        self.mcds("counter", "add", "hits: all", "41")
        self.mcds("counter", "add", "hits: all")
        flags, value = self.server.get(b"mcds:c1:hits%3A%20all")
        self.assertEqual(int(value), 2**62 + 42)
        self.assertGreater(flags, 1600000000)
        self.mcds("counter", "add", "depth", "--signed", "-7")
        self.assertEqual(int(self.server.get(b"mcds:c1:depth")[1]), 2**62 - 7)

    def test_exact(self):
        for delta in ("41", "-7", "8"):
            self.mcds("counter", "add", "orders", "--exact", delta)
        value, writers = reader.exact(self.server, b"mcds:c1:orders")
        self.assertEqual(value, 42)
        self.assertEqual({mark for _, _, mark in writers}, {1})

    def test_visitors(self):
        self.mcds("visitors", "hit", "site", "ann", "--period", "1h")
        keys = [key.split(b":") for key in self.server.keys()]
        tags = {key[1]: key for key in keys}
        self.assertEqual(tags[b"vu1"][-1], b"ann")
        key = b":".join(tags[b"vu1"])
        payload = reader.frame(key, self.server.get(key)[1], b"V")
        self.assertEqual(int.from_bytes(payload[:8], "little"), int(tags[b"vc1"][-1]))

    def test_small_sets(self):
        for form, adds in (("set", "a b a"), ("bag", "a b a"), ("list", "a b a")):
            option = [] if form == "set" else ["--" + form]
            for element in adds.split():
                self.mcds("set", "add", form, element, *option)
        self.mcds("set", "remove", "list", "a", "--list")
        self.assertEqual(set(reader.fold(self.server, b"mcds:s1:set")), {b"a", b"b"})
        bag = reader.fold(self.server, b"mcds:s1:bag")
        self.assertEqual({element: int(value) for element, (value, _) in bag.items()},
                         {b"a": 2, b"b": 1})
        self.assertEqual(reader.places(reader.fold(self.server, b"mcds:s1:list")), [b"b", b"a"])

    def test_large_set(self):
        elements = ["element %d" % i for i in range(MANY)]
        self.mcds("set", "add", "large", "-", lines=elements)
        found = reader.fold(self.server, b"mcds:s1:large")
        self.assertEqual(set(found), {element.encode() for element in elements})

    def test_table(self):
        self.mcds("table", "put", "hosts", "web3", "10.0.0.3")
        self.mcds("table", "put", "hosts", "web4", "10.0.0.4", "--ttl", "1h")
        self.mcds("table", "put", "hosts", "web5", "10.0.0.5")
        self.mcds("table", "remove", "hosts", "web5")
        for _ in range(100):
            self.mcds("table", "incr", "hosts", "boots")
        found = reader.fold(self.server, b"mcds:t1:hosts")
        self.assertEqual(found.pop(b"web3"), (b"10.0.0.3", 0))
        value, expires = found.pop(b"web4")
        self.assertEqual(value, b"10.0.0.4")
        self.assertGreater(expires, 1600000000000)
        self.assertEqual(found, {b"boots": (b"100", 0)})


if __name__ == "__main__":
    MCDS = sys.argv.pop(1)
    if not memcached.present():
        print("skipped: memcached is not installed")
        sys.exit(77)
    unittest.main()
