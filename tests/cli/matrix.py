"""Every verb with --json, where something is wrong: each answers with JSON and the exit code of the manual. The
verbs are those of `mcds help man`, so that a new one is in the matrix by itself."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

MCDS = os.path.abspath(sys.argv[1])
DONE, NO, USAGE, UNREACHABLE, IO, CANNOT_RUN, NOT_FOUND = 0, 1, 64, 69, 74, 126, 127
TIMEOUT = "60s"
NO_STORE = ("help", "completion")
READERS = ("set add", "set remove", "table put", "table remove", "list push", "log put", "array set", "batch")
WORDS = {"help": [], "completion": ["bash"], "lock": ["x", "--info"], "backup": ["copy"]}


def verbs():
    """Each with the arguments that it must have."""
    manual = subprocess.run([MCDS, "help", "man"], capture_output=True, text=True, check=True).stdout
    for line in re.findall(r"^\.It Nm mcds Cm (.*)$", manual, re.MULTILINE):
        words, *arguments = re.sub(r" Oo .*", "", line).split(" Ar ")
        yield words.split(), WORDS.get(words, ["x", "1", "1"][:len(arguments)]), " Fl \\-" in line


class MatrixTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = "lmdb:" + os.path.join(self.folder, "store")

    def mcds(self, *words, store=None, timeout=TIMEOUT):
        return subprocess.run([MCDS, "-s", store or self.store, "--timeout", timeout, "--json", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=self.folder,
                              env=os.environ | {"LC_ALL": "C", "HOME": self.folder})

    def check_failure(self, done, code):
        """One object, which has the exit code and the sentence of standard error."""
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout.count("\n"), 1, done)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["exit"], code)
        self.assertTrue(answer["result"].startswith("MCDS_"), answer)
        self.assertEqual(done.stderr, f"mcds: {answer['error']}\n")

    def each(self):
        count = 0
        for words, arguments, takes_program in verbs():
            count += 1
            extra = ["--add", "y"] if words == ["array", "change"] else []
            extra += ["--database", self.store + "views"] if words[0] == "views" else []
            yield words, arguments + extra, takes_program
        self.assertGreater(count, 40)

    def test_an_unknown_option(self):
        for words, arguments, _ in self.each():
            self.check_failure(self.mcds(*words, *arguments, "--nonsense"), USAGE)

    def test_an_unknown_verb_or_command(self):
        for words, _, _ in self.each():
            if len(words) == 2:
                self.check_failure(self.mcds(words[0], "nonsense", "x"), USAGE)
        for words in (["nonsense"], ["help", "nonsense"], ["help", "set", "nonsense"], ["completion", "nonsense"], []):
            self.check_failure(self.mcds(*words), USAGE)

    def test_an_argument_that_is_missing(self):
        for words, arguments, _ in self.each():
            if arguments:
                self.check_failure(self.mcds(*words), USAGE)

    def test_a_server_that_refuses(self):
        path = os.path.join(self.folder, "socket")
        with socket.socket(socket.AF_UNIX) as bound:  # and nobody listens
            bound.bind(path)
            for words, arguments, _ in self.each():
                if " ".join(words) in READERS and words != ["batch"]:
                    arguments += ["1", "1"] if words == ["table", "put"] else ["1"]
                done = self.mcds(*words, *arguments, store=f"memcached://{path}", timeout="300ms")
                if words[0] in NO_STORE or words == ["batch"]:  # nothing is asked of the store
                    self.assertEqual(done.returncode, DONE)
                elif words == ["doctor"]:
                    found = list(map(json.loads, done.stdout.splitlines()))
                    self.assertIn("problem", [one["severity"] for one in found])
                    self.assertEqual(done.returncode, NO)
                elif words == ["backup"]:
                    self.assertNotEqual(done.returncode, DONE)
                    self.check_failure(done, done.returncode)
                else:
                    self.check_failure(done, UNREACHABLE)

    def test_a_store_that_cannot_be_opened(self):
        for words, arguments, _ in self.each():
            if words[0] not in (*NO_STORE, "doctor"):
                self.check_failure(self.mcds(*words, *arguments, store="nonsense:"), USAGE)

    def test_empty_input(self):
        """What reads lines has read none; everything else does not read."""
        for words, arguments, _ in self.each():
            if words[0] in NO_STORE:
                continue
            done = self.mcds(*words, *arguments)
            answers = list(map(json.loads, done.stdout.splitlines()))
            self.assertIn(done.returncode, (DONE, NO), done)
            if done.returncode == NO and words != ["doctor"]:
                self.assertEqual(answers[0]["exit"], NO)

    def test_input_that_cannot_be_read(self):
        for words, arguments, _ in self.each():
            if " ".join(words) not in READERS:
                continue
            folder = os.open(self.folder, os.O_RDONLY)
            done = subprocess.run([MCDS, "-s", self.store, "--json", *words, *["x"][:len(arguments)]], stdin=folder,
                                  capture_output=True, text=True, check=False)
            os.close(folder)
            self.assertEqual(done.returncode, IO, done)
            self.assertEqual(json.loads(done.stdout.splitlines()[0])["exit"], IO, done)

    def test_output_that_is_closed(self):
        """Nothing can be printed: that is a failure of every verb, with a sentence."""
        for words, arguments, _ in self.each():
            if words[0] in NO_STORE:
                continue
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", MCDS, "-s", self.store, "--timeout", TIMEOUT, "--json",
                                   *words, *arguments], input="counter add x\n", stderr=subprocess.PIPE, text=True,
                                  check=False, cwd=self.folder)
            self.assertEqual(done.returncode, IO, done)
            self.assertIn("standard output", done.stderr)

    def test_a_command_that_cannot_be_run(self):
        for words, _, takes_program in self.each():
            if takes_program:
                self.check_failure(self.mcds(*words, "x", "--", "./nosuch"), NOT_FOUND)
                self.check_failure(self.mcds(*words, "x", "--", self.folder), CANNOT_RUN)
                self.check_failure(self.mcds(*words, "x", "--"), USAGE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
