"""`mcds lock` on a terminal: the command reads it, the keyboard's signals reach it, and a shell
can stop it and let it go on."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

from fixture import SKIPPED, Fixture
from screen import has_terminals

MCDS = os.path.abspath(sys.argv[1])
LIMIT_S = 300
# The lock was held all the time; or, on a slow machine, the store did not answer the last try in time.
WAITED_IN_VAIN = (75, 69, 80)
# A signal that comes while the shell forks is lost to the child; the shell itself takes it when
# the child has ended, so none may run for long.
FOREVER = "while :; do sleep 0.05; done"


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.seen = ""

    def start(self, *arguments):
        environment = self.fixture.environment(MCDS)
        environment["PS1"] = "prompt> "
        environment["TERM"] = "dumb"
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(arguments[0], arguments, environment)
        self.addCleanup(os.close, self.terminal)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, text):
        """Read until `text` has come, and forget what came up to there."""
        limit = time.monotonic() + LIMIT_S
        while text not in self.seen:
            left = limit - time.monotonic()
            ready, _, _ = select.select([self.terminal], [], [], max(left, 0))
            self.assertTrue(ready, f"no {text!r} in {self.seen!r}")
            try:
                self.seen += os.read(self.terminal, 4096).decode()
            except OSError:
                self.fail(f"ended without {text!r}: {self.seen!r}")
        self.seen = self.seen.split(text, 1)[1]

    def exit_code(self):
        # The terminal must be read to its end, or closing it may wait for the reader.
        try:
            while select.select([self.terminal], [], [], LIMIT_S)[0]:
                read = os.read(self.terminal, 4096).decode()
                self.seen += read
                if not read:
                    break
        except OSError:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.fail("it does not end")

    def test_what_is_missing_is_not_waited_for(self):
        self.start(MCDS, "set", "add", "tags")
        self.expect("the ELEMENT is missing; - reads from the terminal")
        self.assertEqual(self.exit_code(), 64)

    def test_a_dash_reads_the_terminal(self):
        self.start(MCDS, "list", "push", "jobs", "-")
        self.type("one\ntwo\n\x04")
        self.expect("pushed\t2")
        self.assertEqual(self.exit_code(), 0)

    def test_the_keyboard_ends_the_lines(self):
        """What was carried out is counted."""
        self.start(MCDS, "list", "push", "jobs", "-")
        self.type("one\n")
        limit = time.monotonic() + LIMIT_S
        while self.read("list", "count", "jobs") != "1\n":
            self.assertLess(time.monotonic(), limit, "the line is not pushed")
            time.sleep(0.01)
        self.type("\x03")
        self.expect("mcds: standard input: 1 line was carried out")
        self.expect("pushed\t1")
        self.assertEqual(self.exit_code(), -signal.SIGINT)

    def read(self, *arguments):
        return subprocess.run([MCDS, *arguments], env=self.fixture.environment(MCDS), capture_output=True,
                              text=True, check=False).stdout

    def test_what_is_dropped_is_asked_for(self):
        for answer, code, left in (("n\n", 1, "counter"), ("\x04", 1, "counter"), ("y\n", 0, "")):
            self.start(MCDS, "counter", "add", "page")
            self.assertEqual(self.exit_code(), 0)
            self.start(MCDS, "rm", "page")
            self.expect("mcds: counter 'page'\r\n")
            self.expect("mcds: drop it? [y/N] ")
            self.type(answer)
            self.expect("dropped")
            self.assertEqual(self.exit_code(), code)
            done = subprocess.run([MCDS, "ls"], env=self.fixture.environment(MCDS), capture_output=True, text=True, check=True)
            self.assertTrue(done.stdout.startswith(left) and bool(done.stdout) == bool(left), done.stdout)

    def test_command_reads_the_terminal(self):
        self.start(MCDS, "lock", "job", "--", "sh", "-c", 'echo ready; read x; echo "<$x>"; exit 4')
        self.expect("ready")
        self.type("hello\n")
        self.expect("<hello>")
        self.assertEqual(self.exit_code(), 4)

    def test_the_terminal_comes_back_from_what_cannot_be_run(self):
        self.start("sh", "-c", 'mcds lock job -- ./none; read x; echo "<$x>"')
        self.expect("./none cannot be run")
        self.type("hello\n")
        self.expect("<hello>")
        self.assertEqual(self.exit_code(), 0)

    def hold(self):
        """Another process that holds the lock, without a terminal."""
        holder = subprocess.Popen([MCDS, "lock", "job", "--label", "me", "-t", "5m", "--", "sh", "-c",
                                   "echo ready; cat"],
                                  env=self.fixture.environment(MCDS), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        self.assertEqual(holder.stdout.readline(), "ready\n")

    def test_a_wait_is_explained(self):
        self.hold()
        for options, end in (((), "Ctrl-C ends the wait, -w TIME limits it\r\n"),
                             (("-w", "1h"), "Ctrl-C ends the wait\r\n")):
            self.start(MCDS, "lock", "job", *options, "--", "true")
            self.expect("mcds: lock 'job': held by me for ")
            self.expect(" s more unless renewed; waiting: " + end)
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT)

    def test_a_wait_for_a_token_is_explained(self):
        for burst, options, end in (([], [], ", --patience TIME limits it\r\n"), ([], ["--patience", "2h"], "\r\n"),
                                    (["--burst", "window"], [], ", --patience TIME limits it\r\n")):
            name = f"mails{len(burst)}"
            words = [name, "--rate", "1/h", *burst, *options]
            self.start(MCDS, "limit", "run", *words, "--", "true")
            if not options:
                self.assertEqual(self.exit_code(), 0)
                self.start(MCDS, "limit", "run", *words, "--", "true")
            self.expect(f"mcds: limit '{name}': a token is free in ")
            self.expect(" s; waiting: Ctrl-C ends the wait" + end)
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT)

    def test_a_wait_for_a_value_is_explained(self):
        filler = subprocess.Popen([MCDS, "cache", "get", "c", "k", "--", "sh", "-c", "echo ready >&2; cat"],
                                  env=self.fixture.environment(MCDS), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(filler.communicate)
        self.assertEqual(filler.stderr.readline(), "ready\n")
        self.start(MCDS, "cache", "get", "c", "k", "--", "true")
        self.expect("mcds: cache 'c': another caller makes 'k'; waiting: Ctrl-C ends the wait\r\n")
        self.type("\x03")
        self.assertEqual(self.exit_code(), -signal.SIGINT)

    def test_a_wait_for_a_job_is_explained_once(self):
        queue = [MCDS, "queue"]
        environment = self.fixture.environment(MCDS)
        for options, end in (([], "Ctrl-C ends the wait, --wait TIME or --until-empty limits it\r\n"),
                             (["--wait", "1h"], "Ctrl-C ends the wait\r\n")):
            self.start(*queue, "work", "q", *options, "--", "cat")
            self.expect("mcds: queue 'q': no job is due; waiting: " + end)
            subprocess.run([*queue, "push", "q", "<one>"], env=environment, stdout=subprocess.DEVNULL, check=True)
            self.expect("<one>")
            time.sleep(1.5)  # it waits for longer than a wait that is not explained
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT)
            self.assertNotIn("waiting: ", self.seen)

    def test_a_wait_of_a_script_for_a_job_is_explained(self):
        queue = [MCDS, "queue"]
        self.start(*queue, "next", "q", "--wait", "1h")
        self.expect("mcds: queue 'q': no job is due; waiting: Ctrl-C ends the wait\r\n")
        subprocess.run([*queue, "push", "q", "<one>"], env=self.fixture.environment(MCDS), stdout=subprocess.DEVNULL, check=True)
        self.expect("<one>")
        self.assertEqual(self.exit_code(), 0)
        self.assertNotIn("waiting: ", self.seen)

    def test_a_wait_is_explained_once(self):
        self.hold()
        self.start(MCDS, "lock", "job", "-w", "3s", "--", "true")
        self.assertIn(self.exit_code(), WAITED_IN_VAIN)
        self.assertLessEqual(self.seen.count("waiting: "), 1, self.seen)

    def test_a_wait_is_not_explained_to_a_file_or_when_quiet(self):
        self.hold()
        self.start(MCDS, "-q", "lock", "job", "-w", "2s", "--", "true")
        self.assertIn(self.exit_code(), WAITED_IN_VAIN)
        self.assertNotIn("waiting: ", self.seen)
        said = os.path.join(self.fixture.folder, "said")
        self.start("sh", "-c", f"exec mcds lock job -w 2s -- true 2>{said}")
        self.assertIn(self.exit_code(), WAITED_IN_VAIN)
        with open(said, encoding="ascii") as file:
            self.assertNotIn("waiting: ", file.read())

    def test_keyboard_interrupts(self):
        self.start(MCDS, "lock", "job", "--", "sh", "-c", "echo ready; " + FOREVER)
        self.expect("ready")
        self.type("\x03")
        self.assertEqual(self.exit_code(), -signal.SIGINT)

    def test_the_keyboard_ends_the_script_too(self):
        for shell in ("dash", "bash"):
            self.start(shell, "-c", "mcds lock job -- sh -c 'echo ready; " + FOREVER + "'; echo not en''ded")
            self.expect("ready")
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT)
            self.assertNotIn("not ended", self.seen)
            free = subprocess.run([MCDS, "lock", "job", "-n", "--", "true"], env=self.fixture.environment(MCDS), check=False)
            self.assertEqual(free.returncode, 0)

    def test_the_keyboard_ends_the_loop_of_a_script(self):
        """A wait, the input of lines, and a COMMAND that is not in a group of its own."""
        self.hold()
        for words, said in (("lock job -- true", "Ctrl-C ends the wait"), ("once key -- sh -c 'echo ready; " + FOREVER + "'", "ready"),
                            ("batch", "1\r\n"), ("cache get c k -- sh -c 'echo ready >&2; " + FOREVER + "'", "ready")):
            self.start("bash", "-c", f"for i in 1 2; do mcds {words}; echo round; done")
            self.type("counter add page\n" if words == "batch" else "")
            self.expect(said)
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT)
            self.assertNotIn("round", self.seen)

    def test_the_keyboard_ends_the_loop_while_the_command_has_no_terminal(self):
        """As in the moment before COMMAND gets it: mcds has the signal, and passes it on."""
        subprocess.run([MCDS, "queue", "push", "jobs", "a", "b"], env=self.fixture.environment(MCDS), check=True,
                       stdout=subprocess.DEVNULL)
        for words in ("lock free", "semaphore run s --permits 1", "once key", "leader run l --once", "queue work jobs"):
            self.start("bash", "-c", f"for i in 1 2; do mcds {words} -- sh -c 'echo ready; {FOREVER}' </dev/null; echo round; done")
            self.expect("ready")
            self.type("\x03")
            self.assertEqual(self.exit_code(), -signal.SIGINT, words)
            self.assertNotIn("round", self.seen)

    def test_the_keyboard_ends_a_worker_and_a_leader(self):
        """Although the signal reaches only COMMAND."""
        subprocess.run([MCDS, "queue", "push", "jobs", "a", "b"], env=self.fixture.environment(MCDS), check=True,
                       stdout=subprocess.DEVNULL)
        for key, number in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)):
            for words in ("queue work jobs", "leader run l"):
                self.start("sh", "-c", f"ulimit -c 0; exec mcds {words} -- sh -c 'echo ready; {FOREVER}'")
                self.expect("ready")
                self.type(key)
                self.assertEqual(self.exit_code(), -number, words)
                if words.startswith("queue"):
                    self.assertIn("the job is due again at once", self.seen)
                self.seen = ""

    def test_a_script_goes_on_after_a_command_that_bears_the_keyboard(self):
        self.start("bash", "-c", "mcds lock job -- sh -c 'trap \"exit 3\" INT; echo ready; " + FOREVER + "'; echo code $?")
        self.expect("ready")
        self.type("\x03")
        self.expect("code 3")
        self.assertEqual(self.exit_code(), 0)

    def test_command_without_the_terminal_as_input(self):
        self.start("sh", "-c", "trap : INT; mcds lock job -- sh -c 'trap - INT; echo ready; "
                   + FOREVER + "' </dev/null; echo code $?")
        self.expect("ready")
        self.type("\x03")
        self.expect("code 130")
        self.assertEqual(self.exit_code(), 0)

    def test_shell_stops_and_goes_on(self):
        self.start("bash", "--norc", "--noprofile", "-i")
        self.expect("prompt> ")
        self.type("mcds lock job -- sh -c 'echo rea''dy; read x; echo \"<$x>\"; exit 4'\n")
        self.expect("ready")
        self.type("\x1a")
        self.expect("Stopped")
        self.expect("prompt> ")
        self.type("mcds lock job -n -- true; echo code $?\n")
        self.expect("code 75")
        self.type("fg\n")
        self.expect("mcds lock job")
        self.type("hello\n")
        self.expect("<hello>")
        self.type("echo code $?\n")
        self.expect("code 4")
        self.type("exit\n")
        self.assertEqual(self.exit_code(), 0)

    def test_background_job_gets_the_terminal_with_fg(self):
        self.start("bash", "--norc", "--noprofile", "-i")
        self.expect("prompt> ")
        self.type("mcds lock job -- sh -c 'read x; echo \"<$x>\"' &\n")
        self.expect("prompt> ")
        self.type("wait -n %1; echo stop''ped; jobs\n")
        self.expect("Stopped")
        self.type("fg\n")
        self.expect("mcds lock job")
        self.type("hello\n")
        self.expect("<hello>")
        self.type("exit\n")
        self.assertEqual(self.exit_code(), 0)


if __name__ == "__main__":
    if not has_terminals():
        print("terminal: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
