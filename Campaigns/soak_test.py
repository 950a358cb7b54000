#!/usr/bin/python3
"""Tests that the soak finds each kind of growth, and nothing else, in artificial series.

usage: Campaigns/soak_test.py
"""
import sys

import soak

STEADY = {
    "memory": 50, "decoder": 40, "descriptors": 60, "threads": 20, "watches": 10, "monitors": 25, "children": 0, "WAL": 4.1}


def series(name, *values):
    """Sixteen minutes, in which one measure has these values, the last of them to the end."""
    return [{**STEADY, name: values[min(minute, len(values) - 1)]} for minute in range(16)]


def rising(name, step):
    return series(name, *(STEADY[name] + step * minute for minute in range(16)))


FLAT = [
    ("nothing", series("memory", 50)),
    ("growth in the first quarter", series("memory", 10, 20, 30, 50)),
    ("a minute that stands out", series("descriptors", *[60] * 13, 90, 60)),
    ("memory that falls", rising("memory", -1)),
    ("a little memory", rising("memory", 0.1)),
    ("threads that come and go", series("threads", *[20, 25, 22, 18] * 3, 20, 25, 23, 19)),
    ("a client at the last look", series("descriptors", *[60] * 12, 61)),
    ("a decoder that waits", series("children", *[0] * 12, 1)),
    ("a commit of more pages", series("WAL", *[4.1] * 14, 4.15, 4.1)),
    ("a WAL that was larger before", series("WAL", *[4.1] * 5, 6, *[4.1] * 5, 6)),
]
GROWN = [
    *((name, rising(name, 1)) for name in STEADY),
    ("memory", series("memory", *[50] * 12, 53)),
    ("watches", series("watches", *[10] * 13, 11)),
    ("WAL", series("WAL", *[4.1] * 14, 4.3, 4.1)),
]


def main():
    missed = [f"{words}: {told}" for words, minutes in FLAT if (told := soak.judge(minutes)) != []]
    for name, minutes in GROWN:
        told = soak.judge(minutes)
        if len(told) != 1 or not told[0].startswith(f"{name} grew"):
            missed.append(f"{name}: {told}")
    if soak.judge(series("memory", 50)[:7]) is not None:
        missed.append("seven minutes are judged")
    if STEADY.keys() != soak.MEASURES.keys():
        missed.append("not every measure has a series")
    for line in missed:
        print(line)
    print(f"{len(FLAT) + len(GROWN) + 1} series, {len(missed)} judged wrongly")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
