"""flags.py STORE FLAG on|off: prints whether a feature is on. The last word is the default.

The flags are entries of the table "flags". A change reaches every program at its next read:

    mcds table put flags new_checkout on

A flag must not stop the program that asks for it. Whatever goes wrong, the program uses the default
of its source, and it waits at most 100 ms for the store.
"""

import sys

import mcds

TIMEOUT = 0.1


def flag_is_on(flags, name, by_default):
    try:
        value = flags.get(name)
    except mcds.Lost as error:  # the store has lost entries: an operator must put the flags again
        print(f"flags: put the flags again: {error}", file=sys.stderr)
        return by_default
    except mcds.Error as error:
        # Busy: others kept changing the table. Timeout: the store is slow. Unavailable: it is away.
        # A read changes nothing, so it is never Ambiguous.
        print(f"flags: the default applies: {error}", file=sys.stderr)
        return by_default
    if value is None:  # nobody has set this flag
        return by_default
    if value not in (b"on", b"off"):
        print(f"flags: {name} is neither on nor off; the default applies", file=sys.stderr)
        return by_default
    return value == b"on"


def main(words):
    if len(words) != 4:
        print("usage: flags.py STORE FLAG on|off", file=sys.stderr)
        return 64
    is_on = words[3] == "on"
    try:
        # A program opens these once and keeps them. Several threads may share them.
        store = mcds.open(words[1], timeout=TIMEOUT)
        is_on = flag_is_on(store.table("flags"), words[2], is_on)
    except mcds.Error as error:
        print(f"flags: the default applies: {error}", file=sys.stderr)
    print("on" if is_on else "off")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
