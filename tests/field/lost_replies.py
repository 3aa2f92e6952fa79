"""A server that dies after it has carried out a command and before its reply arrives: for every verb that
changes something, and every change on the way. The exit code must not claim what is not so: 0 is done, 80
may have been done and says so in words, everything else has changed nothing."""

import json
import os
import re
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture, is_possible
from relay import Relay

MCDS = os.path.abspath(sys.argv[1])
AMBIGUOUS = 80
CHANGES_MAX = 20
CHANGE = re.compile(rb"(?:^|\n)(?:ms|ma|md|set|add|replace|cas|append|incr|decr|delete) ")
# From below `mcds lock`, whose child guards the command.
KILL_MCDS = 'kill -9 $(cut -d " " -f 4 /proc/$PPID/stat); sleep 1000'
TIMEOUTS_MS = [500, 2000, 8000]  # on a loaded machine a change may not even begin in the first


class LossRelay(Relay):
    """Ends with the reply to the change with this number: the change reaches the server, the reply is lost."""

    is_over = False

    def pass_request(self, data, server):
        if CHANGE.search(data):
            with self.mutex:
                self.left -= 1
                self.is_over = self.is_over or self.left == 0
        server.sendall(data)

    def pass_reply(self, data, client):
        if self.is_over:
            self.close()
        else:
            client.sendall(data)


# What is there before, the command, what shows whether it has happened, the word for it.
VERBS = [
    ([], "counter add x 5", "counter get x", "added"),
    (["counter add x 5"], "counter add x 5", "counter get x", "added"),
    (["counter add x 5"], "counter take x", "counter get x", "taken"),
    (["counter add x 5"], "counter drop x", "counter get x", "dropped"),
    (["counter add x 5 --stripes 4"], "counter add x 5 --stripes 4", "counter get x --stripes 4", "added"),
    (["counter add x 5 --exact"], "counter add x 5 --exact", "counter get x --exact", "added"),
    ([], "visitors hit x", "visitors get x", "counted"),
    ([], "visitors hit x ann", "visitors get x", "counted"),
    (["visitors hit x ann --exact"], "visitors hit x bob --exact", "visitors get x --exact", "counted"),
    (["visitors hit x ann"], "visitors drop x", "visitors get x", "dropped"),
    ([], "online beat x ann --width 1d", "online get x --width 1d", "counted"),
    (["online beat x ann --width 1d"], "online drop x --width 1d", "online get x --width 1d", "dropped"),
    ([], "views hit x page --database lmdb:KEPT", "views get x page --database lmdb:KEPT", "counted"),
    ([], "set add x a", "set scan x", "added"),
    (["set add x a"], "set add x b", "set scan x", "added"),
    (["set add x a --list"], "set add x a --list", "set scan x --list", "added"),
    (["set add x a"], "set remove x a", "set scan x", "removed"),
    (["set add x a"], "set drop x", "set scan x", "dropped"),
    (["table put x k 1"], "table put x k 2", "table get x k", "put"),
    (["table put x k 1"], "table put x j 2 --if-absent", "table get x j", "put"),
    (["table put x k 1"], "table put x k 2 --if-is 1", "table get x k", "put"),
    (["table put x k 1"], "table incr x k", "table get x k", "added"),
    (["table put x k 1"], "table remove x k", "table get x k", "removed"),
    (["table put x k 1"], "table drop x", "table get x k", "dropped"),
    ([], "list push x a", "list scan x", "pushed"),
    (["list push x a"], "list push x b", "list scan x", "pushed"),
    (["list push x a"], "list clear x", "list scan x", "cleared"),
    (["list push x a"], "list drop x", "list scan x", "dropped"),
    (["log put x a"], "log put x b", "log scan x", "put"),
    (["log put x a"], "log drop x", "log scan x", "dropped"),
    (["array set x a"], "array set x b", "array scan x", "set"),
    (["array set x a"], "array change x --add b", "array scan x", "changed"),
    (["array set x a"], "array drop x", "array scan x", "dropped"),
    ([f"lock x -t 1h -- sh -c '{KILL_MCDS}'"], "lock x --break", "lock x --info", "broken"),
]


class LostRepliesTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("memcached").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.environment(MCDS)
        self.rounds = 0

    def mcds(self, command, namespace, store=None, data=None):
        words = command.replace("KEPT", f"{self.fixture.folder}/{namespace}.mdb")
        shell = f'exec mcds -s "$STORE" --namespace {namespace} {words}'
        uri = store or f"memcached://{self.fixture.socket}?timeout=120000"
        return subprocess.run(["sh", "-c", shell], env=self.environment | {"STORE": uri}, check=False,
                              input=data, stdin=subprocess.DEVNULL if data is None else None,
                              capture_output=True, text=True)

    def play(self, before, command, look, lost, timeout_ms, data=None):
        """Returns the outcome, whether something has changed, and whether a reply was lost."""
        self.rounds += 1
        namespace, path = f"n{self.rounds}", f"{self.fixture.folder}/relay{self.rounds}"
        for line in before:
            self.mcds(line, namespace)
        first = self.mcds(look, namespace)
        relay = LossRelay(path, self.fixture.socket, lost)
        done = self.mcds(command, namespace, f"memcached://{path}?timeout={timeout_ms}", data)
        relay.close()
        has_changed = self.without_times(look, self.mcds(look, namespace)) != \
            self.without_times(look, first)
        return done, has_changed, relay.is_over

    @staticmethod
    def without_times(look, seen):
        """The time that a lock has left changes by itself."""
        return re.sub("[0-9]", "", seen.stdout) if look.startswith("lock") else seen.stdout

    def judge(self, done, has_changed, word, server):
        if done.returncode == 0:
            self.assertTrue(has_changed, done)
        elif done.returncode == AMBIGUOUS:
            self.assertIn(f"may have been {word}", done.stderr)
            self.assertIn(server, done.stderr)
        else:
            self.assertFalse(has_changed, done)

    def sweep(self, before, command, look, word, data=None):
        """Lose the reply to the first change, then to the second, and so on."""
        codes = set()
        for timeout_ms in TIMEOUTS_MS:
            for lost in range(1, CHANGES_MAX):
                line = data and data.replace("KEPT", f"{self.fixture.folder}/n{self.rounds + 1}.mdb")
                done, has_changed, is_over = self.play(before, command, look, lost, timeout_ms, line)
                with self.subTest(command=command, data=data, lost=lost):
                    self.judge(done, has_changed, word, f"{self.fixture.folder}/relay{self.rounds}: ")
                    if "batch" in command:
                        answer = json.loads(done.stdout)
                        self.assertEqual(answer.get("exit", 0), done.returncode)
                        self.assertEqual(answer.get("result") == "MCDS_AMBIGUOUS",
                                         done.returncode == AMBIGUOUS)
                codes.add(done.returncode)
                if not is_over:
                    break
            if AMBIGUOUS in codes:
                return
        self.fail(f"{command!r} {data!r} is never ambiguous, but {codes}")

    def test_every_verb(self):
        for before, command, look, word in VERBS:
            with self.subTest(command=command):
                self.sweep(before, command, look, word)

    def test_batch(self):
        for before, command, look, word in VERBS[1::3]:
            with self.subTest(line=command):
                self.sweep(before, "--json batch", look, word, command + "\n")

    def test_lines(self):
        for command, look, data, word in (("set add x", "set scan x", "a\n", "added"),
                                          ("table put x", "table scan x", "a\tb\n", "put"),
                                          ("list push x", "list scan x", "a\n", "pushed"),
                                          ("log put x", "log scan x", "a\n", "put"),
                                          ("array set x", "array scan x", "a\n", "set")):
            with self.subTest(command=command):
                self.sweep([], command, look, word, data)

    def give_back(self, timeout_ms):
        """True: the reply to the release was lost."""
        for lost in range(1, CHANGES_MAX):
            done, _, is_over = self.play([], "lock x -t 1h -- echo ran", "lock x --info", lost,
                                         timeout_ms)
            if not is_over:
                return False
            if "ran" in done.stdout:
                self.assertEqual(done.returncode, AMBIGUOUS, done.stderr)
                self.assertIn("may not have been released", done.stderr)
                return True
        return False

    def test_a_lock_that_may_not_have_been_given_back(self):
        self.assertTrue(any(self.give_back(timeout_ms) for timeout_ms in TIMEOUTS_MS))


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
