"""An lmdb: file with overwritten pages: doctor and backup report the damage, also where LMDB aborts."""

import os
import subprocess
import sys
import unittest

from fixture import Fixture

MCDS = os.path.abspath(sys.argv[1])
LIMIT_S = 120
PAGE = os.sysconf("SC_PAGESIZE")
NO = 1
IO = 74
ROOT, TRANSACTION = 128, 144  # where a page of metadata has the root of the main tree, and its transaction
FLAGS, LEAF = 10, 2  # where a page has its flags; the flag of a leaf


def number(page, at):
    return int.from_bytes(page[at:at + 8], sys.byteorder)


class DamageTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.mcds("sound", "counter", "add", "hits")
        self.mcds("sound", "set", "add", "big", data="".join(f"{i}\n" for i in range(20000)))

    def mcds(self, file, *words, data="", code=0):
        done = subprocess.run([MCDS, "--timeout", "60s", "-s", "lmdb:./" + file, *words], env=self.environment, cwd=self.fixture.folder,
                              input=data, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        self.assertEqual(done.returncode, code, (words, done))
        return done

    def path(self, file):
        return os.path.join(self.fixture.folder, file)

    def damage(self, name, is_hit):
        """Copies the store and overwrites the pages for which is_hit is true, but neither the metadata nor the root."""
        with open(self.path("sound"), "rb") as sound:
            content = bytearray(sound.read())
        metas = [content[i * PAGE:(i + 1) * PAGE] for i in (0, 1)]
        newest = max(metas, key=lambda meta: number(meta, TRANSACTION))
        for at in range(2, len(content) // PAGE):
            page = slice(at * PAGE, (at + 1) * PAGE)
            if at != number(newest, ROOT) and is_hit(at, content[page]):
                content[page] = bytes(PAGE)
        with open(self.path(name), "wb") as copy:
            copy.write(content)

    def check(self, name):
        problem = self.mcds(name, "doctor", code=NO).stdout.splitlines()[-1].split("\t")
        self.assertEqual((problem[0], problem[2]), ("problem", "the file is damaged"))
        self.assertIn("estore a backup", problem[3])
        said = self.mcds(name, "backup", "copy", code=IO).stderr
        self.assertIn("is damaged; nothing was copied", said)
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

    def test_a_sound_file(self):
        self.mcds("sound", "backup", "copy")
        for name in ("sound", "copy"):
            self.assertNotIn("damage", self.mcds(name, "doctor", code=0).stdout)
        self.assertEqual(self.mcds("copy", "counter", "get", "hits").stdout, "1\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
