"""weblog -f over a log that grows, is rotated by renaming and is truncated: follow.py WEBLOG

Each step waits until the live line tells that what was written has been counted."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 300
LINE = b'%s - - [01/May/2015:00:00:00 +0000] "GET %s HTTP/1.1" 200 1\n'


def put(path, how, *pages):
    with open(path, how) as out:
        for page in pages:
            out.write(LINE % (b"192.0.2.%d" % len(page), page))


class Follower:
    """weblog -f with its latest live figures."""

    def __init__(self, weblog, store, workers, path):
        self.figures = ""
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [weblog, "--json", "--store", store, "--workers", str(workers), "-f", path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.process.stderr:
            with self.changed:
                self.figures = line
                self.changed.notify_all()

    def wait_for(self, pattern):
        limit = time.monotonic() + LIMIT_S
        with self.changed:
            while not re.search(pattern, self.figures):
                if not self.changed.wait(limit - time.monotonic()) or self.process.poll() is not None:
                    sys.exit("waited for '%s', last heard '%s'" % (pattern, self.figures.strip()))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out = self.process.stdout.read()
        self.thread.join()
        assert self.process.wait() == 0, "exit %d" % self.process.returncode
        return json.loads(out)

    def kill(self):
        self.process.kill()
        self.process.wait()


def follow(follower, path):
    follower.wait_for(r"\b2 lines\b.*\b0 online\b")
    put(path, "ab", b"/live")
    # a visitor that comes now is online now, at any time in the line
    follower.wait_for(r"\b3 lines\b.*\b1 online\b")
    with open(path, "ab") as out:
        out.write(LINE[:20])
        out.flush()
        os.rename(path, path + ".1")
        put(path + ".1", "ab", b"/after-rename")
        put(path, "wb", b"/new", b"/new")
    follower.wait_for(r"\b6 lines\b.*\b1 malformed\b")
    put(path, "wb", b"/cut")
    follower.wait_for(r"\b7 lines\b")
    os.unlink(path)
    put(path, "wb", b"/again", b"/again", b"/again")
    follower.wait_for(r"\b10 lines\b")


def run(weblog, store, workers, folder):
    path = os.path.join(folder, "access.log")
    put(path, "wb", b"/old", b"/old")
    follower = Follower(weblog, store, workers, path)
    try:
        follow(follower, path)
        figures = follower.end()
    finally:
        follower.kill()
    wanted = {"/old": 2, "/live": 1, "/new": 2, "/cut": 1, "/again": 3}
    assert figures["views"] == wanted, figures
    assert figures["lines"] == 10 and figures["malformed"] == 1, figures
    print("followed with %d workers" % workers)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], "memory:", 1, folder)
        run(sys.argv[1], "lmdb:%s/store.mdb" % folder, 2, folder)


main()
