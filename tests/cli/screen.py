"""A terminal of a test's own: a pseudo-terminal of a given size, and what its screen shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

LIMIT_S = 300
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Knows what mcds uses. Any other control character or sequence goes to `strange`."""

    def __init__(self, rows, columns):
        self.strange = []
        self.is_raw = False
        self.colors = set()
        self.is_alternate = False
        self.is_cursor_shown = True
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text):
        """Returns what is left: the beginning of a sequence."""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if match is None:
                    if len(text) - at < 12:
                        return text[at:]
                    self.strange.append(text[at:at + 8])
                    at += 1
                    continue
                self.obey(*match.groups())
                at = match.end()
                continue
            self.put(text[at])
            at += 1
        return ""

    def obey(self, numbers, letter):
        if letter == "m":
            self.colors.add(numbers)
        elif letter == "H":
            row, column = [int(number) - 1 for number in numbers.split(";")] if numbers else (0, 0)
            self.row, self.column = min(row, self.rows - 1), min(column, self.columns - 1)
        elif letter == "A":
            self.row = max(self.row - int(numbers or 1), 0)
        elif letter == "G":
            self.column = min(int(numbers or 1), self.columns) - 1
        elif letter == "K" and not numbers:
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif letter == "J" and numbers in ("", "2"):
            first = self.row + 1 if numbers == "" else 0
            if numbers == "":
                self.obey("", "K")
            for row in range(first, self.rows):
                self.cells[row] = [" "] * self.columns
        elif numbers == "?1049" and letter in "hl":
            self.is_alternate = letter == "h"
        elif numbers == "?25" and letter in "hl":
            self.is_cursor_shown = letter == "h"
        elif numbers != "?7" or letter not in "hl":
            self.strange.append(numbers + letter)

    def line_feed(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.cells = self.cells[1:] + [[" "] * self.columns]

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.line_feed()
        elif character == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif unicodedata.category(character) in ("Cc", "Cf"):
            self.strange.append(character)
        elif unicodedata.combining(character):
            self.cells[self.row][max(self.column - 1, 0)] += character
        else:
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if self.column + width > self.columns:
                self.column = 0
                self.line_feed()
            self.cells[self.row][self.column] = character
            if width == 2:
                self.cells[self.row][self.column + 1] = ""
            self.column += width

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines()).rstrip("\n")


class Terminal:
    def __init__(self, words, environment, rows=24, columns=80):
        self.screen = Screen(rows, columns)
        self.raw = b""
        self.rest = ""
        self.code = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # the size must be there before the program looks
            self.set_size(0, rows, columns)
            os.execvpe(words[0], words, environment)

    @staticmethod
    def set_size(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.set_size(self.fd, rows, columns)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, wait_s=0.1):
        """Returns False at the end."""
        if not select.select([self.fd], [], [], wait_s)[0]:
            return True
        try:
            seen = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += seen
        self.rest = self.screen.feed(self.rest + seen.decode("utf-8", "surrogateescape"))
        return bool(seen)

    def wait_until(self, is_there):
        limit = time.monotonic() + LIMIT_S
        while not is_there(self.screen):
            if not self.read() or time.monotonic() > limit:
                raise AssertionError(f"not on the screen:\n{self.screen.text()}\n{self.raw[-2000:]!r}")

    def wait_for(self, *texts):
        self.wait_until(lambda screen: all(text in screen.text() for text in texts))

    def end(self):
        """Reads to the end, and returns the exit code."""
        limit = time.monotonic() + LIMIT_S
        while self.read():
            if time.monotonic() > limit:
                os.kill(self.pid, signal.SIGKILL)
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.end()
        os.close(self.fd)


def has_terminals():
    """A root without devpts has none to give."""
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False
