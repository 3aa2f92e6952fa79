"""deploys.py STORE put TEXT | tail FILE: a log of what was deployed, shared by all machines.

"tail" prints the events since its last call with this FILE, which has the position of the reader:
every event once, also one that arrives late.
"""

import os
import sys

import mcds


def put(log, text):
    try:
        log.put(text)
        return 0
    except mcds.Ambiguous as error:  # look before you repeat: a second put would be a second event
        print(f"deploys: may be in the log: {error}", file=sys.stderr)
        return 75
    except mcds.Error as error:
        # Lost: the log was made again with other options; a new handle reads them. Busy, Timeout,
        # Unavailable: it may be put again.
        print(f"deploys: not in the log: {error}", file=sys.stderr)
        return 69


def load(path):
    """A FILE that does not exist begins with the oldest event that the log keeps."""
    if not os.path.exists(path):
        return mcds.LogCursor(start=0)
    with open(path) as file:
        return mcds.LogCursor.load(file.read())


def tail(log, path):
    cursor = load(path)
    status = 0
    try:
        while events := log.tail(cursor):  # one part of the events
            for event in events:
                print(f"{event.when:%Y-%m-%dT%H:%M:%SZ} {event.data.decode(errors='replace')}")
    except mcds.NotFound:  # nothing was put yet
        pass
    except mcds.Error as error:  # Lost, Busy, Timeout, Unavailable: the cursor is after the last event
        print(f"deploys: call again for the rest: {error}", file=sys.stderr)
        status = 69
    if cursor.gaps:
        print(f"deploys: events are lost in {cursor.gaps} places", file=sys.stderr)
    # A reader that dies before the cursor is saved prints the events again at its next call.
    with open(path, "w") as file:
        file.write(cursor.save())
    return status


def main(words):
    if len(words) != 4 or words[2] not in ("put", "tail"):
        print("usage: deploys.py STORE put TEXT | tail FILE", file=sys.stderr)
        return 64
    try:
        with mcds.open(words[1]) as store:
            log = store.log("deploys")
            return put(log, words[3]) if words[2] == "put" else tail(log, words[3])
    except mcds.Error as error:
        print(f"deploys: {error}", file=sys.stderr)
        return 69


if __name__ == "__main__":
    sys.exit(main(sys.argv))
