"""From finished write to filed while hostile clients are at the control socket, beside the same without them, in turn."""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

import filing
import inotify
import processes
from daemon import Daemon, file_system_of, remove
from figures import ratio, spread, target

CLIENTS, PHOTOS, WITH, WITHOUT = 1_000, 20, "1,000 hostile", "no clients"
CROWD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crowd.py")


def varied(content, number):
    """The same photograph with another comment, so that it is no duplicate."""
    comment = f"photograph {number}".encode()
    return content[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + content[2:]


class House:
    """A daemon, and photographs that are dropped into its inbox one by one."""

    def __init__(self, program, root, photos, options=()):
        self.daemon, self.number = Daemon(program, root, options), 0
        self.photos = []
        for path in photos[:PHOTOS]:
            with open(path, "rb") as file:
                self.photos.append(file.read())
        self.watcher = inotify.Watcher()
        self.watcher.add(self.daemon.library)
        self.watcher.add(self.daemon.inbox)

    def file(self, count):
        """How long each of so many photographs took from its finished write until it was gone from the inbox, and the
        daemon's processor time meanwhile."""
        self.watcher.discard()
        pid, times = self.daemon.process.pid, []
        before = processes.processor_ns(pid)
        for _ in range(count):
            self.number += 1
            name = f"{self.number:05}.jpg"
            source = os.path.join(self.daemon.inbox, name)
            finished = filing.drop(varied(self.photos[self.number % len(self.photos)], self.number), source)
            times.append(filing.await_filed(self.watcher, self.daemon, name, source)[1] - finished)
        return times, processes.processor_ns(pid) - before

    def file_in_a_crowd(self, count):
        crowd = subprocess.Popen(
            [sys.executable, "-B", CROWD, os.path.join(self.daemon.runtime, "control"), str(CLIENTS)],
            stdout=subprocess.PIPE, text=True)
        try:
            if crowd.stdout.readline() != "ready\n":
                raise RuntimeError("the clients did not start")
            times, processor = self.file(count)
        finally:
            crowd.terminate()
        return times, processor, json.loads(crowd.communicate()[0])


def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, CLIENTS + 256)), hard))


def measure(session, release, photos, scratch):
    raise_limit()
    os.makedirs(scratch, exist_ok=True)
    # Short: a socket's path has 107 bytes.
    root = os.path.realpath(tempfile.mkdtemp(prefix="c-", dir=scratch))
    kind, mount_point = file_system_of(root)
    samples, processor, done = {WITHOUT: [], WITH: []}, {WITHOUT: [], WITH: []}, []
    try:
        house = House(release / "photoinboxd", root, photos)
        try:
            house.file(PHOTOS)  # the first ones open permanent resources
            for run in range(session.runs):
                # The order alternates, so that neither always has the fuller disk.
                for name in (WITHOUT, WITH) if run % 2 == 0 else (WITH, WITHOUT):
                    session.note(f"clients: {name}, run {run + 1} of {session.runs}")
                    if name == WITH:
                        times, used, what = house.file_in_a_crowd(PHOTOS)
                        done.append(what)
                    else:
                        times, used = house.file(PHOTOS)
                    samples[name] += times
                    processor[name].append(used / PHOTOS)
            memory = processes.memory(house.daemon.process.pid)
        finally:
            status = house.daemon.stop()
    finally:
        shutil.rmtree(os.path.join(root, "library"), ignore_errors=True)
        remove(root)
    if status:
        raise RuntimeError(f"the daemon ended with {status}")
    spreads = {name: spread(values) for name, values in samples.items()}
    return {
        "clients": CLIENTS, "photos": PHOTOS, "runs": session.runs, "file_system": kind, "mounted_on": mount_point,
        "filed": spreads, "processor": {name: spread(values) for name, values in processor.items()},
        "resident": memory["rss"], "done": done,
        "targets": [target(f"× {WITHOUT}", ratio(spreads, WITH, WITHOUT), 1.1)],
    }
