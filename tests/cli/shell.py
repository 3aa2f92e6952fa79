"""`mcds shell`: a script of lines, and a prompt on a terminal."""

import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
import termios
import threading
import time
import unittest

from fixture import LIMIT_S, SKIPPED, Fixture, is_possible
from relay import Relay
from screen import Terminal, has_terminals

MCDS = os.path.abspath(sys.argv[1])


class ShellTest(unittest.TestCase):
    store = "lmdb"

    def setUp(self):
        self.fixture = Fixture(self.store).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.terminal_environment(MCDS)

    def mcds(self, *words, **others):
        return subprocess.run([MCDS, "--timeout", "60s", *words], env=self.environment, capture_output=True, text=True,
                              check=False, cwd=self.fixture.folder, timeout=LIMIT_S, **others)

    def script(self, *lines, options=(), before=(), **others):
        return self.mcds(*before, "shell", *options, input="".join(line + "\n" for line in lines), **others)


class DescriptorTest(ShellTest):
    """--token-fd takes a descriptor that the user has handed over, and none that mcds has opened."""

    def test_no_token_is_written_to_a_file_of_the_shell(self):
        for verb, way in (("acquire", "writing"), ("renew", "reading"), ("release", "reading")):
            done = self.script("set add s a", *(f"lock {verb} y --token-fd {fd}" for fd in range(3, 10)), "counter add precious")
            said = [f"mcds: line {fd - 1}: lock 'y': the token on descriptor {fd}: it is not open for {way}"
                    for fd in range(3, 10)]
            self.assertEqual((done.returncode, done.stderr.splitlines()), (64, said))
        self.assertEqual(self.mcds("counter", "get", "precious").stdout, "3\n")
        self.assertEqual(self.mcds("lock", "y", "--info").returncode, 1)

    def test_a_token_on_a_descriptor_of_the_user(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        done = self.script("counter add x", f"lock acquire y --token-fd {write}", "lock y --info --json",
                           f"lock renew y --token-fd {read}", pass_fds=(read, write))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('"holder', done.stdout)


@unittest.skipUnless(is_possible("memcached"), "memcached is not installed")
class DescriptorOfAConnectionTest(DescriptorTest):
    store = "memcached"


class ScriptTest(ShellTest):
    def check(self, done, code, out, errors=""):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, out, errors))

    def test_lines_are_commands(self):
        done = self.script("counter add x 5", "", "# a comment", "mcds counter add x", "table put t k 'a  b' # and why",
                           "table get t k", "table get t k --json")
        self.check(done, 0, "5\n6\nput\na  b\n"
                   '{"noun":"table","verb":"get","name":"t","key":"k","value":"a  b"}\n')

    def test_a_byte_order_mark(self):
        """Only at the beginning of the script; in later lines it is a character as any other."""
        self.check(self.script("\ufeffcounter add x", "counter add x"), 0, "1\n2\n")
        self.check(self.script("\ufeff", "counter get x"), 0, "2\n")
        done = self.script("counter get x", "\ufeffcounter get x")
        self.assertEqual((done.returncode, done.stdout), (64, "2\n"))
        done = subprocess.run([MCDS, "batch"], env=self.environment, input="\ufeffcounter get x\n", check=False,
                              capture_output=True, text=True)
        self.check(done, 0, "2\n")

    def test_the_first_failure_is_the_exit_code(self):
        self.check(self.script("counter get x", "counter add x"), 1, "1\n", "mcds: line 1: counter 'x': there is none\n")
        done = self.script("counter get y", "nonsense", "lock l -- sh -c 'exit 3'", "counter add x")
        self.assertEqual((done.returncode, done.stdout), (64, "2\n"))
        self.assertEqual(self.script("lock l -- sh -c 'exit 3'", "nonsense").returncode, 3)

    def test_bail(self):
        self.check(self.script("counter add x", "counter get y", "counter add x", options=["--bail"]), 1, "1\n",
                   "mcds: line 2: counter 'y': there is none\n")

    def test_exit_ends(self):
        self.check(self.script("counter add x", "exit", "counter add x"), 0, "1\n")
        self.check(self.script("counter add x", "quit", "counter add x"), 0, "2\n")
        self.check(self.script("mcds exit", "counter add x"), 0, "")

    def test_exit_takes_no_argument(self):
        for line in ("exit 3", "exit 0", "quit now"):
            done = self.script(line, "ls")
            self.check(done, 64, "", "mcds: line 1: 'exit' and 'quit' take no argument; "
                                     "the exit code of a script is that of its lines\n")

    def test_a_line_without_a_command(self):
        self.check(self.script("mcds"), 64, "", "mcds: line 1: there is no command; 'mcds help' lists the commands\n")
        self.check(self.script("", "#"), 0, "")

    def test_a_mistake_has_its_column(self):
        self.check(self.script("counter add 'x"), 64, "", "mcds: line 1: column 13: a quote is not closed\n")
        self.check(self.script('table put é "x'), 64, "", "mcds: line 1: column 13: a quote is not closed\n")

    def test_what_needs_another_process(self):
        done = self.script("lock job -- cat", "counter add x", "ls", "set add s a b c", "doctor --json", "rm x --yes", "ls")
        out = done.stdout.splitlines()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(out[:1], ["1"])  # cat has read nothing of the script
        self.assertIn("counter\tx", out)
        self.assertIn("counter\tx\tdropped", out)
        self.assertNotIn("counter\tx", out[-3:])

    def test_what_is_refused_names_the_way_out(self):
        for line, way in (("set add s -", "as an argument or in a file"), ("batch", "outside of the shell"),
                          ("shell", "outside of it"), ("-N other ls", "before 'shell'"), ("load -", "in a file"),
                          ("--timeout 5s ls", "before 'shell'"), ("queue push q --file -", "in a file")):
            done = self.script(line, "counter add x")
            self.assertEqual(done.returncode, 64, done)
            self.assertEqual(done.stderr.count("\n"), 1, done)
            self.assertIn(way, done.stderr)
            self.assertRegex(done.stdout, r"^\d+\n$")

    def test_operators_of_the_systems_shell(self):
        for line, column in (("log tail x | head -n 1", 12), ("counter add x > file", 15), ("ls -l && ls -l", 7),
                             ("set add s a | wc -l", 13), ("set add s |", 11), ("lock job -- echo a | cat", 20),
                             ("counter get a>file", 14), ("ls|wc", 3), ("counter add x; ls", 14), ("counter add x&", 14),
                             ("counter add $(date)", 14)):
            self.check(self.script(line), 64, "", f"mcds: line 1: column {column}: a line of mcds shell has no pipes, "
                                                  "redirections or lists of commands; quote this word if it is an argument, or "
                                                  "run the line outside of this shell, as 'mcds ...'\n")
        self.check(self.script("set add s '|'", "set add s \\>", "lock job -- sh -c 'echo a | cat'  # | cat", "counter add 'a>b'", 'counter add "a"\\>b'),
                   0, "added\nadded\na\n1\n2\n")

    def test_a_token_is_not_on_the_script(self):
        for line in ("lock renew y", "lock release y", "lock release y --token -", "lock acquire y --token-fd 0"):
            self.assertEqual(self.script(line).stderr, "mcds: line 1: standard input is the script itself; give the token "
                                                       "with --token FILE or --token-fd N\n")
        self.assertEqual(self.mcds("lock", "y", "--info").returncode, 1)
        done = self.script("lock acquire y --token y.token", "lock renew y --token y.token", "lock release y --token y.token")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_namespace_of_the_shell_is_that_of_each_line(self):
        done = self.script("counter add x", "rm --all --yes", "ls", before=["-N", "other"])
        self.check(done, 0, "1\ncounter\tx\tdropped\n")

    def test_options_of_the_shell(self):
        done = self.script("counter add x", "counter get y", before=["--json"])
        answers = list(map(json.loads, done.stdout.splitlines()))
        self.assertEqual([answer.get("value", answer.get("exit")) for answer in answers], [1, 1])
        self.check(self.script("set add s a", "counter get y", before=["-q"]), 1, "")

    def test_help(self):
        done = self.script("help counter add", "counter add --help", "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("usage: mcds counter add"), 2)

    def test_a_line_that_is_too_long(self):
        done = self.script("counter add x", "counter add " + 20000 * "x", "counter add x")
        self.check(done, 65, "1\n2\n", "mcds: line 2: the line is longer than 16384 bytes\n")
        done = self.script("counter add " + 300000 * "x", "counter add x", options=["--bail"])
        self.check(done, 65, "", "mcds: line 1: the line is longer than 16384 bytes\n")
        self.assertIn("column 13: a NUL byte", self.script("counter add \0x").stderr)

    def test_no_reader(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([MCDS, "--timeout", "60s", "shell"], input=b"ls\n" * 1000, env=self.environment, stdout=write,
                              stderr=subprocess.PIPE, check=False, timeout=LIMIT_S)
        os.close(write)
        self.assertIn(done.returncode, (0, 74), done)  # an empty listing prints nothing
        self.assertEqual(done.stderr, b"")

    def test_a_memory_store(self):
        done = self.script("counter add x", "counter add x", "set add s a b", "set has s a b", "ls", "rm x --yes", "ls",
                           before=["-s", "memory:"])
        self.check(done, 0, "1\n2\nadded\nadded\nyes\nyes\ncounter\tx\nset\ts\ncounter\tx\tdropped\nset\ts\n")
        done = self.script("lock l -- true", before=["-s", "memory:"])
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("start the shell with -s lmdb:PATH", done.stderr)

    def test_signals_end_a_script(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with subprocess.Popen([MCDS, "--timeout", "60s", "shell"], env=self.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                process.stdin.write("lock job -- sh -c 'echo here; exec sleep 1000'\ncounter add x\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "here\n")
                process.send_signal(number)
                self.assertEqual(process.wait(LIMIT_S), 128 + number)
                self.assertEqual(process.stdout.read(), "")
        self.assertEqual(self.mcds("lock", "job", "--info").returncode, 1)  # it was released

    def test_a_command_dies_with_the_shell(self):
        with subprocess.Popen([MCDS, "--timeout", "60s", "shell"], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write("counter add x\nwatch x --interval 10ms\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "1\n")
            while self.mcds("counter", "add", "x").returncode == 0:
                if select.select([process.stdout], [], [], 0.1)[0]:
                    break
            process.kill()
            process.communicate(timeout=LIMIT_S)  # to the end of the output, which the command has too

    def test_a_counter_that_was_made_again(self):
        """Another process makes it with other options, while the shell has it open."""
        with subprocess.Popen([MCDS, "--timeout", "60s", "--json", "shell"], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            def ask(line):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline()).get("value")
            self.assertEqual(ask("counter add x 5"), 5)
            self.assertEqual(ask("counter get x"), 5)
            self.assertEqual(self.mcds("counter", "drop", "x").returncode, 0)
            self.assertEqual(self.mcds("counter", "add", "x", "7", "--exact").returncode, 0)
            self.assertEqual(ask("counter get x"), 7)
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT_S), 0)

    def test_a_counter_that_was_dropped(self):
        """By rm in the shell, and by another process; the shell has it open, and ends afterwards."""
        self.check(self.script("counter add x --exact", "rm x --yes"), 0, "added\ncounter\tx\tdropped\n")
        self.check(self.mcds("ls"), 0, "")
        self.check(self.script("counter add x --exact", "rm x --yes", "counter add x", "counter drop x",
                               "counter add x 3 --exact", "counter get x --exact"), 0,
                   "added\ncounter\tx\tdropped\n1\ndropped\nadded\n3\n")
        self.check(self.mcds("counter", "drop", "x", "--exact"), 0, "dropped\n")
        with subprocess.Popen([MCDS, "--timeout", "60s", "shell"], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write("counter add x 5 --exact\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "added\n")
            self.check(self.mcds("counter", "drop", "x", "--exact"), 0, "dropped\n")
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT_S), 0)
        self.check(self.mcds("ls"), 0, "")
        self.check(self.mcds("counter", "add", "x", "--exact"), 0, "added\n")
        self.check(self.mcds("counter", "get", "x", "--exact"), 0, "1\n")

    def test_the_default_store_is_made_by_the_first_change(self):
        home = os.path.join(self.fixture.folder, "home")
        os.mkdir(home)
        self.environment = {"HOME": home, "PATH": self.environment["PATH"]}
        done = self.script("counter get x", "ls", "lock job --info")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(os.listdir(home), [])
        done = self.script("counter get x", "set add s a b", "lock job -- true", "counter add x", "ls")
        self.assertEqual((done.returncode, done.stdout), (1, "added\nadded\n1\ncounter\tx\nlock\tjob\nset\ts\n"), done)
        done = self.script("lock job -- true", "ls", before=["-N", "other"])
        self.assertEqual((done.returncode, done.stdout), (0, "lock\tjob\n"), done)


class TerminalTest(ShellTest):
    def shell(self, *options, start=(), **environment):
        terminal = Terminal([*start, MCDS, "--timeout", "60s", "shell", *options], {**self.environment, **environment})
        self.addCleanup(terminal.close)
        self.wait_for_prompt(terminal, 0)
        return terminal

    @staticmethod
    def wait_for_prompt(terminal, begin):
        """A prompt in a line of its own, after so many bytes of output."""
        terminal.wait_until(lambda _: re.search(rb"\nmcds(?: \S+)?> $", terminal.raw[begin:]))

    def type(self, terminal, text, *seen):
        terminal.type(text)
        terminal.wait_for(*seen)

    def line(self, terminal, text, *seen, end="\r"):
        """A line, the text after it, and a prompt again."""
        begin = len(terminal.raw)
        terminal.type(text + end)
        terminal.wait_for(*seen)
        self.wait_for_prompt(terminal, begin)

    def end(self, terminal, code=0):
        terminal.type("\x04")
        self.assertEqual(terminal.end(), code)
        self.assert_given_back(terminal)

    def assert_given_back(self, terminal):
        self.assertEqual(set(terminal.screen.strange) - {"\a"}, set())
        self.assertTrue(self.is_given_back(terminal))

    @staticmethod
    def is_given_back(terminal):
        usual = termios.ICANON | termios.ECHO | termios.ISIG
        return termios.tcgetattr(terminal.fd)[3] & usual == usual


class PromptTest(TerminalTest):
    @property
    def has_editor(self):
        """A build without libedit, or a system without it, has a plain prompt."""
        terminal = self.shell()
        self.line(terminal, " cou\tadd probe", "probe\n")
        self.end(terminal)
        return "no command 'cou'" not in terminal.screen.text()

    def need_editor(self):
        if not self.has_editor:
            self.skipTest("this build of mcds has no editor of lines")

    def history(self):
        path = os.path.join(self.environment["XDG_STATE_HOME"], "mcds", "history")
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().splitlines(), stat.S_IMODE(os.stat(path).st_mode)
        except FileNotFoundError:
            return [], 0o600

    def test_a_session(self):
        for kind in ("xterm", "dumb"):
            terminal = self.shell(TERM=kind)
            self.assertNotIn("Tab completes", terminal.screen.text() if kind == "dumb" else "")
            self.line(terminal, f"counter add {kind} 42", "42")
            self.line(terminal, "counter get none", "there is none", "mcds [1]>")
            self.line(terminal, "counter add 'x", "column 13", "mcds [64]>")
            self.line(terminal, f"counter get {kind}", "42", "mcds>")
            self.line(terminal, "lock job -- sh -c 'read x; echo \"<$x>\"'\rhello", "<hello>")
            terminal.type(f"set add {kind} -\r")
            terminal.wait_until(lambda _, terminal=terminal: self.is_given_back(terminal))
            self.line(terminal, "one\rtwo\r\x04", "added   2", end="")
            self.end(terminal)
            self.assertTrue(all(len(line) <= 80 for line in terminal.screen.lines()))

    def test_exit_and_the_colour_of_a_failure(self):
        for environment, colors in (({}, {"31", "0"}), ({"NO_COLOR": "1"}, set())):
            terminal = self.shell(**environment)
            self.line(terminal, "nonsense", "mcds [64]>")
            terminal.type("exit\r")
            self.assertEqual(terminal.end(), 0)
            self.assert_given_back(terminal)
            self.assertEqual(terminal.screen.colors, colors)

    def test_interrupts_give_up_a_line_and_a_command(self):
        for kind in ("xterm", "dumb"):
            terminal = self.shell(TERM=kind)
            terminal.type("counter add never")
            terminal.wait_for("counter add never")
            begin = len(terminal.raw)
            terminal.type("\x03")
            terminal.wait_for("never^C")
            self.wait_for_prompt(terminal, begin)
            terminal.type("lock job -- sh -c 'echo he''re; while :; do sleep 0.05; done'\r")
            terminal.wait_for("\nhere")
            terminal.type("\x03")
            terminal.wait_for("mcds [130]>")
            self.line(terminal, "lock job --info", "nobody holds it")
            self.end(terminal)
        self.assertEqual(self.mcds("counter", "get", "never").returncode, 1)

    def test_no_token_is_written_to_a_file_of_the_editor(self):
        closed = " ".join(f"{fd}>&-" for fd in range(3, 10))
        terminal = self.shell(start=["/bin/sh", "-c", 'exec "$0" "$@" ' + closed])
        self.line(terminal, "counter add x 42", "42")
        for fd in range(3, 10):
            self.line(terminal, f"lock acquire y --token-fd {fd}", f"descriptor {fd}: it is not open for writing")
        self.line(terminal, "counter add x", "43")
        self.end(terminal)

    def test_completion(self):
        self.need_editor()
        self.assertIn("Tab completes", self.shell().screen.text())
        for words in (["counter", "add", "page views"], ["counter", "add", "日本語"], ["table", "put", "tags", "a", "1"]):
            self.assertEqual(self.mcds(*words).returncode, 0)
        terminal = self.shell()
        self.line(terminal, "cou\tg\tpa\t", "counter get 'page views'", "\n1\n")
        self.line(terminal, "counter get 日\t", "counter get 日本語", "\n1\n")
        self.type(terminal, "ta\t\t", "mcds> table", "put", "incr")
        self.type(terminal, "get \t", "mcds> table get tags")
        self.type(terminal, "a --js\t", "mcds> table get tags a --json")
        self.line(terminal, "", '"value":"1"')
        self.type(terminal, "ls --color al\t", "ls --color always")
        self.type(terminal, "\x15rm \t", "page views  ", "tags")
        self.type(terminal, "\x15lock job -- \t", "lock job --")
        self.assertEqual(self.mcds("log", "put", "--", "-lead", "a").returncode, 0)
        self.assertEqual(self.mcds("log", "put", "last", "a").returncode, 0)
        self.type(terminal, "\x15log scan \t", "log scan last")  # -lead would be an option there
        self.type(terminal, "\x15log scan -- -\t", "log scan -- -lead")
        self.type(terminal, "\x15log scan -- la\t", "log scan -- last")
        terminal.type("\x15")
        self.end(terminal)

    def test_the_mode_of_the_history(self):
        """It is that of the manual, whatever the umask is."""
        self.need_editor()
        for umask in "0777", "0277":
            folder = os.path.join(self.environment["XDG_STATE_HOME"], umask)
            os.mkdir(folder, 0o700)
            terminal = self.shell(start=("sh", "-c", f'umask {umask} && exec "$@"', "sh"), XDG_STATE_HOME=folder)
            self.line(terminal, "counter add x 7", "\n")
            self.end(terminal)
            mode = stat.S_IMODE(os.stat(os.path.join(folder, "mcds", "history")).st_mode)
            self.assertEqual(mode, 0o600)

    def test_history(self):
        self.need_editor()
        before = len(self.history()[0])
        terminal = self.shell()
        self.line(terminal, "counter add x 7", "\n7")
        self.line(terminal, " counter add hidden", "\n1")
        self.end(terminal)
        self.assertEqual((self.history()[0][before:], self.history()[1]), (["counter add x 7"], 0o600))
        terminal = self.shell()
        self.line(terminal, "\x1b[A", "counter add x 7", "\n14")
        self.line(terminal, "\x12add x", "\n21")
        self.end(terminal)

    def test_no_home(self):
        """No history, and no failure."""
        for name in ("HOME", "XDG_STATE_HOME"):
            self.environment.pop(name, None)
        self.environment["MCDS_STORE"] = "lmdb:" + os.path.join(self.fixture.folder, "store")
        terminal = self.shell()
        self.line(terminal, "counter add x", "\n1")
        self.end(terminal)
        self.assertNotIn("mcds: ", terminal.screen.text())

    def test_a_terminal_that_goes_away(self):
        terminal = self.shell()
        before = len(terminal.raw)
        os.kill(terminal.pid, signal.SIGHUP)
        self.assertEqual(terminal.end(), 128 + signal.SIGHUP)
        self.assertNotIn(b"mcds", terminal.raw[before:])
        terminal = self.shell()
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.end(), 128 + signal.SIGTERM)
        self.assert_given_back(terminal)

    def test_a_stop_gives_the_terminal_back(self):
        self.need_editor()
        self.environment["PS1"] = "prompt> "
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.environment)
        self.addCleanup(terminal.close)
        terminal.wait_for("prompt>")
        terminal.type("mcds --timeout 60s shell\n")
        self.wait_for_prompt(terminal, 0)
        terminal.type("counter ad")
        terminal.wait_for("counter ad")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.type("stty -a | tr ';' '\\n' | grep -o '[-]*icanon'; echo visi''ble\n")
        terminal.wait_for("visible")
        self.assertNotIn("-icanon", terminal.screen.text().replace("'[-]*icanon'", ""))
        terminal.type("fg\n")
        terminal.wait_until(lambda screen: screen.lines()[screen.row] == "mcds> counter ad")
        terminal.type("d x 9\r")
        terminal.wait_for("\n9\n")
        terminal.type("\x04")
        terminal.wait_until(lambda screen: screen.lines()[screen.row].startswith("prompt>"))
        terminal.type("exit\n")
        terminal.end()

    def test_a_stop_that_nobody_would_continue(self):
        """The shell leads the session: Ctrl-Z stops neither it nor its command, which ends with the terminal."""
        terminal = self.shell()
        begin = len(terminal.raw)
        terminal.type("\x1a")
        self.line(terminal, "counter add x 8", "\n8")
        terminal.type("lock job -- sh -c 'echo he''re; read x; echo \"<$x>\"'\r")
        terminal.wait_for("\nhere")
        terminal.type("\x1a")
        terminal.wait_until(lambda _: terminal.raw[begin:].count(b"^Z"))
        self.line(terminal, "hello", "<hello>")
        terminal.type("lock job -- sh -c 'echo stop''ping; kill -STOP $$; sleep 1000'\r")
        terminal.wait_for("\nstopping")
        os.kill(terminal.pid, signal.SIGHUP)
        self.assertEqual(terminal.end(), 128 + signal.SIGHUP)
        self.assertEqual(self.mcds("lock", "job", "--info").returncode, 1)

    def test_a_terminal_that_is_closed(self):
        """The kernel signals only the shell, which passes that on."""
        terminal = self.shell()
        terminal.type("lock job -- sh -c 'echo he''re; exec sleep 1000'\r")
        terminal.wait_for("\nhere")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, terminal.fd)
        os.close(null)
        self.assertEqual(self.mcds("lock", "job", "-w", "60s", "--", "true").returncode, 0)
        terminal.code = os.waitpid(terminal.pid, 0)[1]

    def test_the_modes_of_the_terminal(self):
        """A command, or a signal, leaves others."""
        for kind in ("xterm", "dumb"):
            terminal = self.shell(TERM=kind)
            for modes in ("-echo", "raw -echo", "-icanon"):
                self.line(terminal, f"lock job -- sh -c 'stty {modes}; exit 3'", "mcds [3]>")
                name = f"{kind}{modes[-5:].strip()}"
                self.line(terminal, f"counter add {name}", f"counter add {name}\n1\n")
                self.assertEqual(self.mcds("counter", "drop", name).returncode, 0)
            self.end(terminal)
            terminal = self.shell(TERM=kind)
            terminal.type("\x1c")
            self.assertEqual(terminal.end(), 128 + signal.SIGQUIT)
            self.assert_given_back(terminal)

    def test_another_size(self):
        self.need_editor()
        terminal = self.shell()
        terminal.resize(10, 40)
        terminal.type("counter add " + 60 * "x")
        terminal.wait_until(lambda screen: "x" * 20 in screen.text())
        terminal.type("\r")
        terminal.wait_for("\n1\n")
        self.end(terminal)

    def test_bytes_that_are_no_characters(self):
        """None is left out of a line without a sentence."""
        self.need_editor()
        terminal = self.shell()
        for line in (b"counter add caf\xe9", b"counter add caf\xc3", b"counter add \xff\xfeca\xc3f"):
            begin = len(terminal.raw)
            os.write(terminal.fd, line + b"\r")
            terminal.wait_for("not characters of the locale; write them as", "mcds [65]>")
            self.wait_for_prompt(terminal, begin)
            self.line(terminal, "ls -l", "")
        self.line(terminal, "counter add $'caf\\xe9'", "\n1")
        self.line(terminal, "counter add caf\u00e9", "\n1")
        self.end(terminal)

    def test_hostile_names(self):
        self.need_editor()
        for name in ("evil\x1b]0;title\x07a", "evil\x1b[31mb"):
            self.assertEqual(self.mcds("counter", "add", name).returncode, 0)
        terminal = self.shell()
        terminal.type("counter get \t\t")
        terminal.wait_for("\\x1b]0;title\\x07a")
        terminal.type("\x15")
        self.end(terminal)
        self.assertNotIn(b"\x1b]", terminal.raw)
        self.assertNotIn(b"\x1b[31m", terminal.raw)


@unittest.skipUnless(is_possible("memcached"), "memcached is not installed")
class ConnectionTest(TerminalTest):
    store = "memcached"

    def test_a_line_takes_one_round_trip(self):
        asked = []

        class Counting(Relay):
            def pass_request(self, data, server):
                asked.append(data)
                server.sendall(data)

        relay = Counting(os.path.join(self.fixture.folder, "relay.sock"), self.fixture.socket, 0)
        self.addCleanup(relay.close)
        with subprocess.Popen([MCDS, "-s", "memcached://" + relay.path, "--timeout", "60s", "shell"], env=self.environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            def ask(line, answer):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), answer + "\n")
                return len(asked)
            for warm, line, first, second in ((3, "counter add x", "4", "5"), (1, "table put t k v", "put", "put"),
                                              (1, "table get t k", "v", "v"), (1, "counter get x", "5", "5")):
                for i in range(warm):
                    ask(line, str(i + 1) if line == "counter add x" else first)
                before = ask(line, first)
                self.assertEqual(ask(line, second) - before, 1, line)
            with relay.mutex:  # one of the lines, and one that has read how x was made
                self.assertLessEqual(len(relay.ends), 2 * 2)
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT_S), 0)

    def test_an_operation_that_is_given_up(self):
        """No reply comes. A change is then in doubt, and the next line is answered."""
        silent, asked = threading.Event(), threading.Event()

        class Silent(Relay):
            def pass_request(self, data, server):
                if silent.is_set():
                    asked.set()
                server.sendall(data)

            def pass_reply(self, data, client):
                if not silent.is_set():
                    client.sendall(data)

        relay = Silent(os.path.join(self.fixture.folder, "relay.sock"), self.fixture.socket, 0)
        self.addCleanup(relay.close)
        self.environment["MCDS_STORE"] = f"memcached://{relay.path}?connect_timeout=60000&timeout=120000"
        terminal = self.shell()
        self.line(terminal, "table put t k v", "put")
        for line, said, code in (("table put t k w", "it may have been put", 80), ("table get t k", "given up", 130),
                                 ("counter get never-read", "given up", 130), ("table get t k l", "given up", 130),
                                 ("lock N -n -- true", "", 130), ("lock acquire N", "", 130)):
            silent.set()
            asked.clear()
            begin = len(terminal.raw)
            terminal.type(line + "\r")
            terminal.wait_until(lambda _, end=f"{line}\r\n".encode(): terminal.raw.endswith(end) and asked.is_set())
            terminal.type("\x03")
            end = rf"{said}[^>]*mcds \S*\[{code}\]\S*> $".encode()
            terminal.wait_until(lambda _, begin=begin, end=end: re.search(end, terminal.raw[begin:]))
            silent.clear()
            self.line(terminal, "table get t k", "\nw")
        self.end(terminal)

    def test_a_server_that_comes_back(self):
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?connect_timeout=300&timeout=300"
        with subprocess.Popen([MCDS, "--json", "shell"], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            def ask(line):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())
            self.assertIn("error", ask("nonsense"))
            self.fixture.stop_server()
            os.unlink(self.fixture.socket)
            self.assertEqual(ask("set count s")["exit"], 69)
            self.fixture.start_server()
            limit = time.monotonic() + LIMIT_S
            while "error" in ask("set add s x"):  # a slow machine may answer too late
                self.assertLess(time.monotonic(), limit)
            process.stdin.close()
            self.assertIn(process.wait(LIMIT_S), (64, 80))


if __name__ == "__main__":
    if not has_terminals():
        print("shell: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
