"""Figures that are kept: kept.py WEBLOG MCDS lmdb|memcached

Two runs of four workers under one name, with views in an SQLite database. Then all figures are those
of awk, twice, and the command reads from the same structures what the log holds. Between the runs
memcached forgets everything, when the interval that was saved has ended: the views are those of two
runs all the same."""

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import agree
import memcached
import nasty


INTERVAL_S = 1


def flush(path):
    """What an interval had is saved; what it gets after a loss is not told apart from it."""
    time.sleep(INTERVAL_S - time.time() % INTERVAL_S)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        server.sendall(b"flush_all\r\n")
        assert server.recv(100) == b"OK\r\n"


def run_weblog(weblog, store, database, path):
    command = [weblog, "--json", "--store", store, "--workers", "4", "--name", "site",
               "--database", database, path]
    return agree.weblog_figures(command)


def told(command):
    """What the command prints, line by line."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == 0, "%s: exit %d: %s" % (command, done.returncode, done.stderr.decode())
    return done.stdout.split(b"\n")[:-1]


def compare(what, found, wanted):
    if found != wanted:
        sys.exit("%s: %.500r, not %.500r" % (what, found, wanted))


def check_command(mcds, store, lines, times):
    """The structures, read by another program."""
    base = [mcds, "--store", store]
    hosts = dict(line.rsplit(b"\t", 1) for line in told(base + ["table", "scan", "site:requests"]))
    compare("hosts", {host: int(number) for host, number in hosts.items()},
            {host: number * times for number, host in lines["hosts"]})
    compare("referrers", sorted(told(base + ["set", "scan", "site:referrers"])),
            sorted(text for _, text in lines["referrer"]))
    events = [line.split(b"\t", 1)[1] for line in told(base + ["log", "scan", "site:error_log"])]
    compare("error log", sorted(events), sorted([text for _, text in lines["error"]] * times))


def check_database(path, figures):
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT page, SUM(views) FROM views GROUP BY page").fetchall()
    compare("database", {page.encode(): views for page, views in rows}, figures["views"])


def doubled(figures, *names):
    out = dict(figures)
    for name in names:
        value = figures[name]
        if name == "views":
            out[name] = {text: 2 * number for text, number in value.items()}
        elif name == "hosts":
            out[name] = ({text: 2 * number for text, number in value[0].items()}, 2 * value[1])
        else:
            out[name] = 2 * value
    return out


def run(weblog, mcds, store, forget, folder):
    log = nasty.plain()
    path = os.path.join(folder, "access.log")
    database = os.path.join(folder, "views.sqlite")
    with open(path, "wb") as out:
        out.write(log)
    once = agree.awk_figures(log)
    lines = agree.awk_lines(log)
    compare("the first run", run_weblog(weblog, store, database, path), once)
    check_command(mcds, store, lines, 1)
    check_database(database, once)
    if forget is not None:
        forget()
    names = ["views"] if forget is not None else ["views", "hosts", "lines", "errors", "error_log"]
    twice = doubled(once, *names)
    compare("the second run", run_weblog(weblog, store, database, path), twice)
    check_command(mcds, store, lines, 1 if forget is not None else 2)
    check_database(database, twice)
    print("%d lines, twice: as awk says" % once["lines"])


def main():
    weblog, mcds, store = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if store == "lmdb":
            run(weblog, mcds, "lmdb:%s/store.mdb" % folder, None, folder)
        elif not memcached.present():
            agree.skip("no memcached")
        else:
            with memcached.Server(folder) as server:
                run(weblog, mcds, server.uri, lambda: flush(server.path), folder)


main()
