#!/usr/bin/python3
"""Tests how often a daemon waits for PostgreSQL until a photo that comes alone is filed.

usage: Campaigns/trips_test.py [--daemon FILE]
"""
import sys

import commandline
import wire
from fleet_house import Fleet
from house import jpeg

# What is known of the arrival; its intent; the photo; the end of the intent.
MOST = 4


def main():
    options = commandline.begin(commandline.parser(__doc__, jobs=1), "trips", server=True)
    if not options:
        return 0
    fleet = Fleet(options.server, 1, options.daemon, proxy=wire.Trips)
    host = fleet.hosts[0]
    try:
        fleet.start()
        # The first ones have the statements prepared.
        found = []
        for number in range(10):
            host.drop(f"IMG_{number:04}.JPG", jpeg(number))
            fleet.settle()
            found.append([trip for transaction in host.wire.take_all()[0] for trip in transaction])
        fleet.stop()
    finally:
        fleet.remove()
    # The end of an intent may come with the next photo, and other things are asked for from time to time.
    trips = min(found[5:], key=len)
    print(", ".join(str(len(each)) for each in found))
    for trip in trips:
        print("  " + " | ".join(sql[:60] for sql in trip))
    print(f"{len(trips)} round trips, {MOST} at most")
    return 0 if 0 < len(trips) <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
