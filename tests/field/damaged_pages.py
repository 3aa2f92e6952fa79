"""MCDS: an lmdb: file in which a page has other bytes. Each reading command ends in time, in little memory, with the right
answer or with a sentence. What the page had may be absent: LMDB does not notice a page in the place of another one.
FIELD_ROUNDS: the number of damaged copies."""

import collections
import os
import random
import resource
import subprocess
import sys
import tempfile

from fixture import HANDLED, SKIPPED, has_sanitizer

MCDS = os.path.abspath(sys.argv[-1])
ROUNDS = int(os.environ.get("FIELD_ROUNDS", "10"))
PAGE = os.sysconf("SC_PAGESIZE")
LIMIT_S = 300
MEMORY = 4 << 30  # the map of the file counts

WRITES = [
    (["counter", "add", "hits", "7"], ""),
    (["counter", "add", "wide", "5", "--stripes", "8"], ""),
    (["counter", "add", "exact", "3", "--exact"], ""),
    (["set", "add", "tags"], "".join(f"tag{i}\n" for i in range(2000))),
    (["set", "add", "ordered", "--list"], "".join(f"item{i}\n" for i in range(300))),
    (["table", "put", "hosts"], "".join(f"host{i}\t10.0.0.{i}\n" for i in range(1000))),
    (["table", "put", "large", "k", "v" * 30000], ""),
    (["list", "push", "jobs"], "".join(f"job{i}\n" for i in range(1000))),
    (["log", "put", "events"], "".join(f"event{i}\n" for i in range(1000))),
    (["array", "set", "steps"], "".join(f"step{i}\n" for i in range(300))),
    (["queue", "push", "work"], "".join(f"work{i}\n" for i in range(300))),
    (["visitors", "hit", "site", "ann"], ""),
    (["online", "beat", "chat", "ann", "--width", "1d"], ""),
    (["limit", "take", "logins", "ann", "--rate", "10/d"], ""),
    (["cache", "get", "pages", "home", "--ttl", "1d", "--", "echo", "made"], ""),
]
READS = [
    ["counter", "get", "hits"], ["counter", "get", "wide"], ["counter", "get", "exact"],
    ["set", "has", "tags", "tag77"], ["set", "count", "tags"], ["set", "scan", "tags"], ["set", "scan", "ordered"],
    ["table", "get", "hosts", "host500"], ["table", "scan", "hosts"], ["table", "get", "large", "k"],
    ["list", "scan", "jobs"], ["log", "scan", "events"], ["log", "tail", "events"], ["array", "scan", "steps"],
    ["queue", "count", "work"], ["queue", "ls", "work"], ["visitors", "get", "site"], ["online", "get", "chat"],
    ["limit", "get", "logins", "ann", "--rate", "10/d"], ["cache", "get", "pages", "home", "--ttl", "1d", "--", "echo", "again"],
    ["dump", "hosts"], ["ls", "-l"],
]


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def mcds(path, words, data=""):
    return subprocess.run([MCDS, "--timeout", "20s", "-s", f"lmdb:{path}", *words], input=data, capture_output=True, text=True,
                          errors="replace", check=False, timeout=LIMIT_S, preexec_fn=limit_memory)


def make(path):
    for words, data in WRITES:
        done = mcds(path, words, data)
        if done.returncode != 0:
            sys.exit(f"{words}: {done}")


def damages(content, dice):
    """Pages in turn, each with other bytes. The header and the end of a file have tests of their own."""
    kinds = {
        "zeros": lambda page: bytes(PAGE),
        "ones": lambda page: b"\xff" * PAGE,
        "random bytes": lambda page: dice.randbytes(PAGE),
        "another page": lambda page: content[(at := PAGE * dice.randrange(2, len(content) // PAGE)):at + PAGE],
        "random nodes": lambda page: page[:16] + dice.randbytes(PAGE - 16),
        "a byte of the head": lambda page: page[:(at := dice.randrange(64))] + dice.randbytes(1) + page[at + 1:],
    }
    pages = list(range(2, len(content) // PAGE))
    while True:
        dice.shuffle(pages)
        for number in pages:
            name = dice.choice(list(kinds))
            at = number * PAGE
            yield f"page {number}: {name}", content[:at] + kinds[name](content[at:at + PAGE]) + content[at + PAGE:]


def answer(path, words):
    done = mcds(path, words)
    return done.returncode, done.stdout


def is_part(found, right):
    """Whether all lines are those of the right answer, except where nothing is left."""
    return set(found.splitlines()) <= set(right.splitlines())


def judge(done, right, absent):
    """None, or what a command has done wrong on a damaged file."""
    says = done.stderr.startswith("mcds: ") or "\nmcds: " in done.stderr
    if done.returncode < 0:
        return "it died"
    if done.returncode > 1:
        return None if says else "it refused without a sentence"
    if (done.returncode, done.stdout) in (right, absent):
        return None
    is_absent = done.returncode == 1 and says and is_part(done.stdout, right[1])
    return None if is_absent else "it gave another answer"


def main():
    if has_sanitizer(MCDS):
        print(f"skipped: {HANDLED}")
        sys.exit(SKIPPED)
    dice = random.Random(int(os.environ.get("FIELD_SEED", "1")))
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="mcds-damage-") as folder:
        sound = os.path.join(folder, "sound")
        damaged = os.path.join(folder, "damaged")
        make(sound)
        other = os.path.join(folder, "other")
        mcds(other, ["counter", "add", "other"])
        right = [answer(sound, words) for words in READS]
        absent = [answer(other, words) for words in READS]
        if any(code != 0 for code, _ in right):
            sys.exit(f"the sound file: {right}")
        with open(sound, "rb") as file:
            content = file.read()
        for _, (name, bad) in zip(range(ROUNDS), damages(content, dice)):
            for i, words in enumerate(READS):
                with open(damaged, "wb") as file:
                    file.write(bad)
                done = mcds(damaged, words)
                mistake = judge(done, right[i], absent[i])
                if mistake is not None:
                    wrong += 1
                    print(f"{name}: {words}: {mistake}: {done.returncode}, {done.stdout[:200]!r}, {done.stderr[:300]!r}")
    sys.exit(1 if wrong else 0)


main()
