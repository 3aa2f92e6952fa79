"""Bytes of every kind through the command and back: what it prints moves no cursor of a terminal, what
--json prints is JSON, and what one command prints the next one reads."""

import base64
import json
import os
import re
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
HOSTILE = ["\x1b[2J", "\x9b2J", "a\u0085b", "\u202eevil\u202c", "\u2066x\u2069", "\u200e", "\u200f",
           "\u061c", "one\u2028two", "$'\\n'", "$'open", "$''", "'", '"', "\\", "ä", "漢", "😀", "a\tb", "a\r\nb",
           "\r", "-", "--", "#", "%41", "~x", " ", "*", "$HOME", "`id`", "\x7f"]
# A terminal acts on these, as characters or as single bytes, or a reader is misled by them.
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
XXH3_SECRET = bytes.fromhex("b8fe6c3923a44bbe")


def every_text():
    """Single bytes, bytes among others, and what is known to be troublesome."""
    texts = [bytes([byte]) for byte in range(1, 256)] + [b"x%cy" % byte for byte in range(1, 256)]
    return texts + [text.encode() for text in HOSTILE] + [b"\xc2", b"\xe2\x80", b"\xff\xfe", b"\x9b31m"]


def colliding(count):
    """Different names with one XXH3 hash of 64 bits, as long as it has no key."""
    return [XXH3_SECRET + b"%08d" % i + b"the-same-last-16" for i in range(count)]


class BytesTest(unittest.TestCase):
    def setUp(self):
        fixture = Fixture(STORE).__enter__()
        self.addCleanup(fixture.__exit__)
        self.environment = fixture.environment(MCDS)
        if STORE == "lmdb":
            self.environment["MCDS_STORE"] = f"lmdb:{fixture.folder}/store?sync=async&create=1"

    def mcds(self, *arguments, data=b"", status=0, **environment):
        done = subprocess.run([MCDS, *arguments], input=data, capture_output=True, check=False,
                              env=self.environment | environment)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assert_harmless(done.stdout)
        self.assert_harmless(done.stderr)
        done.stderr.decode("utf-8")
        return done.stdout

    def assert_harmless(self, printed):
        for line in printed.split(b"\n"):
            text = line.decode("utf-8", errors="surrogateescape")
            self.assertIsNone(ACTED_ON.search(text), line)
            self.assertFalse(any("\udc80" <= c <= "\udc9f" for c in text), line)

    def objects(self, *arguments):
        printed = self.mcds("--json", *arguments)
        return [json.loads(line.decode("utf-8")) for line in printed.splitlines()]

    @staticmethod
    def bytes_of(printed, field):
        whole = printed.get(field + "_base64")
        return base64.b64decode(whole) if whole is not None else printed[field].encode()

    def test_elements_there_and_back(self):
        texts = set(every_text()) | {b"nul\0", b"\0"}
        for text in texts:
            if b"\0" not in text:
                self.mcds("set", "add", "--", b"by argument", text)
        quoted = self.mcds("set", "scan", "by argument")
        self.mcds("set", "add", "by lines", data=quoted)
        self.assertEqual(sorted(self.mcds("set", "scan", "by lines").splitlines()),
                         sorted(quoted.splitlines()))
        seen = {self.bytes_of(o, "element") for o in self.objects("set", "scan", "by lines")}
        self.assertEqual(seen, {text for text in texts if b"\0" not in text})

    def test_values_there_and_back(self):
        for number, text in enumerate(every_text()):
            self.mcds("table", "put", "--", "first", b"key %d" % number, text)
        entries = self.mcds("table", "scan", "first")
        self.mcds("table", "put", "second", data=entries)
        for number, text in enumerate(every_text()):
            if number % 7 == 0:
                done = subprocess.run([MCDS, "table", "get", "second", b"key %d" % number, "--raw"],
                                      capture_output=True, check=True, env=self.environment)
                self.assertEqual(done.stdout, text)

    def test_lists_logs_and_arrays_there_and_back(self):
        lines = b"".join(text.replace(b"\n", b"") + b"\n" for text in every_text())
        for verb, look, field in ("list push", "list scan", "value"), \
                                 ("log put --by-arrival", "log scan", "event"), \
                                 ("array set", "array scan", "element"):
            self.mcds(*verb.split(), "first", data=lines)
            printed = self.mcds(*look.split(), "first")
            if field == "event":
                printed = b"".join(line.split(b"\t", 1)[1] for line in printed.splitlines(True))
            self.mcds(*verb.split(), "second", data=printed)
            first, second = (self.objects(*look.split(), name) for name in ("first", "second"))
            self.assertEqual([self.bytes_of(o, field) for o in first],
                             [self.bytes_of(o, field) for o in second])

    def test_names_through_ls_and_batch(self):
        names = set(every_text())
        adds = {"counter": ["counter", "add"], "list": ["list", "push"], "set": ["set", "add"]}
        for number, name in enumerate(sorted(names)):
            noun = sorted(adds)[number % len(adds)]
            more = [] if noun == "counter" else ["x"]
            self.mcds(*adds[noun], "--", name, *more)
        listed = {(o["noun"], self.bytes_of(o, "name")) for o in self.objects("ls")}
        self.assertEqual({name for _, name in listed}, names)
        # The plain form of a name with control characters is what a batch reads.
        lines = self.mcds("ls").splitlines()
        again = [line.split(b"\t", 1) for line in lines if b"\t$'" in line]
        self.assertGreater(len(again), 60)
        self.mcds("batch", data=b"".join(
            b"%s %s -- %s\n" % (noun, b"drop", name) for noun, name in again))
        self.assertEqual(len(self.mcds("ls").splitlines()), len(lines) - len(again))

    def test_sentences(self):
        for text in every_text():
            self.mcds("counter", "get", "--", text, status=1)
            self.mcds("table", "get", "--", "none", text, status=1)
            told = json.loads(self.mcds("--json", "table", "get", "--", "none", text, status=1))
            self.assertIsNone(re.search(f"{ACTED_ON.pattern}|[\t\n\ufffd]", told["error"]), told)
        for text in HOSTILE:
            self.mcds("counter", "add", "x", "y" + text, status=64)
            self.mcds("-s", "x" + text, "counter", "add", "x", status=64)
            self.mcds("no" + text, status=64)
            self.mcds("-s", f"lmdb:/nowhere/{text}/x?create=1", "counter", "add", "x", status=74)

    def test_colliding_names(self):
        names = colliding(400)
        self.mcds("set", "add", "names", data=b"\n".join(names))
        self.assertEqual(sorted(self.mcds("set", "scan", "names").splitlines()), sorted(names))
        batch = b"".join(b"counter add %s %d\n" % (name, i) for i, name in enumerate(names[:100]))
        self.assertEqual(self.mcds("batch", data=batch).split(), [b"%d" % i for i in range(100)])
        self.mcds("set", "remove", "names", data=b"\n".join(names[::2]))
        self.assertEqual(sorted(self.mcds("set", "scan", "names").splitlines()), sorted(names[1::2]))

    def test_lines_of_others(self):
        """Lines that only look like ours are what they are, and --raw takes every line so."""
        lines = [b"$'open", b"$'bad \\q'", b"$'closed' and more", b"$'nothing to quote'", b"$'\\x41'",
                 b"$'\\n' ", b"$''"]
        for verb, look in ("list push", "list scan"), ("array set", "array scan"):
            self.mcds(*verb.split(), "theirs", data=b"\n".join(lines))
            seen = [self.bytes_of(o, "value" if verb == "list push" else "element")
                    for o in self.objects(*look.split(), "theirs")]
            self.assertEqual(seen, lines)
        self.mcds("list", "push", "raw", "--raw", data=b"$'\\n'\n$'a\\tb'\n")
        seen = [self.bytes_of(o, "value") for o in self.objects("list", "scan", "raw")]
        self.assertEqual(seen, [b"$'\\n'", b"$'a\\tb'"])

    def test_raw_there_and_back(self):
        """A file with tabs and escapes, by every verb that takes lines and every one that prints them."""
        lines = b"a\tb\n$'x\\n'\n\x1b[1mbold\n\xff\xfe\ncr\r\nplain\n"
        ways = [("list push", "list scan"), ("array set", "array scan"), ("set add", "set scan")]
        for verb, look in ways:
            subprocess.run([MCDS, *verb.split(), "file", "--raw"], input=lines, check=True,
                           env=self.environment, stdout=subprocess.DEVNULL)
            done = subprocess.run([MCDS, *look.split(), "file", "--raw"], check=True,
                                  env=self.environment, capture_output=True)
            self.assertEqual(sorted(done.stdout.split(b"\n")), sorted(lines.split(b"\n")), verb)
        subprocess.run([MCDS, "log", "put", "file", "--raw"], input=lines, check=True,
                       env=self.environment, stdout=subprocess.DEVNULL)
        for look in ["scan"], ["tail", "-f", "--last", "9"], ["tail"]:
            done = subprocess.Popen([MCDS, "log", *look, "file", "--raw"], env=self.environment,
                                    stdout=subprocess.PIPE)
            seen = [done.stdout.readline().split(b"\t", 1)[1] for _ in range(lines.count(b"\n"))]
            self.assertEqual(b"".join(seen), lines)
            done.stdout.close()
            done.kill()
            done.wait()
        subprocess.run([MCDS, "table", "put", "file", "--raw"], input=b"k\t$'x\\n'\n", check=True,
                       env=self.environment, stdout=subprocess.DEVNULL)
        done = subprocess.run([MCDS, "table", "scan", "file", "--raw"], check=True,
                              env=self.environment, capture_output=True)
        self.assertEqual(done.stdout, b"k\t$'x\\n'\n")

    def test_locales_and_terminals_change_nothing(self):
        self.mcds("list", "push", "x", *HOSTILE[:4], "--", *HOSTILE[4:])
        self.mcds("visitors", "hit", "v", "a")
        usual = [self.mcds(*words.split()) for words in ("list scan x", "--json list scan x",
                                                         "--json visitors estimate v", "help")]
        for locale in "C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "nonsense":
            for term in {}, {"TERM": "dumb"}, {"TERM": ""}:
                seen = [self.mcds(*words.split(), LC_ALL=locale, LANG=locale, **term)
                        for words in ("list scan x", "--json list scan x",
                                      "--json visitors estimate v", "help")]
                self.assertEqual(seen, usual)


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
