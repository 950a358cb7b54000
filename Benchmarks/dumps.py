"""Time of a state dump with a million catalogued photographs and 50,000 watched directories."""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import million
import processes
from daemon import Daemon, remove
from figures import spread, target

DIRECTORIES, DUMPS = 50_000, 50
LIMIT = 0.1  # seconds
BY_SIGNAL, BY_COMMAND = "SIGUSR1, until the file is there", "photoinbox dump, its start included"


def measure(session, release, photos, scratch):
    os.makedirs(scratch, exist_ok=True)
    with contextlib.ExitStack() as stack:
        root = os.path.realpath(tempfile.mkdtemp(prefix="dump-", dir=scratch))
        stack.callback(remove, root)
        session.note(f"dump: {million.ROWS:,} rows, {DIRECTORIES:,} directories")
        million.filed(release / "photoinboxd", root, photos[-1:])
        million.fill(os.path.join(root, "state", "catalogue.sqlite"))
        for number in range(DIRECTORIES):
            os.makedirs(os.path.join(root, "inbox", str(number % 250), str(number)))
        daemon = Daemon(release / "photoinboxd", root)
        stack.callback(daemon.stop)
        file = os.path.join(daemon.runtime, "state.json")
        by_signal(daemon, file)
        processes.await_idle(daemon.process.pid)
        samples = {BY_SIGNAL: [by_signal(daemon, file) for _ in range(DUMPS)]}
        command = [release / "photoinbox", "dump", "--state", daemon.state, "--runtime", daemon.runtime]
        samples[BY_COMMAND] = [by_command(command) for _ in range(DUMPS)]
        with open(file, encoding="utf-8") as text:
            watches = sum(inbox["watches"] for inbox in json.load(text)["inboxes"])
        if watches < DIRECTORIES:
            raise RuntimeError(f"only {watches} directories are watched")
    spreads = {name: spread(taken) for name, taken in samples.items()}
    targets = [target(f"s, the slowest of {DUMPS}: {name}", found["max"], LIMIT) for name, found in spreads.items()]
    return {"rows": million.ROWS, "watches": watches, "spreads": spreads, "targets": targets}


def by_signal(daemon, file):
    """Waits for a new inode, since the file is replaced atomically."""
    before = os.stat(file).st_ino if os.path.exists(file) else None
    begun = time.monotonic()
    daemon.process.send_signal(signal.SIGUSR1)
    while not os.path.exists(file) or os.stat(file).st_ino == before:
        if time.monotonic() - begun > 30 or daemon.process.poll() is not None:
            raise RuntimeError(f"no state was told: {daemon.log_tail()}")
        time.sleep(0.0002)
    return time.monotonic() - begun


def by_command(command):
    begun = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun
