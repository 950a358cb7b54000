"""Starts photoinboxd on directories of its own, waits for its READY, and stops it."""
import contextlib
import os
import select
import shutil
import socket
import sqlite3
import subprocess
import time


class Daemon:
    """photoinboxd, running, with `inbox`, `library`, `state` and `runtime` below one directory, or with another's library."""

    def __init__(self, program, root, options=(), name="inbox", library="library"):
        self.inbox, self.library, self.state, self.runtime = (
            os.path.join(root, name) for name in ("inbox", library, "state", "run"))
        for directory in (self.inbox, self.library, self.state, self.runtime):
            os.makedirs(directory, exist_ok=True)
        self.log = os.path.join(root, "log")
        address = os.path.join(root, "notify")
        if os.path.exists(address):
            os.unlink(address)
        self._notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._notices.bind(address)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, "--inbox", f"{name}={self.inbox}", "--library", self.library, "--state", self.state, "--runtime",
                 self.runtime, "--log", "console", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ, NOTIFY_SOCKET=address))
        try:
            self._await(b"READY=1", 30)
        except BaseException:
            self.stop()
            raise

    def _await(self, line, seconds):
        while select.select([self._notices], [], [], seconds)[0]:
            if line in self._notices.recv(65536).split(b"\n"):
                return
            if self.process.poll() is not None:
                break
        raise RuntimeError(f"photoinboxd did not say {line.decode()}: {self.log_tail()}")

    def log_tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def catalogue(self):
        return os.path.join(self.state, "catalogue.sqlite")

    def drop(self, photos):
        """Moves copies into the inbox as fast as possible; returns the moment before the first."""
        staging = os.path.join(os.path.dirname(self.inbox), "staging")
        os.makedirs(staging, exist_ok=True)
        staged = [shutil.copy(photo, staging) for photo in photos]
        os.sync()
        begun = time.monotonic_ns()
        for photo in staged:
            os.rename(photo, os.path.join(self.inbox, os.path.basename(photo)))
        return begun

    def recorded(self):
        """The number of photographs in the catalogue."""
        with contextlib.closing(sqlite3.connect(f"file:{self.catalogue()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'photo' UNION ALL SELECT 0").fetchone()[0]

    def await_filed(self, count):
        """Waits until `count` are recorded and the inbox is empty."""
        self._until(lambda: not os.listdir(self.inbox) and self.recorded() >= count, "filed")

    def await_empty(self):
        """Waits until the inbox is empty."""
        self._until(lambda: not os.listdir(self.inbox), "filed", nap=0.002)

    def await_thumbnails(self, count):
        """Waits for the small pictures of `count` photographs."""
        def made():
            return sum(name.endswith("-320.jpg") for _, _, names in os.walk(os.path.join(self.state, "thumbnails"))
                       for name in names)
        self._until(lambda: made() >= count, "made small")

    def _until(self, is_done, what, seconds=120, nap=0.02):
        end = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"not all photographs were {what}: {self.log_tail()}")
            time.sleep(nap)

    def stop(self):
        """Ends it and returns its exit status."""
        self._notices.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


def file_system_of(path):
    """Its type and the mount point, from mountinfo."""
    device = os.stat(path).st_dev
    wanted, answer = f"{os.major(device)}:{os.minor(device)}", ("unknown", "?")
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            if before.split()[2] == wanted:
                answer = (after.split()[0], before.split()[4])
    return answer


def remove(root):
    shutil.rmtree(root, ignore_errors=True)
