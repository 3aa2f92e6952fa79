"""An lmdb: file with overwritten pages: doctor, backup and what lists names report the damage, also where LMDB aborts."""

import os
import subprocess
import sys
import unittest

from fixture import Fixture

MCDS = os.path.abspath(sys.argv[1])
LIMIT_S = 300
PAGE = os.sysconf("SC_PAGESIZE")
NO = 1
IO = 74
ROOT, TRANSACTION = 128, 144  # where a page of metadata has the root of the main tree, and its transaction
FLAGS, LEAF = 10, 2  # where a page has its flags; the flag of a leaf
BRANCH, LONG = 1, 4
HEAD = 16  # bytes at the start of a page
AMBIGUOUS, DATA = 80, 65
EXPIRY = b"\0\0\1"  # the first bytes of a time in this century
ONE_NODE = bytes(10) + b"".join(number.to_bytes(2, sys.byteorder) for number in (BRANCH, 18, PAGE - 8))  # the head of a page


def number(page, at):
    return int.from_bytes(page[at:at + 8], sys.byteorder)


class DamageTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.mcds("sound", "counter", "add", "hits")
        self.mcds("sound", "set", "add", "big", data="".join(f"{i}\n" for i in range(20000)))

    def run_mcds(self, file, *words, data=""):
        return subprocess.run([MCDS, "--timeout", "60s", "-s", "lmdb:./" + file, *words], env=self.environment, cwd=self.fixture.folder,
                              input=data, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    def mcds(self, file, *words, data="", code=0):
        done = self.run_mcds(file, *words, data=data)
        self.assertEqual(done.returncode, code, (words, done))
        return done

    def path(self, file):
        return os.path.join(self.fixture.folder, file)

    def damage(self, name, is_hit, filled=bytes(PAGE), start=0):
        """Copies the store and overwrites the pages for which is_hit is true, from `start` on, but neither the metadata nor the
        root."""
        with open(self.path("sound"), "rb") as sound:
            content = bytearray(sound.read())
        metas = [content[i * PAGE:(i + 1) * PAGE] for i in (0, 1)]
        newest = max(metas, key=lambda meta: number(meta, TRANSACTION))
        for at in range(2, len(content) // PAGE):
            page = slice(at * PAGE, (at + 1) * PAGE)
            if at != number(newest, ROOT) and is_hit(at, content[page]):
                content[page.start + start:page.start + len(filled)] = filled[start:]
        with open(self.path(name), "wb") as copy:
            copy.write(content)

    def check(self, name):
        problems = [line.split("\t") for line in self.mcds(name, "doctor", code=NO).stdout.splitlines() if line.startswith("problem")]
        self.assertEqual(len(problems), 1, problems)
        self.assertRegex(problems[0][2], r"it is damaged: its page \d+ has been overwritten, and \d+ of \d+ items can be read")
        self.assertIn("estore a backup", problems[0][3])
        said = self.mcds(name, "backup", "copy", code=IO).stderr
        self.assertIn("nothing was copied; restore a backup", said)
        self.assertFalse([file for file in os.listdir(self.fixture.folder) if file.startswith("copy")])

    def test_damage_that_lmdb_reports(self):
        self.damage("damaged", lambda at, page: True)
        self.mcds("damaged", "counter", "get", "hits", code=IO)
        self.check("damaged")

    def test_top_and_watch_say_so_and_end(self):
        self.damage("damaged", lambda at, page: True)
        reason = "the file is damaged; restore a backup"
        for words in (["ls"], ["top", "--once"], ["watch", "hits", "big", "--interval", "20ms"]):
            said = self.mcds("damaged", *words, code=IO).stderr.splitlines()
            self.assertEqual(len(said), 1, said)
            self.assertIn(reason, said[0])

    def test_damage_at_which_lmdb_may_abort(self):
        self.damage("damaged", lambda at, page: at % 2 == 1 and page[FLAGS] == LEAF)
        self.check("damaged")

    def test_a_page_that_lmdb_passes_over(self):
        """No listing of names is short without a word, and rm drops nothing."""
        self.mcds("sound", "table", "put", "users", "k", "v")
        self.damage("damaged", lambda at, page: page[FLAGS] == LEAF and b":users:" in page, b"\xff" * 16)
        for words in (["ls"], ["ls", "-l"], ["rm", "users", "hits", "--yes"], ["dump", "--all"]):
            self.assertIn("the file is damaged; restore a backup", self.mcds("damaged", *words, code=IO).stderr)
        self.check("damaged")

    def test_an_assertion_of_lmdb_ends_with_a_sentence(self):
        """A branch of the expiry times, which no check of a command reads, with a single node."""
        self.mcds("sound", "online", "beat", "site", *(f"visitor{i}" for i in range(400)), "--buckets", "7", "--width", "1d")
        self.damage("damaged", lambda at, page: page[FLAGS] == BRANCH and self.first_key(page).startswith(EXPIRY), ONE_NODE)
        said = self.mcds("damaged", "counter", "add", "hits", code=IO).stderr.splitlines()
        self.assertRegex(said[-1], r"^mcds: (counter 'hits': )?store: .*/damaged: the file is damaged; restore a backup$")
        self.assertIn("Assertion", said[0])

    def test_a_damaged_value_is_no_lost_reply(self):
        """The change is stored in a key that cannot be read any more."""
        self.mcds("sound", "queue", "push", "jobs", data="".join(f"{'j' * 40}{i}\n" for i in range(60)))
        self.mcds("sound", "set", "add", "s", data="".join(f"{'e' * 40}{i}\n" for i in range(150)))
        self.damage("damaged", lambda at, page: page[FLAGS] == LONG, start=HEAD + 184)
        self.mcds("damaged", "doctor")
        unreadable = "so whether the change counts cannot be read; if they are damaged, restore a backup; it may have been"
        self.assertIn(unreadable, self.mcds("damaged", "set", "add", "s", "zz", code=AMBIGUOUS).stderr)
        done = self.run_mcds("damaged", "queue", "next", "jobs")  # the first look may find the damage
        self.assertIn(done.returncode, (AMBIGUOUS, DATA), done)
        self.assertEqual(unreadable in done.stderr, done.returncode == AMBIGUOUS, done)
        said = self.mcds("damaged", "set", "has", "s", "5", code=DATA).stderr
        self.assertIn("if its value was damaged, restore a backup; otherwise choose another NAME or namespace (-N)", said)

    @staticmethod
    def first_key(page):
        """The key of the second node of a branch: the first one has none."""
        node = int.from_bytes(page[18:20], sys.byteorder)
        return page[node + 8:]

    def test_an_overwritten_header(self):
        with open(self.path("sound"), "rb") as sound:
            content = sound.read()
        for page in (0, 1):
            with open(self.path("damaged"), "wb") as copy:
                copy.write(content[:page * PAGE] + b"\x5a" * PAGE + content[(page + 1) * PAGE:])
            reason = "it is damaged: its header, the first two pages, has been overwritten; move it away, and restore a backup"
            self.assertIn(reason, self.mcds("damaged", "ls", code=IO).stderr)
            self.assertIn(reason, self.mcds("damaged", "doctor", code=NO).stdout)

    def test_a_sound_file(self):
        self.mcds("sound", "backup", "copy")
        for name in ("sound", "copy"):
            self.assertNotIn("damage", self.mcds(name, "doctor", code=0).stdout)
        self.assertEqual(self.mcds("copy", "counter", "get", "hits").stdout, "1\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
