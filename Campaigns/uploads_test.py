#!/usr/bin/python3
"""Tests that the judges of the campaign of uploads can fail: does beside the programs what each of them must see.

usage: Campaigns/uploads_test.py
"""
import concurrent.futures
import pathlib
import subprocess
import sys

CAMPAIGN = pathlib.Path(__file__).with_name("uploads.py")
# What is done, in which cases, and what must be said.
DAMAGES = [
    (None, None, "0 violations"),
    ("truncate", "plain", "bytes that are nobody's whole file"),
    ("lose", "plain", "0 times in the library"),
    ("offset", "cut", "goes back from"),
    ("receipt", "plain", "is called safe, and is not in the library"),
    # What must never come is in no library, however fast the others are filed.
    ("known", "wrong whole digest", "is said to be filed, and is not in the library"),
    ("accept", "wrong whole digest", "accepted with"),
    ("stranger", "stranger", "accepted with"),
    ("part", "plain", "a part of an upload that has ended is left"),
    ("twice", "plain", "2 times in the library"),
    ("quarantine", "plain", "in quarantine"),
]


def is_missed(damage, case, expected):
    words = [sys.executable, "-B", CAMPAIGN, "--calm", "--uploads", "24"]
    words += ["--break", damage] if damage else []
    words += ["--case", case] if case else []
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    is_seen = expected in run.stdout and run.returncode == (1 if damage else 0)
    if not is_seen:
        print(f"{damage or 'nothing'}: not seen; status {run.returncode}\n{run.stdout}")
    return not is_seen


def main():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        missed = sum(pool.map(lambda each: is_missed(*each), DAMAGES))
    print(f"{len(DAMAGES) - 1} kinds of damage, {missed} not seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
