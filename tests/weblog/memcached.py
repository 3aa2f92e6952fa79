"""A memcached of our own on a unix socket."""

import os
import shutil
import socket
import subprocess
import time

START_S = 200


def present():
    return shutil.which("memcached") is not None


class Server:
    def __init__(self, folder):
        self.path = os.path.join(folder, "memcached.sock")
        self.uri = f"memcached://{self.path}?connect_timeout=30000&timeout=120000"

    def __enter__(self):
        # -u is obeyed when we are root, and refused to others only if it names somebody else
        self.process = subprocess.Popen(["memcached", "-u", "root", "-m", "256", "-s", self.path])
        limit = time.monotonic() + START_S
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(self.path)
                    return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > limit:
                    self.__exit__()
                    raise RuntimeError("memcached did not start")
                time.sleep(0.01)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
