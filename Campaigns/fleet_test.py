#!/usr/bin/python3
"""Tests that the judges of fleets find each kind of damage: damages an intact fleet in one way after the other.

usage: Campaigns/fleet_test.py [--daemon FILE]
"""
import concurrent.futures
import os
import sys

import checker
import commandline
import failover
from fleet_house import Fleet, collect
from house import jpeg, raw_and_jpeg

SET = raw_and_jpeg("set")


def settled(options):
    fleet = Fleet(options.server, 1, options.daemon)
    host = fleet.hosts[0]
    fleet.start()
    host.drop("A.JPG", jpeg("a"))
    host.drop("B.JPG", jpeg("b"))
    host.drop_set("DSC_0001", SET)
    fleet.settle()
    host.drop("AGAIN.JPG", jpeg("a"))
    host.undo(jpeg("b"))
    host.asked[0].wait()
    fleet.settle()
    fleet.stop()
    return fleet


def path(fleet, kind, content):
    return collect(fleet.places)[checker.hashlib.sha256(content).hexdigest(), kind][0]


def sql(text):
    return lambda fleet: fleet.server.sql(f"SET search_path = photoinbox; {text}", fleet.database)


def copy(fleet, name):
    with open(os.path.join(os.fsdecode(fleet.places.library), name), "wb") as file:
        file.write(jpeg("a"))


def forget(fleet):
    """As if a photo that was put in had never been."""
    fleet.drops["h1", b"NEVER.JPG"] = "0" * 64


def tear(fleet):
    """As if the RAW belonged to another photo."""
    digests = [checker.hashlib.sha256(content).hexdigest() for content in (jpeg("a"), SET[".NEF"])]
    fleet.partners.append(([digests[0]], digests[1]))


# At rest, and at every look.
AT_REST, ALWAYS, RECORDS, FAILED_OVER = "violations", "seen", "missing", "after a failover"
DAMAGES = [
    ("nothing", AT_REST, None, lambda f: None),
    ("nothing", ALWAYS, None, lambda f: None),
    ("nothing", RECORDS, None, lambda f: None),
    ("a photo is gone", ALWAYS, "LOST", lambda f: os.unlink(path(f, "library", SET[".JPG"]))),
    ("a photo is gone", RECORDS, "its file is missing", lambda f: os.unlink(path(f, "library", SET[".JPG"]))),
    ("cut short under its name", ALWAYS, "nobody put in", lambda f: os.truncate(path(f, "library", SET[".NEF"]), 100)),
    ("a stray", AT_REST, "filed 2 times", lambda f: copy(f, "STRAY.JPG")),
    ("an outcome is gone", AT_REST, "has 0 outcomes", sql("DELETE FROM outcome WHERE outcome = 'duplicate'")),
    ("an outcome more", AT_REST, "has 2 outcomes", sql(
        "INSERT INTO outcome (at, inbox, path, outcome, reason, sha256, destination) "
        "SELECT at, inbox, path, 'duplicate', reason, sha256, destination FROM outcome WHERE outcome = 'duplicate'")),
    ("never told of", AT_REST, "has 0 outcomes", forget),
    ("a set is torn apart", AT_REST, "beside none of its partners", tear),
    ("taken back by nobody", AT_REST, "not recorded: returned", sql(
        "UPDATE request SET destination_path = '\\x00'::bytea WHERE step = 'done'")),
    ("what was taken back is gone", AT_REST, "and not there", lambda f: os.unlink(path(f, "returned", jpeg("b")))),
    ("nothing", FAILED_OVER, None, lambda f: None),
    ("a stray", FAILED_OVER, "stands 2 times", lambda f: copy(f, "STRAY.JPG")),
    ("a photo is gone", FAILED_OVER, "is in no library", lambda f: os.unlink(path(f, "library", SET[".JPG"]))),
    ("a record is gone", FAILED_OVER, "not recorded: library", sql(
        "DELETE FROM metadata_due; DELETE FROM outcome WHERE photo_id = 1; DELETE FROM photo WHERE id = 1")),
    ("a set has two numbers", FAILED_OVER, "several numbers", sql(
        "UPDATE photo SET set_id = NULL WHERE id = (SELECT max(set_id) FROM photo)")),
    ("left in an inbox", FAILED_OVER, "left in inbox", lambda f: copy(f, "../hosts/h1/inbox/LEFT.JPG")),
    ("half done", FAILED_OVER, "a request is left open", sql("UPDATE request SET step = 'begun'")),
    ("a request is open", AT_REST, "a request is left open", sql("UPDATE request SET step = 'begun'")),
]


def main():
    arguments = commandline.parser(__doc__, jobs=6)
    if not (options := commandline.begin(arguments, "judge of fleets", server=True)):
        return 0

    def is_missed(words, when, expected, damage):
        fleet = settled(options)
        try:
            damage(fleet)
            wrong = failover.violations(fleet) if when == FAILED_OVER else getattr(fleet, when)()
            is_seen = any(expected in line for line in wrong) if expected else not wrong
            if not is_seen:
                print(f"{words}: not seen; {wrong}")
            return not is_seen
        finally:
            fleet.remove()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        missed = sum(pool.map(lambda each: is_missed(*each), DAMAGES))
    print(f"{len(DAMAGES)} kinds of damage, {missed} not seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
