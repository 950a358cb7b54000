"""Time of `photoinbox search` with a million described photographs, while others are filed."""
import contextlib
import itertools
import os
import random
import sqlite3
import subprocess
import tempfile
import threading
import time

import million
from daemon import Daemon, remove
from figures import spread, target

SEARCHES, WORDS = 200, 20_000
MEDIAN, SLOWEST = 0.03, 0.08  # seconds
KIND = "two words and a box"


def measure(session, release, photos, scratch):
    os.makedirs(scratch, exist_ok=True)
    with contextlib.ExitStack() as stack:
        root = os.path.realpath(tempfile.mkdtemp(prefix="search-", dir=scratch))
        stack.callback(remove, root)
        session.note(f"search: {million.ROWS:,} photographs with ten words each")
        million.filed(release / "photoinboxd", root, photos[-1:])
        catalogue = os.path.join(root, "state", "catalogue.sqlite")
        million.fill(catalogue)
        words = describe(catalogue)
        size = os.path.getsize(catalogue)
        daemon = Daemon(release / "photoinboxd", root)
        stack.callback(daemon.stop)
        ended = threading.Event()
        rows = daemon.recorded()
        filing = threading.Thread(target=file_slowly, args=(daemon, photos[:-1], ended))
        filing.start()
        try:
            samples = [search(release / "photoinbox", daemon.state, words) for _ in range(SEARCHES)]
        finally:
            ended.set()
            filing.join()
        times, found = zip(*samples)
        filed = daemon.recorded() - rows
    spreads = {KIND: spread(times)}
    targets = [target("s, the median", spreads[KIND]["median"], MEDIAN),
               target("s, the 99th percentile", spreads[KIND]["p99"], SLOWEST)]
    return {"rows": million.ROWS, "searches": SEARCHES, "found": sum(found), "filed": filed, "catalogue_bytes": size,
            "spreads": spreads, "targets": targets}


def describe(path):
    """Records metadata of all rows with words as frequent as those of a language, and returns the words."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 8))) for _ in range(WORDS)]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(WORDS)))

    def rows():
        for number in range(2, million.ROWS + 2):
            some = chance.choices(words, cum_weights=weights, k=10)
            yield (number, " ".join(some[:4]), "\n".join(some[4:9]), some[9], chance.randint(0, 5),
                   max(-90, min(90, chance.gauss(50, 6))), chance.gauss(10, 8))

    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -400000")
        database.executemany(
            "INSERT INTO metadata (photo_id, title, keywords, people, rating, latitude, longitude) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (photo_id) DO NOTHING", rows())
    return words


def search(program, state, words):
    """The time of one search with its start, and whether it found something."""
    # The more frequent a word is, the more often it is searched.
    some = [words[min(WORDS - 1, int(random.paretovariate(0.35)))] for _ in range(2)]
    west, south = random.uniform(-5, 20), random.uniform(40, 58)
    box = f"{west:.2f},{south:.2f},{west + 5:.2f},{south + 3:.2f}"
    begun = time.monotonic()
    done = subprocess.run([str(program), "search", "--json", "--state", state, f"--bbox={box}", *some],
                          stdout=subprocess.DEVNULL, check=False)
    taken = time.monotonic() - begun
    if done.returncode not in (0, 4):
        raise RuntimeError(f"photoinbox search ended with {done.returncode}")
    return taken, done.returncode == 0


def file_slowly(daemon, photos, ended):
    """Drops photographs one after the other until `ended`."""
    for photo in photos:
        daemon.drop([photo])
        if ended.wait(0.1):
            return
