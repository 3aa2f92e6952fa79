"""What doctor reports of servers that cannot do everything: it names what they refuse, and the way out."""

import os
import socket
import subprocess
import sys
import unittest

from fixture import SKIPPED, Fixture, is_possible

MCDS = os.path.abspath(sys.argv[1])
UNSUPPORTED = 76

# What needs compare-and-set, as doctor names it, and commands that need it.
NEEDY = {
    "locks": ["lock l -- echo ran", "lock l --break"],
    "semaphores": ["semaphore run s --permits 2 -- echo ran"],
    "leaders": ["leader run l -- echo ran"],
    "once": ["once o -- echo ran", "once o --settle 0"],
    "caches": ["cache hold c k -- echo ran", "cache get c k"],
    "queues": ["queue push q job --may-lose"],
    "limits of buckets": ["limit take r ann --rate 3/1m", "limit run r ann --rate 3/1m -- echo ran"],
    "ids": ["ids next i"],
    "sets": ["set add s a", "set add s a --bag", "set add s a --list"],
    "tables": ["table put t k v"],
    "arrays": ["array set a x"],
    "views": ["views hit w page --database lmdb:KEPT"],
    "exact counters": ["counter add x --exact"],
    "'counter take'": ["counter take c", "counter take never"],
    "'list clear'": ["list clear b"],
    "exact or estimated visitors": ["visitors hit v2 ann --exact", "visitors hit v3 ann --estimated"],
    "online": ["online beat o ann", "online beat o2 ann --exact", "online beat o3 ann --estimated"],
}
CONTENT = ["counter add c", "counter add p --plain", "counter add k --stripes 2", "visitors hit v", "visitors hit v ann",
           "list push b x", "log put g x"]


class DoctorTest(unittest.TestCase):
    def start(self, *options):
        fixture = Fixture("memcached", megabytes=2).__enter__()
        self.addCleanup(fixture.__exit__)
        fixture.stop_server()
        os.unlink(fixture.socket)
        fixture.start_server(*options)
        self.environment = fixture.environment(MCDS)
        self.folder = fixture.folder
        self.socket = fixture.socket

    def mcds(self, command, data=None):
        return subprocess.run([MCDS, *command.replace("KEPT", self.folder + "/kept").split()], env=self.environment,
                              check=False, input=data, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL if data is None else None)

    def problems(self):
        """What is wrong, and what to do."""
        lines = [line.split("\t") for line in self.mcds("doctor").stdout.splitlines()]
        return [(line[2], line[3]) for line in lines if line[0] == "problem"]

    def test_a_server_without_compare_and_set(self):
        self.start("-C")
        for command in CONTENT:
            done = self.mcds(command)
            self.assertEqual(done.returncode, 0, done)
        (what, fix), = self.problems()
        self.assertIn("no compare-and-set", what)
        self.assertEqual(fix, "Start it without -C.")
        for name, commands in NEEDY.items():
            self.assertIn(name, what)
            for command in commands:
                done = self.mcds(command)
                self.assertEqual((done.returncode, done.stdout), (UNSUPPORTED, ""), command)
                self.assertIn("start it without -C", done.stderr)
        for command in CONTENT:  # what was refused has changed nothing
            done = self.mcds(command)
            self.assertEqual(done.returncode, 0, done)
        kept = sorted(line.split("\t")[0] for line in self.mcds("ls").stdout.splitlines())
        self.assertEqual(kept, ["counter"] * 3 + ["list", "log", "visitors"])

    def test_a_server_at_its_limit_of_connections(self):
        self.start("-c", "32", "-t", "1")
        held = []
        self.addCleanup(lambda: [end.close() for end in held])
        while True:
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].settimeout(60)
            held[-1].connect(self.socket)
            try:
                held[-1].sendall(b"version\r\n")
                if held[-1].recv(100).startswith(b"ERROR"):
                    break
            except ConnectionError:
                break
            self.assertLess(len(held), 64)
        (what, fix), = self.problems()
        self.assertIn("limit of connections (its option -c)", what)
        self.assertTrue(fix.startswith("Raise that limit, or end programs that are connected"), fix)

    def test_a_full_server_that_does_not_evict(self):
        self.start("-M")
        self.assertEqual(self.problems(), [])
        self.assertNotEqual(self.mcds("list push x", "".join(f"{i}\n" for i in range(400000))).returncode, 0)
        (what, fix), = [line for line in self.problems() if "refused" in line[0]]
        self.assertIn("it is full and does not evict (-M): it has refused", what)
        self.assertIn("more memory (-m)", fix)

    def test_a_server_that_was_full(self):
        self.start("-M")
        self.assertEqual(self.mcds("counter add c").returncode, 0)
        number = 0
        while self.mcds(f"array set a{number}", "x" * 50000).returncode == 0:
            number += 1
            self.assertLess(number, 200)
        self.assertIn("it is full", self.problems()[0][0])
        for drop in range(1, number):  # it reports of sizes of which it has items
            self.assertEqual(self.mcds(f"array drop a{drop}").returncode, 0)
        self.assertEqual(self.problems(), [])  # though its counter of refusals is what it was
        self.assertIn("it has refused 1 writes since its start", self.mcds("doctor").stdout)
        self.assertEqual(self.mcds("array set again", "x" * 50000).returncode, 0)


if __name__ == "__main__":
    if not is_possible("memcached"):
        print("doctor: skipped: memcached is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
