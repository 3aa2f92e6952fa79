"""Several elements on one command line reach the server together: the requests that the command sends, read by a relay,
are far fewer than the elements. So are those for lines of standard input, also where the lines name few elements. And where
the server goes away, each element has a line, and the exit code is 80 where one may have been applied."""

import os
import struct
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture, is_possible
from relay import CutRelay

MCDS = os.path.abspath(sys.argv[1])
ELEMENTS = [f"e{i}" for i in range(300)]
# One by one they are 300 and more. How many share one depends on how slowly the command is built.
FEW = 200
LINES = 2100
PAGE, TRANSACTION = 4096, 144  # of an lmdb file: the size of a page, the place of the number in a meta page
AMBIGUOUS, UNREACHABLE = 80, 69


class CountingRelay(CutRelay):
    """Counts what the client sends, too."""

    sent = 0

    def pass_request(self, data, server):
        self.sent += 1
        server.sendall(data)


def commits_of(path):
    """The transactions that an lmdb file has seen: the number in the newer one of its two meta pages."""
    with open(path, "rb") as file:
        pages = file.read(2 * PAGE)
    return max(struct.unpack_from("=Q", pages, page + TRANSACTION)[0] for page in (0, PAGE))


class LinesTest(unittest.TestCase):
    def test_lines_share_commits(self):
        """Whether they name few elements or many."""
        with Fixture("lmdb") as fixture:
            for number, words in enumerate(("set add s", "set add b --bag", "visitors hit v", "visitors hit e --exact",
                                            "online beat o --exact", "views hit w")):
                for few in (7, LINES):
                    path = f"{fixture.folder}/lines{number}-{few}"
                    lines = "".join(f"e{i % few}\n" for i in range(LINES))
                    with self.subTest(words=words, few=few):
                        subprocess.run([MCDS, "-s", f"lmdb:{path}?timeout=120000", *words.split(), "-"], check=True,
                                       env=fixture.environment(MCDS), input=lines, text=True, stdout=subprocess.DEVNULL)
                        self.assertLess(commits_of(path), FEW)

    def test_lines_of_a_batch_share_commits(self):
        """Also where their verbs differ: those on one element wait for each other, others do not."""
        table = ("put {name} {element} 5", "incr {name} {element}", "remove {name} {element}")
        bag = ("add {name} {element} --bag", "remove {name} {element} --bag")
        answers = {"table": ("put", "1", "-", "6", "removed", "put", "removed", "put", "6"),
                   "set": ("added", "-", "removed", "added")}
        with Fixture("lmdb") as fixture:
            for noun, verbs in (("table", table), ("set", bag)):
                path = f"{fixture.folder}/{noun}"
                # The verbs alternate, and each element meets all of them, in their order.
                commands = [f"{noun} {verbs[(i // LINES + i) % len(verbs)]}".format(name="n", element=f"e{i % LINES}")
                            for i in range(len(verbs) * LINES)]
                with self.subTest(noun=noun):
                    done = subprocess.run([MCDS, "-s", f"lmdb:{path}?timeout=120000", "batch"], check=False,
                                          env=fixture.environment(MCDS), input="\n".join(commands) + "\n", text=True,
                                          capture_output=True)
                    self.assertLess(done.returncode, 64, done.stderr)
                    expected = [answers[noun][i // LINES * len(verbs) + i % len(verbs)] for i in range(len(commands))]
                    self.assertEqual(done.stdout.splitlines(), expected)
                    self.assertLess(commits_of(path), 2 * FEW)


class SeveralTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("memcached").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.rounds = 0

    def mcds(self, words, left=1 << 30, timeout_ms=120000, lines=()):
        """The outcome of a command through a relay, and how often it sent something."""
        self.rounds += 1
        path = f"{self.fixture.folder}/relay{self.rounds}"
        relay = CountingRelay(path, self.fixture.socket, left)
        done = subprocess.run([MCDS, "-s", f"memcached://{path}?timeout={timeout_ms}", *words], env=self.environment,
                              check=False, capture_output=True, text=True, input="".join(f"{line}\n" for line in lines))
        relay.close()
        return done, relay.sent

    def test_elements_share_round_trips(self):
        self.mcds(["table", "put", "t", ELEMENTS[0], "v"])
        for words, line in (("set add s", "added"), ("set has s", "yes"), ("set remove s", "removed"),
                            ("visitors hit v", "counted"), ("online beat o", "counted")):
            with self.subTest(words=words):
                done, sent = self.mcds(words.split() + ELEMENTS)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, f"{line}\n" * len(ELEMENTS))
                self.assertLess(sent, FEW)
        done, sent = self.mcds(["table", "get", "t", *ELEMENTS])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "v\n" + "-\n" * (len(ELEMENTS) - 1))
        self.assertLess(sent, FEW)

    def test_a_counter_without_options_is_read_at_once(self):
        """Not asked first how it was made: two requests learn what the server can, one reads the counter."""
        self.mcds(["counter", "add", "c", "5"])
        done, sent = self.mcds(["counter", "get", "c"])
        self.assertEqual((done.stdout, sent), ("5\n", 3), done.stderr)
        self.mcds(["counter", "add", "c8", "7", "--stripes", "8"])
        done, sent = self.mcds(["counter", "get", "c8"])
        self.assertEqual(done.stdout, "7\n", done.stderr)
        self.assertGreater(sent, 3)

    def test_lines_on_few_elements_share_round_trips(self):
        for words, answer in (("set add s", "added\t7"), ("set add b --bag", f"added\t{LINES}"),
                              ("set remove s", "removed\t7"), ("visitors hit v", "counted\t7"),
                              ("online beat o", "counted\t7"), ("views hit w", f"counted\t{LINES}")):
            with self.subTest(words=words):
                done, sent = self.mcds([*words.split(), "-"], lines=[f"e{i % 7}" for i in range(LINES)])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, f"{answer}\n")
                self.assertLess(sent, FEW)
        done, _ = self.mcds(["set", "scan", "b", "--bag"])
        self.assertEqual({line.split("\t")[-1] for line in done.stdout.splitlines()}, {str(LINES // 7)})

    def test_a_lost_server_leaves_a_line_for_each(self):
        seen = set()
        for left in (100, 300, 1000, 3000):
            name = f"s{left}"
            done, _ = self.mcds(["set", "add", name, *ELEMENTS], left, 1000)
            with self.subTest(left=left):
                answers = done.stdout.splitlines()
                there = set(self.mcds(["set", "scan", name])[0].stdout.splitlines())
                self.assertEqual(len(answers), len(ELEMENTS), done.stderr)
                for element, answer in zip(ELEMENTS, answers):
                    self.assertTrue(answer == "-" or element in there, element)
                failed = [element for element, answer in zip(ELEMENTS, answers) if answer == "-"]
                for element, sentence in zip(failed, done.stderr.splitlines()):
                    self.assertTrue(sentence.startswith(f"mcds: '{element}': set '{name}'"), sentence)
                    if "may have been" not in sentence:
                        self.assertNotIn(element, there)
                self.assertEqual(len(failed), len(done.stderr.splitlines()))
                self.assertEqual(done.returncode == AMBIGUOUS, "may have been" in done.stderr)
                self.assertIn(done.returncode, (AMBIGUOUS, UNREACHABLE) if failed else (0,))
                seen.add(done.returncode)
        self.assertIn(AMBIGUOUS, seen)


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("several: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
