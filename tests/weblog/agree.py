"""weblog --json against awk: agree.py WEBLOG memory|lmdb|memcached nasty|real

Every figure must be equal, with one process and with four (memory: with one), for files and for
pipes. Ends with 77 when something it needs is missing."""

import gzip
import json
import os
import subprocess
import sys
import tempfile

import memcached
import nasty

# Of what has this many bytes and more, the store has only the beginning and a hash.
FIT = 900
KEPT = 867
LARGEST = 10
HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.path.join(HERE, "../../../shared/data/access-combined-10k.log.gz")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def awk_lines(log):
    """What awk prints: name of a figure -> [(number, text)]."""
    told = subprocess.run(["awk", "-f", os.path.join(HERE, "oracle.awk")],
                          input=log.replace(b"\0", b"\1"), stdout=subprocess.PIPE, check=True,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"]}).stdout
    found = {"views": [], "hosts": [], "large": [], "referrer": [], "error": []}
    for line in told.split(b"\n")[:-1]:
        what, number, *text = line.split(b" ", 2)
        found.setdefault(what.decode(), []).append((int(number), text[0] if text else b""))
    return found


def fitting(figures):
    """Without what is too long, and the sum of all."""
    return {text: number for text, number in figures.items() if len(text) < FIT}, sum(figures.values())


def clip(page):
    return page if len(page) < FIT else page[:KEPT]


def awk_figures(log):
    """What awk counts, in the form of weblog's JSON, with texts as bytes."""
    lines = awk_lines(log)
    figures = {what: lines[what][0][0] for what in ("lines", "malformed", "visitors", "pages", "errors")}
    figures["views"] = {text: number for number, text in lines["views"]}
    figures["hosts"] = fitting({text: number for number, text in lines["hosts"]})
    figures["referrers"] = len(lines["referrer"])
    figures["error_log"] = len(lines["error"])
    large = sorted((-size, page) for size, page in lines["large"])[:LARGEST]
    figures["largest"] = [(-size, clip(page)) for size, page in large]
    return figures


def no_twins(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), "a key stands twice in the JSON"
    return dict(pairs)


def weblog_figures(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, **how)
    if done.returncode != 0:
        sys.exit("%s: exit %d: %s" % (command, done.returncode, done.stderr.decode()))
    figures = json.loads(done.stdout.decode(), object_pairs_hook=no_twins)
    for what in ("views", "hosts"):
        figures[what] = {text.encode("utf-8", "surrogateescape"): count
                         for text, count in figures[what].items()}
    figures["hosts"] = fitting(figures["hosts"])
    figures["largest"] = [(response["size"], clip(response["page"].encode("utf-8", "surrogateescape")))
                          for response in figures["largest"]]
    return figures


def compare(name, how, found, wanted):
    if found == wanted:
        return
    for what in sorted(set(found) | set(wanted)):
        if found.get(what) != wanted.get(what) and what != "views":
            print("%s, %s: %s is %.500r, awk says %.500r" %
                  (name, how, what, found.get(what), wanted.get(what)))
    for page in set(found["views"]) | set(wanted["views"]):
        pair = found["views"].get(page), wanted["views"].get(page)
        if pair[0] != pair[1]:
            print("%s, %s: views of %r are %s, awk says %s" % (name, how, page[:60], *pair))
    sys.exit(1)


def check(weblog, store, workers, name, log, folder):
    wanted = awk_figures(log)
    path = os.path.join(folder, "access.log")
    with open(path, "wb") as out:
        out.write(log)
    command = [weblog, "--json", "--store", store, "--workers", str(workers)]
    compare(name, "%d workers" % workers, weblog_figures(command + [path]), wanted)
    compare(name, "%d workers, pipe" % workers, weblog_figures(command + ["-"], input=log), wanted)


def run(weblog, store, crews, logs, folder):
    for name, log in logs:
        for workers in crews:
            check(weblog, store, workers, name, log, folder)
        print("%s: %d bytes agree with %s workers" % (name, len(log), " and ".join(map(str, crews))))


def main():
    weblog, store, kind = sys.argv[1:]
    if kind == "real":
        if not os.path.exists(REAL):
            skip("no " + os.path.normpath(REAL))
        with gzip.open(REAL) as packed:
            logs = [("real log", packed.read())]
    else:
        logs = list(nasty.cases())
    with tempfile.TemporaryDirectory() as folder:
        if store == "memory":
            run(weblog, "memory:", [1], logs, folder)
        elif store == "lmdb":
            run(weblog, "lmdb:%s/store.mdb" % folder, [1, 4], logs, folder)
        elif not memcached.present():
            skip("no memcached")
        else:
            with memcached.Server(folder) as server:
                run(weblog, server.uri, [1, 4], logs, folder)


if __name__ == "__main__":
    main()
