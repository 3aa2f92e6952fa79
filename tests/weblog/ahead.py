"""Lines with a wrong time: ahead.py WEBLOG

The time of a line is hours ahead of the clock. mcds refuses it, and the other lines of that host and day
count, whether they come before or after it."""

import os
import re
import subprocess
import sys
import tempfile
import time

DAY_S = 86400
SPARE_S = 300  # for the runs of weblog, and the minute that mcds accepts


def begin_day():
    """The beginning of this day, or of the next one if this one is about to end."""
    now_s = time.time()
    left_s = DAY_S - now_s % DAY_S
    if left_s < SPARE_S:
        time.sleep(left_s + 1)
        now_s = time.time()
    return now_s - now_s % DAY_S


def line(at_s):
    moment = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at_s))
    return f'192.0.2.1 - - [{moment}] "GET / HTTP/1.1" 200 1\n'


def visitors(weblog, path, lines):
    """The sum over the days."""
    with open(path, "w", encoding="ascii") as out:
        out.writelines(lines)
    told = subprocess.run([weblog, "--store", "memory:", path], capture_output=True, text=True, timeout=600,
                          check=True).stdout
    return sum(int(number) for number in re.findall(r"^ *(\d+)  \d{4}-\d\d-\d\d  ", told, re.M))


def main():
    weblog = sys.argv[1]
    day_s = begin_day()
    right, ahead = line(day_s), line(day_s + DAY_S - 1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "access.log")
        for name, lines, wanted in [("only ahead", [ahead], 0), ("ahead last", [right, ahead], 1),
                                    ("ahead first", [ahead, right], 1)]:
            found = visitors(weblog, path, lines)
            if found != wanted:
                sys.exit(f"{name}: {found} visitors, not {wanted}")
    print("a line that is ahead hides no other line")


main()
