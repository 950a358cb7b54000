"""Time and memory for importing a table of a million rows, and the latency of readers meanwhile."""
import contextlib
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time

from daemon import Daemon, remove
from figures import at_least, ratio, spread, target

ROWS = 1_000_000
OURS, SMALL, THEIRS = "photoinbox, batches of 10,000", "photoinbox, batches of 250", "sqlite3 .import"
WORDS = ("harbour boat sea winter market bridge river garden child dog birthday mountain snow church tower train station "
         "forest lake sunrise concert street portrait wedding holiday beach island road bicycle window").split()
# Queries by a person meanwhile.
QUESTION = "SELECT title FROM description WHERE rating = 5 ORDER BY id DESC LIMIT 50"
MEMORY = 64 << 20


def measure(session, release, scratch):
    """Wall time and peak memory of each, on its own catalogue, alternating."""
    if not shutil.which("sqlite3"):
        session.leave_out("descriptions: no sqlite3")
        return None
    os.makedirs(scratch, exist_ok=True)
    runs = min(session.runs, 3)
    wall, peak, waits = {OURS: [], SMALL: [], THEIRS: []}, {OURS: [], SMALL: [], THEIRS: []}, []
    with contextlib.ExitStack() as stack:
        root = os.path.realpath(tempfile.mkdtemp(prefix="descriptions-", dir=scratch))
        stack.callback(remove, root)
        session.note(f"descriptions: a table of {ROWS:,} rows")
        table, numbered = make_tables(root)
        empty = os.path.join(root, "empty")
        os.makedirs(empty)
        daemon = Daemon(release / "photoinboxd", empty)
        daemon.stop()
        for turn in range(runs):
            for name, batch in ((OURS, 10_000), (SMALL, 250), (THEIRS, None)):
                session.note(f"descriptions: {name}, run {turn + 1} of {runs}")
                state = fresh(root, empty)
                if batch:
                    command = [release / "photoinbox", "import-csv", "--state", state, "--batch", str(batch), table]
                else:
                    loosen(os.path.join(state, "catalogue.sqlite"))
                    command = ["sqlite3", os.path.join(state, "catalogue.sqlite"), ".mode csv",
                               f".import --skip 1 {numbered} description"]
                taken, memory = run(command)
                wall[name].append(taken)
                peak[name].append(memory)
                told = rows(state)
                if told != ROWS:
                    raise RuntimeError(f"{name}: {told} rows came in")
        session.note("descriptions: with readers")
        state = fresh(root, empty)
        with readers(state, waits):
            run([release / "photoinbox", "import-csv", "--state", state, "--batch", "10000", table])
    spreads = {name: spread(samples) for name, samples in wall.items()}
    peaks = {name: max(samples) for name, samples in peak.items()}
    targets = [at_least("× rows a second of sqlite3 .import, batches of 10,000", ratio(spreads, THEIRS, OURS), 0.5),
               target("MiB of memory at most", peaks[OURS] / 2**20, MEMORY / 2**20)]
    return {"rows": ROWS, "runs": runs, "wall": spreads, "peak": peaks, "readers": spread(waits),
            "targets": list(filter(None, targets))}


def make_tables(root):
    """The same rows twice: as in users' tables, and with the table's own columns for sqlite3."""
    table, numbered = os.path.join(root, "table.csv"), os.path.join(root, "numbered.csv")
    numbers = random.Random(1)
    with open(table, "w", encoding="utf-8") as ours, open(numbered, "w", encoding="utf-8") as theirs:
        ours.write("sha256,title,keywords,rating,taken,place\n")
        theirs.write("id,sha256,title,keywords,rating,taken,place\n")
        for number in range(ROWS):
            digest = hashlib.sha256(number.to_bytes(8, "big")).hexdigest()
            title = " ".join(numbers.choices(WORDS, k=3))
            keywords = ";".join(numbers.sample(WORDS, 3))
            day = f"20{number % 25:02}-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:00:00"
            row = f'{digest},"{title}, {number}",{keywords},{number % 6},{day},{numbers.choice(WORDS)}\n'
            ours.write(row)
            theirs.write(f"{number + 1},{row}")
    return table, numbered


def fresh(root, empty):
    state = os.path.join(root, "state")
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(os.path.join(empty, "state"), state)
    os.sync()
    return state


def loosen(path):
    """The same table, index and triggers, but with hashes as text, as .import requires."""
    with contextlib.closing(sqlite3.connect(path)) as catalogue, catalogue:
        text = catalogue.execute("SELECT sql FROM sqlite_master WHERE name = 'description'").fetchone()[0]
        triggers = [row[0] for row in catalogue.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'description'")]
        looser = text.replace("sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32)", "sha256 TEXT NOT NULL UNIQUE")
        looser = looser.replace(" STRICT", "")
        if looser.count("BLOB") or looser == text or not triggers:
            raise RuntimeError("the table description has other columns")
        catalogue.execute("DROP TABLE description")
        for statement in [looser, *triggers]:
            catalogue.execute(statement)


def run(command):
    """Wall time in ns, and peak resident memory in bytes."""
    begun = time.monotonic_ns()
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said[-500:].decode(errors='replace')}")
    return time.monotonic_ns() - begun, usage.ru_maxrss * 1024


def rows(state):
    with contextlib.closing(sqlite3.connect(os.path.join(state, "catalogue.sqlite"))) as catalogue:
        return catalogue.execute("SELECT count(*) FROM description").fetchone()[0]


@contextlib.contextmanager
def readers(state, waits):
    """A reader that queries repeatedly, with short pauses, until the body ends."""
    over = threading.Event()

    def ask():
        path = os.path.join(state, "catalogue.sqlite")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as catalogue:
            while not over.wait(0.02):
                begun = time.monotonic_ns()
                catalogue.execute(QUESTION).fetchall()
                waits.append(time.monotonic_ns() - begun)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
