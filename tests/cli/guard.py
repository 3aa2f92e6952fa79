"""Tests under guard: no process outlives them, however they end. What a test starts, and all that
this starts in turn, is the guard's to end, since orphans come to the guard."""

import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36
ROUNDS_MAX = 1000


def children():
    """Those of our children that live, and their names."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                head, _, rest = stat.read().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = rest.split()[:2]
        if int(parent) == os.getpid() and state not in "ZX":
            found[int(name)] = head.partition("(")[2]
    return found


def reap(options=0):
    """One child that has ended and its status, or None, None."""
    try:
        pid, status = os.waitpid(-1, options)
        return (pid, status) if pid > 0 else (None, None)
    except ChildProcessError:
        return None, None


def end_all():
    """Kill whoever is left, and whoever comes to us by that. Returns who they were."""
    ended = {}
    for _ in range(ROUNDS_MAX):
        left = children()
        if not left:
            break
        ended.update(left)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        while any(pid in left for pid in children()):
            reap()
        while reap(os.WNOHANG)[0] is not None:
            pass
    return ended


def stand_guard():
    """Returns in a child, which runs the tests. The guard itself ends with their status, and
    with 1 if they have left anybody behind."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    tests = os.fork()
    if tests == 0:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests have it too
    signal.signal(signal.SIGTERM, lambda *_: os.kill(tests, signal.SIGKILL))
    pid = status = None
    while pid != tests:
        pid, status = reap()
    code = os.waitstatus_to_exitcode(status)
    left = end_all()
    for pid, name in left.items():
        print(f"guard: the tests have left process {pid} ({name}) behind")
    sys.stdout.flush()
    os._exit(code if code > 0 else 128 - code if code < 0 else 1 if left else 0)
