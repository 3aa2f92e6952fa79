"""Commands of a batch on one name take effect in their order, and each prints what it would have
printed alone; so do lines of standard input. Every noun, judged line by line by a model."""

import os
import random
import subprocess
import sys
import unittest

from field import rounds
from fixture import SKIPPED, Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
SIZES = [200, 2000, 20000]
ELEMENTS = [f"e{i}" for i in range(12)]
NO = "-"


class Model:
    """What one name holds; `play` returns a command and its answer, a list when it has no order."""

    def __init__(self, name):
        self.name = name
        self.there = False
        self.data = self.empty()

    @staticmethod
    def empty():
        return {}

    def answer(self, text):
        self.there = True
        return text

    def if_there(self, text):
        return text if self.there else NO

    def drop(self):
        answer = self.if_there("dropped")
        self.there, self.data = False, self.empty()
        return f"{self.noun} drop {self.name}{self.options}", answer

    options = ""


class Counter(Model):
    noun = "counter"

    def play(self, dice):
        value = self.data.get("value", 0)
        verb = dice.choice(["add"] * 6 + ["get", "take", "drop"])
        if verb == "drop":
            return self.drop()
        if verb == "add":
            delta = dice.randrange(-5, 9)
            self.data["value"] = value + delta
            return f"counter add {self.name} {delta}", self.answer(str(value + delta))
        if verb == "take" and self.there:
            self.data["value"] = 0
        return f"counter {verb} {self.name}", self.if_there(str(value))


class Set(Model):
    noun = "set"

    def play(self, dice):
        element = dice.choice(ELEMENTS)
        verb = dice.choice(["add"] * 5 + ["remove"] * 4 + ["has"] * 3 + ["scan"] * (dice.random() < 0.1)
                           + ["drop"] * (dice.random() < 0.02))
        command = f"set {verb} {self.name} {element}{self.options}"
        if verb == "drop":
            return self.drop()
        if verb == "scan":
            return f"set scan {self.name}{self.options}", self.if_there(self.all())
        if verb == "has":
            return command, "yes" if self.count(element) > 0 else NO
        if verb == "remove":
            answer = "removed" if self.count(element) > 0 else NO
            self.take(element)
            return command, answer
        return command, self.answer(self.put(element))

    def count(self, element):
        return self.data.get(element, 0)

    def put(self, element):
        known = element in self.data
        self.data[element] = 1
        return "known" if known else "added"

    def take(self, element):
        self.data.pop(element, None)

    def all(self):
        return sorted(self.data)


class Bag(Set):
    options = " --bag"

    def put(self, element):
        self.data[element] = self.count(element) + 1
        return "added"

    def take(self, element):
        if self.count(element) > 1:
            self.data[element] -= 1
        else:
            self.data.pop(element, None)

    def all(self):
        return sorted(word for element, count in self.data.items() for word in (element, str(count)))


class Ordered(Set):
    options = " --list"

    @staticmethod
    def empty():
        return []

    def count(self, element):
        return self.data.count(element)

    def put(self, element):
        self.data.append(element)
        return "added"

    def take(self, element):
        if element in self.data:
            self.data.remove(element)

    def all(self):
        return "\t".join(self.data)


class Table(Model):
    noun = "table"

    def play(self, dice):
        key, value = dice.choice(ELEMENTS), str(dice.randrange(100))
        verb = dice.choice(["put"] * 4 + ["get"] * 3 + ["incr"] * 2 + ["has", "remove", "new", "if"]
                           + ["scan"] * (dice.random() < 0.1) + ["drop"] * (dice.random() < 0.02))
        old = self.data.get(key)
        command = f"table {verb} {self.name} {key}"
        if verb == "drop":
            return self.drop()
        if verb == "scan":
            words = sorted(word for entry in self.data.items() for word in entry)
            return f"table scan {self.name}", self.if_there(words)
        if verb == "get":
            return command, old if old is not None else NO
        if verb == "has":
            return command, "yes" if old is not None else NO
        if verb == "remove":
            self.data.pop(key, None)
            return command, "removed" if old is not None else NO
        if verb == "incr":
            self.data[key] = str(int(old or 0) + 7)
            return command + " 7", self.answer(self.data[key])
        more = "" if verb == "put" else " --if-absent" if verb == "new" else f" --if-is {value}1"
        does = verb == "put" or (verb == "new" and old is None) or (verb == "if" and old == value + "1")
        if does:
            self.data[key] = value
            self.there = True
        answer = "put" if does else NO
        return f"table put {self.name} {key} {value}{more}", answer


class Values(Model):
    """Of a list, log or array, in order."""

    @staticmethod
    def empty():
        return []

    def play(self, dice):
        words = [f"{dice.randrange(1000)}w" for _ in range(dice.randrange(1, 4))]
        kind = dice.choice(["put"] * 12 + ["get"] * (dice.random() < 0.2) + ["clear"] * (dice.random() < 0.1)
                           + ["drop"] * (dice.random() < 0.1))
        if kind == "drop":
            return self.drop()
        if kind == "get":
            return f"{self.noun} {self.look} {self.name}", self.if_there("\t".join(self.data))
        if kind == "clear" and self.clear is not None:
            answer = self.if_there(self.cleared)
            self.data = []
            return f"{self.noun} {self.clear} {self.name}", answer
        self.data += words
        return self.change(words), self.answer(self.done)

    clear = None


class List(Values):
    noun, look, done, clear, cleared = "list", "scan", "pushed", "clear", "cleared"

    def change(self, words):
        return f"list push {self.name} {' '.join(words)}"


class Array(Values):
    noun, look, done = "array", "scan", "changed"

    def change(self, words):
        return f"array change {self.name} {' '.join('--add ' + word for word in words)}"


class Log(Values):
    noun, look, done = "log", "scan", "put"

    def change(self, words):
        return f"log put {self.name} {' '.join(words)}"


class Visitors(Model):
    noun, options, anonymous = "visitors", " --period 0", ""

    def play(self, dice):
        who = dice.choice(ELEMENTS + [f"v{dice.randrange(10000)}", self.anonymous])
        if dice.random() < 0.1:
            return f"visitors get {self.name}{self.options}", str(self.data.get("", 0) + self.known())
        if who == "":
            self.data[""] = self.data.get("", 0) + 1
            return f"visitors hit {self.name}{self.options}", "counted"
        answer = "known" if who in self.data else "counted"
        self.data[who] = 1
        return f"visitors hit {self.name} {who}{self.options}", answer

    def known(self):
        return len([who for who in self.data if who != ""])


class Members(Visitors):
    options, anonymous = " --period 0 --exact", "v"


class Online(Model):
    noun = "online"

    def play(self, dice):
        who = dice.choice(ELEMENTS + [f"v{dice.randrange(10000)}"])
        answer = "known" if who in self.data else "counted"
        self.data[who] = 1
        return f"online beat {self.name} {who} --width 1d", answer


MODELS = [Counter, Set, Bag, Ordered, Table, List, Array, Log, Visitors, Members, Online]


class BatchOrderTest(unittest.TestCase):
    def setUp(self):
        fixture = Fixture(STORE).__enter__()
        self.addCleanup(fixture.__exit__)
        self.environment = fixture.environment(MCDS)
        self.environment["MCDS_STORE"] = {
            "memory": "memory:", "lmdb": f"lmdb:{fixture.folder}/store?sync=async&timeout=60000",
            "memcached": f"memcached://{fixture.folder}/memcached.sock?timeout=60000"}[STORE]

    def mcds(self, *arguments, lines):
        data = "".join(line + "\n" for line in lines)
        done = subprocess.run([MCDS, *arguments], input=data, text=True, capture_output=True, check=False,
                              env=self.environment)
        self.assertLess(done.returncode, 64, done.stderr[:1000])
        return done.stdout.splitlines()

    def judge(self, commands, answers, seed):
        seen = self.mcds("batch", lines=commands)
        self.assertEqual(len(seen), len(answers))
        for number, (command, line, answer) in enumerate(zip(commands, seen, answers)):
            if isinstance(answer, list):
                line = sorted(line.split("\t")) if line else []
            elif command.startswith("log scan") and answer != NO:
                line = "\t".join(line.split("\t")[1::2])
            self.assertEqual(line, answer, f"line {number + 1}, {command}; seed {seed}")

    def test_random_commands(self):
        for size in SIZES[:rounds(2)]:
            for model in MODELS:
                seed = random.randrange(1 << 32)
                dice = random.Random(seed)
                names = [model(f"{model.__name__}-{size}-{i}") for i in range(3)]
                plays = [dice.choice(names).play(dice) for _ in range(size)]
                with self.subTest(noun=model.__name__, size=size):
                    self.judge([play[0] for play in plays], [play[1] for play in plays], seed)

    def test_many_on_one_name(self):
        """As many of one verb as may be under way, then what has come of them."""
        for size in SIZES:
            numbers = [str(i) for i in range(size)]
            for add, get, answer in (
                    ("counter add many", "counter get many", None),
                    ("set add many --list", "set scan many --list", "added"),
                    ("list push many", "list scan many", "pushed"),
                    ("log put many", "log scan many", "put")):
                with self.subTest(add=add, size=size):
                    name = f"many{size}"
                    verb, rest = add.split(" many")
                    commands = [f"{verb} {name} {'' if answer is None else number}{rest}" for number in numbers]
                    answers = [answer if answer else str(i + 1) for i in range(size)]
                    end = "\t".join(numbers) if answer else str(size)
                    self.judge(commands + [get.replace("many", name)], answers + [end], 0)

    @unittest.skipIf(STORE == "memory", "what standard input has put into memory: is gone with the command")
    def test_lines_of_standard_input(self):
        for size in SIZES:
            numbers = [str(i) for i in range(size)]
            for put, get in (("set add NAME --list", "set scan NAME --list"),
                             ("list push NAME", "list scan NAME"), ("log put NAME", "log scan NAME"),
                             ("array set NAME", "array scan NAME")):
                with self.subTest(put=put, size=size):
                    name = f"lines{size}"
                    self.mcds(*put.replace("NAME", name).split(), lines=numbers)
                    seen = self.mcds(*get.replace("NAME", name).split(), lines=[])
                    self.assertEqual([line.split("\t")[-1] for line in seen], numbers)
            entries = [f"k{i % 7}\t{i}" for i in range(size)]
            self.mcds("table", "put", f"last{size}", lines=entries)
            seen = dict(line.split("\t") for line in self.mcds("table", "scan", f"last{size}", lines=[]))
            self.assertEqual(seen, {f"k{i % 7}": str(i) for i in range(size)})


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
