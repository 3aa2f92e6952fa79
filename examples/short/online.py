"""online.py STORE [PORT]: a web server with a page that says who is online.

    curl 'http://localhost:8000/?name=alice'

The number comes from the online counter "site": one round trip for any number of visitors. The
names come from the table "names", whose entries expire after the same five minutes.
"""

import html
import http.server
import itertools
import sys
import urllib.parse

import mcds

MINUTES = 5
NAMES_MAX = 20  # that the page shows


def note(store, visitor):
    """A page is shown in any case. A visitor who is not noted appears with the next request."""
    try:
        store.online("site", buckets=MINUTES, width=60).beat(visitor)
        store.table("names").put(visitor, "", ttl=60 * MINUTES)
    except mcds.Ambiguous as error:  # noted or not; the next request says the same again
        print(f"online: {visitor} may be missing: {error}", file=sys.stderr)
    except mcds.Error as error:  # Busy, Timeout, Unavailable: not noted. Lost: see render_names
        print(f"online: {visitor} is not noted: {error}", file=sys.stderr)


def render_number(store):
    try:
        value = store.online("site", buckets=MINUTES, width=60).get()
    except mcds.Error:  # Busy, Lost, Timeout, Unavailable: the page does without it
        return "<h1>Online: unknown</h1>\n"
    # reborn: the store has lost beats, which come again within a minute or so
    return f"<h1>Online: {'at least ' if value.reborn else ''}{value.closed + value.current}</h1>\n"


def render_names(store):
    items = []
    try:
        for name in itertools.islice(store.table("names"), NAMES_MAX):
            items.append(f"<li>{html.escape(name.decode())}</li>\n")
    except mcds.Lost:  # the store has lost some names; those visitors come back
        items.append("<li>Some names are missing.</li>\n")
    except mcds.Error:
        items.append("<li>The names are not available.</li>\n")
    return f"<ul>\n{''.join(items)}</ul>\n"


class Page(http.server.BaseHTTPRequestHandler):
    store = None  # any thread may use it

    def do_GET(self):
        query = urllib.parse.urlsplit(self.path).query
        name = urllib.parse.parse_qs(query).get("name", [""])[0]
        if name:
            note(self.store, name[:100])
        page = "<title>Who is online</title>\n" + render_number(self.store) + render_names(self.store)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *words):
        pass


def main(words):
    if len(words) not in (2, 3):
        print("usage: online.py STORE [PORT]", file=sys.stderr)
        return 64
    port = int(words[2]) if len(words) == 3 else 8000
    try:
        Page.store = mcds.open(words[1])
    except mcds.Error as error:
        print(f"online: {error}", file=sys.stderr)
        return 69
    with http.server.ThreadingHTTPServer(("localhost", port), Page) as server:
        print(f"http://localhost:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
