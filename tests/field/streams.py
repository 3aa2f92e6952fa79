"""Standard streams that are closed, full, gone, endless or very long, and arguments beyond all measure:
the command ends, says why unless its reader has left, and needs memory for what is under way only."""

import os
import subprocess
import sys
import threading
import unittest

from field import rounds
from fixture import SKIPPED, Fixture, is_possible

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT_S = 600
LINES = 20000 * min(rounds(1), 50)
GROWTH_MAX_KB = 16384
FEEDS = ["set add x", "set add l --list", "set remove x", "table put x", "table remove x", "list push x",
         "log put x", "batch"]


class StreamsTest(unittest.TestCase):
    def setUp(self):
        fixture = Fixture(STORE).__enter__()
        self.addCleanup(fixture.__exit__)
        self.folder = fixture.folder
        self.environment = fixture.environment(MCDS)
        if STORE == "lmdb":
            self.environment["MCDS_STORE"] = f"lmdb:{fixture.folder}/store?sync=async&timeout=60000&create=1"

    def mcds(self, *arguments, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | streams
        if "input" in streams:
            del streams["stdin"]
        done = subprocess.run([MCDS, *arguments], env=self.environment, stderr=subprocess.PIPE, check=False,
                              timeout=LIMIT_S, **streams)
        return done.returncode, done.stderr.decode()

    def shell(self, command):
        done = subprocess.run(["sh", "-c", command], env=self.environment, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S, text=True)
        return done.returncode, done.stderr

    def fill(self):
        for command in ("counter add x", "set add x a", "table put x k v", "list push x a", "log put x a",
                        "array set x a", "visitors hit x a"):
            self.assertEqual(self.mcds(*command.split()), (0, ""))

    PRINTING = ["counter add x", "counter get x", "set add x b", "set scan x", "table scan x", "table get x k",
                "list scan x", "log scan x", "log tail x", "array scan x", "visitors get x", "ls", "doctor",
                "help", "completion bash", "--version", "--json set scan x"]

    CHANGING = ["counter add x", "set add x b"]

    def mcds_into_nothing(self, *arguments, lines=b""):
        """With a standard output whose reader has gone."""
        read, write = os.pipe()
        os.close(read)
        try:
            return self.mcds(*arguments, input=lines, stdout=write)
        finally:
            os.close(write)

    def test_a_reader_that_has_gone(self):
        """Without a word, unless something was changed."""
        self.fill()
        told = "mcds: standard output cannot be written: Broken pipe; the change was made\n"
        for command in self.PRINTING:
            with self.subTest(command=command):
                said = told if command in self.CHANGING else ""
                self.assertEqual(self.mcds_into_nothing(*command.split()), (74, said))
        self.assertEqual(self.mcds_into_nothing("batch", lines=b"counter add x\n"), (74, told))

    def test_a_reader_that_has_gone_from_a_long_output(self):
        """More than a buffer: the first write that fails is not the last."""
        self.assertEqual(self.mcds("table", "put", "x", "k", "v" * 100000), (0, ""))
        self.assertEqual(self.mcds("list", "push", "x", *["value"] * 20000), (0, ""))
        self.assertEqual(self.mcds("set", "add", "x", *[f"e{i}" for i in range(5000)]), (0, ""))
        for command in ("table get x k", "table scan x", "list scan x", "set scan x", "--json set scan x", "dump x"):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                self.assertEqual(self.mcds_into_nothing(*command.split()), (74, ""))
                status, said = self.mcds(*command.split(), stdout=full)
                self.assertEqual(status, 74)
                self.assertRegex(said, "^mcds: (dump: )?standard output cannot be written: No space left on device\n$")

    def test_a_token_that_nobody_gets(self):
        """The lock is not held for a caller that has no token."""
        for options in ([], ["--json"], ["--token-fd", "1"]):
            with self.subTest(options=options):
                self.assertEqual(self.mcds_into_nothing("lock", "acquire", "x", "-t", "10m", *options),
                                 (74, "mcds: lock 'x': the token cannot be written: Broken pipe; the lock was released\n"))
                self.assertEqual(self.mcds("lock", "x", "--info")[0], 1)

    def test_a_receipt_that_nobody_gets(self):
        self.assertEqual(self.mcds("queue", "push", "x", "job", *self.may_lose()), (0, ""))
        for options in ([], ["--json"]):
            with self.subTest(options=options):
                self.assertEqual(self.mcds_into_nothing("queue", "next", "x", *options, *self.may_lose()),
                                 (74, "mcds: queue 'x': the job cannot be printed: Broken pipe; it was given back\n"))
        self.assertEqual(self.mcds("queue", "next", "x", *self.may_lose()), (0, ""))

    @staticmethod
    def may_lose():
        return ["--may-lose"] if STORE == "memcached" else []

    def test_a_script_whose_output_nobody_reads(self):
        """The shell ends after the line that has failed, and says what that has changed."""
        told = "mcds: line 1: standard output cannot be written: Broken pipe"
        for options in ([], ["--json"]):
            with self.subTest(options=options):
                self.assertEqual(self.mcds_into_nothing(*options, "shell", lines=b"counter add x\ncounter add x\n"),
                                 (74, told + "; the change was made\n"))
        self.assertEqual(self.mcds_into_nothing("shell", lines=b"counter get x\ncounter add x\n"), (74, ""))
        self.assertEqual(self.mcds_into_nothing("shell", lines=b"set add y a b\ncounter add x\n"),
                         (74, told + "; 2 changes were made\n"))
        self.assertEqual(self.mcds_into_nothing("shell", lines=b"ls\ncounter add x\n"), (74, ""))
        self.assertEqual(self.mcds_into_nothing("-q", "shell", lines=b"set add y c\nset add y d\n"), (0, ""))
        self.assertEqual(self.shell('test "$(mcds counter get x)" = 2'), (0, ""))

    def test_output_that_is_full_or_closed(self):
        self.fill()
        for command in self.PRINTING:
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                status, said = self.mcds(*command.split(), stdout=full)
                done = "; nothing was done" if command in self.CHANGING else ""
                self.assertEqual(status, 74)
                self.assertEqual(said, f"mcds: standard output cannot be written: No space left on device{done}\n")
                status, said = self.shell(f"exec mcds {command} >&-")
                self.assertEqual(status, 74)
                self.assertEqual(said, f"mcds: standard output cannot be written: Bad file descriptor{done}\n")

    def test_errors_that_nobody_hears(self):
        self.assertEqual(self.shell("exec mcds counter get none 2>&-")[0], 1)
        self.assertEqual(self.shell("exec mcds counter get none 2>/dev/full")[0], 1)
        self.assertEqual(self.shell("exec mcds counter get none <&- >&- 2>&-")[0], 1)

    def test_endless_input_for_a_reader_that_has_gone(self):
        """A batch whose answers nobody reads ends, although its input does not."""
        code, said = self.shell("set -f; yes 'counter add x' | { mcds batch; echo $? >code; } | head -n 1; cat code >&2"
                                .replace("code", self.folder + "/code"))
        self.assertEqual(code, 0)
        self.assertRegex(said, "^mcds: standard output cannot be written: Broken pipe; [0-9]+ changes were made\n74\n$")

    def test_input_that_cannot_be_read(self):
        for command in [*FEEDS, "array set x", "table put x k -"]:
            for how, why in (("<&-", "Bad file descriptor"), ("<.", "Is a directory")):
                with self.subTest(command=command, how=how):
                    status, said = self.shell(f"cd {self.folder}; exec mcds {command} {how}")
                    self.assertEqual((status, said), (74, f"mcds: standard input cannot be read: {why}\n"))

    def test_input_without_end(self):
        for command, said in (("array set x", "64 MB"), ("table put x k -", "16777216 bytes")):
            with self.subTest(command=command):
                status, heard = self.shell(f"yes 0123456789 | mcds {command}")
                self.assertEqual(status, 65, heard)
                self.assertIn(said, heard)

    def test_a_line_without_end(self):
        for command in [*FEEDS, "array set x"]:
            with self.subTest(command=command):
                status, heard = self.shell(f"exec mcds {command} </dev/zero")
                most = 16384 if command == "batch" else 67108864
                self.assertEqual((status, heard), (65, f"mcds: line 1: the line is longer than {most} bytes; "
                                                       "nothing after it was read\n"))

    def peak_kb(self, command, lines):
        """The most memory that the command has had, reading so many lines."""
        read, write = os.pipe()
        line = b"counter add x\n" if command == "batch" else None
        process = subprocess.Popen([MCDS, *command.split()], stdin=read, stdout=subprocess.DEVNULL,
                                   env=self.environment)
        os.close(read)

        def feed():
            with os.fdopen(write, "wb") as input_file:
                for i in range(lines):
                    input_file.write(line or b"k%d\tvalue\n" % (i % 500))

        thread = threading.Thread(target=feed)
        thread.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        thread.join()
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    @unittest.skipIf(STORE == "lmdb", "the map of an lmdb file counts as memory of the process")
    def test_an_endless_array_takes_bounded_memory(self):
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
            process = subprocess.Popen([MCDS, "array", "set", "x"], stdin=endless.stdout, env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            endless.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 65)
        self.assertLess(usage.ru_maxrss, 65536 + GROWTH_MAX_KB)

    @unittest.skipIf(STORE == "lmdb", "the map of an lmdb file counts as memory of the process")
    def test_many_lines_take_bounded_memory(self):
        for command in FEEDS:
            with self.subTest(command=command):
                count = LINES // 10 if "--list" in command else LINES
                few = self.peak_kb(command, count // 10)
                many = self.peak_kb(command, count)
                self.assertLess(many - few, GROWTH_MAX_KB)

    def test_arguments_beyond_measure(self):
        long = "x" * 100000
        for words in (["counter", "add", long], ["set", "add", "x", long], ["table", "get", "x", long],
                      ["counter", "add", "x", "1" * 100000], [long], ["counter", long], ["help", long],
                      ["counter", "get", "x", "--" + long], ["counter", "get", "x", "-" + long],
                      ["-s", long, "ls"], ["-s", "lmdb:/" + long, "ls"], ["-s", "memcached://" + long, "ls"],
                      ["--namespace", long, "ls"], ["--timeout", "9" * 100000, "ls"],
                      ["lock", long, "--info"], ["log", "put", "x", "e", "--at", long],
                      ["table", "scan", "x", "--cursor", "9" * 100000], ["completion", long]):
            with self.subTest(words=[word[:20] for word in words]):
                status, said = self.mcds(*words)
                self.assertEqual(status, 64, said[:300])
                self.assertTrue(said.startswith("mcds: ") and said.endswith("\n"))
                self.assertLess(len(said), 2000)
                self.assertEqual(said.count("\n"), 1)
        self.assertEqual(self.mcds("list", "push", "x", *["value"] * 50000), (0, ""))
        done = subprocess.run([MCDS, "list", "scan", "x"], env=self.environment, capture_output=True, check=True)
        self.assertEqual(done.stdout, b"value\n" * 50000)


if __name__ == "__main__":
    if not is_possible(STORE):
        print(f"skipped: {STORE} is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
