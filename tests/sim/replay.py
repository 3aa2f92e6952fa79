"""replay.py MCDS_SIM BUILD: what is wrong is found under every scheduler, is made small, and can be
run again; what is right passes."""

import os
import re
import shlex
import subprocess
import sys
import unittest

MCDS_SIM, BUILD = map(os.path.abspath, sys.argv[1:3])
LINES_MAX = 8


def mcds_sim(*arguments):
    done = subprocess.run([sys.executable, "-B", MCDS_SIM, "--build", BUILD, *arguments], text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def timeline(out):
    return re.findall(r"^ +\d+\.\d{6} .*$", out, re.M)


class Replay(unittest.TestCase):
    def find(self, *arguments):
        code, out, _ = mcds_sim(*arguments, "flawed")
        self.assertEqual(code, 1)
        self.assertIn("flawed: an_add_counts_once: counted twice", out)
        self.assertLessEqual(len(timeline(out)), LINES_MAX)
        self.assertRegex(out, r"incr mcds:c1:hits -> ok \((reply lost|no reply|late)\)")
        replay = re.search(r"^replay: tools/mcds-sim (.*)$", out, re.M).group(1)
        self.assertIn("--clients 1 --calls 1", replay)
        self.assertEqual(mcds_sim(*shlex.split(replay))[1], out)

    def test_chance_finds_it(self):
        self.find()

    def test_priorities_find_it(self):
        self.find("--scheduler", "priorities")

    def test_whoever_tries_everything_finds_it(self):
        self.find("--scheduler", "exhaustive", "--clients", "2", "--calls", "1", "--fault-max", "1")

    def test_without_faults_nothing_is_wrong(self):
        arguments = ["--scheduler", "exhaustive", "--clients", "2", "--calls", "1", "--fault-max", "0"]
        code, out, _ = mcds_sim(*arguments, "--seeds", "100000", "flawed")
        self.assertEqual(code, 0, out)
        schedules = int(re.match(r"flawed: (\d+) schedules", out).group(1))
        self.assertTrue(1000 < schedules < 100000, out)

    def test_what_is_right_passes(self):
        code, out, _ = mcds_sim("--seed", "3", "counter", "plain_counts_once")
        self.assertEqual((code, re.match(r"counter: 1 schedules, \d+ requests, no violation\n$",
                                         out) is not None), (0, True), out)

    def test_a_table_of_figures(self):
        code, out, _ = mcds_sim("--prove", "--schedules", "300", "members")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^members +\d{3,} +\d+ +\d+( +\d+){9} +0$")

    def test_what_there_is_not(self):
        code, _, err = mcds_sim("nonsense")
        self.assertEqual((code, err), (1, "mcds-sim: there is no 'nonsense'; --list tells what there is\n"))
        self.assertIn("counter\n", mcds_sim("--list")[1])


unittest.main(argv=sys.argv[:1])
