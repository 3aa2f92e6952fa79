"""Stores that earlier versions wrote, read and changed by this one.

corpus.py MCDS              every version under corpus/: its keys are those of docs/formats.md, and
                            its questions get the answers of that version
corpus.py MCDS record NAME  make corpus/NAME with this version; in a time namespace of its own
                            (unshare -T --fork), which makes the LMDB file one of an earlier boot

A version is three files. memcached.gz: a key, its client flags and its value in base64 a line.
lmdb.gz: a copy of an LMDB store. questions: a JSON object a line, the first with the time of the
recording, each other a command and its answer. An estimate, whose hash key is random, has another
answer for memcached.gz. The command's clock is set to that time. A version that is released is
never recorded again.

refused/ has stores of builds before version 0.1, of the form of memcached.gz: calls of their maps
are refused with a sentence, and change nothing."""

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weblog"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import document  # noqa: E402
import memcached  # noqa: E402
import reader  # noqa: E402

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
REFUSED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "refused")
RECORDED = {"sixteen-ways.gz": 1795455473}  # when
MCDS = None
MANY = 700

HOUR = ["--period", "1h"]
DAY = ["--width", "1d"]
SITE = ["--flush-every", "1d", "--database", "URI"]
MANY_LINES = "".join("element %d\n" % i for i in range(MANY))
LARGE = "x" * 1200000
DAY_S = 86400  # all leases
HOLD = ["lock", "held", "--lease", "1d", "--label", "web3", "--", "cat"]

CHANGES = [
    (["counter", "add", "signed", "-7"], None),
    (["counter", "add", "plain", "--plain", "42"], None),
    (["counter", "add", "striped", "--stripes", "4", "11"], None),
    (["counter", "add", "exact", "--exact", "5"], None),
    (["counter", "add", "exact", "--exact", "-9"], None),
    (["counter", "add", "a name: with % and \u00e9" + "e" * 200], None),
    (["lock", "free", "--", "true"], None),
    *[(["lock", "acquire", "files", "--shared", "--lease", "1d", "--label", label], None) for label in ("web1", "web2")],
    (["semaphore", "run", "builds", "--permits", "3", "--", "true"], None),
    (["visitors", "hit", "site", "ann", *HOUR], None),
    (["visitors", "hit", "site", "bob", *HOUR], None),
    (["batch"], "".join("visitors hit %s 'visitor %d' --period 1h --%s\n" % (form, i, form)
                        for form in ("exact", "estimated") for i in range(MANY))),
    (["online", "beat", "chat", "ann", *DAY], None),
    (["online", "beat", "kept", "ann", *DAY, "--exact"], None),
    (["online", "beat", "guess", "ann", *DAY, "--estimated"], None),
    (["batch"], "".join("views hit site page%d %d --flush-every 1d --database URI\n" % (i, i + 1)
                        for i in range(20))),
    (["views", "flush", "site", *SITE], None),
    (["log", "put", "deploys"], "one\ntwo words\n" + LARGE + "\n"),
    (["log", "put", "arrivals", "old", "--by-arrival", "--at", "@1000000000"], None),
    (["list", "push", "jobs"], MANY_LINES * 3 + LARGE + "\n"),
    (["list", "push", "cleared", "gone"], None),
    (["list", "clear", "cleared"], None),
    (["array", "set", "small", "a", "", "a b"], None),
    (["array", "set", "large", "-"], (LARGE + "\n") * 2),
    (["array", "set", "dropped", "a"], None),
    (["array", "drop", "dropped"], None),
    (["table", "put", "hosts", "web3", "10.0.0.3", "--ttl", "1h"], None),
    (["table", "incr", "hosts", "boots", "12"], None),
    (["table", "put", "grown", "-"], "".join("key %d\t%d\n" % (i, i * i) for i in range(MANY))),
    *[(["set", "add", form, "-", *option], MANY_LINES)
      for form, option in (("plain", []), ("bag", ["--bag"]), ("ordered", ["--list"]))],
    (["set", "add", "bag", "element 1", "--bag"], None),
    (["set", "remove", "ordered", "element 0", "--list"], None),
]

# Everything is read, then changed, then read again: a later version continues with the data that it finds.
READS = [
    *[(["counter", "get", name, *option], None)
      for name, option in (("signed", []), ("plain", []), ("striped", ["--stripes", "4"]),
                           ("exact", ["--exact"]))],
    (["counter", "get", "a name: with % and \u00e9" + "e" * 200], None),
    *[(["visitors", "get", name, *HOUR, *option], None)
      for name, option in (("site", []), ("exact", ["--exact"]), ("estimated", ["--estimated"]))],
    *[(["online", "get", name, *DAY, *option], None)
      for name, option in (("chat", []), ("kept", ["--exact"]), ("guess", ["--estimated"]))],
    (["views", "get", "site", "page7", *SITE], None),
    *[(["log", "scan", name], None) for name in ("deploys", "arrivals")],
    *[(["list", "scan", name], None) for name in ("jobs", "cleared")],
    *[(["array", "scan", name], None) for name in ("small", "large", "dropped")],
    (["table", "get", "hosts", "web3"], None),
    (["table", "scan", "hosts"], None),
    (["table", "scan", "grown"], None),
    *[(["set", "scan", form, *option], None)
      for form, option in (("plain", []), ("bag", ["--bag"]), ("ordered", ["--list"]))],
]
LATER = [
    (["lock", "held", "--no-wait", "--", "true"], None),
    (["lock", "free", "--no-wait", "--", "true"], None),
    (["lock", "files", "--shared", "--no-wait", "--", "true"], None),
    (["lock", "files", "--no-wait", "--", "true"], None),
    (["semaphore", "run", "builds", "--permits", "3", "--", "true"], None),
    (["semaphore", "run", "builds", "--permits", "4", "--", "true"], None),
    (["counter", "add", "signed", "8"], None),
    (["counter", "add", "plain", "--plain", "1"], None),
    (["counter", "add", "striped", "--stripes", "4", "1"], None),
    (["counter", "add", "exact", "--exact", "4"], None),
    (["visitors", "hit", "site", "ann", *HOUR], None),
    (["visitors", "hit", "exact", "visitor 9", *HOUR, "--exact"], None),
    (["visitors", "hit", "exact", "zoe", *HOUR, "--exact"], None),
    (["online", "beat", "chat", "bob", *DAY], None),
    (["views", "hit", "site", "page7", "--flush-every", "1d"], None),
    (["log", "put", "deploys", "three"], None),
    (["list", "push", "jobs", "last"], None),
    (["list", "push", "cleared", "first"], None),
    (["array", "change", "small", "--remove", "a", "--add", "c"], None),
    (["table", "incr", "hosts", "boots", "-2"], None),
    (["table", "remove", "grown", "key 1"], None),
    (["set", "remove", "plain", "element 2"], None),
    (["set", "remove", "bag", "element 1", "--bag"], None),
    (["set", "add", "ordered", "element 0", "--list"], None),
]


# Of maps, whose form has changed.
MAPS = [
    *[["visitors", verb, form, *who, *HOUR, "--" + form]
      for form in ("exact", "estimated") for verb, *who in (["get"], ["hit", "zoe"], ["drop"])],
    ["online", "get", "kept", *DAY, "--exact"],
    *[["table", verb, "grown", *more]
      for verb, *more in (["get", "key 1"], ["put", "new", "1"], ["remove", "key 1"], ["scan"], ["drop"])],
    *[["set", verb, form, *more, *option]
      for form, option in (("plain", []), ("bag", ["--bag"]), ("ordered", ["--list"]))
      for verb, *more in (["has", "element 1"], ["add", "new"], ["remove", "element 1"], ["scan"], ["drop"])],
]


UNFAKED = {**os.environ, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def clock(at):
    """The words that set the clock of a command."""
    if at is None:
        return []
    return ["faketime", "-f", time.strftime("@%Y-%m-%d %H:%M:%S", time.localtime(at))]


def ask(uri, database, arguments, given=None, at=None):
    """The exit code and the lines of the answer, sorted where they have no order; the time of an
    event is left out where it is that of the recording. `database` is that of the views."""
    words = [database if word == "URI" else word for word in arguments]
    if arguments[0] == "views" and "URI" not in arguments:
        words += ["--database", database]
    if arguments == ["batch"]:
        given = given.replace("URI", database)
    done = subprocess.run([*clock(at), MCDS, "-s", uri, "--timeout", "30s", *words], input=given,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=UNFAKED)
    lines = done.stdout.splitlines()
    if arguments[:2] == ["log", "put"]:
        lines = []
    if arguments[:2] == ["log", "scan"] and arguments[2] != "arrivals":
        lines = [line.split("\t", 1)[1] for line in lines]
    is_ordered = "--list" in arguments or arguments[0] not in ("set", "table")
    lines = lines if is_ordered else sorted(lines)
    if sum(map(len, lines)) > 1000:
        whole = "\n".join(lines).encode()
        lines = ["%d lines, SHA-256 %s" % (len(lines), hashlib.sha256(whole).hexdigest())]
    return [done.returncode, *lines]


def write(uri, database):
    for arguments, given in CHANGES:
        code = ask(uri, database, arguments, given)[0]
        if code != 0:
            raise RuntimeError("%d: %s" % (code, arguments))
    holder = subprocess.Popen([MCDS, "-s", uri, *HOLD], stdin=subprocess.PIPE)
    while subprocess.run([MCDS, "-s", uri, "lock", "held", "--info"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).returncode != 0:
        if holder.poll() is not None:
            raise RuntimeError("the lock was not acquired")
    return holder


def release(holder):
    holder.stdin.close()
    holder.wait()


def record(name):
    folder = os.path.join(CORPUS, name)
    os.makedirs(folder)
    with tempfile.TemporaryDirectory() as place, memcached.Server(place) as started:
        holder = write(started.uri, "lmdb:" + os.path.join(place, "views"))
        server = reader.Server(started.path)
        items = [(key, *server.get(key)) for key in sorted(server.keys())]
        server.close()
        release(holder)
        with gzip.GzipFile(os.path.join(folder, "memcached.gz"), "w", 9, mtime=0) as file:
            for key, flags, value in items:
                file.write(b"%s %d %s\n" % (key, flags, base64.b64encode(value)))
        path = os.path.join(place, "store")
        holder = write("lmdb:" + path, "lmdb:" + path)
        copy = os.path.join(place, "copy")
        subprocess.run([MCDS, "-s", "lmdb:" + path, "backup", copy], check=True)
        release(holder)
        with open(copy, "rb") as file, \
                gzip.GzipFile(os.path.join(folder, "lmdb.gz"), "w", 9, mtime=0) as out:
            shutil.copyfileobj(file, out)
        at = int(time.time()) + 2  # after all that was written
        with open(os.path.join(folder, "questions"), "w", encoding="utf-8") as file:
            print(json.dumps({"time": at}), file=file)
            for arguments, _ in READS + LATER + READS:
                answer = ask("lmdb:" + copy, "lmdb:" + copy, arguments, at=at)
                one = {"command": arguments, "answer": answer}
                if "--estimated" in arguments:
                    one["memcached"] = ask(started.uri, "", arguments, at=at)
                print(json.dumps(one), file=file)


class CorpusTest(unittest.TestCase):
    def questions(self, version):
        with open(os.path.join(CORPUS, version, "questions"), encoding="utf-8") as file:
            first, *others = map(json.loads, file)
        return first["time"], others

    def check(self, version, uri, database):
        at, questions = self.questions(version)
        self.assertGreater(len(questions), 50)
        for one in questions:
            answer = ask(uri, database, one["command"], at=at)
            expected = one.get(uri.split(":")[0], one["answer"])
            self.assertEqual(answer, expected, (version, uri, one["command"]))

    def versions(self):
        found = sorted(os.listdir(CORPUS))
        self.assertTrue(found)
        return found

    def unpack(self, version, place):
        path = os.path.join(place, "store")
        with gzip.open(os.path.join(CORPUS, version, "lmdb.gz")) as file, open(path, "wb") as out:
            shutil.copyfileobj(file, out)
        return "lmdb:" + path

    def test_memcached(self):
        for version in self.versions():
            with tempfile.TemporaryDirectory() as place, memcached.Server(place) as started, \
                    gzip.open(os.path.join(CORPUS, version, "memcached.gz")) as file:
                server = reader.Server(started.path)
                self.addCleanup(server.close)
                for line in file:
                    key, flags, value = line.split(b" ")
                    value = base64.b64decode(value)
                    document.read(key, int(flags), value)
                    server.set(key, int(flags), value, DAY_S if key.startswith(b"mcds:lk1:") else 0)
                self.check(version, started.uri, self.unpack(version, place))

    def test_older_maps_are_refused(self):
        self.assertEqual(sorted(os.listdir(REFUSED)), sorted(RECORDED))
        for name in RECORDED:
            with tempfile.TemporaryDirectory() as place, memcached.Server(place) as started, \
                    gzip.open(os.path.join(REFUSED, name)) as file:
                server = reader.Server(started.path)
                self.addCleanup(server.close)
                for line in file:
                    key, flags, value = line.split(b" ")
                    server.set(key, int(flags), base64.b64decode(value))
                before = {key: server.get(key) for key in server.keys()}
                for arguments in MAPS:
                    done = subprocess.run([*clock(RECORDED[name]), MCDS, "-s", started.uri, *arguments],
                                          text=True, capture_output=True, env=UNFAKED)
                    self.assertEqual(done.returncode, 76, (arguments, done))
                    self.assertIn("it was made by an older version of mcds", done.stderr, arguments)
                    self.assertEqual(done.stdout, "", arguments)
                self.assertEqual({key: server.get(key) for key in server.keys()}, before)

    def test_lmdb(self):
        for version in self.versions():
            with tempfile.TemporaryDirectory() as place:
                uri = self.unpack(version, place)
                self.check(version, uri, uri)


def main():
    global MCDS
    MCDS = sys.argv.pop(1)
    for program in ("memcached", "faketime"):
        if shutil.which(program) is None:
            print("skipped: %s is not installed" % program)
            sys.exit(77)
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        unittest.main()


if __name__ == "__main__":
    main()
