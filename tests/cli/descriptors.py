"""Commands with too few file descriptors: each ends, and is done or names the limit and the way out."""

import os
import resource
import subprocess
import sys
import unittest

import fixture

STORE = sys.argv[1]
MCDS = os.path.abspath(sys.argv[2])
FIRST = 4  # the loader of the program needs one beside the standard ones
LAST = 40
TIMEOUT_MS = 300  # of a server to which no connection can be made

VERBS = """
counter add c 1
set add s e
table scan t
list scan l
log tail g --last 1
array set a x
visitors hit v ann
lock k -- true
semaphore run m --permits 2 -- true
limit run i --rate 1000000/s -- true
once o{limit} -- true
cache get h k{limit} -- true
ids next n
ls
doctor
top --once
batch
"""
# Where a server cannot be reached, some of these wait for it.
OF_A_FILE = """
queue work q --until-empty -- true
backup {folder}/copy{limit}
dump --all -o {folder}/dump{limit}
load {folder}/dump -N new{limit}
views hit w page
"""
FILL = """
counter add c 1
table put t k v
list push l e
log put g e
"""


class DescriptorsTest(unittest.TestCase):
    def setUp(self):
        self.fixture = fixture.Fixture(STORE).__enter__()
        self.addCleanup(self.fixture.__exit__)
        uri = f"lmdb:{self.fixture.folder}/store"
        if STORE == "memcached":
            uri = f"memcached://{self.fixture.socket}?timeout={TIMEOUT_MS}"
        self.environment = self.fixture.environment(MCDS) | {"MCDS_STORE": uri}
        done = self.mcds(None, ["batch"], FILL)
        self.assertEqual(done.returncode, 0, done.stderr)

    def mcds(self, limit, words, data=""):
        return subprocess.run(
            [MCDS, *words], input=data, capture_output=True, text=True, env=self.environment, check=False,
            timeout=fixture.LIMIT_S,
            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))))

    def check(self, command):
        """With more and more descriptors it fails, and then it is done."""
        refusals = 0
        for limit in range(FIRST, LAST):
            if command.startswith("queue"):
                self.assertEqual(self.mcds(None, ["queue", "push", "q", "job"]).returncode, 0)
            words = command.format(folder=self.fixture.folder, limit=limit).split()
            done = self.mcds(limit, words)
            if done.returncode == 0:
                return refusals
            refusals += 1
            self.assertIn("ulimit -n", done.stdout + done.stderr, f"{command}: {limit} descriptors: {done.returncode}")
        self.fail(f"{command} needs {LAST} descriptors")

    def test_every_command_names_the_limit(self):
        done = self.mcds(None, ["dump", "--all", "-o", f"{self.fixture.folder}/dump"])
        self.assertEqual(done.returncode, 0, done.stderr)
        refusals = 0
        for command in ((OF_A_FILE if STORE == "lmdb" else "") + VERBS).split("\n"):
            with self.subTest(command=command):
                refusals += self.check(command) if command else 0
        self.assertGreater(refusals, 0)


if __name__ == "__main__":
    if fixture.has_sanitizer(MCDS):
        print("descriptors: skipped: the sanitizer has files of its own")
        sys.exit(fixture.SKIPPED)
    if not fixture.is_possible(STORE):
        print("descriptors: skipped: memcached is not installed")
        sys.exit(fixture.SKIPPED)
    unittest.main(argv=sys.argv[:1])
