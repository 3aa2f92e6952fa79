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
DONE, NO, USAGE, UNREACHABLE, SHORTAGE, IO, LOST, CANNOT_RUN, NOT_FOUND = 0, 1, 64, 69, 70, 74, 79, 126, 127
TIMEOUT = "60s"
NO_STORE = ("help", "completion")
READERS = ("set add", "set remove", "table put", "table remove", "list push", "log put", "array set", "batch", "shell")
# What changes nothing; all other verbs may make the default store.
CHANGES_NOTHING = ("get", "estimate", "has", "holders", "scan", "count", "tail", "lock", "ls", "rm", "backup", "doctor", "help",
                   "completion", "batch", "shell", "dump", "top", "once", "who", "dead")
RATE = ["--rate", "1/s"]
RECEIPT = "0123456789abcdef.0.0.1.1f2ee779.ee9c7317"
WORDS = {"help": [], "completion": ["bash"], "lock": ["x", "--info"], "backup": ["copy"], "rm": ["x", "--yes"],
         "dump": ["x", "-o", "file"], "load": ["dump"], "watch": ["x", "--once"], "top": ["--once"],
         "cache get": ["x", "1"], "cache forget": ["x", "1"], "cache hold": ["x", "1", "--for", "5s", "--", "true"],
         "limit take": ["x", "1", *RATE], "limit get": ["x", "1", *RATE], "limit give": ["x", "1", *RATE],
         "limit run": ["x", *RATE, "--", "true"], "semaphore run": ["y", "--permits", "1", "--", "true"],
         "semaphore resize": ["x", "2"], "once": ["x", "--info"], "leader run": ["z", "--once", "--", "true"],
         "leader watch": ["x", "--once"], "queue push": ["x", "y", "--may-lose"], "queue next": ["x", "--may-lose"],
         "queue work": ["x", "--may-lose", "--wait", "0", "--", "true"], "queue done": ["x", RECEIPT],
         "queue again": ["x", RECEIPT], "queue longer": ["x", RECEIPT],
         "queue discard": ["x", "--all"],
         "lock acquire": ["w"], "lock renew": ["x", "--token", "token"], "lock release": ["x", "--token", "token"]}
# What names a claim or a lease, of which there is none.
OF_A_CLAIM = (["queue", "done"], ["queue", "again"], ["queue", "longer"], ["lock", "renew"], ["lock", "release"])
# A lease of the lock x that has ended, in any store.
TOKEN = ("mcds-lease:6d645401000000000300000060ea00000000000000000010070000000000"
         "00000900000000000000006d6364733a6c6b313a783b217321")
# What takes lines of commands.
OF_LINES = (["batch"], ["shell"])
# What waits for a change.
WAITS = (["watch"], ["leader", "watch"])
# The words before -- and a program.
BEFORE_PROGRAM = {"lock": ["x"], "limit run": ["x", *RATE], "semaphore run": ["x", "--permits", "1"], "cache hold": ["x", "1"],
                  "once": ["x"], "leader run": ["x", "-q"], "queue work": ["x", "--may-lose", "--wait", "0"]}
DUMP = "mcds-dump\t1\nend\t0\t0\t0\t2294c2fe2b52fc40\n"


def help_man(*topic):
    return subprocess.run([MCDS, "help", "man", *topic], capture_output=True, text=True, check=True).stdout


def synopses():
    pages = map(help_man, re.findall(r"^\.It Xr mcds-(\w+) 1", help_man(), re.MULTILINE))
    return re.findall(r"^\.It Nm mcds Cm (.*)$", "".join(pages), re.MULTILINE)


def verbs_of_a_part():
    """Those that take a key, an element or another part of NAME, with the member of an object that names it."""
    for line in synopses():
        found = re.match(r"(\w+ \w+) Ar NAME (?:Oo )?Ar (KEY|ELEMENT|VISITOR|PAGE|IDENTITY)\b", line)
        if found and found[1] != "set fetch" and not found[1].startswith("array"):
            yield found[1].split(), found[2].lower()


def verbs():
    """Each with the arguments that it must have."""
    for line in synopses():
        words, *arguments = re.sub(r" Oo .*", "", line).split(" Ar ")
        yield words.split(), WORDS.get(words, ["x", "1", "1"][:len(arguments)]), " Fl \\-" in line


class MatrixTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = "lmdb:" + os.path.join(self.folder, "store")
        self.root = os.path.join(self.folder, "root")
        os.mkdir(self.root)
        with open(os.path.join(self.folder, "dump"), "w", encoding="ascii") as file:
            file.write(DUMP)
        self.write_token()

    def write_token(self):
        with open(os.path.join(self.folder, "token"), "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")

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

    def each(self, and_watch=False):
        """Without what waits for a change, and for a store that does not answer."""
        count = 0
        for words, arguments, takes_program in verbs():
            if words in WAITS and not and_watch:
                continue
            count += 1
            extra = ["--add", "y"] if words == ["array", "change"] else []
            extra += ["--database", self.store + "views"] if words[0] == "views" else []
            yield words, arguments + extra, takes_program
        self.assertGreater(count, 40)

    def test_an_unknown_option(self):
        for words, arguments, _ in self.each(and_watch=True):
            self.check_failure(self.mcds(*words, "--nonsense", *arguments), USAGE)

    def test_an_unknown_verb_or_command(self):
        for words, _, _ in self.each():
            if len(words) == 2:
                self.check_failure(self.mcds(words[0], "nonsense", "x"), USAGE)
        for words in (["nonsense"], ["help", "nonsense"], ["help", "set", "nonsense"], ["completion", "nonsense"], []):
            self.check_failure(self.mcds(*words), USAGE)

    def test_an_option_that_only_a_command_needs(self):
        """Each option of lock and of once, with each form that runs no command."""
        needed = {"lock": ("--lease", "--wait", "--no-wait", "--busy-exit", "--shared", "--label", "--on-lost"),
                  "once": ("--wait", "--no-wait", "--busy-exit", "--on-lost")}
        forms = {"lock": ("--info", "--break", "--drop"), "once": ("--info", "--settle=0", "--forget")}
        for noun, options in needed.items():
            listed = re.split(r"^\.It Nm ", help_man(noun), maxsplit=2, flags=re.MULTILINE)[1]
            found = {"-" + word.replace("\\", "") for word in re.findall(r"Fl \\(-[a-z\\-]+)", listed)}
            known = {*options, *(form.partition("=")[0] for form in forms[noun])}
            self.assertEqual(found & known if noun == "once" else found, known)
            for option in options:
                value = [] if option in ("--no-wait", "--shared") else ["1s" if option in ("--lease", "--wait") else "1"]
                for form in forms[noun]:
                    done = self.mcds(noun, "x", option, *value, form)
                    self.check_failure(done, USAGE)
                    self.assertIn(f"{option} is for a command", done.stderr)

    def test_the_longest_text_of_an_option_is_in_the_help(self):
        """A text of this length is accepted, and one byte more is refused."""
        for words, option, most in ((["lock", "x"], "--label", 200), (["semaphore", "run", "x", "--permits", "1"], "--label", 200),
                                    (["leader", "run", "x", "--once"], "--label", 200), (["once", "x"], "--in", 1024)):
            manual = " ".join(self.mcds("help", *words[:1 if words[1] == "x" else 2]).stdout.split())
            self.assertRegex(manual, rf"{option} [A-Z]+ [^;]*(\([^)]*\))?; at most {most} bytes")
            for length, status in (most, 0), (most + 1, USAGE):
                done = self.mcds(*words, option, "x" * length, "--", "true")
                self.assertEqual(done.returncode, status, done)

    def test_an_argument_that_is_missing(self):
        for words, arguments, _ in self.each(and_watch=True):
            if arguments and words != ["top"]:
                self.check_failure(self.mcds(*words), USAGE)

    def test_a_server_that_refuses(self):
        path = os.path.join(self.folder, "socket")
        with socket.socket(socket.AF_UNIX) as bound:  # and nobody listens
            bound.bind(path)
            for words, arguments, _ in self.each():
                if " ".join(words) in READERS and words not in OF_LINES:
                    arguments += ["1", "1"] if words == ["table", "put"] else ["1"]
                if words in (["leader", "run"], ["queue", "work"]):  # it waits for a store that answers
                    continue
                done = self.mcds(*words, *arguments, store=f"memcached://{path}", timeout="300ms")
                if words[0] in NO_STORE or words in OF_LINES:  # nothing is asked of the store
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

    def test_a_failure_names_the_part_of_a_structure(self):
        parts = 0
        for words, member in verbs_of_a_part():
            known = WORDS.get(" ".join(words), ["x", "1", "1"] if words == ["table", "put"] else ["x", "1"])
            known = ["x", "1", *known[1:]] if words == ["limit", "run"] else known
            done = self.mcds(*words, *known, *(["--database", self.store + "views"] if words[0] == "views" else []),
                             store="memcached://" + os.path.join(self.folder, "none"), timeout="300ms")
            self.check_failure(done, UNREACHABLE)
            self.assertEqual(json.loads(done.stdout).get(member), "1", done)
            parts += 1
        self.assertGreater(parts, 15)
        done = self.mcds("cache", "forget", "x", "--tag", "t", timeout="300ms",
                         store="memcached://" + os.path.join(self.folder, "none"))
        self.assertEqual(json.loads(done.stdout)["tag"], "t", done)

    def test_a_shortage_is_no_fault_of_the_command(self):
        """Without a descriptor for its pipe a command cannot be started, which is 70, and never 126 or 127."""
        short = 0
        for count in range(4, 40):
            done = subprocess.run(["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh", MCDS, "-s", self.store, "--timeout", TIMEOUT,
                                   "cache", "get", "x", str(count), "--", "echo", "made"], capture_output=True, text=True, check=False)
            self.assertNotIn(done.returncode, (CANNOT_RUN, NOT_FOUND), done)
            if "echo cannot be run" in done.stderr:
                self.assertEqual(done.returncode, SHORTAGE, done)
                self.assertIn("ulimit -n", done.stderr)
                short += 1
        self.assertEqual((done.returncode, done.stdout), (DONE, "made\n"), done)
        self.assertGreater(short, 0)

    def test_a_store_that_cannot_be_opened(self):
        for words, arguments, _ in self.each(and_watch=True):
            if words[0] not in (*NO_STORE, "doctor"):
                self.check_failure(self.mcds(*words, *arguments, store="nonsense:"), USAGE)

    def test_empty_input(self):
        """What reads lines has read none; everything else does not read."""
        for words, arguments, _ in self.each():
            if words[0] in NO_STORE:
                continue
            done = self.mcds(*words, *arguments)
            if words in OF_A_CLAIM:
                self.check_failure(done, LOST)
                continue
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
            if words[0] in NO_STORE or "--" in arguments:  # a program prints, or nothing
                continue
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", MCDS, "-s", self.store, "--timeout", TIMEOUT, "--json",
                                   *words, *arguments], input="counter add x\n", stderr=subprocess.PIPE, text=True,
                                  check=False, cwd=self.folder)
            self.assertEqual(done.returncode, IO, done)
            self.assertIn("standard output", done.stderr)

    def default(self, *words, data="", state="state", **more):
        """On the default store, which does not exist at first."""
        environment = {name: value for name, value in os.environ.items() if name != "MCDS_STORE"}
        environment |= {"LC_ALL": "C", "HOME": self.root, "XDG_STATE_HOME": os.path.join(self.root, state)}
        return subprocess.run([MCDS, "--timeout", TIMEOUT, *words], input=data, capture_output=True, text=True,
                              check=False, cwd=self.folder, env=environment | more)

    def test_what_changes_nothing_makes_no_default_store(self):
        readers = 0
        for words, arguments, _ in self.each():
            for more in {"XDG_STATE_HOME": self.root + "/state"}, {"XDG_STATE_HOME": ""}:
                done = self.default(*words, *arguments, **more)
                made = os.listdir(self.root)
                if words[-1] in CHANGES_NOTHING:
                    self.assertEqual(made, [], done)
                    self.assertIn(done.returncode, (DONE, NO, IO if words == ["backup"] else DONE), done)
                    readers += 1
                elif arguments[1:] or words[-1] not in ("add", "put", "push", "set", "remove"):  # no line of input
                    self.assertNotEqual(made, [], done)
                subprocess.run(["find", self.root, "-mindepth", "1", "-delete"], check=True)
        self.assertGreater(readers, 40)
        for words in (["ls", "-l"], ["-N", "x", "rm", "--all", "--yes"], ["log", "tail", "x", "--last", "3"],
                      ["counter", "get", "x", "y", "z"], ["--json", "doctor"], ["log", "scan", "x", "--newest"]):
            done = self.default(*words)
            self.assertEqual(os.listdir(self.root), [], done)
            self.assertNotEqual(done.returncode, IO, done)

    def test_a_batch_makes_the_default_store_with_its_first_change(self):
        done = self.default("batch", data="counter get x\nset has s a\nlist scan l\n")
        self.assertEqual((done.stdout, os.listdir(self.root)), ("-\n-\n-\n", []), done)
        done = self.default("batch", data="counter get x\ncounter add x 5\ncounter get x\nset has s a\n")
        self.assertEqual(done.stdout, "-\n5\n5\n-\n", done)
        self.assertEqual(self.default("counter", "get", "x").stdout, "5\n")
        # A store that somebody else has made meanwhile.
        with subprocess.Popen([MCDS, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder,
                              env={"HOME": self.root, "XDG_STATE_HOME": self.root + "/other"}) as batch:
            for given, answer in ("counter get x", "-"), (None, None), ("counter get x", "7"):
                if given is None:
                    self.assertEqual(self.default("counter", "add", "x", "7", state="other").stdout, "7\n")
                    continue
                batch.stdin.write(given + "\n")
                batch.stdin.flush()
                self.assertEqual(batch.stdout.readline(), answer + "\n")
            batch.stdin.close()

    def test_a_follower_waits_for_the_default_store(self):
        with subprocess.Popen([MCDS, "log", "tail", "x", "-f"], stdout=subprocess.PIPE, text=True, cwd=self.folder,
                              env={"HOME": self.root}) as follower:
            state = ""
            while state != "S":  # it sleeps: it has found no store
                with open(f"/proc/{follower.pid}/stat", encoding="ascii") as file:
                    state = file.read().rpartition(")")[2].split()[0]
            self.assertEqual(os.listdir(self.root), [])
            done = self.default("log", "put", "x", "hello", XDG_STATE_HOME="")
            self.assertEqual(done.returncode, DONE, done)
            self.assertTrue(follower.stdout.readline().endswith("\thello\n"))
            follower.kill()

    def test_doctor_says_that_the_default_store_does_not_exist(self):
        done = self.default("doctor")
        self.assertEqual(done.returncode, DONE, done)
        self.assertIn("it does not exist yet", done.stdout)
        self.assertEqual(self.default("counter", "add", "x").returncode, DONE)
        self.assertNotIn("it does not exist yet", self.default("doctor").stdout)

    def test_a_command_that_cannot_be_run(self):
        for words, arguments, takes_program in self.each():
            if takes_program:
                before = BEFORE_PROGRAM.get(" ".join(words), arguments)
                for program, store, code in ("./nosuch", self.store, NOT_FOUND), (self.folder, self.store + "2", CANNOT_RUN):
                    if words == ["queue", "work"]:  # it begins with a job
                        self.mcds("queue", "push", *WORDS["queue push"], store=store)
                    self.check_failure(self.mcds(*words, *before, "--", program, store=store), code)
                self.check_failure(self.mcds(*words, *before, "--"), USAGE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
