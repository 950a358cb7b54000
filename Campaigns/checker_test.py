#!/usr/bin/python3
"""Tests that the checker finds each kind of damage: damages an intact house in one way after the other.

usage: Campaigns/checker_test.py [--daemon FILE]
"""
import argparse
import concurrent.futures
import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
import types

import checker
import house as houses
import scenarios
from house import House, cut_jpeg, jpeg


def settled(daemon):
    house = House(daemon, arguments=scenarios.IMPATIENT)
    house.drop("A.JPG", jpeg("a"), ends=["library"])
    house.drop("K.JPG", jpeg("k"), ends=["library", "duplicates"])
    scenarios.live(house)
    house.drop("B.JPG", jpeg("k"), ends=["library", "duplicates"])
    house.drop("C.JPG", cut_jpeg("c"), ends=["quarantine"])
    scenarios.live(house)
    return house


def sql(house, *statements):
    with sqlite3.connect(os.fsdecode(house.places.catalogue)) as catalogue:
        for statement in statements:
            catalogue.execute(statement)
    catalogue.close()


def path(house, kind, name):
    root = dict(house.places.roots)[kind]
    return next(file.path for file in checker.walk(root) if file.relative.endswith(name))


def write(place, content, mode="wb"):
    with open(place, mode) as file:
        file.write(content)


def garble(house):
    """Damages the catalogue, and removes its log, which could repair it."""
    os.unlink(house.places.catalogue + b"-wal")
    write(house.places.catalogue, b"garbage" * 1000)


def let_come_back(house):
    """As if A had stayed in its inbox and had been filed again as a new photo."""
    write(house.path("inbox/A.JPG"), jpeg("a"))
    house.manifest.photos[hashlib.sha256(jpeg("a")).hexdigest()]["stays"] = "may"
    sql(house, "INSERT INTO outcome (at, inbox, path, outcome, reason, sha256) "
        "SELECT at, inbox, path, 'duplicate', reason, sha256 FROM outcome WHERE path = CAST('A.JPG' AS BLOB)")


DAMAGES = [
    ("a photo is gone", "LOST", lambda h: os.unlink(path(h, "library", b"A.JPG"))),
    ("a byte more", "nobody put in", lambda h: write(path(h, "library", b"A.JPG"), b".", "ab")),
    ("two copies", "in 2 places", lambda h: write(h.path("inbox/A.JPG"), jpeg("a"))),
    ("in the wrong place", "came to rest", lambda h: os.rename(
        path(h, "quarantine", b"C.JPG"), h.path("inbox/C.JPG"))),
    ("a temporary", "a temporary is left", lambda h: write(h.path("inbox/.photo-inbox-1.part"), b"")),
    ("half-written state", "state directory", lambda h: write(h.path("st/settled-files.1.part"), b"")),
    ("a file outside", "outside the roots", lambda h: write(h.path("canary/new"), b"")),
    ("the canary", "outside the roots", lambda h: write(h.path("canary/a.jpg"), b"x")),
    ("a link in the library", "no regular file", lambda h: os.symlink("x", os.path.join(h.library, "link"))),
    ("moved in the library", "its file is missing", lambda h: os.rename(
        path(h, "library", b"A.JPG"), path(h, "library", b"A.JPG") + b"x")),
    ("a row is gone", "not recorded", lambda h: sql(h, "DELETE FROM outcome", "DELETE FROM photo")),
    ("another hash in a row", "not what its row says", lambda h: sql(
        h, "UPDATE photo SET sha256 = zeroblob(32) WHERE original_name = CAST('A.JPG' AS BLOB)")),
    ("an outcome is gone", "0 rows for duplicates", lambda h: sql(
        h, "DELETE FROM outcome WHERE outcome = 'duplicate'")),
    ("filed by nobody", "0 operations", lambda h: sql(h, "DELETE FROM outcome WHERE outcome = 'filed'")),
    ("a destination that is not there", "where it is not", lambda h: os.unlink(path(h, "duplicates", b"B.JPG"))),
    ("what stays came back", "came back", let_come_back),
    ("a damaged catalogue", "catalogue", garble),
]


# Holds the requested resource, one word per line.
HOLDER = """
import socket, sys
held = [socket.socket(socket.AF_UNIX)]
held[0].bind(""); held[0].listen()
for line in sys.stdin:
    if line == "stream\\n": held += socket.socketpair()
    if line == "notice\\n": notice = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if line == "sent\\n": notice.close()
    print("done", flush=True)
"""


def missed_resources():
    """Errors about a process's sockets: a short-lived one is ignored, a permanent one is a leak."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, bufsize=1) as holder:
        def ask(word):
            holder.stdin.write(word + "\n")
            holder.stdout.readline()

        places = types.SimpleNamespace(roots=[], inboxes={}, are_served=False)
        ask("begin")
        base = checker.steady_resources(holder.pid, places)
        ask("notice")
        sent = threading.Timer(0.3, ask, ["sent"])
        sent.start()
        wrong = checker.check_resources(places, checker.steady_resources(holder.pid, places), base)
        sent.join()
        ask("stream")
        found = checker.check_resources(places, checker.steady_resources(holder.pid, places, looks=20), base)
        holder.stdin.close()
    missed = [f"a notice: {wrong}"] * bool(wrong)
    missed += [f"a leak: {found}"] * (found != ["2 descriptors for stream socket, not 0"])
    for line in missed:
        print(line)
    return len(missed)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--daemon")
    options = parser.parse_args()
    daemon = houses.program(given=options.daemon)

    def is_missed(words, expected, damage):
        house = settled(daemon)
        try:
            before = checker.snapshot(house.places)
            damage(house)
            wrong = house.violations()
            is_seen = any(expected in line for line in wrong) if expected else not wrong
            if expected and expected not in ("state directory", "outside the roots"):
                is_seen = is_seen and bool(checker.compare(before, checker.snapshot(house.places)))
            if not is_seen:
                print(f"{words}: not seen; {wrong}")
            return not is_seen
        finally:
            house.remove()

    # Each house takes a second, mostly waiting.
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        missed = sum(pool.map(lambda each: is_missed(*each), [("nothing", None, lambda h: None)] + DAMAGES))
    missed += missed_resources()
    print(f"{len(DAMAGES)} kinds of damage, {missed} not seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
