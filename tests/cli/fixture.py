"""A store of a test's own: an lmdb file below a temporary folder, or a memcached there."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

SKIPPED = 77
START_S = 60

count_skip = unittest.TextTestResult.addSkip


def announce_skip(result, test, reason):
    """Prints a skipped case as the other tests do, for tools/test."""
    name = test.id().rpartition(".")[2]
    print(f"\n[  SKIPPED ] {name}\nskipped: {reason}", flush=True)
    count_skip(result, test, reason)


unittest.TextTestResult.addSkip = announce_skip


class Fixture:
    def __init__(self, store, megabytes=64):
        self.store = store
        self.megabytes = megabytes
        self.server = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="mcds-cli-")
        if self.store == "memcached":
            self.start_server()
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.stop_server()
        shutil.rmtree(self.folder)

    @property
    def socket(self):
        return os.path.join(self.folder, "memcached.sock")

    def start_server(self, *options):
        # -u is obeyed when we are root, and refused to others only if it names somebody else
        self.server = subprocess.Popen(["memcached", "-u", "root", "-m", str(self.megabytes), "-s", self.socket, *options])
        limit = time.monotonic() + START_S
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(self.socket)
                    return
            except OSError:
                if self.server.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError("memcached did not start") from None
                time.sleep(0.01)

    def stop_server(self):
        self.server.kill()
        self.server.wait()
        self.server = None

    def environment(self, mcds):
        names = ("MCDS_STORE", "MCDS_CONFIG", "MCDS_PROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME")
        environment = {k: v for k, v in os.environ.items() if k not in names}
        environment["PATH"] = os.path.dirname(mcds) + ":" + environment["PATH"]
        environment["LC_ALL"] = "C"
        environment["HOME"] = self.folder
        environment["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        if self.store == "memcached":
            environment["MCDS_STORE"] = f"memcached://{self.socket}?connect_timeout=30000&timeout=120000"
            environment["SOCKET"] = self.socket
        return environment


def is_possible(store):
    return store != "memcached" or shutil.which("memcached") is not None
