"""The store of a user who names none: below $XDG_STATE_HOME or $HOME, wherever these point, and never
below the directory in which the command happens to run."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from fixture import Fixture

MCDS = os.path.abspath(sys.argv[1])
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


class DefaultStoreTest(unittest.TestCase):
    def setUp(self):
        fixture = Fixture("lmdb").__enter__()
        self.addCleanup(fixture.__exit__)
        self.folder = fixture.folder
        self.work = self.make("work", 0o777)
        self.environment = fixture.environment(MCDS)
        del self.environment["HOME"], self.environment["XDG_STATE_HOME"]

    def make(self, name, mode):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        os.chmod(path, mode)
        return path

    def mcds(self, *arguments, user=None, umask=-1, **environment):
        if user is not None:
            os.chmod(self.folder, 0o755)
        return subprocess.run([MCDS, *arguments], cwd=self.work, env=self.environment | environment,
                              capture_output=True, text=True, check=False, user=user, umask=umask,
                              extra_groups=None if user is None else [], group=user)

    def assert_counts(self, done, value):
        self.assertEqual((done.stdout, done.stderr, done.returncode), (f"{value}\n", "", 0))
        self.assertEqual(os.listdir(self.work), [])

    def assert_refused(self, done, status, *words):
        self.assertEqual((done.stdout, done.returncode), ("", status), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(self.work), [])

    def test_private_files_whatever_the_umask(self):
        store = f"lmdb:{self.folder}/x.lmdb"
        self.assertEqual(self.mcds("-s", store, "set", "add", "s", "a").returncode, 0)
        for umask in 0o777, 0o277, 0:
            for words in ("lock", "acquire", "x", "-t", "10s", "--token"), ("dump", "s", "-o"):
                path = os.path.join(self.folder, f"{words[0]}-{umask}")
                done = self.mcds("-s", store, *words, path, umask=umask)
                self.assertEqual((done.returncode, stat.S_IMODE(os.stat(path).st_mode)), (0, 0o600), done)
            done = self.mcds("-s", store, "lock", "release", "x", "--token", os.path.join(self.folder, f"lock-{umask}"))
            self.assertEqual(done.returncode, 0, done)

    def test_messages_quote_what_was_typed(self):
        for verb in "get", "add":
            self.assert_refused(self.mcds("-s", "lmdb://tmp/x.lmdb", "counter", verb, "x"), 64, "'lmdb://tmp/x.lmdb' has a host")
        self.assert_refused(self.mcds("-s", f"lmdb:{self.folder}/x.lmdb", "lock", "x", "--", ""), 127,
                            "lock 'x': the empty COMMAND cannot be run")

    def test_slashes_in_front(self):
        home = self.make("home", 0o700)
        self.assert_counts(self.mcds("counter", "add", "x", HOME=home), 1)
        for slashes in "/", "//", "/////":
            self.assert_counts(self.mcds("counter", "add", "x", "0", HOME=slashes + home), 1)
        state = os.path.join(home, ".local/state")
        self.assert_counts(self.mcds("counter", "add", "x", "0", XDG_STATE_HOME="/" + state), 1)

    def test_a_file_in_the_root_directory(self):
        for uri in "lmdb:/no.lmdb", "lmdb:../../../../../../../../../../no.lmdb":
            self.assert_refused(self.mcds("-s", uri, "counter", "get", "x"), 74, "mcds: store: /no.lmdb: ")

    @unittest.skipUnless(IS_ROOT, "only root may become another user, who cannot write in /")
    def test_home_is_the_root_directory(self):
        for home in "/", "//", "/./":
            done = self.mcds("counter", "add", "x", HOME=home, user=NOBODY)
            self.assert_refused(done, 74, "mcds: /.", "Permission denied", "mode 0", "user 65534", "-s")

    def test_no_usable_home(self):
        for home, said in ({}, "not set"), ({"HOME": ""}, "empty"), ({"HOME": "work"}, "'work'"), \
                          ({"HOME": "./"}, "'./'"):
            done = self.mcds("counter", "add", "x", **home)
            self.assert_refused(done, 64, "no store", "$HOME is " + said, "-s", "$MCDS_STORE")

    def test_relative_state_home_is_no_state_home(self):
        home = self.make("home", 0o700)
        for state in "", "relative", "./work":
            done = self.mcds("counter", "add", "x", "0", HOME=home, XDG_STATE_HOME=state)
            self.assert_counts(done, 0)
        self.assertEqual(os.listdir(home), [".local"])
        self.assert_refused(self.mcds("counter", "add", "x", XDG_STATE_HOME="relative"), 64,
                            "$XDG_STATE_HOME is 'relative'", "$HOME is not set")

    def test_a_host_in_an_lmdb_uri_is_refused(self):
        for uri in "lmdb://x.lmdb", "lmdb://tmp/x":
            self.assert_refused(self.mcds("-s", uri, "counter", "add", "x"), 64, uri, "lmdb:///")

    @unittest.skipUnless(IS_ROOT, "only root may become another user")
    def test_home_that_cannot_be_written(self):
        home = self.make("home", 0o555)
        done = self.mcds("counter", "add", "x", HOME=home, user=NOBODY)
        name = pwd.getpwuid(NOBODY).pw_name
        self.assert_refused(done, 74, home + "/.local", "Permission denied", f"{home} belongs to user 0 (root)",
                            "mode 0555", f"user {NOBODY} ({name})", "-s or $MCDS_STORE")

    @unittest.skipUnless(IS_ROOT, "only root may become another user")
    def test_a_store_of_another_user(self):
        """The sentence names what refuses: a file of the store, or the directory where one is to be made."""
        kept = self.make("kept", 0o755)
        self.assert_counts(self.mcds("-s", f"lmdb:{kept}/x", "counter", "add", "x"), 1)
        for path, refusing, right, commands in (
                (kept + "/x", kept + "/x", "read it", (["counter", "get", "x"], ["doctor"])),
                (kept + "/new", kept + "/", "write it", (["counter", "add", "x"], ["list", "clear", "x"]))):
            for command in commands:
                done = self.mcds("-s", "lmdb:" + path, *command, user=NOBODY)
                mode = stat.S_IMODE(os.stat(refusing).st_mode)
                self.assertIn(f"{refusing}: no permission: it belongs to user 0 and has mode {mode:04o}, "
                              f"and this is user {NOBODY}, who must be able to {right}", done.stdout + done.stderr)

    def test_others_may_write_where_the_file_lies(self):
        state = self.make("state", 0o755)
        for mode in 0o777, 0o757, 0o775, 0o1777:
            done = self.mcds("counter", "add", "x", "0", XDG_STATE_HOME=state)
            self.assert_counts(done, 0)
            os.chmod(state + "/mcds", mode)
            done = self.mcds("counter", "add", "x", XDG_STATE_HOME=state)
            self.assert_refused(done, 74, f"{state}/mcds has mode {mode:04o}", "chmod 700", "-s")
            os.chmod(state + "/mcds", 0o700)

    def test_others_may_replace_the_directory(self):
        state = self.make("state", 0o777)
        done = self.mcds("counter", "add", "x", XDG_STATE_HOME=state)
        self.assert_refused(done, 74, f"{state} has mode 0777", "chmod o-w", "-s")
        os.chmod(state, 0o1777)  # as /tmp: nobody else may move what is ours
        self.assert_counts(self.mcds("counter", "add", "x", XDG_STATE_HOME=state), 1)

    @unittest.skipUnless(IS_ROOT, "only root may give a file away")
    def test_a_configuration_of_others(self):
        home = self.make("home", 0o755)
        os.makedirs(home + "/.config/mcds")
        file, store = home + "/.config/mcds/config", self.make("store", 0o777) + "/x.mdb"
        with open(file, "w", encoding="ascii") as config:
            config.write(f"store = lmdb:{store}\n")
        self.assert_counts(self.mcds("counter", "add", "x", HOME=home), 1)
        self.assertTrue(os.path.exists(store))
        os.chown(file, NOBODY, NOBODY)
        self.assert_refused(self.mcds("counter", "add", "x", HOME=home), 74, file, "belongs to another user")
        os.chown(file, 0, 0)
        os.chmod(file, 0o600)
        self.assert_refused(self.mcds("counter", "add", "x", HOME=home, user=NOBODY), 74, file, "Permission denied")
        # A home that is closed to this user is that of the caller of su.
        os.chmod(home, 0o700)
        state = self.make("state", 0o777)
        os.chmod(state, 0o700)
        os.chown(state, NOBODY, NOBODY)
        self.assert_counts(self.mcds("counter", "add", "x", HOME=home, XDG_STATE_HOME=state, user=NOBODY), 1)

    @unittest.skipUnless(IS_ROOT, "only root may give a directory away")
    def test_directory_of_another_user(self):
        state = self.make("state", 0o1777)
        os.mkdir(state + "/mcds", 0o700)
        os.chown(state + "/mcds", NOBODY, NOBODY)
        done = self.mcds("counter", "add", "x", XDG_STATE_HOME=state)
        self.assert_refused(done, 74, f"{state}/mcds belongs to", "65534", "user 0 (root)", "-s")
        self.assertEqual(os.listdir(state + "/mcds"), [])

    def test_umask_of_nothing(self):
        home = self.make("home", 0o700)
        self.assert_counts(self.mcds("counter", "add", "x", HOME=home, umask=0), 1)
        for path in ".local", ".local/state", ".local/state/mcds":
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(home, path)).st_mode), 0o700)

    def check_doctor(self, path, reason, *arguments, user=None, **environment):
        """It reports that the store cannot be made, and makes nothing."""
        done = self.mcds(*arguments, "doctor", user=user, **environment)
        self.assertEqual((done.stderr, done.returncode), ("", 1), done)
        severity, _, what, fix = done.stdout.splitlines()[-1].split("\t")
        self.assertEqual(severity, "problem")
        self.assertTrue(what.startswith(path), what)
        self.assertIn(reason, what)
        self.assertIn("choose a store with -s or $MCDS_STORE", fix)
        self.assertEqual(os.listdir(self.work), [])

    @unittest.skipUnless(IS_ROOT, "only root may become another user")
    def test_doctor_finds_a_directory_of_others(self):
        home = self.make("home", 0o755)
        reason = f"Permission denied: {home} belongs to user 0 (root) and has mode 0755"
        self.check_doctor(home + "/.local/state/mcds/default.lmdb cannot be made", reason, HOME=home, user=NOBODY)
        self.check_doctor(home + "/x.lmdb cannot be made", reason, "-s", f"lmdb:{home}/x.lmdb", user=NOBODY)
        self.check_doctor(home + "/none/x.lmdb cannot be made", reason, "-s", f"lmdb:{home}/none/x.lmdb", user=NOBODY)
        self.check_doctor("/.local/state/mcds/default.lmdb cannot be made", "Permission denied: / belongs to", HOME="/", user=NOBODY)
        self.assertEqual(os.listdir(home), [])

    def test_doctor_finds_a_read_only_file_system(self):
        with open("/proc/mounts", encoding="utf-8") as mounts:
            places = [line.split()[1] for line in mounts]
        places = [place for place in places if os.path.isdir(place) and os.statvfs(place).f_flag & os.ST_RDONLY]
        if not places:
            self.skipTest("no file system is read-only")
        for variables, below in (({"HOME": places[0]}, "/.local/state"), ({"XDG_STATE_HOME": places[0]}, "")):
            self.check_doctor(f"{places[0]}{below}/mcds/default.lmdb cannot be made: Read-only file system", "", **variables)
        self.check_doctor(f"{places[0]}/x.lmdb cannot be made: Read-only file system", "", "-s", f"lmdb:{places[0]}/x.lmdb")

    def test_doctor_finds_a_disk_that_became_read_only(self):
        disk = self.make("disk", 0o700)
        alone = ["unshare", *([] if IS_ROOT else ["-r"]), "-m", "sh", "-ec"]
        if subprocess.run([*alone, f"mount -t tmpfs none {disk}"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace can be made")
        store = f"{MCDS} -s lmdb:{disk}/x.lmdb"
        done = subprocess.run([*alone, f"mount -t tmpfs none {disk}; {store} counter add x >&2; mount -o remount,ro {disk}; {store} doctor"],
                              cwd=self.work, env=self.environment, capture_output=True, text=True, check=False)
        found = [line for line in done.stdout.splitlines() if "mounted read-only" in line]
        self.assertEqual((len(found), done.returncode), (1, 1), done)
        self.assertTrue(found[0].endswith("mount the disk for writing"), found)

    def test_doctor_finds_a_file_in_the_way(self):
        home = self.make("home", 0o700)
        with open(home + "/.local", "w", encoding="ascii"):
            pass
        self.assert_refused(self.mcds("doctor", HOME=home), 74, home + "/.local/state/mcds is not a directory", "-s")

    def test_doctor_finds_nothing_in_the_way(self):
        home = self.make("home", 0o700)
        done = self.mcds("doctor", HOME=home)
        self.assertIn("it does not exist yet; the first command that changes something makes it", done.stdout)
        self.assertEqual((done.returncode, os.listdir(home)), (0, []))

    def test_a_file_in_the_way(self):
        home = self.make("home", 0o700)
        with open(home + "/.local", "w", encoding="ascii"):
            pass
        done = self.mcds("counter", "add", "x", HOME=home)
        self.assert_refused(done, 74, home + "/.local is not a directory", "-s")

    def test_a_dangling_link_in_the_way(self):
        state = self.make("state", 0o700)
        os.symlink(self.folder + "/nowhere", state + "/mcds")
        done = self.mcds("counter", "add", "x", XDG_STATE_HOME=state)
        self.assert_refused(done, 74, state + "/mcds", "-s")
        os.mkdir(self.folder + "/nowhere", 0o700)
        self.assert_counts(self.mcds("counter", "add", "x", XDG_STATE_HOME=state), 1)

    def test_help_and_doctor_say_whose_it_is(self):
        home = self.make("home", 0o700)
        self.assertIn("only for this user", self.mcds("doctor", HOME=home).stdout)
        self.assertIn("this user", " ".join(self.mcds("help", "lock").stdout.split()))

    @unittest.skipUnless(IS_ROOT, "only root may make a program that runs as another user")
    def test_a_program_of_another_user_does_not_trust_the_environment(self):
        folder = tempfile.mkdtemp(prefix="mcds-field-", dir="/var/tmp")  # which is seldom mounted nosuid
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        copy = shutil.copy(MCDS, folder)
        os.chown(copy, 65533, 65533)
        os.chmod(copy, 0o6755)
        home = self.make("home", 0o777)
        os.chmod(self.folder, 0o755)
        done = subprocess.run([copy, "counter", "add", "x"], cwd=self.work, user=NOBODY, group=NOBODY,
                              extra_groups=[], env=self.environment | {"HOME": home}, text=True,
                              capture_output=True, check=False)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            self.skipTest("set-uid programs do not work in /var/tmp")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertEqual(os.listdir(home), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
