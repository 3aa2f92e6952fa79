"""`mcds lock` on a terminal: the command reads it, the keyboard's signals reach it, and a shell
can stop it and let it go on."""

import os
import pty
import select
import signal
import sys
import time
import unittest

from fixture import SKIPPED, Fixture

MCDS = os.path.abspath(sys.argv[1])
LIMIT_S = 120
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
                if not os.read(self.terminal, 4096):
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

    def test_command_reads_the_terminal(self):
        self.start(MCDS, "lock", "job", "--", "sh", "-c", 'echo ready; read x; echo "<$x>"; exit 4')
        self.expect("ready")
        self.type("hello\n")
        self.expect("<hello>")
        self.assertEqual(self.exit_code(), 4)

    def test_keyboard_interrupts(self):
        self.start(MCDS, "lock", "job", "--", "sh", "-c", "echo ready; " + FOREVER)
        self.expect("ready")
        self.type("\x03")
        self.assertEqual(self.exit_code(), 130)

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


def has_terminals():
    """A root without devpts has none to give."""
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False


if __name__ == "__main__":
    if not has_terminals():
        print("terminal: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
