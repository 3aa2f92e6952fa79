"""Replaces the names and units of C in the messages of the library by those of Python."""

from __future__ import annotations

import re

#: Names of times in the library, which are in milliseconds, and in Python, where they are in seconds.
OPTIONS = {"lease_ms": "ttl", "hold_ms": "seconds", **{f"{name}_ms": name for name in (
    "ahead", "at", "chunk", "delay", "failed", "fill", "flush", "keep", "late", "nothing",
    "patience", "per", "period", "remember", "retention", "run", "settle", "spread", "stale",
    "timeout", "ttl", "visible", "wait", "when", "width")}}
#: Other names of C.
NAMES = {"MCDS_QUEUE_MAY_LOSE": "may_lose=True", "rate_count": "the number of rates", "tag_count": "the number of tags",
         "a counter made EXACT or with stripes": "a counter of exact_counter() or striped_counter()",
         "more than late_ms": "more than the log's option late",
         "more than ahead_ms": "more than the log's option ahead",
         "twice spread_ms": "twice the option spread",
         " or MCDS_COUNTER_FLUSH_EACH": "",
         "the form MCDS_SET_PLAIN": "set()", "the form MCDS_SET_BAG": "bag()",
         "the form MCDS_SET_LIST": "sequence()"}

OPTION = r"\b(" + "|".join(OPTIONS) + r")\b"
MUST_BE = re.compile(OPTION + r" must be (.*), not (-?\d+)$")
RANGE = re.compile(r"(0 or )?\d+( to \d+| or more)?")
DIFFERENCE = re.compile(r"\b(the difference is|and at most) (\d+) ms\b")
DIFFERS = re.compile(OPTION + r" (\d+), not (\d+)(; open it with 0)?")
AT_MOST = re.compile(r"\bat most (\d+), (\d+) ms after\b")
CHUNKS = re.compile(r"\bchunks of (\d+) ms\b")

Match = re.Match[str]


def seconds(ms: str) -> str:
    return f"{int(ms) / 1000:.3f}".rstrip("0").rstrip(".")


def must_be(found: Match) -> str:
    """Where 0 selects the default in C, None does in Python. A period of 0 is all time in both."""
    wanted = found[2]
    if RANGE.fullmatch(wanted):
        wanted = re.sub(r"\d+", lambda number: seconds(number[0]), wanted) + " seconds"
        wanted = re.sub("^0 to ", "at most ", wanted)
        if found[1] != "period_ms":
            wanted = re.sub(r"^0 or (?=\d)", "None or ", wanted)
    return f"{OPTIONS[found[1]]} must be {wanted}, not {seconds(found[3])}"


def differs(found: Match) -> str:
    way_out = "; open it with None" if found[4] else ""
    made, given = (f"{seconds(ms)} s" if ms != "0" else "0" for ms in (found[2], found[3]))
    return f"{OPTIONS[found[1]]} {made}, not {given}{way_out}"


def to_python(reason: str) -> str:
    """A reason of the library with the names and units of Python."""
    for name, ours in NAMES.items():
        reason = reason.replace(name, ours)
    reason = AT_MOST.sub(lambda found: f"at most {seconds(found[1])}, {seconds(found[2])} s after", reason)
    reason = DIFFERENCE.sub(lambda found: f"{found[1]} {seconds(found[2])} s", reason)
    reason = CHUNKS.sub(lambda found: f"chunks of {seconds(found[1])} s", reason)
    reason = MUST_BE.sub(must_be, reason)
    reason = DIFFERS.sub(differs, reason)
    return re.sub(OPTION, lambda found: OPTIONS[found[1]], reason)
