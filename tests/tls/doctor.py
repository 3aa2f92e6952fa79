"""What doctor reports of TLS, certificates and passwords, and what the command prints where they fail."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import fixture

MCDS = os.path.abspath(sys.argv[1])
CERTIFICATES = sys.argv[2]
PROTOCOL = 76
PATIENCE_S = 200


def missing():
    """Why nothing of this can be tested here, or None."""
    if shutil.which("openssl") is None or shutil.which("memcached") is None:
        return "openssl is not installed" if shutil.which("memcached") else "memcached is not installed"
    asked = subprocess.run([MCDS, "-s", "memcached://localhost:1?tls=1&timeout=1", "counter", "get", "x"],
                           capture_output=True, text=True, check=False)
    if "built without TLS" in asked.stderr:
        return "this build of mcds has no TLS"
    if "enable-ssl" not in subprocess.run(["memcached", "-h"], capture_output=True, text=True, check=False).stdout:
        return "this memcached has no TLS"
    return None


class TlsDoctorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="mcds-tls-")
        subprocess.run([CERTIFICATES, cls.folder], check=True, capture_output=True)
        for name, text in (("users", "ann:sesame\n"), ("ann", "ann:sesame\n"), ("bob", "bob:nothing\n")):
            path = os.path.join(cls.folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, 0o600)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def start(self, *options, certificate=None):
        """Start memcached on a free port of every address."""
        if certificate:
            path = os.path.join(self.folder, certificate + ".pem")
            options += ("-Z", "-o", f"ssl_chain_cert={path},ssl_key={path}")
        with socket.socket() as free:  # the port is ours while the server starts
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
            server = subprocess.Popen(["memcached", "-u", "root", "-U", "0", "-l", "127.0.0.1", "-p", str(self.port),
                                       *options], stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            limit = time.monotonic() + PATIENCE_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", self.port)).close()
                    return
                except OSError:
                    self.assertTrue(server.poll() is None and time.monotonic() < limit, "memcached did not start")
                    time.sleep(0.01)

    def mcds(self, options, *command, host="127.0.0.1"):
        options = options.replace("@", self.folder)
        uri = f"memcached://{host}:{self.port}?connect_timeout=20000&timeout=20000&{options}"
        return subprocess.run([MCDS, "-s", uri, *command], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)

    def doctor(self, options, host="127.0.0.1"):
        """What it reports of the server: (severity, sentence, remedy)."""
        lines = [line.split("\t") for line in self.mcds(options, "doctor", host=host).stdout.splitlines()]
        return [(line[0], line[2], line[3] if len(line) > 3 else "") for line in lines if f":{self.port}" in line[1]]

    def sees(self, findings, severity, words, fix=""):
        return any(line[0] == severity and words in line[1] and fix in line[2] for line in findings)

    def test_what_is_in_use(self):
        self.start("-Y", os.path.join(self.folder, "users"), certificate="server")
        findings = self.doctor("tls=1&ca=@/ca.pem&auth_file=@/ann")
        self.assertTrue(self.sees(findings, "fact", "TLSv1.3, TLS_"), findings)
        self.assertTrue(self.sees(findings, "fact", "certificate valid for "), findings)
        self.assertTrue(self.sees(findings, "fact", "it has accepted the password of auth_file="), findings)
        self.assertFalse(self.sees(findings, "problem", ""), findings)
        self.assertNotIn("sesame", str(findings))

    def test_a_certificate_that_ends(self):
        self.start(certificate="soon")
        findings = self.doctor("tls=1&ca=@/ca.pem")
        self.assertTrue(self.sees(findings, "problem", "its certificate, or one that signed it, ends within",
                                  "Renew it"), findings)

    def test_what_a_network_shows(self):
        """0.0.0.0 reaches the loopback, and is not one of its addresses."""
        users = os.path.join(self.folder, "users")
        cases = ((None, (), "", "without password and TLS"),
                 (None, ("-Y", users), "auth_file=@/ann", "without TLS: on the way, others can read the password"),
                 ("server", (), "tls=1&ca=@/ca.pem&tls_name=localhost", "it asks for no password"),
                 ("server", (), "tls=1&ca=@/ca.pem&tls_name=localhost&cert=@/client.pem", None),
                 ("server", ("-Y", users), "tls=1&ca=@/ca.pem&tls_name=localhost&auth_file=@/ann", None))
        for certificate, more, options, words in cases:
            with self.subTest(options=options):
                self.start(*more, certificate=certificate)
                told = [line for line in self.doctor(options, host="0.0.0.0") if "over the network" in line[1]
                        or "asks for no password" in line[1]]
                self.assertEqual(len(told), 0 if words is None else 1, told)
                if words is not None:
                    self.assertEqual(told[0][0], "advice")
                    self.assertIn(words, told[0][1])
                self.assertFalse([line for line in self.doctor(options) if line in told])

    def test_a_password_that_nobody_asks_for(self):
        self.start()
        self.assertTrue(self.sees(self.doctor("auth_file=@/ann"), "advice", "this server asks for no password"))

    def test_what_fails_is_said_with_its_remedy(self):
        self.start("-Y", os.path.join(self.folder, "users"), certificate="server")
        for options, words in (("tls=1&ca=@/other-ca.pem", "no trusted authority"),
                               ("tls=1&ca=@/ca.pem&tls_name=x.test", "for another name"),
                               ("tls=1&ca=@/ca.pem", "requires a password"),
                               ("tls=1&ca=@/ca.pem&auth_file=@/bob", "does not accept the user and the password")):
            done = self.mcds(options, "counter", "add", "x")
            self.assertEqual(done.returncode, PROTOCOL, done)
            self.assertIn(words, done.stderr)
            self.assertIn(f"127.0.0.1:{self.port}: ", done.stderr)
            self.assertNotIn("is this the port", done.stderr)
            self.assertTrue(self.sees(self.doctor(options), "problem", words))

    def test_lists_and_twins(self):
        """What uses connections of its own logs in, too."""
        self.start("-Y", os.path.join(self.folder, "users"), certificate="server")
        options = "tls=1&ca=@/ca.pem&auth_file=@/ann"
        self.assertEqual(self.mcds(options, "counter", "add", "x").returncode, 0)
        done = self.mcds(options, "ls")
        self.assertEqual((done.returncode, done.stdout), (0, "counter\tx\n"), done)
        both = f"127.0.0.1:{self.port},localhost"
        findings = self.doctor(options, host=both)
        self.assertTrue(self.sees(findings, "problem", "this is the same server as"), findings)


if __name__ == "__main__":
    reason = missing()
    if reason is not None:
        print(f"doctor: skipped: {reason}")
        sys.exit(fixture.SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
