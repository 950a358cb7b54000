"""How long the timeline of a million photographs takes: the first byte of its days, of some of a day, of a small picture and of a
search, from a program that runs; with one day of 100,000."""
import contextlib
import itertools
import os
import random
import sqlite3
import struct
import tempfile
import time

import million
import searching
from daemon import Daemon, remove
from figures import spread, target
from pages import Local, Pages

DAYS, LARGE, ASKED, PICTURES = 10_939, 100_000, 200, 500
SEARCHES = 50
# Seconds. After a search the program leaves the catalogue alone for as long as it took, up to a quarter of a second.
PAUSE = 0.3
ALL, SOME, MIDDLE, PICTURE, SEARCH = "days", "500 of a day", "500 amid 100,000", "a small picture", "two words"
# Milliseconds.
LIMITS = {ALL: 15, SOME: 10, MIDDLE: 10, PICTURE: 2, SEARCH: 80}
# Of the large day, and of all others, whose photographs are a quarter of an hour apart.
CAPTURED = (f"CASE WHEN i <= {LARGE} THEN strftime('%Y-%m-%dT%H:%M:%S', 1400000000 / 86400 * 86400 + i % 86400, 'unixepoch') "
            f"ELSE strftime('%Y-%m-%dT%H:%M:%S', i % {DAYS} * 86400 + i % 96 * 900, 'unixepoch') END")


class Viewer:
    """A browser, with one connection."""

    def __init__(self, pages):
        self.cookie = pages.sign_in()
        self.client = Local(pages.address)

    def get(self, path):
        """The time until the first byte, and the answer."""
        begun = time.monotonic_ns()
        self.client.request("GET", path, headers={"Cookie": self.cookie})
        answer = self.client.getresponse()
        taken = time.monotonic_ns() - begun
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path} was answered with {answer.status}: {body[:200]}")
        return taken, body


def measure(session, release, photos, scratch):
    os.makedirs(scratch, exist_ok=True)
    with contextlib.ExitStack() as stack:
        # Short: a socket's path has 107 bytes.
        root = os.path.realpath(tempfile.mkdtemp(prefix="w-", dir=scratch))
        stack.callback(remove, root)
        session.note(f"wall: {million.ROWS:,} photographs with ten words each")
        million.filed(release / "photoinboxd", root, photos[-1:])
        catalogue = os.path.join(root, "state", "catalogue.sqlite")
        million.fill(catalogue, captured=CAPTURED)
        words = searching.describe(catalogue)
        draw(catalogue, os.path.join(root, "state"), photos[0])
        daemon = Daemon(release / "photoinboxd", root)
        stack.callback(daemon.stop)
        pages = Pages(release, root, daemon)
        pages.start()
        stack.callback(pages.stop)
        viewer = Viewer(pages)
        samples = {name: [] for name in LIMITS}
        days = [(day, count) for day, count in struct.iter_unpack("<iI", viewer.get("/days")[1])]
        if sum(count for _, count in days) != million.ROWS + 1:
            raise RuntimeError("the days have another number of photographs")
        large = max(days, key=lambda one: one[1])
        chance = random.Random(2)
        for _ in range(ASKED):
            samples[ALL].append(viewer.get("/days")[0])
            day, _ = chance.choice(days)
            samples[SOME].append(viewer.get(f"/tiles?day={day}&from=0&count=500")[0])
            first = chance.randrange(large[1] - 500)
            samples[MIDDLE].append(viewer.get(f"/tiles?day={large[0]}&from={first}&count=500")[0])
        keys = [f"{number}-{mark.hex()}" for number, mark in drawn(catalogue)]
        for key in itertools.islice(itertools.cycle(keys), 4 * PICTURES):
            samples[PICTURE].append(viewer.get(f"/t/{key}")[0])
        for _ in range(SEARCHES):
            some = [words[min(searching.WORDS - 1, int(random.paretovariate(0.35)))] for _ in range(2)]
            time.sleep(PAUSE)
            samples[SEARCH].append(viewer.get(f"/search?words={'+'.join(some)}")[0])
        size = os.path.getsize(catalogue)
    spreads = {name: spread(values) for name, values in samples.items()}
    return {"rows": million.ROWS, "catalogue_bytes": size, "spreads": spreads,
            "targets": [target(f"ms, the median of {name}", spreads[name]["median"] / 1e6, limit)
                        for name, limit in LIMITS.items()]}


def drawn(catalogue):
    with contextlib.closing(sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True)) as database:
        return database.execute("SELECT photo_id, mark FROM tile ORDER BY photo_id DESC LIMIT ?", (PICTURES,)).fetchall()


def draw(catalogue, state, photo):
    """A small picture of the size of most for each of the photographs that were filed last: what it shows does not matter."""
    with open(photo, "rb") as file:
        picture = file.read(40_000)
    with contextlib.closing(sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True)) as database:
        for (content,) in database.execute("SELECT sha256 FROM photo ORDER BY id DESC LIMIT ?", (PICTURES,)):
            name = content.hex()
            place = os.path.join(state, "thumbnails", name[:2])
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, f"{name}-512.jpg"), "wb") as file:
                file.write(picture)
