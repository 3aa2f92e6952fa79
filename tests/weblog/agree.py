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

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.path.join(HERE, "../../../shared/data/access-combined-10k.log.gz")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def awk_figures(log):
    """What awk counts, in the form of weblog's JSON, with pages as bytes."""
    told = subprocess.run(["awk", "-f", os.path.join(HERE, "oracle.awk")],
                          input=log.replace(b"\0", b"\1"), stdout=subprocess.PIPE, check=True,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"]}).stdout
    figures = {"views": {}}
    for line in told.split(b"\n")[:-1]:
        what, number, *page = line.split(b" ", 2)
        if what == b"views":
            figures["views"][page[0]] = int(number)
        else:
            figures[what.decode()] = int(number)
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
    figures["views"] = {page.encode("utf-8", "surrogateescape"): count
                        for page, count in figures["views"].items()}
    return figures


def compare(name, how, found, wanted):
    if found == wanted:
        return
    for what in sorted(set(found) | set(wanted)):
        if found.get(what) != wanted.get(what) and what != "views":
            print("%s, %s: %s is %s, awk says %s" % (name, how, what, found.get(what), wanted.get(what)))
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
    weblog, home, kind = sys.argv[1:]
    if kind == "real":
        if not os.path.exists(REAL):
            skip("no " + os.path.normpath(REAL))
        with gzip.open(REAL) as packed:
            logs = [("real log", packed.read())]
    else:
        logs = list(nasty.cases())
    with tempfile.TemporaryDirectory() as folder:
        if home == "memory":
            run(weblog, "memory:", [1], logs, folder)
        elif home == "lmdb":
            run(weblog, "lmdb:%s/store.mdb" % folder, [1, 4], logs, folder)
        elif not memcached.present():
            skip("no memcached")
        else:
            with memcached.Server(folder) as server:
                run(weblog, server.uri, [1, 4], logs, folder)


main()
