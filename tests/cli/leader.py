"""`mcds leader` as the processes around it see it: many campaigners, of which one leads at a time."""

import json
import os
import signal
import socket
import sys
import unittest

from fixture import ProcessTest, is_dead, run_process_tests, takes

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
# For what waits until a lease ends. A machine under load may keep a process from running for seconds,
# and mcds rightly ends a command whose lease it could not renew.
LEASE = "5s"
LONG = "10s"
# Writes a line into the file `terms`: its name, the fence, its pid and that of a descendant in a session of its own.
# Writes TWO if another such command runs. Ends with the exit code that it reads.
LEAD = """
import fcntl, os, sys
inside = open("inside", "w")
os.set_inheritable(inside.fileno(), False)
terms = os.open("terms", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
try:
    fcntl.flock(inside, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    os.write(terms, b"TWO 0 0 0\\n")
daemon = os.fork()
if daemon == 0:
    os.setsid()
    inside.close()
    os.execvp("sleep", ["sleep", "1000"])
os.write(terms, f"{sys.argv[1]} {os.environ['MCDS_LOCK_FENCE']} {os.getpid()} {daemon}\\n".encode())
word = b""
while not word.endswith(b"\\n"):
    byte = os.read(0, 1)
    word += byte if byte else sys.exit(0)
os._exit(int(word))
"""
TRAP = """
trap 'echo got; exit 5' TERM
trap 'echo user; exit 0' USR1
echo ready
while :; do sleep 0.05; done
"""


class Term:
    """A line of the file `terms`."""

    def __init__(self, line):
        self.name, *numbers = line.split()
        self.fence, self.pid, self.daemon = map(int, numbers)


class LeaderTest(ProcessTest):
    store, mcds = STORE, MCDS

    def campaign(self, name, *options, rest="1m", lease=LEASE):
        return self.start("leader", "run", "job", "--label", name, "-t", lease, "--rest", rest, *options, "--",
                          sys.executable, "-c", LEAD, name)

    def terms(self):
        try:
            with open(os.path.join(self.work, "terms"), encoding="ascii") as file:
                return [Term(line) for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def term(self, number):
        """The term of this number, from 1 on: no two at once, and larger fences."""
        self.wait_until(lambda: len(self.terms()) >= number, f"nobody leads the {number}th time")
        terms = self.terms()
        for term in terms:
            self.addCleanup(self.kill_all, [term.pid, term.daemon])
        self.assertNotIn("TWO", [term.name for term in terms])
        fences = [term.fence for term in terms]
        self.assertEqual(fences, sorted(set(fences)))
        return terms[number - 1]

    @staticmethod
    def resign(process, code):
        process.stdin.write(f"{code}\n")
        process.stdin.flush()

    def who(self):
        return self.run_to_end("leader", "who", "job").stdout.partition("\t")[0]

    def wait_said(self, process, text):
        """The line of standard error that has this text, after others."""
        line = process.stderr.readline()
        while text not in line:
            self.assertNotEqual(line, "", f"it has not said: {text}")
            line = process.stderr.readline()
        return line

    def test_another_leads_after_each_end(self):
        """Of three: one resigns, one is killed, one fails."""
        all_of_them = {name: self.campaign(name) for name in ("a", "b", "c")}
        first = self.term(1)
        self.assertEqual(self.who(), first.name)
        self.resign(all_of_them[first.name], 0)
        second = self.term(2)
        self.assert_dead([first.pid, first.daemon])
        all_of_them[second.name].kill()
        third = self.term(3)
        self.assert_dead([second.pid, second.daemon])
        self.assertEqual({first.name, second.name, third.name}, {"a", "b", "c"})
        self.resign(all_of_them[third.name], 3)
        self.wait_said(all_of_them[third.name], "leads no more (exit code 3); waits for the lead after 1m\n")
        self.assertEqual(self.run_to_end("leader", "who", "job").returncode, 1)
        self.assertEqual(len(self.terms()), 3)
        for name in (first.name, third.name):  # they rest
            all_of_them[name].terminate()
            self.assertEqual(self.end(all_of_them[name]), 128 + signal.SIGTERM)
        self.assert_dead([third.pid, third.daemon])

    def test_leads_again_after_the_rest(self):
        process = self.campaign("a", rest="10ms")
        for number in range(1, 4):
            self.term(number)
            self.resign(process, number)
            self.wait_said(process, f"(exit code {number})")
        self.term(4)
        process.terminate()
        self.assertEqual(self.end(process), 128 + signal.SIGTERM)
        self.assertEqual(self.who(), "")

    def test_a_stopped_leader(self):
        """Its command is dead before another leads. When it is continued, it is one that waits."""
        first = self.campaign("a", rest="10ms", lease=LONG)
        old = self.term(1)
        second = self.campaign("b", lease=LONG)
        first.send_signal(signal.SIGSTOP)
        new = self.term(2)
        self.assertEqual(new.name, "b")
        self.assertLess(new.fence - old.fence, 10)  # who waits only reads
        self.assert_dead([old.pid, old.daemon])
        first.send_signal(signal.SIGCONT)
        self.wait_said(first, "leads no more (exit code 79)")
        self.assertEqual(self.who(), "b")
        second.terminate()
        self.assertEqual(self.end(second), 128 + signal.SIGTERM)
        self.assertEqual(self.term(3).name, "a")

    def test_a_deposed_leader(self):
        """Who breaks the lock ends the term; the command is stopped at the next renewal."""
        first = self.campaign("a", rest="10ms")
        old = self.term(1)
        self.assertEqual(self.run_to_end("lock", "job", "--break").returncode, 0)
        self.wait_said(first, "the lease was lost; stopping the command")
        self.term(2)
        self.assert_dead([old.pid, old.daemon])

    def test_signals_end_the_wait_and_the_term(self):
        leader = self.start("leader", "run", "job", "-t", LEASE, "--rest", "10ms", "--", "sh", "-c", TRAP)
        self.assertEqual(leader.stdout.readline(), "ready\n")
        waiting = self.campaign("b")
        self.wait_until(lambda: takes(waiting.pid, signal.SIGHUP))
        waiting.send_signal(signal.SIGHUP)
        self.assertEqual(self.end(waiting), 128 + signal.SIGHUP)
        leader.send_signal(signal.SIGUSR1)  # a message to the command
        self.assertEqual(leader.stdout.readline(), "user\n")
        self.assertEqual(leader.stdout.readline(), "ready\n")
        leader.terminate()
        self.assertEqual(leader.stdout.readline(), "got\n")
        self.assertEqual(self.end(leader), 5)
        self.assertEqual(self.who(), "")
        self.assertEqual(self.terms(), [])

    def test_a_command_that_dies_of_its_own_interrupt(self):
        """Without a terminal, that ends the command alone."""
        for name, number in (("INT", signal.SIGINT), ("QUIT", signal.SIGQUIT)):
            leader = self.start("leader", "run", "job", "--rest", "10ms", "--", "sh", "-c", f"ulimit -c 0; kill -{name} $$")
            self.wait_said(leader, f"leads no more (exit code {128 + number}); waits for the lead after 10ms")
            self.wait_said(leader, "leads, with fence")
            leader.terminate()
            self.end(leader)

    def test_once(self):
        done = self.run_to_end("leader", "run", "job", "--once", "--", "sh", "-c", 'echo "$MCDS_LOCK_NAME"; exit 3')
        self.assertEqual((done.returncode, done.stdout), (3, "job\n"))
        self.assertRegex(done.stderr, r"\Amcds: leader 'job': leads, with fence \d+\n\Z")
        quiet = self.run_to_end("-q", "leader", "job", "--once", "--", "true")  # without run
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))

    def test_a_command_that_cannot_be_run(self):
        done = self.run_to_end("leader", "run", "job", "--", "./none")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(self.who(), "")

    def test_the_watch(self):
        watch = self.start("leader", "watch", "job")
        self.assertRegex(watch.stdout.readline(), r"\A\S+Z\tnobody\n\Z")
        leader = self.campaign("a", rest="10ms")
        for number in (1, 2):
            line = watch.stdout.readline()
            self.assertRegex(line, r"\A\S+Z\tleads\ta\t\d+\n\Z")
            if STORE == "lmdb":  # memcached gets it a moment after the lease
                self.assertEqual(int(line.split("\t")[3]), self.term(number).fence)
            if number == 1:
                seen = self.start("leader", "watch", "job", "--json")
                self.assertEqual(json.loads(seen.stdout.readline())["holder"], "a")
                seen.terminate()
                self.assertEqual(self.end(seen), -signal.SIGTERM)
                self.end(seen)
                leader.kill()
                self.end(leader)
                self.assertRegex(watch.stdout.readline(), r"\A\S+Z\tnobody\n\Z")
                leader = self.campaign("a")

    def test_a_watch_of_one_change(self):
        watch = self.start("leader", "watch", "job", "--once", "--json")
        line = json.loads(watch.stdout.readline())
        self.assertEqual((line["change"], line["name"], line["noun"]), ("nobody", "job", "leader"))
        self.campaign("a")
        line = json.loads(watch.stdout.readline())
        self.assertEqual((line["change"], line["holder"]), ("leads", "a"))
        self.assertEqual(self.end(watch), 0)

    def test_a_watch_without_a_reader(self):
        watch = self.start("leader", "watch", "job")
        watch.stdout.readline()
        watch.stdout.close()
        self.assertEqual(self.end(watch), 0)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file does not go away")
    def test_a_server_that_goes_away(self):
        """The command is stopped, the campaign waits, and so does a watch."""
        uri = f"memcached://{self.fixture.socket}?timeout=1000"
        watch = self.start("-s", uri, "leader", "watch", "job")
        self.assertIn("nobody", watch.stdout.readline())
        leader = self.campaign("a", "-s", uri, rest="10ms")
        old = self.term(1)
        self.assertIn("leads", watch.stdout.readline())
        self.stop_server()
        self.wait_said(leader, "cannot be renewed; stopping the command")
        self.wait_said(leader, "leads no more")
        self.assert_dead([old.pid, old.daemon])
        self.assertRegex(self.wait_said(watch, "waiting"), r"\Amcds: leader 'job': .*; waiting\n\Z")
        self.fixture.start_server()
        self.assertEqual(watch.stderr.readline(), "mcds: the store answers again\n")
        self.term(2)
        line = watch.stdout.readline()
        if "nobody" in line:  # it has looked before the leader was there again
            line = watch.stdout.readline()
        self.assertRegex(line, r"\A\S+Z\tleads\ta\t\d+\n\Z")

    def stop_server(self):
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is not started later")
    def test_a_server_that_is_started_later(self):
        self.stop_server()
        uri = f"memcached://{self.fixture.socket}?timeout=300"
        leader = self.campaign("a", "-s", uri)
        watch = self.start("-s", uri, "leader", "watch", "job")
        self.wait_said(leader, "; waiting")
        self.wait_said(watch, "; waiting")
        self.fixture.start_server()
        self.term(1)

    @unittest.skipUnless(STORE == "memcached", "an lmdb file keeps its fences")
    def test_a_watch_of_a_lost_fence(self):
        """The store is put back to an earlier state."""
        self.assertEqual(self.run_to_end("leader", "run", "job", "--once", "--", "true").returncode, 0)
        watch = self.start("leader", "watch", "job")
        self.assertIn("nobody", watch.stdout.readline())
        with self.campaign("a") as leader:
            self.assertIn("leads", watch.stdout.readline())
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.fixture.socket)
                client.sendall(b"set mcds:lf1:job 0 0 2\r\n17\r\n")
                self.assertEqual(client.recv(100), b"STORED\r\n")
            self.assertIn("LOST", watch.stdout.readline())
            self.assertIn("fence", watch.stderr.readline())
            leader.terminate()
        self.assertIn("nobody", watch.stdout.readline())

    def test_what_is_refused(self):
        for words in (["run", "job"], ["run", "job", "--rest", "soon", "--", "true"], ["run"], ["watch", "job", "--rest", "1s"]):
            self.assertEqual(self.run_to_end("leader", *words).returncode, 64, words)
        for words in (["run", "job", "--", "true"], ["watch", "job"]):
            self.assertEqual(self.run_to_end("-s", "memory:", "leader", *words).returncode, 64, words)
        for word, advice in (("campaign", "leader run"), ("status", "leader who"), ("follow", "leader watch"), ("resign", "--break")):
            self.assertIn(advice, self.run_to_end("leader", word, "job").stderr)


if __name__ == "__main__":
    run_process_tests("leader", STORE)
