"""The completion scripts in a bash, a fish and a zsh. The golden case `completion` has most of bash."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import unittest

from fixture import Fixture

MCDS = os.path.abspath(sys.argv[1])
LIMIT_S = 600
# A loaded machine may need longer for a name than a shell waits.
PATIENT = {"timeout": 'shift\nexec "$@"\n', "mcds": f'[ "$1" != --timeout ] || shift 2\nexec "{MCDS}" --timeout 60s "$@"\n'}
FISH = """\
mcds completion fish | source
while read line
    echo (string join ' ' -- $line (complete -C "mcds $(string replace -r '\\|$' '' -- $line)" | cut -f 1))
end
"""
ZSH = """\
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'autoload -U compinit && compinit -u -D; source <(mcds completion zsh); mcds() { print -r -- "<$*>" }; print rea""dy'
zpty -r shell seen '*ready*'
while IFS= read -r line; do
    line=${line%|}
    zpty -w -n shell "mcds $line"$'\\t\\n'
    zpty -r shell seen '*<*>*'
    print -r -- "$line|${${seen##*<}%%>*}"
done
"""

#: Names with characters that a quote changes, by their first letter.
SPECIAL = ("it's", "pa$th $x", "u`id`", 'q"q', "w\\w", "e a'b\"c$d", "$y")

BASH = """\
PS1= PS2= HISTFILE=
source <(mcds completion bash); mcds() { printf '<%s>' "$#" "$@"; }; echo rea""dy
"""


class Bash:
    """A bash on a terminal, which prints the words of each command."""

    def __init__(self, environment, folder):
        self.fd, end = pty.openpty()
        self.shell = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], env={**environment, "TERM": "dumb"}, cwd=folder,
                                      stdin=end, stdout=end, stderr=end, start_new_session=True)
        os.close(end)
        self.say(BASH, rb"ready\r\n")

    def say(self, text, answer):
        os.write(self.fd, text.encode())
        seen = b""
        while (found := re.search(answer, seen)) is None:
            if not select.select([self.fd], [], [], LIMIT_S)[0]:
                raise TimeoutError(f"{text!r}: bash has printed {seen!r}")
            seen += os.read(self.fd, 4096)
        return found.group().decode()

    def words_of(self, line):
        """The words of the line after a tab at its end."""
        words = self.say(f"mcds {line}\t\n", rb"<[0-9]+>(<[^>]*>)+")
        return words[1:-1].split("><")[1:]

    def end(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.fd)


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.fixture = Fixture("lmdb").__enter__()
        self.addCleanup(self.fixture.__exit__)
        folder = self.fixture.folder
        for file in ("folder/file", "folder/sub/other"):
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file), "w", encoding="ascii"):
                pass
        os.mkdir(os.path.join(folder, "bin"))
        for name, text in PATIENT.items():
            with open(os.path.join(folder, "bin", name), "w", encoding="ascii") as script:
                script.write("#!/bin/sh\n" + text)
            os.chmod(script.name, 0o755)
        self.environment = self.fixture.environment(MCDS)
        self.environment["PATH"] = f"{folder}/bin:{self.environment['PATH']}"
        self.run_to_end(["mcds", "counter", "add", "clicks"])
        self.run_to_end(["mcds", "lock", "chief", "--", "true"])
        self.run_to_end(["mcds", "table", "put", "hosts", "web", "10.0.0.3"])
        self.run_to_end(["mcds", "set", "add", "--", "-lead", "a"])
        self.run_to_end(["mcds", "log", "put", "my events", "a"])
        for name in SPECIAL:
            self.run_to_end(["mcds", "counter", "add", name])
        self.run_to_end(["mcds", "set", "add", "n\nl", "a"])  # no shell offers it
        self.run_to_end(["mcds", "lock", "--", "-L", "--", "true"])
        self.run_to_end(["mcds", "cache", "get", "--", "-k", "/", "--", "true"])

    def run_to_end(self, words, text=""):
        done = subprocess.run(words, env=self.environment, cwd=self.fixture.folder, input=text, capture_output=True, text=True, check=False,
                              timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def check(self, words, tries):
        shown = self.run_to_end(words, "".join(line + "\n" for line, _ in tries))
        self.assertEqual(shown.splitlines(), [line + offered for line, offered in tries])

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash(self):
        bash = Bash(self.environment, self.fixture.folder)
        self.addCleanup(bash.end)
        for line, words in (
                ("log scan my", ["log", "scan", "my events"]),
                ('log scan "my e', ["log", "scan", "my events"]),   # in an open quote
                ("log scan 'my e", ["log", "scan", "my events"]),
                ('log scan "m', ["log", "scan", "my events"]),
                ("log scan my\\ e", ["log", "scan", "my events"]),  # and after one that is closed
                ("log scan 'my 'e", ["log", "scan", "my events"]),
                ('--namespace "other" counter get c', ["--namespace", "other", "counter", "get", "c"]),
                ('-N "mcds" counter get c', ["-N", "mcds", "counter", "get", "clicks"]),
                ('--color "nev', ["--color", "never"]),
                ('-s "lmdb:folder/f', ["-s", "lmdb:folder/file"]),
                ('-s lmdb:"folder/f', ["-s", "lmdb:folder/file"]),
                ('load "folder/f', ["load", "folder/file"]),
                ("counter get it\\'", ["counter", "get", "it's"]),
                ("counter get 'it'\\''", ["counter", "get", "it's"]),     # in a quote after another
                ('counter get "pa\\$', ["counter", "get", "pa$th $x"]),
                ('counter get "w\\w', ["counter", "get", "w\\w"]),        # a backslash that quotes nothing
                ("counter get \\$", ["counter", "get", "$y"]),
                *((f"counter get {quote}{name[:1] if name[0] != '$' else chr(92) * (quote == chr(34)) + '$'}", ["counter", "get", name])
                  for name in SPECIAL for quote in ("'", '"')),
                *((f"counter get {name[:1]}", ["counter", "get", name]) for name in SPECIAL[:6])):
            with self.subTest(line):
                self.assertEqual(bash.words_of(line), words)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        self.check(["fish", "-N", "-c", FISH], [
            ("counter |", " add drop get take"),
            ("counter get c|", " clicks"),
            ("counter add cl|", " clicks"),
            ("table get |", " hosts"),
            ("table get hosts |", ""),          # a NAME only where one belongs
            ("table get hosts ho|", ""),
            ("set add counter |", ""),          # and no verb of a word that is not the noun
            ("lock chief |", ""),
            ("rm clicks ch|", " chief"),        # each argument is a NAME
            ("-s memory: counte|", " counter"),  # the value of an option is not the noun
            ("lock -t 3s ch|", " chief"),
            ("counter --store lmdb:none get |", ""),
            ("lock chief --inf|", " --info"),
            ("help counter |", " add drop get take"),
            ("--color n|", " never"),
            ("-s lmdb:folder/f|", " lmdb:folder/file"),
            ("lock chief -- mcds table get |", " hosts"),  # the COMMAND is a line of its own
            ("lock chief -- --nosuch|", ""),
            ("set scan |", ""),                 # a name with a minus belongs after --; one with a control character is left out
            ("set scan -le|", ""),
            ("set scan -- -l|", " -lead"),
            ("lock acquire -- -|", " -L"),      # not a COMMAND: the verb runs none
            ("lock acquire -- -L folder/f|", ""),
            ("cache get -- -|", " -k"),         # nor before the arguments of one that does
            ("cache get -- -k / -- cat folder/f|", " folder/file"),
            ("lock -- -L -- mcds table get |", " hosts"),
            ("leader chief -- mcds table get |", " hosts"),
            ("log scan my|", " my events"),
            ("log scan 'my e|", " my events"),  # in an open quote
            ('log scan "my e|', " my events"),
            *((f"counter get {quote}{name[0]}|", " " + name) for name in SPECIAL[:6] for quote in ("", "'", '"'))])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        self.check(["zsh", "-f", "-c", ZSH], [
            ("cou|", "counter"),
            ("lock job -- cat folder/f|", "lock job -- cat folder/file"),  # the COMMAND is a line of its own
            ("lock job -- mcds counter get c|", "lock job -- mcds counter get clicks"),
            ("set scan -- -l|", "set scan -- -lead"),
            ("set scan -le|", "set scan -le"),
            ("lock acquire -- -|", "lock acquire -- -L"),  # not a COMMAND: the verb runs none
            ("cache get -- -|", "cache get -- -k"),  # nor before the arguments of one that does
            ("cache get -- -k / -- cat folder/f|", "cache get -- -k / -- cat folder/file"),
            ("lock -- -L -- mcds counter get c|", "lock -- -L -- mcds counter get clicks"),
            ("leader chief -- cat folder/f|", "leader chief -- cat folder/file"),
            ("counter get c|", "counter get clicks"),
            ("lock job --in|", "lock job --info"),
            ("-s l|", "-s lmdb:"),
            ("-s lmdb:folder/f|", "-s lmdb:folder/file"),
            ("--store=lmdb:folder/f|", "--store=lmdb:folder/file"),
            ("-s lmdb:folder/sub/|", "-s lmdb:folder/sub/other"),
            ("lock acquire job --token folder/f|", "lock acquire job --token folder/file"),
            ("load folder/f|", "load folder/file"),
            ("log scan my|", "log scan my events"),
            ("log scan 'my e|", "log scan my events"),  # in an open quote
            ('log scan "my e|', "log scan my events"),
            *((f"counter get {quote}{name[0]}|", "counter get " + name) for name in SPECIAL[:6] for quote in ("", "'", '"'))])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
