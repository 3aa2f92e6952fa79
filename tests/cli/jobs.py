"""`mcds queue` as the processes around it see it: workers that take jobs in turn, fail, are killed and wait."""

import json
import os
import re
import signal
import socket
import sys
import unittest
from urllib.parse import unquote

from fixture import ProcessTest, reads_signals, run_process_tests
from relay import LosingRelay, SilentRelay

STORE, MCDS = sys.argv[1], os.path.abspath(sys.argv[2])
# For what waits until a claim ends. A machine under load may keep a process from running for seconds.
VISIBLE = "6s"
LOSE = "--may-lose"
# Writes its pid and that of a descendant in a session of its own into the file `pids`, and waits for a line.
HANG = ["sh", "-c", "setsid sleep 1000 & echo $$ $! >>pids; read -r _ <go"]


class QueueTest(ProcessTest):
    store, mcds = STORE, MCDS

    def setUp(self):
        super().setUp()
        os.mkfifo(os.path.join(self.work, "go"))

    def queue(self, *words, code=0):
        done = self.run_to_end("queue", *words)
        self.assertEqual(done.returncode, code, done)
        return done.stdout

    def push(self, *jobs):
        self.queue("push", "q", LOSE, *jobs)

    def worker(self, *options, program):
        return self.start("queue", "work", "q", LOSE, *options, "--", *program)

    def flush(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.fixture.socket)
            server.sendall(b"flush_all\r\n")
            self.assertEqual(server.recv(9), b"OK\r\n")

    def jobs(self):
        return list(map(json.loads, self.queue("ls", "q", "--json").splitlines()))

    def counts(self):
        return self.queue("count", "q").split()

    def go(self):
        """Lets one COMMAND that hangs end."""
        with open(os.path.join(self.work, "go"), "w", encoding="ascii") as file:
            file.write("\n")

    def pids(self):
        """Of the first COMMAND that hangs, when it is there."""
        path = os.path.join(self.work, "pids")
        self.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "no command begins")
        with open(path, encoding="ascii") as file:
            pids = list(map(int, file.readline().split()))
        self.addCleanup(self.kill_all, pids)
        return pids

    def wait_said(self, process, text):
        line = process.stderr.readline()
        while text not in line:
            self.assertNotEqual(line, "", f"it has not said: {text}")
            line = process.stderr.readline()
        return line

    def test_each_job_goes_to_one_of_many_workers(self):
        wanted = [f"job {i}" for i in range(60)]
        self.push(*wanted)
        work = ["sh", "-c", 'read -r job; [ "$job" = "$MCDS_JOB" ] && echo "$job" >>done']
        workers = [self.worker("--until-empty", program=work) for _ in range(3)]
        self.assertEqual([self.end(worker) for worker in workers], [0, 0, 0])
        with open(os.path.join(self.work, "done"), encoding="ascii") as file:
            self.assertEqual(sorted(file.read().splitlines()), sorted(wanted))
        self.assertEqual(self.counts(), ["0"] * 4)

    def test_stripes(self):
        """Workers and scripts get each job of a queue with stripes once. Another number of stripes is refused."""
        wanted = [f"job {i}" for i in range(300)]
        self.push("--stripes", "4", *wanted[:299])
        self.push(wanted[299])
        before = self.jobs()
        self.assertEqual(sorted(job["job"] for job in before), sorted(wanted))
        self.assertIn("\nstructure\tqueue\tq\tstripes=4\n", self.run_to_end("dump", "q").stdout)
        done = self.run_to_end("queue", "push", "q", LOSE, "--stripes", "3", "x")
        self.assertEqual(done.returncode, 64, done)
        self.assertRegex(done.stderr, "^mcds: queue 'q': push: .*: it was made with --stripes 4, not 3; leave the option out\n$")
        self.assertEqual(self.jobs(), before)
        claims = [self.queue("next", "q", LOSE).rstrip("\n").split("\t") for _ in range(8)]
        for receipt, _ in claims:
            self.queue("done", "q", receipt)
        work = ["sh", "-c", 'echo "$MCDS_JOB" >>done']
        workers = [self.worker("--until-empty", program=work) for _ in range(3)]
        self.assertEqual([self.end(worker) for worker in workers], [0, 0, 0])
        with open(os.path.join(self.work, "done"), encoding="ascii") as file:
            self.assertEqual(sorted([job for _, job in claims] + file.read().splitlines()), sorted(wanted))
        self.assertEqual(self.counts(), ["0"] * 4)

    def test_bytes(self):
        """A job of any bytes reaches the command as they are."""
        job = bytes(range(256)) * 256
        with open(os.path.join(self.work, "job"), "wb") as file:
            file.write(job)
        self.queue("push", "q", LOSE, "--file", "job")
        self.queue("work", "q", LOSE, "--until-empty", "--", "sh", "-c", "cat >copy; echo ${MCDS_JOB-none} >text")
        with open(os.path.join(self.work, "copy"), "rb") as file:
            self.assertEqual(file.read(), job)
        with open(os.path.join(self.work, "text"), encoding="ascii") as file:
            self.assertEqual(file.read(), "none\n")
        with open(os.path.join(self.work, "job"), "ab") as file:
            file.write(b"x")
        self.queue("push", "q", LOSE, "--file", "job", code=65)
        self.queue("push", "q", LOSE, "--file", "nothing", code=74)

    def test_a_worker_that_is_killed(self):
        """Its command and all descendants end, and the job comes again."""
        self.push("a")
        first = self.worker("--visible", VISIBLE, program=HANG)
        pids = self.pids()
        first.kill()
        done = self.run_to_end("queue", "work", "q", LOSE, "--max-jobs", "1", "--", "sh", "-c", 'echo "$MCDS_JOB_TRIES"')
        self.assertEqual((done.returncode, done.stdout), (0, "2\n"))
        self.assert_dead(pids)

    def test_a_claim_is_renewed(self):
        """The time to its end grows."""
        self.push("a")
        self.worker("--visible", VISIBLE, program=HANG)
        self.pids()
        seen = [self.jobs()[0]["ms"]]

        def has_grown():
            job, = self.jobs()
            self.assertEqual((job["state"], job["tries"]), ("claimed", 1))
            seen.append(job["ms"])
            return seen[-1] > seen[-2]

        self.wait_until(has_grown, "the claim is not renewed")
        self.go()

    def test_a_signal_gives_the_job_back(self):
        self.push("a")
        worker = self.worker(program=HANG)
        pids = self.pids()
        worker.terminate()
        self.assertEqual(self.end(worker), 128 + signal.SIGTERM)
        self.assert_dead(pids)
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("waiting", 1)])
        self.assertIn("job 0.0: the command was ended at try 1: the job is due again at once", worker.stderr.read())

    def test_a_command_that_dies_of_its_own_interrupt(self):
        """Without a terminal, the job is due again after the delay, and the worker continues."""
        for number in (signal.SIGINT, signal.SIGQUIT):
            self.push("a", "b")
            worker = self.worker("--delay", "1h", "--max-jobs", "2",
                                 program=["sh", "-c", f"ulimit -c 0; kill -{number.value} $$"])
            self.assertEqual(self.end(worker), 128 + number)
            self.assertEqual(worker.stderr.read().count(f"the command was killed by signal {number.value} at try 1: "
                                                        "the job is due again in 1h"), 2)

    def test_a_signal_at_the_last_try(self):
        """The job is dead, and the message says so."""
        self.push("a")
        worker = self.worker("--tries", "1", program=HANG)
        self.pids()
        worker.terminate()
        self.assertEqual(self.end(worker), 128 + signal.SIGTERM)
        self.assertIn("the command was ended at try 1, the last one: the job is dead\n", worker.stderr.read())
        self.assertEqual(self.counts(), ["0", "0", "0", "1"])

    def test_what_a_command_leaves_ends_with_it(self):
        self.push("a")
        worker = self.worker("--max-jobs", "1", program=HANG)
        pids = self.pids()
        self.go()
        self.assertEqual(self.end(worker), 0)
        self.assert_dead(pids)

    def test_until_empty_waits_for_others(self):
        """A worker that finds no job waits for one that another has, and that may come again."""
        self.push("a")
        first = self.worker(program=HANG)
        self.pids()
        second = self.worker("--until-empty", program=["sh", "-c", "echo again"])
        third = self.start("queue", "work", "q", LOSE, "--wait", "0", "--", "echo", "not run")
        self.assertEqual((self.end(third), third.stdout.read()), (0, ""))
        first.terminate()
        self.assertEqual((self.end(second), second.stdout.read()), (0, "again\n"))

    def test_a_job_that_fails(self):
        """It comes again after the delay, and is dead after its tries."""
        self.push("bad")
        worker = self.worker("--tries", "2", "--delay", "0", "--until-empty", program=["sh", "-c", "exit 3"])
        self.assertEqual(self.end(worker), 3)
        said = worker.stderr.read()
        self.assertIn("exited with 3 at try 1: the job is due again at once", said)
        self.assertIn("at try 2, the last one", said)
        self.assertEqual(self.counts(), ["0", "0", "0", "1"])
        dead, = map(json.loads, self.queue("dead", "q", "--json").splitlines())
        self.assertEqual((dead["tries"], dead["job"]), (2, "bad"))
        self.assertEqual(self.queue("retry", "q", dead["id"]), "1\n")
        self.queue("retry", "q", dead["id"], code=1)
        worker = self.worker("--delay", "1h", "--max-jobs", "1", program=["false"])
        self.assertEqual(self.end(worker), 1)
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("delayed", 1)])

    def test_a_script(self):
        """next, longer, again and done, each a process of its own."""
        self.push("a")
        receipt, job = self.queue("next", "q", LOSE).rstrip("\n").split("\t")
        self.assertEqual(job, "a")
        self.queue("next", "q", LOSE, code=1)
        self.assertEqual(self.queue("longer", "q", receipt, "--visible", "1h"), "extended\n")
        self.assertGreater(self.jobs()[0]["ms"], 60000)
        self.assertEqual(self.queue("again", "q", receipt), "given back\n")
        newer = json.loads(self.queue("next", "q", LOSE, "--json"))
        self.assertEqual((newer["job"], newer["tries"]), ("a", 2))
        self.queue("again", "q", receipt, code=79)
        self.assertEqual(self.queue("done", "q", newer["receipt"]), "done\n")
        self.queue("done", "q", newer["receipt"], code=79)
        self.assertEqual(self.counts(), ["0"] * 4)

    def test_a_dead_job_that_is_done_late(self):
        """It is erased, and the exit code says that the claim had ended."""
        self.push("a")
        for _ in range(5):
            receipt = self.queue("next", "q", LOSE).split("\t")[0]
            self.queue("again", "q", receipt)
        self.queue("next", "q", LOSE, code=1)
        self.assertEqual(self.counts(), ["0", "0", "0", "1"])
        self.queue("again", "q", receipt, code=79)
        self.queue("longer", "q", receipt, code=79)
        self.assertEqual(self.counts(), ["0", "0", "0", "1"])
        self.queue("done", "q", receipt, code=79)
        self.assertEqual(self.counts(), ["0"] * 4)

    def test_a_wait_for_a_job(self):
        waiting = self.start("queue", "next", "q", LOSE, "--wait", "1h")
        worker = self.worker("--max-jobs", "1", program=["cat"])
        self.push("a", "b")
        self.assertEqual((self.end(waiting), self.end(worker)), (0, 0))
        jobs = {waiting.stdout.read().split("\t")[1].rstrip("\n"), worker.stdout.read()}
        self.assertEqual(jobs, {"a", "b"})

    def test_a_signal_ends_the_wait(self):
        worker = self.worker(program=["true"])
        self.wait_until(lambda: reads_signals(worker.pid))
        worker.send_signal(signal.SIGHUP)
        self.assertEqual(self.end(worker), 128 + signal.SIGHUP)

    def test_a_command_that_cannot_be_run(self):
        """The worker ends before it claims a job: no start costs a try."""
        self.push("a")
        for program, code in ((["./none"], 127), (["none"], 127), ([os.getcwd()], 126)):
            self.assertEqual(self.end(self.worker("--tries", "1", program=program)), code)
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("waiting", 0)])

    def test_a_command_that_cannot_be_run_any_more(self):
        """The worker ends before it claims the next job."""
        self.push("a", "b")
        program = os.path.join(self.work, "program")
        with open(program, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nrm "$0"\n')
        os.chmod(program, 0o755)
        worker = self.worker("--until-empty", program=[program])
        self.assertEqual(self.end(worker), 127)
        self.assertEqual([(job["state"], job["tries"], job["job"]) for job in self.jobs()], [("waiting", 0, "b")])

    def test_a_command_that_fails_to_start(self):
        """The job that was claimed for it is given back, also after one that is done."""
        self.push("a", "b")
        program = os.path.join(self.work, "program")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho runs\nread -r _ <go\n")
        os.chmod(program, 0o755)
        worker = self.worker("--until-empty", program=[program])
        self.assertEqual(worker.stdout.readline(), "runs\n")
        with open(program, "a", encoding="ascii"):  # the kernel runs no file that is open for writing
            self.go()
            self.assertEqual(self.end(worker), 126)
        self.assertEqual([(job["state"], job["tries"], job["job"]) for job in self.jobs()], [("waiting", 1, "b")])
        self.assertIn(": the command was not run at try 1: the job is due again at once\n", worker.stderr.read())

    @unittest.skipUnless(STORE == "memcached", "a server that stops: this store has no server")
    def test_a_server_that_goes_away(self):
        """The job is not given back. The worker says when it is due, and nothing else."""
        self.environment["MCDS_STORE"] = f"memcached://{self.fixture.socket}?timeout=1000"
        for options, later in (((), "due again when its claim ends"),
                               (("--tries", "1"), "dead when its claim has ended")):
            self.wait_until(lambda: self.run_to_end("queue", "push", "q", LOSE, "a").returncode == 0)
            worker = self.worker("--visible", VISIBLE, "--max-jobs", "1", *options, program=HANG)
            self.wait_until(lambda: os.path.exists(os.path.join(self.work, "pids")))
            self.fixture.stop_server()
            self.assertEqual(self.end(worker), 79)
            os.unlink(self.fixture.socket)
            os.unlink(os.path.join(self.work, "pids"))
            said = worker.stderr.read()
            self.assertRegex(said, f": the command was ended at try 1[^:]*: the job is {later}\n")
            self.assertEqual(said.count("the job"), 1, said)
            self.fixture.start_server()

    @unittest.skipUnless(STORE == "memcached", "a lost reply: this store has no server")
    def test_a_report_whose_reply_is_lost(self):
        """It may have been carried out, even if the server does not answer when the worker asks again."""
        self.push("a")
        relay = SilentRelay(os.path.join(self.fixture.folder, "relay"), self.fixture.socket, None)
        self.addCleanup(relay.close)
        worker = self.start("-s", f"memcached://{relay.path}?timeout=2000", "queue", "work", "q", LOSE, "--visible", "1h",
                            "--", "sh", "-c", "echo $$ >>pids; read -r _ <go; exit 3")
        self.pids()
        count = len(relay.ends)
        relay.word = b"ms mcds:"
        self.go()
        self.wait_until(lambda: relay.has_come.is_set() and len(relay.ends) > count, "it does not ask again")
        worker.terminate()
        self.end(worker)
        said = worker.stderr.read()
        self.assertIn(": the command has exited with 3 at try 1: the job is due again in 30s, or when its claim ends (", said)
        self.assertEqual(said.count("the job"), 1, said)
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("delayed", 1)])

    @unittest.skipUnless(STORE == "memcached", "a lost reply: this store has no server")
    def test_a_repeated_report_that_is_lost(self):
        """The first report was carried out; or its claim has ended, and another worker has the job. The worker does not
        know which."""
        self.push("a")
        relay = LosingRelay(os.path.join(self.fixture.folder, "relay"), self.fixture.socket, None)
        self.addCleanup(relay.close)
        relay.seconds = 1  # the timeout: the first report ends without a reply
        worker = self.start("-s", f"memcached://{relay.path}?timeout=1000", "queue", "work", "q", LOSE, "--visible", "1h",
                            "--max-jobs", "1", "--", "sh", "-c", "echo $$ >>pids; read -r _ <go; exit 3")
        self.pids()
        relay.word = b"ms mcds:"
        self.go()
        self.assertEqual(self.end(worker), 3)
        self.assertTrue(relay.has_come.is_set())
        self.assertIn(" has exited with 3 at try 1: the job is due again in 30s, or when its claim ends\n", worker.stderr.read())
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("delayed", 1)])

    def test_a_command_that_another_process_kills(self):
        """It has failed, as with an exit code: the job is delayed."""
        self.push("a")
        worker = self.worker("--delay", "1h", "--max-jobs", "1", program=["sh", "-c", "kill -KILL $$"])
        self.assertEqual(self.end(worker), 128 + signal.SIGKILL)
        self.assertIn("the command was killed by signal 9 at try 1: the job is due again in 1h",
                      worker.stderr.read())
        self.assertEqual([(job["state"], job["tries"]) for job in self.jobs()], [("delayed", 1)])

    def ask(self, words):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.fixture.socket)
            client.sendall(words + b"\r\n")
            reply = b""
            while not reply.endswith((b"END\r\n", b"DELETED\r\n")) and not reply.startswith(b"BUSY"):
                reply += client.recv(1 << 16)
            return reply

    def evict(self, job):
        """Whether it has deleted the key with the part that has this job. A listing may miss a key that moves."""
        lines = self.ask(b"lru_crawler metadump all").decode().splitlines()
        for key in [unquote(line.split()[0][4:]) for line in lines if line.startswith("key=")]:
            if job.encode() in self.ask(b"get " + key.encode()):
                self.ask(b"delete " + key.encode())
                return True
        return False

    def worker_past_losses(self):
        """A worker of a queue that has lost its first parts, and the job before them. None: a key had jobs of several
        parts, and other parts were lost than those."""
        jobs = [f"{i:0100}" for i in range(600)]
        self.push(*jobs)
        self.wait_until(lambda: self.evict(jobs[0]))
        done = self.run_to_end("queue", "count", "q")
        self.assertEqual(done.returncode, 79, done)
        waiting = int(done.stdout.split("\t")[0])
        self.assertTrue(0 < waiting < 600, done)
        self.assertIn("jobs that are left are kept", done.stderr)
        done = self.run_to_end("queue", "next", "q", LOSE)
        self.assertIn("queue 'q': next: ", done.stderr)
        if done.returncode != 0:
            return None
        after = done.stdout.split("\t")[1].rstrip("\n")
        self.assertGreater(after, jobs[0])
        if not self.evict(after) or not self.evict(jobs[min(jobs.index(after) + 130, 599)]):
            return None
        done = self.run_to_end("queue", "work", "q", LOSE, "--wait", "0", "--max-jobs", "1", "--", "cat")
        self.assertEqual(done.returncode, 79, done)
        return done if done.stdout > after else None

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_a_part_that_is_lost(self):
        """A caller says so, and takes a job of the rest; a worker then exits with 79."""
        done = self.run_to_end("queue", "push", "q", "a")
        self.assertEqual(done.returncode, 76)
        self.assertIn("--may-lose", done.stderr)
        several = re.compile(r"mcds: queue 'q': work: [^\n]* \([2-9] parts are lost\)\n")
        for _ in range(30):
            done = self.worker_past_losses()
            if done and several.fullmatch(done.stderr):
                break
            self.queue("drop", "q")
        else:
            self.fail(done)
        for verb, told in (("count", "\t"), ("retry", "0\n"), ("dead", "")):
            for _ in range(2):
                self.assertIn(told, self.queue(verb, "q", code=79))
        waiting = self.queue("count", "q", code=79).split("\t")[0]
        top = self.run_to_end("top", "q", "--once", "--interval", "10ms")
        self.assertIn(f"queue\tq\t{waiting}\t", top.stdout)
        self.queue("drop", "q")
        self.queue("count", "q", code=1)

    def next_past_a_loss(self, delay):
        """What next prints after the store has lost the first part; None: the list of the parts was in the same key."""
        jobs = [f"{i:0100}" for i in range(600)]
        self.queue("push", "q", LOSE, "--delay", delay, *jobs)
        self.wait_until(lambda: self.evict(jobs[0]))
        done = self.run_to_end("queue", "next", "q", LOSE)
        self.queue("drop", "q")
        return None if "the list of its parts is gone" in done.stderr else done

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_next_passes_over_a_part_that_is_lost(self):
        """It reports the loss on standard error only: its exit code says whether it has claimed a job."""
        for delay, code in (("0", 0), ("1h", 1)):
            done = next(filter(None, (self.next_past_a_loss(delay) for _ in range(30))))
            self.assertEqual((done.returncode, bool(done.stdout)), (code, code == 0), done)
            self.assertRegex(done.stderr, r"^mcds: queue 'q': next: [^\n]*the store has lost jobs of it, or all: ")

    def lose_list(self, jobs):
        """Whether the queue has lost the list of its parts and has jobs. Deletes one key after the other that has no
        job."""
        self.push(*jobs)
        lines = self.ask(b"lru_crawler metadump all").decode().splitlines()
        keys = [unquote(line.split()[0][4:]).encode() for line in lines if line.startswith("key=")]
        for key in keys:
            value = self.ask(b"get " + key)
            if b":q:" not in key or any(job.encode() in value for job in jobs):
                continue
            self.ask(b"delete " + key)
            done = self.run_to_end("queue", "next", "q", LOSE)
            if done.returncode == 79 and "the list of its parts is gone" in done.stderr:
                return self.run_to_end("queue", "count", "q").stdout.split("\t")[0] not in ("", "0")
            if done.returncode != 0:
                break
        return False

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_the_list_of_the_parts_is_lost(self):
        """No call can claim or push; each says how to save the jobs that are kept, and once."""
        jobs = [f"{i:0100}" for i in range(600)]
        for _ in range(30):
            if self.lose_list(jobs):
                break
            self.run_to_end("queue", "drop", "q")
        else:
            self.fail("no key has the list alone")
        for verb in ("next", "q", LOSE), ("push", "q", LOSE, "x"), ("work", "q", LOSE, "--until-empty", "--", "true"):
            done = self.run_to_end("queue", *verb)
            self.assertEqual(done.returncode, 79, done)
            self.assertRegex(done.stderr, f"^mcds: queue 'q': {verb[0]}: [^\n]*: the list of its parts is gone, "
                             "so no job can be claimed or pushed; to keep its other jobs, dump it, drop it, and "
                             "load the dump\n$")
        counts = self.queue("count", "q", code=79).split()
        done = self.run_to_end("queue", "ls", "q")
        self.assertEqual(done.returncode, 79, done)
        kept = [line.split("\t")[3] for line in done.stdout.splitlines()]
        self.assertEqual(len(kept), sum(map(int, counts[:3])))
        self.assertLessEqual(set(kept), set(jobs))
        self.assertEqual(len(self.run_to_end("queue", "ls", "q", "--limit", "2").stdout.splitlines()), 2)
        done = self.run_to_end("dump", "q")
        self.assertEqual(done.returncode, 79, done)
        self.queue("drop", "q")
        path = os.path.join(self.work, "dump")
        with open(path, "w", encoding="ascii") as file:
            file.write(done.stdout)
        done = self.run_to_end("load", path, LOSE)
        self.assertEqual(done.returncode, 0, done)
        self.push("x")
        self.assertEqual(sorted(job["job"] for job in self.jobs()), sorted([*kept, "x"]))

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_a_server_that_is_flushed_meanwhile(self):
        """The report of the job finds the loss, and no later call does."""
        lost = r"mcds: queue 'q': work: [^\n]*the store has lost jobs of it, or all: [^\n]*\n"
        flush = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{self.fixture.socket}'); " \
            "s.sendall(b'flush_all\\r\\n'); s.recv(9)"
        for code in "0", "3":
            self.push("a", "b")
            worker = self.worker("--until-empty", program=("sh", "-c", f'{sys.executable} -c "$0"; exit {code}', flush))
            self.assertEqual(self.end(worker), 79)
            failed = f"mcds: queue 'q': job [0-9.]*: the command has exited with 3 at try 1: the store has lost the job\n"
            self.assertRegex(worker.stderr.read(), "^" + ("" if code == "0" else failed) + lost + "$")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file loses no part")
    def test_a_renewal_that_finds_a_loss(self):
        """The exit code says so also where a later job succeeds, and the sentence comes once."""
        self.push("a")
        worker = self.worker("--visible", VISIBLE, "--max-jobs", "2",
                             program=("sh", "-c", '[ "$MCDS_JOB" = b ] && exit; >begun; exec sleep 1000'))
        self.wait_until(lambda: os.path.exists(os.path.join(self.work, "begun")))
        self.flush()
        self.push("b")
        self.assertEqual(self.end(worker), 79)
        self.assertRegex(worker.stderr.read(), r"^mcds: queue 'q': the claim was lost; stopping the command "
                         r"\([^\n]*the store has lost jobs of it, or all: [^\n]*\)\n$")

    @unittest.skipUnless(STORE == "memcached", "an lmdb file is not started later")
    def test_a_server_that_is_started_later(self):
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        worker = self.start("-s", f"memcached://{self.fixture.socket}?timeout=300", "queue", "work", "q", LOSE, "--max-jobs", "1",
                            "--", "cat")
        self.wait_said(worker, "; waiting")
        self.fixture.start_server()
        self.wait_said(worker, "the store answers again")
        self.push("a")
        self.assertEqual((self.end(worker), worker.stdout.read()), (0, "a"))

    @unittest.skipUnless(STORE == "memcached", "an lmdb file keeps room for workers")
    def test_a_full_server_that_does_not_evict(self):
        """It refuses a push, and perhaps a claim, until it has more memory; no job is lost, and none comes twice."""
        self.fixture.stop_server()
        os.unlink(self.fixture.socket)
        self.fixture.megabytes = 2
        self.fixture.start_server("-M")
        pushed, code = [], 0
        while code == 0:
            job = f"job {len(pushed):04}"
            with open(os.path.join(self.work, "job"), "w", encoding="ascii") as file:
                file.write(job.ljust(50000))
            done = self.run_to_end("queue", "push", "q", LOSE, "--file", "job")
            code = done.returncode
            pushed += [job] * (code == 0)
            self.assertLess(len(pushed), 1000)
        self.assertEqual(code, 74, done)
        self.assertIn("cache_memlimit", done.stderr)
        work = ["queue", "work", "q", LOSE, "--max-jobs", "3", "--", "sh", "-c", "head -c 8 >>done; echo >>done"]
        self.assertIn(self.run_to_end(*work).returncode, (0, 74))
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.fixture.socket)
            server.sendall(b"cache_memlimit 64\r\n")
            self.assertEqual(server.recv(100), b"OK\r\n")
        work[4:6] = ["--until-empty"]
        self.assertEqual(self.run_to_end(*work).returncode, 0)
        with open(os.path.join(self.work, "done"), encoding="ascii") as file:
            self.assertEqual(file.read().split("\n")[:-1], pushed)

    def test_what_is_refused(self):
        for words in (["work", "q"], ["work", "q", "--max-jobs", "0", "--", "true"], ["done", "q", "nonsense"], ["done", "q"],
                      ["discard", "q"], ["discard", "q", "1", "--all"], ["push", "q", "a", "--file", "b"], ["next"],
                      ["push", "q", "-", "--file", "b"]):
            self.assertEqual(self.run_to_end("queue", *words).returncode, 64, words)
        self.assertEqual(self.run_to_end("-s", "memory:", "queue", "work", "q", "--", "true").returncode, 64)
        for word, advice in (("reserve", "queue next"), ("consume", "queue work"), ("ack", "queue done"), ("purge", "queue drop")):
            self.assertIn(advice, self.run_to_end("queue", word, "q").stderr)
        done = self.run_to_end("dump", "q", "-o", "file")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    run_process_tests("queue", STORE)
