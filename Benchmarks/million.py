"""The cost of a new photograph with a million catalogued ones and with none."""
import contextlib
import os
import sqlite3
import tempfile
import time

import processes
from daemon import Daemon, remove
from figures import ratio, spread, target

ROWS, PHOTOS = 1_000_000, 20
NONE, MANY = "none before", f"{ROWS:,} before"
# The columns that differ by row; the others are those of a photograph filed by the daemon.
DIFFERENT = {
    "photo": {"id": "NULL", "sha256": "randomblob(32)", "set_key": "CAST('/made_' || i AS BLOB)",
              "library_path": "CAST('1999/' || (i % 365) || '/MADE_' || i || '.JPG' AS BLOB)",
              "source_path": "CAST('MADE_' || i || '.JPG' AS BLOB)", "source_inode": "i",
              "original_name": "CAST('MADE_' || i || '.JPG' AS BLOB)"},
    "outcome": {"id": "NULL", "path": "CAST('MADE_' || i || '.JPG' AS BLOB)", "photo_id": "i", "sha256": "randomblob(32)",
                "destination": "CAST('1999/' || (i % 365) || '/MADE_' || i || '.JPG' AS BLOB)"},
}


def measure(session, release, photos, scratch):
    """Filed by daemons alternately; one catalogue keeps its rows, the other is new each time."""
    photos = photos[1:]
    runs = min(session.runs, len(photos) // PHOTOS)
    os.makedirs(scratch, exist_ok=True)
    program = release / "photoinboxd"
    wall, processor = {NONE: [], MANY: []}, {NONE: [], MANY: []}
    with contextlib.ExitStack() as stack:
        root = os.path.realpath(tempfile.mkdtemp(prefix="catalogue-", dir=scratch))
        stack.callback(remove, root)
        session.note(f"catalogue: {ROWS:,} rows")
        many = os.path.join(root, "many")
        filed(program, many, photos[-1:])
        size = fill(os.path.join(many, "state", "catalogue.sqlite"))
        for turn in range(runs):
            some = photos[turn * PHOTOS:(turn + 1) * PHOTOS]
            for name, directory in ((NONE, os.path.join(root, f"none-{turn}")), (MANY, many)):
                session.note(f"catalogue: {name}, run {turn + 1} of {runs}")
                times = filed(program, directory, some)
                wall[name].append(times[0] / len(some))
                processor[name].append(times[1] / len(some))
    spreads = {name: spread(samples) for name, samples in processor.items()}
    walls = {name: spread(samples) for name, samples in wall.items()}
    targets = [target("× processor time without them", ratio(spreads, MANY, NONE), 1.1),
               target("× time without them", ratio(walls, MANY, NONE), 1.1)]
    return {"rows": ROWS, "photos": PHOTOS, "runs": runs, "catalogue_bytes": size, "processor": spreads, "wall": walls,
            "targets": list(filter(None, targets))}


def filed(program, root, photos):
    """Wall and processor time of a daemon, from the first photograph's arrival until all are recorded."""
    daemon = Daemon(program, root)
    try:
        rows = daemon.recorded()
        processes.await_idle(daemon.process.pid)
        before = processes.processor_ns(daemon.process.pid)
        begun = daemon.drop(photos)
        daemon.await_filed(rows + len(photos))
        ended = time.monotonic_ns()
        return ended - begun, processes.processor_ns(daemon.process.pid) - before
    finally:
        daemon.stop()


def fill(path, **photo):
    """Copies the existing row many times and returns the catalogue's size; `photo` are more columns that differ by row."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -400000")
        for table, different in (DIFFERENT | {"photo": DIFFERENT["photo"] | photo}).items():
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if not set(different) <= set(columns):
                raise RuntimeError(f"the table {table} has other columns")
            values = ", ".join(different.get(column, column) for column in columns)
            database.execute(
                f"WITH RECURSIVE number(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM number WHERE i <= {ROWS}) "
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM number, "
                f"(SELECT * FROM {table} ORDER BY id LIMIT 1)")
        # There are no files to read metadata from.
        database.execute("DELETE FROM metadata_due")
    return os.path.getsize(path)
