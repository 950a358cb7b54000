#!/usr/bin/python3
"""Imports that are cancelled at random moments and restarted until one completes. The result must equal that of an
undisturbed import: photos by the checker, tables as read by another SQLite.

usage: Campaigns/cancelled_imports.py [--cancellations N] [--kind NAME]… [--jobs N] [--seed N] [--patience SECONDS] [--daemon FILE]

  --cancellations  how many of each kind (100), in as many imports as they take
  --kind           photos  a card with sets, sidecars, broken photos and others, copied or moved into an inbox, whose daemon runs
                           meanwhile or starts afterwards
                   table   20,000 rows of descriptions, some of them bad
  --jobs           imports at once (2)

A cancellation is SIGINT, SIGTERM or SIGKILL after a share of the time that the import was measured to take undisturbed.
Exits with 1 if there was a violation.
"""
import collections
import csv
import hashlib
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

import checker
import commandline
import jobs
import scenarios
from house import Failed, House, cut_jpeg, jpeg, live_photo, raw_and_jpeg
from random_kill import ARGUMENTS, Violation, expect

PHOTOS, ROWS = 120, 20_000
ENDS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)


def command(house, *words):
    """A command of the tool beside the daemon, for this house."""
    return [str(pathlib.Path(house.program).with_name("photoinbox")), *words, "--config", house.path("photoinbox.toml")]


def configure(house):
    pathlib.Path(house.path("photoinbox.toml")).write_text(
        f'library = "{house.library}"\nstate = "{house.path("st")}"\n[inbox.inbox]\npath = "{house.path("inbox")}"\n',
        encoding="utf-8")
    os.makedirs(house.path("st"), exist_ok=True)


def disturbed(words, numbers, seconds, counts):
    """Runs it until it completes, after up to four cancellations; its last status and output."""
    times = numbers.randint(1, 4)
    while True:
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        is_cancelled = False
        if times > 0:
            try:
                run.communicate(timeout=numbers.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                is_cancelled = True
                run.send_signal(numbers.choice(ENDS))
                counts.add(cancelled=1)
            times -= 1
        said = unusual(*run.communicate())
        if not is_cancelled:
            return run.returncode, said
        if run.returncode not in (0, 3, -signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM):
            raise Violation(f"cancelled, it ended with {run.returncode}: {said}")


def unusual(lines, errors):
    """The output of an import except the copied photos."""
    kept = [line for line in lines.splitlines() if b'"failed"' in line or b'"status"' in line]
    return b"\n".join([*kept[-20:], errors]).decode(errors="backslashreplace")


# --- photos ---

def fill(house, numbers):
    """A card as of cameras and phones, entered in the manifest except files that are not photos."""
    card = pathlib.Path(house.path("card"))

    def put(name, content, ends=("library",)):
        file = card / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return house.manifest.add(content, ends=list(ends))

    for number in range(PHOTOS):
        stem = f"DCIM/{100 + number // 15}CANON/IMG_{number:04}"
        members = {0: raw_and_jpeg, 1: live_photo}.get(number % 5)
        if members:
            content = members(numbers.random())
            house.manifest.sets.append([put(stem + ending, content[ending]) for ending in content])
        elif number % 11 == 3:
            put(stem + ".JPG", cut_jpeg(numbers.random()), ends=["quarantine"])
        else:
            put(stem + ".JPG", jpeg(numbers.random(), numbers.choice((6_000, 300_000, 2_000_000))))
    (card / "MISC").mkdir()
    (card / "MISC/M0100.CTG").write_bytes(b"catalogue of a camera")
    os.symlink("/etc/passwd", card / "DCIM/link.JPG")


def files(directory):
    """Relative path → SHA-256."""
    return {os.fsdecode(file.relative): hashlib.sha256(pathlib.Path(os.fsdecode(file.path)).read_bytes()).hexdigest()
            for file in checker.walk(os.fsencode(directory)) if file.is_regular}


def contents(found):
    return collections.Counter((os.path.basename(path), digest) for path, digest in found.items())


def import_photos(house, numbers, seconds, counts):
    """Imports one card by cancelled runs, or by a single one if `seconds` is None. Its duration."""
    fill(house, numbers)
    card = files(house.path("card"))
    moves, has_daemon = numbers.random() < 0.5, numbers.random() < 0.5
    words = command(house, "import", house.path("card"), "--json", *(["--move"] if moves else []))
    daemon = house.start() if has_daemon else None
    began = time.monotonic()
    try:
        if daemon and not daemon.wait_ready():
            raise Violation("the daemon ended by itself")
        status, said = disturbed(words, numbers, seconds, counts) if seconds else (subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode, "")
        took = time.monotonic() - began
        if status != 0:
            raise Violation(f"the import ended with {status}: {said}")
        left = files(house.path("card"))
        wanted = {path: digest for path, digest in card.items() if not moves or path.startswith("MISC")}
        if left != wanted:
            raise Violation(f"of the card there is {len(left)}, not {len(wanted)}: {sorted(left.items() ^ wanted.items())[:4]}")
        if daemon and not house.settle(daemon):
            raise Violation("the daemon ended by itself")
        if daemon:
            daemon.stop()
    finally:
        if daemon:
            daemon.abandon()
    # One more life of the daemon in any case; without a previous one it files the photos.
    expect(scenarios.recover(house))
    filed = {path: digest for path, digest in card.items() if "ends" not in house.manifest.photos.get(digest, {})
             or house.manifest.photos[digest]["ends"] == ["library"]}
    filed = {path: digest for path, digest in filed.items() if not path.startswith("MISC")}
    if contents(files(house.library)) != contents(filed):
        raise Violation("the library is not what an undisturbed import makes of it")
    if inside := [os.fsdecode(found.relative) for found in checker.walk(os.fsencode(house.path("inbox")))]:
        raise Violation(f"left in the inbox: {inside[:4]}")
    counts.add(files=len(card))
    return took


# --- tables ---

def write_table(file, numbers):
    """The expected rows in the order of their hashes: a later row of a photo replaces the values that it has."""
    wanted = {}
    with open(file, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["sha256", "title", "keywords", "rating", "taken", "place"])
        for number in range(ROWS):
            digest = hashlib.sha256(str(number % (ROWS - 500)).encode()).hexdigest().upper()
            title = f'Title {number}, "quoted"\nand broken'
            rating = "nine" if number % 997 == 5 else numbers.choice(["", "1", "5"])
            rows.writerow([digest, title, "sea;sun", rating, "2026-11-21 14:07", "Kiel"])
            if rating != "nine":
                before = wanted.get(digest, (None,) * 3)[2]
                wanted[digest] = (digest, title, int(rating) if rating else before)
    return sorted(wanted.values())


def described(house):
    """The catalogue's descriptions as read by another SQLite, and how many there are of a place."""
    base = sqlite3.connect(f"file:{house.path('st/catalogue.sqlite')}?mode=ro", uri=True)
    try:
        return (base.execute("SELECT hex(sha256), title, rating FROM description ORDER BY 1").fetchall(),
                base.execute("SELECT DISTINCT keywords, taken, place FROM description").fetchall(),
                base.execute("SELECT count(*) FROM description WHERE place = 'Kiel'").fetchone(),
                base.execute("PRAGMA integrity_check").fetchone(),
                pathlib.Path(house.path("table.csv.rejects.csv")).read_bytes())
    finally:
        base.close()


def import_table(house, numbers, seconds, counts):
    """Imports one table; its duration."""
    # The daemon creates the catalogue.
    daemon = house.start()
    try:
        if not daemon.wait_ready():
            raise Violation("the daemon ended by itself")
        wanted = write_table(house.path("table.csv"), random.Random("table"))
        words = command(house, "import-csv", house.path("table.csv"), "--json", "--batch", str(numbers.choice((50, 250, 3_000))))
        began = time.monotonic()
        if seconds:
            disturbed(words, numbers, seconds, counts)
        else:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        took = time.monotonic() - began
        daemon.stop()
    finally:
        daemon.abandon()
    found = described(house)
    if found[0] != wanted or len(found[1]) != 1 or found[2] != (len(wanted),) or found[3] != ("ok",):
        raise Violation(f"{len(found[0])} rows, not {len(wanted)}, or others: {found[1:4]}")
    digest = hashlib.sha256(repr(found).encode()).hexdigest()
    if import_table.whole not in (None, digest):
        raise Violation("the table is not what an undisturbed import makes of it")
    import_table.whole = digest
    counts.add(rows=ROWS)
    return took


import_table.whole = None
KINDS = {"photos": import_photos, "table": import_table}


def once(kind, options, number, seconds, counts):
    """One import in its own house; its duration, None if there was a violation."""
    house = House(options.daemon, arguments=ARGUMENTS)
    try:
        configure(house)
        return KINDS[kind](house, random.Random(f"{options.seed} {kind} {number}"), seconds, counts)
    except (Violation, Failed, RuntimeError) as violation:
        counts.add(wrong=1)
        print(f"VIOLATION in {kind} {number}:\n  {violation}\n{house.tail(40)}", flush=True)
        return None
    finally:
        house.remove()


def main():
    arguments = commandline.parser(__doc__, jobs=2)
    arguments.add_argument("--cancellations", type=int, default=100)
    arguments.add_argument("--kind", action="append", choices=KINDS)
    options = commandline.begin(arguments, "cancelled imports")
    begin, wrong = time.monotonic(), 0
    for kind in options.kind or KINDS:
        counts = jobs.Counts("imports", "cancelled", "files", "rows", "wrong")
        seconds = once(kind, options, "undisturbed", None, counts)
        if seconds is None:
            return 1

        def work(job):
            for number in range(job, 1 << 30, options.jobs):
                if counts.cancelled >= options.cancellations:
                    return 0
                once(kind, options, number, seconds, counts)
                counts.add(imports=1)

        def so_far():
            return (f"{kind}: {counts.imports} imports, cancelled {counts.cancelled} times, "
                    f"{counts.files or counts.rows} {'files' if counts.files else 'rows'}, {counts.wrong} violations")

        if not jobs.run(options.jobs, work, lambda: counts.imports, so_far):
            return 1
        print(f"{so_far()}, {time.monotonic() - begin:.0f} s", flush=True)
        wrong += counts.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
