"""How long the timeline of a million photographs takes: the first byte of its page, of its days, of some of a day, of a small picture
and of a search, from a program that runs; with one day of 100,000. And what that program holds while many look."""
import concurrent.futures
import contextlib
import itertools
import os
import random
import shutil
import sqlite3
import struct
import tempfile
import time

import million
import processes
import searching
from daemon import Daemon, remove
from figures import spread, target
from pages import Local, Pages

DAYS, LARGE, ASKED, PICTURES = 10_939, 100_000, 200, 500
SEARCHES = 50
UNDATED = (1 << 31) - 1
# Seconds. After a search the program leaves the catalogue alone for as long as it took, up to a quarter of a second.
PAUSE = 0.3
PAGE, ALL, SOME, MIDDLE, PICTURE, SEARCH = "the page", "days", "500 of a day", "500 amid 100,000", "a small picture", "two words"
# Milliseconds.
LIMITS = {PAGE: 20, ALL: 15, SOME: 10, MIDDLE: 10, PICTURE: 2, SEARCH: 80}
# How many look at once, at how many places, each with as many pictures as a view has.
PEOPLE, PLACES, SEEN = 20, 25, 40
# Different ones; each is that of many photographs, and no file system has more links to a file than 65,000.
DRAWN = 20
ENABLED = ["--set", "pictures.enabled=yes", "--set", "pictures.preview=0"]
# Of the large day, and of all others, whose photographs are a quarter of an hour apart.
CAPTURED = (f"CASE WHEN i <= {LARGE + 1} THEN strftime('%Y-%m-%dT%H:%M:%S', 1400000000 / 86400 * 86400 + i % 86400, 'unixepoch') "
            f"ELSE strftime('%Y-%m-%dT%H:%M:%S', i % {DAYS} * 86400 + i % 96 * 900, 'unixepoch') END")


class Million:
    """A daemon's directories with a million photographs catalogued, ten words and a small picture for each."""

    def __init__(self, session, release, photos, root):
        self.release, self.root = release, root
        session.note(f"{million.ROWS:,} photographs with ten words and a small picture each")
        few = os.path.join(root, "few")
        drawn(release, few, photos[:DRAWN])
        drawn(release, root, photos[-1:])
        self.state = os.path.join(root, "state")
        self.catalogue = os.path.join(self.state, "catalogue.sqlite")
        million.fill(self.catalogue, captured=CAPTURED)
        self.words = searching.describe(self.catalogue)
        self.draw(pictures(few))
        shutil.rmtree(few)

    def draw(self, pictures_):
        """Gives each photograph a small picture: which one does not matter. The daemon need not look for more to be made."""
        directory = os.path.join(self.state, "thumbnails")
        for number in range(256):
            os.makedirs(os.path.join(directory, f"{number:02x}"), exist_ok=True)
        with contextlib.closing(sqlite3.connect(f"file:{self.catalogue}?mode=ro", uri=True)) as database:
            for number, name in database.execute("SELECT id, lower(hex(sha256)) FROM photo WHERE id > 1"):
                os.link(pictures_[number % len(pictures_)], os.path.join(directory, name[:2], f"{name}-320.jpg"))
        done = os.path.join(directory, "done")
        with open(done, encoding="utf-8") as file:
            _, mark = file.read().split(" ", 1)
        with open(done, "w", encoding="utf-8") as file:
            file.write(f"{million.ROWS + 1} {mark}")

    @contextlib.contextmanager
    def shown(self, address=None):
        """The pages of it."""
        daemon = Daemon(self.release / "photoinboxd", self.root, ENABLED)
        try:
            pages = Pages(self.release, self.root, daemon, address)
            try:
                pages.start()
                yield pages
            finally:
                pages.close()
        finally:
            daemon.stop()

    def tiles(self, day, first=0, count=-1):
        """The names of photos of a day, in the timeline's order, by the catalogue."""
        with contextlib.closing(sqlite3.connect(f"file:{self.catalogue}?mode=ro", uri=True)) as database:
            return [f"{number}-{mark.hex()}" for number, mark in database.execute(
                "SELECT photo_id, mark FROM tile WHERE day = ? ORDER BY second DESC, photo_id DESC LIMIT ? OFFSET ?",
                (day, count, first))]


def drawn(release, root, photos):
    """Files photographs, and has small pictures made of them."""
    daemon = Daemon(release / "photoinboxd", root, ENABLED)
    try:
        daemon.drop(photos)
        daemon.await_filed(len(photos))
        daemon.await_thumbnails(len(photos))
    finally:
        daemon.stop()


def pictures(root):
    return [os.path.join(place, name) for place, _, names in os.walk(os.path.join(root, "state", "thumbnails"))
            for name in sorted(names) if name.endswith("-320.jpg")]


def made(session, release, photos, scratch):
    """The same million for each part of a run."""
    @contextlib.contextmanager
    def make():
        os.makedirs(scratch, exist_ok=True)
        # Short: a socket's path has 107 bytes.
        root = os.path.realpath(tempfile.mkdtemp(prefix="w-", dir=scratch))
        try:
            yield Million(session, release, photos, root)
        finally:
            remove(root)
    return session.once("million", make)


class Viewer:
    """A browser, with one connection."""

    def __init__(self, pages, cookie):
        self.cookie = cookie
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


def days_of(answer):
    """Days and their counts: numbers of seven bits a byte, each day so much older than the one before; 0 means no date."""
    numbers, number, weight = [], 0, 0
    for byte in answer:
        number |= (byte & 127) << weight
        weight += 7
        if byte < 128:
            numbers.append(number)
            number = weight = 0
    day, days = 1 << 31, []
    for older, count in zip(numbers[::2], numbers[1::2]):
        day -= older
        days.append((day if older else UNDATED, count))
    return days


def measure(session, release, photos, scratch):
    million_ = made(session, release, photos, scratch)
    with million_.shown() as pages:
        session.note("wall: first bytes")
        cookie = pages.sign_in()
        viewer = Viewer(pages, cookie)
        samples = {name: [] for name in LIMITS}
        days = days_of(viewer.get("/days")[1])
        if sum(count for _, count in days) != million.ROWS + 1:
            raise RuntimeError("the days have another number of photographs")
        large = max(days, key=lambda one: one[1])
        chance = random.Random(2)
        for _ in range(ASKED):
            samples[PAGE].append(viewer.get("/")[0])
            samples[ALL].append(viewer.get("/days")[0])
            day, _ = chance.choice(days)
            samples[SOME].append(viewer.get(f"/tiles?day={day}&from=0&count=500")[0])
            first = chance.randrange(large[1] - 500)
            samples[MIDDLE].append(viewer.get(f"/tiles?day={large[0]}&from={first}&count=500")[0])
        for key in itertools.islice(itertools.cycle(million_.tiles(large[0], count=PICTURES)), 4 * PICTURES):
            samples[PICTURE].append(viewer.get(f"/t/{key}")[0])
        for _ in range(SEARCHES):
            some = [million_.words[min(searching.WORDS - 1, int(random.paretovariate(0.35)))] for _ in range(2)]
            time.sleep(PAUSE)
            samples[SEARCH].append(viewer.get(f"/search?words={'+'.join(some)}")[0])
        pages.stop()
        pages.start()
        session.note(f"wall: {PEOPLE} people at once")
        with concurrent.futures.ThreadPoolExecutor(PEOPLE) as pool:
            list(pool.map(lambda number: look(Viewer(pages, cookie), days, random.Random(number)), range(PEOPLE)))
        held = processes.peak(pages.process.pid)
        size = os.path.getsize(million_.catalogue)
    spreads = {name: spread(values) for name, values in samples.items()}
    return {"rows": million.ROWS, "catalogue_bytes": size, "spreads": spreads, "people": PEOPLE, "peak": held,
            "targets": [*(target(f"ms, the median of {name}", spreads[name]["median"] / 1e6, limit)
                          for name, limit in LIMITS.items()),
                        target(f"MB at most held, {PEOPLE} people scrolling", held / 1e6, 40)]}


def look(viewer, days, chance):
    """What somebody asks for who scrolls through all."""
    viewer.get("/days")
    for _ in range(PLACES):
        day, count = chance.choice(days)
        for number, mark, _ in struct.iter_unpack("<I4sI", viewer.get(f"/tiles?day={day}&from=0&count={min(count, 250)}")[1][:12 * SEEN]):
            viewer.get(f"/t/{number}-{mark.hex()}")
