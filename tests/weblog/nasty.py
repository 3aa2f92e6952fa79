"""Access logs made to be misread: the same bytes for the same seed."""

import random

GOOD = b'192.0.2.%d - - [%02d/May/2015:%02d:%02d:%02d +0200] "GET %s HTTP/1.1" %d %d "-" "agent"'

PAGES = [
    b"/", b"/index.html", b"/a?b=c&d=%20", b'/quote\\"inside', b"/back\\\\slash", b"*",
    b"http://example.org/", "/straße/日本".encode(), b"/broken\xff\xc3utf8", b"/\xed\xa0\x80",
    b"/ends-in-\xe2\x82", b"/tab\there", b"/\x7f\x1b[2J", b"/" + b"x" * 300,
    b"/long?" + b"y" * 2000, b"/long?" + b"y" * 1999 + b"z", b"/%00:colon:%3A", b"/'\"'".replace(b'"', b'\\"'),
    b"/</script>", b"\\x16\\x03\\x01", b"/n" + b"p" * 880, b"/n" + b"p" * 900,
]

HOSTS = [b"::1", b"2001:db8::ff00:42:8329", b"fe80::1%eth0", b"client.example.org", b"-",
         b"h" * 300, b"h" * 1200, b"h" * 1199 + b"i", b"\xff\xfe"]

ODD = [
    b"", b" ", b"garbage", b"\x00\x00\x00\x00", b"-", b'"', b"\\",
    b"192.0.2.1",
    b"192.0.2.1 - -",
    b'192.0.2.1 - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - 01/May/2015:00:00:00 +0000 "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [yesterday] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [00/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/Mai/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:24:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:23:59:60 +0000] "GET /leap HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:23:59:61 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/Jan/1970:00:00:00 +0100] "GET /before-time HTTP/1.1" 200 1',
    b'192.0.2.1 - - [31/Dec/9999:23:59:59 -1200] "GET /after-time HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "-" 408 -',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "" 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET" 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET " 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /no-protocol" 200 -',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / " 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET  / HTTP/1.1" 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /a b HTTP/1.1" 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] " / HTTP/1.1" 400 0',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 20 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 2000 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" abc 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" - 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 ',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1x',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 -1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /free HTTP/1.1" 399 1 and "what \\ ever',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /nul\x00page HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /nul-later HTTP/1.1" 200 1 "\x00"',
    b'192.0.\x002.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /open HTTP/1.1 200 1',
    b'192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /swallows \\" 200 1',
    b'192.0.2.1  - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b' 192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 a frank [01/May/2015:00:00:00 -0730] "POST /common HTTP/2.0" 500 -',
    b'192.0.2.1\t-\t-\t[01/May/2015:00:00:00 +0000]\t"GET / HTTP/1.1"\t200\t1',
    b'\xef\xbb\xbf192.0.2.1 - - [01/May/2015:00:00:00 +0000] "GET /mark HTTP/1.1" 200 1',
]


def good_line(rng):
    line = GOOD % (rng.randrange(250), rng.randrange(1, 29), rng.randrange(24), rng.randrange(60),
                   rng.randrange(60), rng.choice(PAGES), rng.choice((200, 200, 304, 399, 400, 404, 500)),
                   rng.randrange(100000))
    if rng.randrange(4) == 0:
        line = rng.choice(HOSTS) + line[line.index(b" "):]
    return line


def plain():
    """Lines whose texts a command prints as they are, with referrers."""
    rng = random.Random(8)
    line = b'192.0.2.%d - - [%02d/May/2015:%02d:00:00 +0000] "GET /page/%d HTTP/1.1" %d %d "%s" "agent"\n'
    return b"".join(
        line % (rng.randrange(250), rng.randrange(1, 29), rng.randrange(24), rng.randrange(300),
                rng.choice((200, 200, 200, 304, 404, 500)), rng.randrange(10 ** 6),
                rng.choice((b"-", b"", b"http://example.org/%d" % rng.randrange(500))))
        for _ in range(4000))


def big_line(length):
    line = GOOD % (1, 1, 1, 1, 1, b"/big", 200, 1)
    return line + b"A" * (length - len(line))


def log(seed, lines):
    """A log of about `lines` lines, one in eight of them odd."""
    rng = random.Random(seed)
    out = []
    for _ in range(lines):
        line = rng.choice(ODD) if rng.randrange(8) == 0 else good_line(rng)
        if rng.randrange(50) == 0 and line:
            cut = rng.randrange(len(line))
            line = line[:cut] + bytes([rng.randrange(1, 256)]).replace(b"\n", b"") + line[cut + 1:]
        out.append(line + (b"\r\n" if rng.randrange(10) == 0 else b"\n"))
    return b"".join(out)


def cases():
    """Pairs of a name and the bytes of a log."""
    limit = 1 << 20
    yield "empty", b""
    yield "one line feed", b"\n"
    yield "no final line feed", log(1, 3) + good_line(random.Random(2))
    yield "every odd line", b"\n".join(ODD)
    yield "every odd line, CR LF", b"\r\n".join(ODD) + b"\r\n"
    yield "a line of 100 000 bytes", log(3, 5) + big_line(100000) + b"\n" + log(4, 5)
    yield "lines about the limit", b"\n".join(big_line(limit + n) for n in (-1, 0, 1)) + b"\n" + log(5, 5)
    yield "lines far past the limit", big_line(3 * limit) + b"\n" + log(6, 5) + big_line(2 * limit)
    yield "a page of 200 000 bytes", GOOD % (1, 1, 1, 1, 1, b"/" + b"p" * 200000, 200, 1) + b"\n"
    yield "thousands of lines", log(7, 6000)
    yield "thousands of pages", b"".join(
        GOOD % (n % 250, 1, 1, 1, 1, b"/page/%d" % n, 200, 1) + b"\n" for n in range(9000)) * 2
