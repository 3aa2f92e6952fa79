"""`mcds table top` and `mcds views top` print the entries with the greatest numbers, as a sort of all entries would."""

import fcntl
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse

from fixture import SKIPPED, Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
DONE, NO, DATA, IO, LOST = 0, 1, 65, 74, 79
LIMIT_S = 300
F_SETPIPE_SZ = 1031
KEPT_KB = 1500
LEAST, GREATEST = -2**63, 2**63 - 1
# Beside them values as a program of another kind may write them; `table incr` decides which are numbers.
VALUES = ["0", "-0", "00", "7", "-7", "007", "+7", " 7", "7 ", "7\t", "--7", "-", "+", "", "7.0", "7e1", "0x7", "seven", "7,000", "٧",
          str(GREATEST), str(GREATEST + 1), str(LEAST), str(LEAST - 1), "9" * 19, "9" * 20, "0" * 19 + "7", "0" * 20 + "7",
          "-" + "0" * 19 + "7", "-" + "0" * 20 + "7", "0" * 32, "0" * 40]


def ranked(entries, limit):
    """The greatest first, equal ones by the bytes of their keys."""
    return sorted(entries.items(), key=lambda entry: (-entry[1], entry[0]))[:limit]


class RankingTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)

    def mcds(self, *arguments, data=b"", **options):
        return subprocess.run([MCDS, "--timeout", "120s", *arguments], env=self.environment, cwd=self.fixture.folder, input=data,
                              capture_output=True, check=False, timeout=LIMIT_S, **options)

    def must(self, *arguments, data=b""):
        done = self.mcds(*arguments, data=data)
        self.assertEqual(done.returncode, DONE, done)
        return done.stdout

    def put(self, name, entries, *options):
        lines = "".join(f"{key}\t{value}\n" for key, value in entries.items())
        self.must(*options, "table", "put", name, "-", data=lines.encode())

    def top(self, *arguments, key="key", value="value"):
        """What is printed as JSON, and the same in plain lines."""
        entries = [json.loads(line) for line in self.must(*arguments, "--json").splitlines()]
        pairs = [(entry[key], int(entry[value])) for entry in entries]
        self.assertEqual([line.rpartition(b"\t")[2] for line in self.must(*arguments).splitlines()],
                         [b"%d" % number for _, number in pairs])
        return pairs


class TableTest(RankingTest):
    def test_the_greatest_of_many(self):
        """Of any number of entries, and with any limit."""
        chosen = random.Random(4)
        numbers = [LEAST, GREATEST, 0, -1, 1] + [chosen.randint(-40, 40) for _ in range(40)]
        for count in (1, 11, 2000):
            entries = {f"{chosen.randrange(10**chosen.randint(1, 12))}": chosen.choice(numbers) for _ in range(count)}
            self.put(f"t{count}", entries)
            self.assertEqual(self.top("table", "top", f"t{count}"), ranked(entries, 10))
            for limit in (1, 2, 17, 1999, 100000):
                with self.subTest(count=count, limit=limit):
                    self.assertEqual(self.top("table", "top", f"t{count}", "--limit", str(limit)), ranked(entries, limit))

    def test_a_number_is_what_incr_takes(self):
        """The others are left out, and counted."""
        lines = [f"table put {name} k{place:02} -- '{value}'" for place, value in enumerate(VALUES) for name in ("t", "copy")]
        lines += [f"table incr copy k{place:02} 0" for place in range(len(VALUES))]
        answers = self.mcds("batch", data="\n".join(lines).encode()).stdout.decode().splitlines()
        self.assertEqual((answers[:len(VALUES) * 2], len(answers)), (["put"] * len(VALUES) * 2, len(VALUES) * 3))
        numbers = {f"k{place:02}": int(answer) for place, answer in enumerate(answers[len(VALUES) * 2:]) if answer != "-"}
        self.assertIn(7, numbers.values())
        self.assertEqual(self.top("table", "top", "t", "--limit", "99"), ranked(numbers, 99))
        others = self.mcds("table", "top", "t").stderr
        self.assertIn(b"table 't': %d values are not numbers; left out" % (len(VALUES) - len(numbers)), others)

    def test_while_others_write(self):
        """What nobody changes meanwhile is ranked; the table grows and shrinks around it."""
        kept = {f"kept{i}": 1000 + i for i in range(50)}
        self.put("t", kept)
        others = [f"other{i}" for i in range(2000)]
        churn = "".join(f"table put t {key} 5\n" for key in others) + "".join(f"table remove t {key}\n" for key in others)
        with subprocess.Popen([MCDS, "--timeout", "120s", "batch"], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as writer:
            def feed():
                writer.stdin.write(churn.encode())
                writer.stdin.flush()
            for _ in range(5):
                feed()
                self.assertEqual(self.top("table", "top", "t", "--limit", "50"), ranked(kept, 50))
            writer.stdin.close()
            self.assertEqual(writer.wait(LIMIT_S), DONE)

    def test_memory(self):
        """Entries that are not printed are not kept."""
        with open(MCDS, "rb") as program:
            if re.search(rb"__[amt]san_init", program.read()):
                self.skipTest("the sanitizer keeps memory that was freed")
        self.put("t", {f"key{i}": i for i in range(60000)})
        self.assertGreater(self.peak_kb(60000) - self.peak_kb(500), KEPT_KB)

    def peak_kb(self, limit):
        """When the first line has come. The others do not fit into the pipe."""
        with subprocess.Popen([MCDS, "--timeout", "120s", "table", "top", "t", "--limit", str(limit)], env=self.environment,
                              stdout=subprocess.PIPE, bufsize=0) as process:
            self.assertLess(fcntl.fcntl(process.stdout, F_SETPIPE_SZ, 4096), 5000)
            line = process.stdout.read(1)
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                peak = re.search(r"^VmHWM:\s*(\d+) kB", status.read(), re.MULTILINE)[1]
            self.assertEqual((line + process.stdout.read()).count(b"\n"), limit)
        self.assertEqual(process.returncode, DONE)
        return int(peak)

    def keys_of_server(self, server):
        server.sendall(b"lru_crawler metadump all\r\n")
        seen = b""
        while not seen.endswith(b"END\r\n"):
            seen += server.recv(65536)
        return [urllib.parse.unquote_to_bytes(word[4:]) for word in seen.split() if word.startswith(b"key=")]

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_a_part_that_is_lost(self):
        """No ranking of the rest is printed."""
        self.put("t", {f"key{i}": i for i in range(3000)})
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.fixture.socket)
            parts = [key for key in self.keys_of_server(server) if key.count(b":") > 2]
            server.sendall(b"delete " + parts[-1] + b"\r\n")
            self.assertEqual(server.recv(100), b"DELETED\r\n", parts)
        done = self.mcds("table", "top", "t")
        self.assertEqual((done.returncode, done.stdout), (LOST, b""), done)
        self.assertIn(b"table 't'", done.stderr)


class ViewsTest(RankingTest):
    """The database is written as `views flush` writes it: the sum, then NUMBER:VIEWS of the last intervals."""

    def setUp(self):
        super().setUp()
        self.database = ("-s", "lmdb:./views.mdb")

    def views_top(self, name, *options):
        return self.top("views", "top", name, "--database", "lmdb:./views.mdb", *options, key="page", value="views")

    def test_the_most_viewed_of_many(self):
        chosen = random.Random(5)
        pages, views = {}, {}
        for i in range(700):
            parts = [chosen.randrange(100) for _ in range(chosen.randrange(5))]
            total = chosen.choice((0, chosen.randrange(100), 10**15))
            pages[f"/page/{i}"] = " ".join([str(total)] + [f"{100 + at}:{part}" for at, part in enumerate(parts)])
            views[f"/page/{i}"] = total + sum(parts)
        self.put("views:site", pages, *self.database)
        self.assertEqual(self.views_top("site"), ranked(views, 10))
        for limit in (1, 2, 17, 699, 100000):
            with self.subTest(limit=limit):
                self.assertEqual(self.views_top("site", "--limit", str(limit)), ranked(views, limit))

    def test_only_what_is_saved(self):
        """Views of the store count when a flush has saved them."""
        self.must("views", "hit", "site", "home", "5", "--database", "lmdb:./views.mdb")
        none = self.mcds("views", "top", "site", "--database", "lmdb:./views.mdb")
        self.assertEqual((none.returncode, none.stdout), (NO, b""), none)
        self.put("views:site", {"home": "3 7:4"}, *self.database)
        self.assertEqual(self.views_top("site"), [("home", 7)])

    def test_a_get_makes_nothing(self):
        """A read of a name that does not exist does not list it, and does not choose its interval."""
        self.must("counter", "add", "other")
        self.must("views", "get", "absent", "p", "--database", "lmdb:./views.mdb")
        self.assertNotIn(b"absent", self.must("ls"))
        self.must("views", "hit", "absent", "p", "--flush-every", "1s", "--database", "lmdb:./views.mdb")

    def test_get_counts_what_intervals_of_another_length_have_saved(self):
        """After a drop, the interval of the rows is not known: get prints what top prints."""
        second = int(time.time())
        self.put("views:site", {"p": f"3 {second - 100}:4 {second - 90}:5", "q": f"0 {second // 60 - 9}:2"}, *self.database)
        for page, views in self.views_top("site"):
            self.assertEqual(int(self.must("views", "get", "site", page, "--database", "lmdb:./views.mdb")), views)
        self.must("views", "hit", "site", "p", "10", "--database", "lmdb:./views.mdb")
        self.assertEqual(int(self.must("views", "get", "site", "p", "--database", "lmdb:./views.mdb")), 22)

    def test_a_page_that_cannot_be_saved(self):
        """A flush saves the other pages, and names the first that it could not save and why."""
        views = ("--flush-every", "1s", "--database", "lmdb:./views.mdb")
        self.put("views:site", {"bad": "of others", "worse": "of others"}, *self.database)
        for page in ("bad", "worse", "home", "cart"):
            self.must("views", "hit", "site", page, "5", *views)
        deadline = time.monotonic() + LIMIT_S
        while b" more are" not in (done := self.mcds("-q", "views", "flush", "site", *views)).stderr:  # an interval has not ended
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual((done.returncode, done.stdout), (IO, b""), done)
        self.assertRegex(done.stderr, rb"^mcds: views 'site': flush: page '(bad' and 1 more are|worse' and 1 more are) not saved; "
                         rb"correct the cause and flush again; .* that 'views flush' did not write; .*\n$")
        said = json.loads(self.mcds("--json", "views", "flush", "site", *views).stdout)
        self.assertEqual((said["result"], said["exit"]), ("MCDS_IO", IO))
        for page in ("bad", "worse"):
            self.must(*self.database, "table", "remove", "views:site", page)
        saved = {}
        while len(saved) < 4:
            self.assertLess(time.monotonic(), deadline)
            self.must("views", "flush", "site", *views)
            saved = dict(self.views_top("site"))
        self.assertEqual(saved, {"bad": 5, "cart": 5, "home": 5, "worse": 5})

    def test_an_entry_of_others(self):
        """No ranking of the rest is printed."""
        for value in ("", "-1", "5 ", "5 6", "5 6:", "5 x:1", "5:6", str(2**63), f"{GREATEST - 9} 1:99", "5\n"):
            with self.subTest(value=value):
                self.must(*self.database, "table", "put", "views:site", "good", "5 6:7")
                self.must(*self.database, "table", "put", "views:site", "bad", value)
                done = self.mcds("views", "top", "site", "--database", "lmdb:./views.mdb")
                self.assertEqual((done.returncode, done.stdout), (DATA, b""), done)
                self.assertIn(b"that 'views flush' did not write", done.stderr)


if not is_possible(STORE):
    print(f"ranking: skipped: {STORE} is not installed")
    sys.exit(SKIPPED)
unittest.main(argv=sys.argv[:1] + sys.argv[3:])
