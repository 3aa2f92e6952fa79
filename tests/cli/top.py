"""`mcds top`: what it draws in terminals of several kinds, its keys, and every way out."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from fixture import SKIPPED, Fixture, is_possible
from screen import LIMIT_S, Terminal, has_terminals

MCDS = os.path.abspath(sys.argv[1])
tempfile.tempdir = "/tmp"  # a line of 80 columns has room for its path
HOSTILE = "evil\x1b]0;title\x07\x1b[31mname"
FOOT = "q quit  p pause  s sort  / filter  l log"
SCREEN = """\
mcds top  TIME  every 1s  mcds: 5 structures
STORE
FILE: RATE commits each second
FILE: N MB
noun       name                value   * each s     left  holder
counter    hits               120000          0        -  -
counter    日本語                  3          0        -  -
online     chat                    1          0        -  -
log        deploys                 -          -        -  -
set        tags                    -          -        -  -










log deploys
TIME deploy v42
TIME rollback
""" + FOOT


class TopTest(unittest.TestCase):
    store = "lmdb"

    def setUp(self):
        self.fixture = Fixture(self.store).__enter__()
        self.addCleanup(self.fixture.__exit__)
        self.environment = self.fixture.terminal_environment(MCDS)

    def mcds(self, *words, code=0):
        done = subprocess.run([MCDS, "--timeout", "60s", *words], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, (words, done))
        return done.stdout

    def top(self, *words, rows=24, columns=80, **environment):
        terminal = Terminal([MCDS, "--timeout", "60s", "top", *words], {**self.environment, **environment}, rows, columns)
        self.addCleanup(terminal.close)
        terminal.wait_for(" structures")
        return terminal

    def fill(self):
        for words in (["counter", "add", "hits", "120000"], ["counter", "add", "日本語", "3"], ["set", "add", "tags", "x"],
                      ["log", "put", "deploys", "deploy v42", "rollback"], ["online", "beat", "chat", "ann", "--width", "1d"]):
            self.mcds(*words)

    def hide(self, text):
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
        text = re.sub(r"^(lmdb|memcached):.*", "STORE", text, flags=re.M)
        text = re.sub(r"^/.*: [-\d.]+ (commits)", r"FILE: RATE \1", text, flags=re.M)
        return re.sub(r"^/.*: [\d.]+ MB", "FILE: N MB", text, flags=re.M)

    def quit(self, terminal):
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assert_given_back(terminal)

    def assert_given_back(self, terminal):
        self.assertEqual(terminal.screen.strange, [])
        self.assertFalse(terminal.screen.is_alternate)
        self.assertTrue(terminal.screen.is_cursor_shown)
        flags = termios.tcgetattr(terminal.fd)[3]
        self.assertEqual(flags & (termios.ICANON | termios.ECHO), termios.ICANON | termios.ECHO)

    def test_80x24(self):
        self.fill()
        terminal = self.top()
        for row in (r"120000 +0 ", r"chat +1 +0 "):  # each was read twice
            terminal.wait_until(lambda screen, row=row: re.search(row, screen.text()))
        self.assertEqual(self.hide(terminal.screen.text()), SCREEN)
        self.assertTrue(terminal.screen.is_alternate)
        self.assertIn("1", terminal.screen.colors)
        self.quit(terminal)

    def test_200x50_and_another_size(self):
        self.fill()
        terminal = self.top(rows=50, columns=200)
        terminal.wait_until(lambda screen: FOOT in screen.lines()[49])
        self.assertIn("every 1s  mcds: 5 structures  lmdb:/", terminal.screen.lines()[0])
        self.assertLess(max(map(len, terminal.screen.lines())), 200)
        for rows, columns in ((24, 80), (10, 40), (6, 20)):
            terminal.resize(rows, columns)
            terminal.wait_until(lambda screen, rows=rows: "q quit" in screen.lines()[rows - 1])
            self.assertLess(max(map(len, terminal.screen.lines())), columns)
            self.assertIn("mcds top", terminal.screen.lines()[0])
        self.quit(terminal)

    def test_names_are_cut_between_escapes(self):
        self.mcds("counter", "add", 12 * "\x1b")
        terminal = self.top()
        for columns in range(80, 90):
            terminal.resize(24, columns)
            terminal.wait_until(lambda screen: re.search(r"^counter +\$'(\\x1b)+… +1 ", screen.text(), re.M))
        self.quit(terminal)

    def test_one_figure_is_left_out(self):
        self.fill()
        terminal = self.top(rows=9)
        terminal.wait_until(lambda screen: re.search(r"^and 1 other figure$", screen.text(), re.M))
        self.quit(terminal)

    def test_the_time_has_milliseconds(self):
        terminal = self.top("--interval", "130ms")
        terminal.wait_until(lambda screen: re.search(r"^mcds top  [-\d]+T[\d:]+\.(?!000)\d{3}Z", screen.text()))
        self.quit(terminal)

    def test_no_digit_is_cut(self):
        self.mcds("counter", "add", "large", "-1234567890123456789", "--ttl", "366d")
        terminal = self.top(columns=100)
        terminal.wait_until(lambda screen: re.search(r"^counter +large +-1234567890123456789 +0 +3162\d{4}\.\ds ", screen.text(), re.M))
        self.quit(terminal)

    def test_no_color_and_no_utf8(self):
        self.fill()
        terminal = self.top(NO_COLOR="1", LC_ALL="C")
        terminal.wait_until(lambda screen: re.search(r"^counter +\$'(\\xe6\\x97\\xa5)?\.\.\. +3 ", screen.text(), re.M))
        self.mcds("log", "put", "a log of 日本", "ö")
        terminal.wait_for("$'a log of")
        terminal.type("ll")  # deploys is the last; then comes none, and then the first
        terminal.wait_until(lambda screen: re.search(r"^log \$'a log of \\xe6\\x97\\xa5\\xe6\\x9c\\xac'\nTIME \$'\\xc3\\xb6'$",
                                                     self.hide(screen.text()), re.M))
        self.quit(terminal)
        self.assertLessEqual(terminal.screen.colors, {"0"})
        self.assertTrue(all(byte < 0x80 for byte in terminal.raw))

    def test_hostile_names(self):
        self.mcds("counter", "add", HOSTILE)
        self.mcds("log", "put", HOSTILE, HOSTILE)
        self.mcds("lock", HOSTILE, "--label", HOSTILE, "--", "true")
        terminal = self.top(columns=200)
        terminal.wait_for("$'evil\\x1b]0;title\\x07\\x1b[31mname'", "log $'evil\\x1b]0;title\\x07\\x1b[31mname'")
        self.quit(terminal)
        self.assertNotIn(b"\x1b]", terminal.raw)
        self.assertNotIn(b"\x1b[31m", terminal.raw.replace(b"\x1b[31m\x1b", b""))

    def test_what_moves(self):
        self.fill()
        terminal = self.top("--interval", "100ms")
        limit = time.monotonic() + LIMIT_S
        while not re.search(r"^counter +hits +\d+ +[1-9]\d*", terminal.screen.text(), re.M):
            self.assertLess(time.monotonic(), limit, terminal.screen.text())
            self.mcds("counter", "add", "hits", "1000")
            terminal.read()
        holder = subprocess.Popen([MCDS, "--timeout", "60s", "lock", "nightly", "--label", "me", "-t", "60s", "--", "cat"],
                                  env=self.environment, stdin=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        self.mcds("lock", "nightly", "-n", "--", "true", code=75) if holder.poll() is None and self.is_held() else None
        terminal.wait_until(lambda screen: re.search(r"^lock +nightly +exclusive +- +[1-6]?\d\.\ds  me$", screen.text(), re.M))
        self.quit(terminal)

    def is_held(self):
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            done = subprocess.run([MCDS, "lock", "nightly", "--info"], env=self.environment, capture_output=True, check=False)
            if done.returncode == 0:
                return True
        return False

    def test_keys(self):
        self.fill()
        for i in range(40):
            self.mcds("counter", "add", f"page:{i:02}", str(i + 1))
        terminal = self.top()
        terminal.wait_for("* each s")
        terminal.type("s")
        terminal.wait_for("* value")
        terminal.wait_until(lambda screen: screen.lines()[5].startswith("counter    hits"))
        terminal.type("s")
        terminal.wait_for("name *")
        terminal.type("\x1b[6~")
        terminal.wait_for("page:20")
        self.assertRegex(terminal.screen.lines()[23], r"arrows: \d+ to \d+ of 45$")
        terminal.type("\x1b[A\x1b[5~\x1b[5~")
        terminal.wait_for("counter    hits", "arrows: 1 to ")
        terminal.type("/page:1")
        terminal.wait_for("filter: page:1_")
        terminal.type("x\x7f\r")
        terminal.wait_for("/ filter: page:1 ", "page:19")
        self.assertNotIn("page:20", terminal.screen.text())
        self.assertNotIn("arrows", terminal.screen.text())
        terminal.type("/\x1b")
        terminal.wait_for("hits")
        terminal.type("p")
        terminal.wait_for("(paused)", "p resume")
        self.mcds("counter", "add", "hits", "5")
        terminal.type("p")
        terminal.wait_for("120005")
        terminal.type("l")  # after the last log there is none
        terminal.wait_until(lambda screen: "log deploys" not in screen.text())
        self.quit(terminal)

    def test_signals_give_the_terminal_back(self):
        self.fill()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
            terminal = self.top()
            terminal.wait_for(FOOT)
            if number == signal.SIGINT:
                terminal.type("\x03")
            else:
                os.kill(terminal.pid, number)
            self.assertEqual(terminal.end(), -number)
            self.assert_given_back(terminal)

    def test_a_stop_gives_the_terminal_back(self):
        self.fill()
        self.environment["PS1"] = "prompt> "
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.environment)
        self.addCleanup(terminal.close)
        terminal.wait_for("prompt>")
        terminal.type("mcds --timeout 60s top\n")
        terminal.wait_for(FOOT)
        terminal.type("\x1a")
        terminal.wait_until(lambda screen: not screen.is_alternate and "Stopped" in screen.text())
        self.assertTrue(terminal.screen.is_cursor_shown)
        terminal.type("echo visi''ble\n")
        terminal.wait_for("visible")
        terminal.type("fg\n")
        terminal.wait_until(lambda screen: screen.is_alternate and FOOT in screen.text())
        terminal.type("q")
        terminal.wait_until(lambda screen: not screen.is_alternate)
        terminal.type("stty -a; exit\n")
        terminal.end()
        self.assertIn(b" icanon ", terminal.raw)
        self.assertIn(b" echo ", terminal.raw)

    def test_one_reading(self):
        self.fill()
        self.mcds("lock", "acquire", "files", "--shared", "--label", "me", "-t", "1h")
        lines = self.mcds("top", "--once", "--interval", "10ms").splitlines()
        self.assertIn("counter\thits\t120000\t0.000\t-\t-", lines)
        self.assertIn("set\ttags\t-\t-\t-\t-", lines)
        self.assertRegex("\n".join(lines), r"(?m)^lock\tfiles\tshared:1\t-\t[0-9.]+\tme$")
        self.assertRegex(lines[0], r"^commits\t/.*\t\d+\t\d+\.\d{3}\t-\t-$")
        only = self.mcds("top", "h", "--noun", "counter", "--once", "--interval", "10ms").splitlines()
        self.assertEqual([line for line in only if "/" not in line], ["counter\thits\t120000\t0.000\t-\t-"])

    def test_a_queue(self):
        self.mcds("queue", "push", "jobs", "a", "b", "c", "--may-lose")
        self.mcds("queue", "push", "jobs", "late", "--delay", "1d", "--may-lose")
        self.mcds("queue", "next", "jobs", "--visible", "1d", "--may-lose")
        lines = self.mcds("top", "--once", "--noun", "queue", "--interval", "10ms").splitlines()
        self.assertRegex(lines[-1], r"^queue\tjobs\t2\t(0\.000|-)\t-\t-$")
        lines = self.mcds("top", "--once", "--json", "--noun", "queue", "--interval", "10ms").splitlines()
        shown = json.loads(lines[-1])
        self.assertEqual({key: shown.get(key) for key in ("noun", "name", "value", "delayed", "claimed", "dead")},
                         {"noun": "queue", "name": "jobs", "value": 2, "delayed": 1, "claimed": 1, "dead": 0})

    def test_objects(self):
        self.fill()
        self.mcds("lock", "acquire", "files", "--label", "me", "-t", "1h")
        read, write = os.pipe()
        with subprocess.Popen([MCDS, "--timeout", "60s", "top", "--json", "--interval", "10ms"], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=write, stderr=subprocess.PIPE, text=True) as process:
            os.close(write)
            with open(read, encoding="utf-8") as lines:
                seen = [json.loads(next(lines)) for _ in range(30)]
            self.assertIn(process.wait(LIMIT_S), (0, 74))  # its reader has gone
            self.assertEqual(process.stderr.read(), "")
        hits = [o for o in seen if o.get("name") == "hits"]
        self.assertGreater(len(hits), 1)
        self.assertEqual({**hits[0], "time": ""}, {"time": "", "noun": "counter", "name": "hits", "value": 120000, "rate": 0.0})
        self.assertIn("commits", [o.get("figure") for o in seen])
        lock = [o for o in seen if o.get("noun") == "lock"][0]
        self.assertGreater(lock.pop("remaining_ms"), 0)
        self.assertEqual({**lock, "time": ""},
                         {"time": "", "noun": "lock", "name": "files", "mode": "exclusive", "shared": 0, "holder": "me"})

    def test_a_store_that_is_made_later(self):
        terminal = self.top("--interval", "100ms")
        terminal.wait_for(": 0 structures", FOOT)
        self.mcds("counter", "add", "later", "7")
        terminal.wait_for("counter    later", "commits each second")
        self.quit(terminal)

    def test_what_is_refused(self):
        done = subprocess.run([MCDS, "top"], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("--once", done.stderr)
        done = subprocess.run([MCDS, "top", "--once", "--noun", "bogus"], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("top: --noun bogus: no structure", done.stderr)
        terminal = Terminal([MCDS, "top"], {**self.environment, "TERM": "dumb"})
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 64)
        self.assertIn("--once", terminal.screen.text())


@unittest.skipUnless(is_possible("memcached"), "memcached is not installed")
class ServerTest(TopTest):
    store = "memcached"

    def test_80x24(self):
        self.fill()
        terminal = self.top(columns=120)
        terminal.wait_until(lambda screen: re.search(r"^.*memcached.sock: [\d.]+ commands each second$", screen.text(), re.M))
        self.quit(terminal)

    def test_the_server_goes_away_and_comes_back(self):
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?connect_timeout=500&timeout=1000"
        self.mcds("counter", "add", "hits", "3")
        terminal = self.top("--interval", "100ms")
        terminal.wait_for("hits", FOOT)
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        terminal.wait_for("waiting: ", ".sock: - commands each second")
        # the sentence is longer than a line, and whole
        terminal.wait_until(lambda screen: re.search(r"waiting: .*no server listens there$", " ".join(screen.text().split())))
        self.assertLess(max(map(len, terminal.screen.lines())), 80)
        self.assertIn("hits", terminal.screen.text())
        self.fixture.start_server()
        self.mcds("counter", "add", "later", "7")
        terminal.wait_for("later", FOOT)
        self.quit(terminal)

    def test_a_server_that_does_not_answer_is_named(self):
        """Of two, from the beginning; the rows of the other are there. Then a stop while top runs."""
        gone = os.path.join(self.fixture.folder, "gone.sock")
        self.mcds("counter", "add", "hits", "3")
        both = {"MCDS_STORE": f"memcached://{self.fixture.socket},{gone}?connect_timeout=200&timeout=500"}
        terminal = self.top("--interval", "100ms", columns=160, **both)
        terminal.wait_until(lambda screen: re.search(r"^no answer since \d{4}-\S+Z: \S+/gone\.sock$", screen.text(), re.M))
        self.assertNotRegex(terminal.screen.text(), r"no answer since \S+: \S+memcached\.sock")
        self.quit(terminal)
        one = {"MCDS_STORE": f"memcached://{self.fixture.socket}?connect_timeout=200&timeout=500"}
        terminal = self.top("--interval", "100ms", columns=160, **one)
        terminal.wait_for("hits")
        self.assertNotIn("no answer", terminal.screen.text())
        self.fixture.server.send_signal(signal.SIGSTOP)
        try:
            terminal.wait_until(lambda screen: re.search(r"^no answer since \d{4}-\S+Z: \S+memcached\.sock$", screen.text(), re.M))
            since = re.search(r"no answer since (\S+):", terminal.screen.text())[1]
            terminal.wait_for("waiting: ", f"no answer since {since}:")
        finally:
            self.fixture.server.send_signal(signal.SIGCONT)
        terminal.wait_until(lambda screen: "no answer since" not in screen.text() and FOOT in screen.text())
        self.quit(terminal)

    def test_one_reading(self):
        self.fill()
        lines = self.mcds("top", "--once", "--interval", "10ms").splitlines()
        self.assertRegex(lines[0], r"^commands\t.*memcached.sock\t\d+\t\d+\.\d{3}\t-\t-$")
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        done = subprocess.run([MCDS, "--timeout", "1s", "top", "--once", "--interval", "10ms"], env=self.environment, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 69, done)

    def test_more_servers_than_a_screen_has_lines(self):
        """They are one server, under as many names: it lists its keys for one name at a time."""
        names = [f"{self.fixture.folder}/s{i}" for i in range(33)]
        for name in names:
            os.symlink(self.fixture.socket, name)
        self.environment["MCDS_STORE"] = "memcached://" + ",".join(names)
        lines = self.mcds("top", "--once", "--interval", "10ms").splitlines()
        self.assertEqual([line.split("\t")[1] for line in lines if line.startswith("commands\t")], names)

    def test_one_reading_of_the_servers_that_answer(self):
        """Their figures and rows come first, then the sentence about the other one."""
        second = Fixture(self.store).__enter__()
        self.addCleanup(second.__exit__)
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket},{second.socket}?connect_timeout=500&timeout=1000"
        for i in range(16):
            self.mcds("counter", "add", f"c{i}")
            self.mcds("queue", "push", f"q{i}", "job", "--may-lose")
        for i in range(6):  # a part of such rows cannot be opened
            self.mcds("online", "beat", f"o{i}", "ann")
        second.stop_server()
        for words in (), ("--json",):
            done = subprocess.run([MCDS, "top", "--once", "--interval", "10ms", *words], env=self.environment, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 69, done)
            self.assertIn(self.fixture.socket, done.stdout)
            self.assertNotIn(f"commands\t{second.socket}", done.stdout)
            self.assertRegex(done.stdout, r'"name":"c\d+","value":1,' if words else r"(?m)^counter\tc\d+\t1\t")
            self.assertRegex(done.stdout, r'"name":"q\d+","value":1,' if words else r"(?m)^queue\tq\d+\t1\t")
            self.assertRegex(done.stderr, r"^mcds: top: [^\n]*" + re.escape(second.socket) + r"[^\n]*\n$")

    test_no_digit_is_cut = None
    test_objects = test_200x50_and_another_size = test_what_is_refused = test_a_stop_gives_the_terminal_back = None
    test_no_color_and_no_utf8 = test_keys = test_a_store_that_is_made_later = test_signals_give_the_terminal_back = None


if __name__ == "__main__":
    if not has_terminals():
        print("top: skipped: this system has no pseudo-terminals")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
