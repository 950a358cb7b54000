#!/usr/bin/python3 -B
"""From finished write to filed and recorded: photographs dropped one by one by a clean local writer.

usage: filing.py --daemon PROGRAM --photos DIRECTORY --scratch DIRECTORY [--count N]

A photograph is finished at the moment just before its writer's close(2). Three moments are taken after it:
  in the library   its name appeared there, as inotify tells this program
  recorded         the catalogue's row says when it was filed
  out of inbox     its name is gone from the inbox, as inotify tells: so its row was committed before
The floor is the same durable work done by hand in this program, photograph by photograph, in the same run: read, hash,
copy, fsync, hash the copy, link, fsync the directory, a committed SQLite row, unlink, fsync the inbox.
Prints one JSON object, times in nanoseconds.
"""
import argparse
import hashlib
import json
import os
import sqlite3
import sys
import tempfile
import time

import inotify
import processes
from daemon import Daemon, file_system_of, remove


def now():
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def drop(content, path):
    """Writes a file at once and returns the moment just before closing it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    moment = now()
    os.close(descriptor)
    return moment


def await_filed(watcher, daemon, name, source):
    """The times when the file appeared in the library and left the inbox."""
    seen = gone = None
    while gone is None:
        events = watcher.events(30)
        if not events:
            raise RuntimeError(f"{name} was not filed within 30 s: {daemon.log_tail()}")
        for moment, kind, path in events:
            if path == source and kind & (inotify.DELETE | inotify.MOVED_FROM):
                gone = moment
            elif kind & (inotify.CREATE | inotify.MOVED_TO) and path.startswith(daemon.library + "/"):
                if os.path.basename(path) == name and seen is None:
                    seen = moment
    return seen, gone


def recorded(catalogue):
    """The filing time of each photograph by the name that it had in the inbox."""
    with sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True) as database:
        return {os.fsdecode(name): moment for name, moment in database.execute("SELECT original_name, filed_at FROM photo")}


def measure(program, photos, root):
    daemon = Daemon(program, root)
    try:
        time.sleep(2)  # idle is measured after start-up; not used for timing
        pid = daemon.process.pid
        idle = {**processes.memory(pid), "threads": processes.threads(pid)}
        watcher = inotify.Watcher()
        watcher.add(daemon.library)
        watcher.add(daemon.inbox)
        watcher.discard()
        processor = processes.processor_ns(pid)
        finished, in_library, out_of_inbox = {}, {}, {}
        for path in photos:
            with open(path, "rb") as file:
                content = file.read()
            name = os.path.basename(path)
            source = os.path.join(daemon.inbox, name)
            finished[name] = drop(content, source)
            in_library[name], out_of_inbox[name] = await_filed(watcher, daemon, name, source)
        processor = processes.processor_ns(pid) - processor
        after = processes.memory(pid)
        rows = recorded(daemon.catalogue())
    finally:
        status = daemon.stop()
    missing = [name for name in finished if name not in rows or in_library[name] is None]
    if missing:
        raise RuntimeError(f"without a row or a file in the library: {missing}")
    return {
        "in the library": [in_library[name] - moment for name, moment in finished.items()],
        "recorded": [rows[name] - moment for name, moment in finished.items()],
        "out of inbox": [out_of_inbox[name] - moment for name, moment in finished.items()],
    }, {"idle": idle, "after": after, "processor_seconds": processor / 1e9, "exit_status": status}


def sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def by_hand(photos, root):
    """The floor: the time of each photograph."""
    inbox, library = os.path.join(root, "inbox"), os.path.join(root, "library")
    os.makedirs(inbox)
    os.makedirs(library)
    database = sqlite3.connect(os.path.join(root, "catalogue.sqlite"), isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE photo (id INTEGER PRIMARY KEY, sha256 BLOB UNIQUE, name TEXT, filed_at INTEGER)")
    times = []
    for path in photos:
        with open(path, "rb") as file:
            content = file.read()
        name = os.path.basename(path)
        source, temporary, final = (
            os.path.join(inbox, name), os.path.join(library, "." + name), os.path.join(library, name))
        moment = drop(content, source)
        with open(source, "rb") as file:
            content = file.read()
        digest = hashlib.sha256(content).digest()
        copy = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(copy, content)
        os.fsync(copy)
        if hashlib.sha256(os.pread(copy, len(content), 0)).digest() != digest:
            raise RuntimeError("a copy differs")
        os.close(copy)
        os.link(temporary, final)
        os.unlink(temporary)
        sync_directory(library)
        database.execute("INSERT INTO photo (sha256, name, filed_at) VALUES (?, ?, ?)", (digest, name, now()))
        os.unlink(source)
        times.append(now() - moment)
        sync_directory(inbox)
    database.close()
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--daemon", required=True)
    parser.add_argument("--photos", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    photos = sorted(
        os.path.join(options.photos, name) for name in os.listdir(options.photos) if not name.startswith("."))
    photos = photos[: options.count]
    os.makedirs(options.scratch, exist_ok=True)
    root = os.path.realpath(tempfile.mkdtemp(prefix="filing-", dir=options.scratch))
    kind, mount_point = file_system_of(root)
    result = {
        "photos": len(photos), "bytes": sum(map(os.path.getsize, photos)), "file_system": kind, "mounted_on": mount_point,
    }
    try:
        # Before and after, so that neither has the quieter machine.
        floor = by_hand(photos, os.path.join(root, "by-hand"))
        if os.path.exists(options.daemon):
            result["samples"], result["process"] = measure(options.daemon, photos, os.path.join(root, "daemon"))
        floor += by_hand(photos, os.path.join(root, "by-hand-again"))
        result["floor"] = floor
    finally:
        remove(root)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
