"""pages.py STORE get FILE | put FILE TEXT: a cache in front of a slow source.

The source is a file here; it may be a database, a renderer or an API. Of all programs that miss a
page, on all machines, one reads the source, and the others wait for its value. A value is fresh for
a minute. For ten minutes more it is stale: callers get it at once, and one of them reads the source
again. A program that changes the source forgets the page afterwards.
"""

import sys

import mcds

FRESH, STALE = 60, 600
FILL = 60  # reading the source never takes longer


def get(pages, path):
    state = "kept"

    def read_source(key):
        """The source must be read here, not before: the claim on the page has begun."""
        nonlocal state
        with open(path) as file:
            value = file.read()
        state = "filled"
        return value

    try:
        # Also if the store is away: the source is read then. If the source fails, its exception
        # comes out here, unless there is a stale value.
        page = pages.fetch(path, read_source)
    except mcds.Busy as error:  # another caller reads the source and takes too long: try later
        print(f"pages: {error}", file=sys.stderr)
        return 75
    except (OSError, mcds.Error) as error:
        # mcds.Io: the source failed for another caller just now. A fetch is never Ambiguous, and a
        # page that the store has lost is a miss.
        print(f"pages: the source cannot be read: {error}", file=sys.stderr)
        return 69
    print(f"{state}: {page.decode()}")
    return 0


def put(pages, path, text):
    """Change the source, then forget the page: no call that begins later gets the old one.

    If this process dies in between, callers get the old page until its time is over; hold() excludes
    that.
    """
    with open(path, "w") as file:
        file.write(text)
    for tries_left in reversed(range(10)):
        try:
            pages.forget(path)
            return 0
        except mcds.Error as error:  # Ambiguous too: repeating a forget is harmless
            if tries_left == 0:
                print("pages: changed, but callers may get the old page for 11 minutes:", error,
                      file=sys.stderr)
    return 75


def main(words):
    if [words[2:3], len(words)] not in ([["get"], 4], [["put"], 5]):
        print("usage: pages.py STORE get FILE | put FILE TEXT", file=sys.stderr)
        return 64
    try:
        with mcds.open(words[1]) as store:
            pages = store.cache("pages", ttl=FRESH, stale=STALE, fill=FILL)
            return get(pages, words[3]) if words[2] == "get" else put(pages, *words[3:])
    except mcds.Error as error:
        print(f"pages: {error}", file=sys.stderr)
        return 69


if __name__ == "__main__":
    sys.exit(main(sys.argv))
