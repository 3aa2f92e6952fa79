"""`mcds batch` reads very many lines and answers each of them. FIELD_ROUNDS=100 is a million."""

import os
import subprocess
import sys
import unittest

from field import rounds, skip
from place import Place, is_possible

HOME, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LINES = 10000
LIMIT_S = 800


class ManyLinesTest(unittest.TestCase):
    def test_every_line_is_answered_and_counted(self):
        lines = LINES * rounds(1)
        with Place(HOME) as place:
            environment = place.environment(MCDS)
            work = os.path.join(place.folder, "lines")
            with open(work, "w", encoding="ascii") as file:
                file.write("counter add hits 1\n" * lines)
            with open(work, "rb") as file:
                done = subprocess.run([MCDS, "batch"], stdin=file, env=environment, check=False,
                                      capture_output=True, timeout=LIMIT_S)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout.count(b"\n"), lines)
            seen = subprocess.run([MCDS, "counter", "get", "hits"], env=environment, check=False,
                                  capture_output=True, timeout=LIMIT_S)
            self.assertEqual(seen.stdout, b"%d\n" % lines)


if __name__ == "__main__":
    if not is_possible(HOME):
        skip(f"{HOME} is not installed")
    unittest.main(argv=sys.argv[:1])
