"""OpenSSL is loaded by the first URI with tls=1: not by another, and with a sentence where it cannot be."""

import os
import subprocess
import sys
import tempfile
import unittest

MCDS = os.path.abspath(sys.argv[1])
USAGE = 64
PATIENCE_S = 200


def run(uri, **more):
    """Run one command and list the files that the loader opens for it."""
    environment = {**os.environ, "LD_DEBUG": "files", **more}
    done = subprocess.run([MCDS, "-s", uri, "counter", "get", "x"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S, env=environment)
    return done.returncode, done.stderr


class LoadTest(unittest.TestCase):
    def test_a_store_without_tls_does_not_load_it(self):
        for uri in ("memory:", "memcached://127.0.0.1:1?timeout=1"):
            _, loaded = run(uri)
            self.assertIn("libc.so", loaded)
            self.assertNotIn("libssl", loaded, uri)
            self.assertNotIn("libcrypto", loaded, uri)

    def test_a_store_with_tls_loads_it(self):
        _, loaded = run("memcached://localhost:1?tls=1&timeout=1")
        self.assertIn("libssl", loaded)

    def test_a_library_that_cannot_be_loaded_is_a_sentence(self):
        with tempfile.TemporaryDirectory(prefix="mcds-tls-") as folder:
            with open(os.path.join(folder, "libssl.so.3"), "w", encoding="ascii") as file:
                file.write("no library\n")
            code, said = run("memcached://localhost:1?tls=1&timeout=1", LD_LIBRARY_PATH=folder)
        self.assertEqual(code, USAGE, said)
        self.assertIn("tls=1 needs OpenSSL 3, which cannot be loaded (", said)
        self.assertIn("libssl.so.3", said)


if __name__ == "__main__":
    if "built without TLS" in run("memcached://localhost:1?tls=1&timeout=1")[1]:
        print("skipped: this build of mcds has no TLS")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
