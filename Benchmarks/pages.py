"""What the pages cost: from finished write to filed with 100 live pages open, beside the same without them, in turn; and how
long the first byte takes from a socket alone, as the service manager hands it over.

usage, for the pages that are open: pages.py SOCKET COOKIE COUNT
"""
import http.client
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import processes
from clients import PHOTOS, House
from daemon import file_system_of, remove
from figures import ratio, spread, target

PAGES, STARTS, WITH, WITHOUT, FIRST = 100, 20, "100 live pages", "no pages", "first byte"
PASSWORD = "a long password"


class Local(http.client.HTTPConnection):
    """A connection to a local socket."""

    def __init__(self, path):
        super().__init__("x", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Pages:
    """photoinbox-web, started by the first connection to its socket."""

    def __init__(self, release, root, daemon):
        self.release, self.configuration = release, os.path.join(root, "photoinbox.toml")
        self.address, self.own = os.path.join(root, "http"), os.path.join(root, "web")
        os.makedirs(self.own, exist_ok=True)
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'library = "{daemon.library}"\nstate = "{daemon.state}"\nruntime = "{daemon.runtime}"\n'
                       f'[inbox.one]\npath = "{daemon.inbox}"\n')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.bind(self.address)
        self.socket.listen(512)
        self.process = None

    def start(self):
        number = self.socket.fileno()

        def become_service():
            os.dup2(number, 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), STATE_DIRECTORY=self.own)

        self.process = subprocess.Popen(
            [self.release / "photoinbox-web", "--config", self.configuration], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=become_service)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def first_byte(self):
        """From the connection, with nothing running, to the first byte of the page."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(60)
        begun = time.monotonic_ns()
        client.connect(self.address)
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        self.start()
        if not client.recv(1):
            raise RuntimeError("photoinbox-web did not answer")
        ended = time.monotonic_ns()
        client.close()
        self.stop()
        return ended - begun

    def sign_in(self):
        """The cookie of an operator."""
        added = subprocess.run(
            [self.release / "photoinbox", "web", "user", "add", "ana", "--role", "operator", "--config", self.configuration],
            check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        link = re.search("#link=([0-9a-f]{64})", added.stdout)
        client = Local(self.address)
        client.request(
            "POST", "/link", json.dumps({"link": link[1], "password": PASSWORD}),
            {"X-Photo-Inbox": "1", "Content-Type": "application/json"})
        answer = client.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"signing in was answered with {answer.status}")
        return answer.getheader("Set-Cookie").partition(";")[0]


def look(address, cookie, count):
    """Keeps so many live pages open, and reads what they are sent, until it is ended."""
    poller = selectors.DefaultSelector()

    def open_page():
        page = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        page.connect(address)
        page.sendall(f"GET /live HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n".encode())
        if not page.recv(65536).startswith(b"HTTP/1.1 200 "):
            raise RuntimeError("a page was refused")
        poller.register(page, selectors.EVENT_READ)

    for _ in range(count):
        open_page()
    print("ready", flush=True)
    while True:
        for key, _ in poller.select():
            if not key.fileobj.recv(1 << 20):
                poller.unregister(key.fileobj)
                key.fileobj.close()
                open_page()


def file_with_pages(house, pages, cookie):
    watching = subprocess.Popen(
        [sys.executable, "-B", os.path.abspath(__file__), pages.address, cookie, str(PAGES)], stdout=subprocess.PIPE, text=True)
    try:
        if watching.stdout.readline() != "ready\n":
            raise RuntimeError("the pages did not open")
        return *house.file(PHOTOS), processes.memory(pages.process.pid)["rss"]
    finally:
        watching.terminate()
        watching.communicate()


def measure(session, release, photos, scratch):
    os.makedirs(scratch, exist_ok=True)
    # Short: a socket's path has 107 bytes.
    root = os.path.realpath(tempfile.mkdtemp(prefix="p-", dir=scratch))
    kind, mount_point = file_system_of(root)
    samples, processor, resident = {WITHOUT: [], WITH: []}, {WITHOUT: [], WITH: []}, []
    try:
        house = House(release / "photoinboxd", root, photos)
        pages = Pages(release, root, house.daemon)
        try:
            session.note(f"pages: {STARTS} starts by the first connection")
            first = [pages.first_byte() for _ in range(STARTS)]
            pages.start()
            cookie = pages.sign_in()
            house.file(PHOTOS)  # the first ones open permanent resources
            for run in range(session.runs):
                # The order alternates, so that neither always has the fuller disk.
                for name in (WITHOUT, WITH) if run % 2 == 0 else (WITH, WITHOUT):
                    session.note(f"pages: {name}, run {run + 1} of {session.runs}")
                    if name == WITH:
                        times, used, held = file_with_pages(house, pages, cookie)
                        resident.append(held)
                    else:
                        times, used = house.file(PHOTOS)
                    samples[name] += times
                    processor[name].append(used / PHOTOS)
        finally:
            pages.stop()
            status = house.daemon.stop()
    finally:
        shutil.rmtree(os.path.join(root, "library"), ignore_errors=True)
        remove(root)
    if status:
        raise RuntimeError(f"the daemon ended with {status}")
    spreads = {name: spread(values) for name, values in samples.items()}
    started = spread(first)
    return {
        "photos": PHOTOS, "runs": session.runs, "file_system": kind, "mounted_on": mount_point, "filed": spreads,
        "processor": {name: spread(values) for name, values in processor.items()}, "first": {FIRST: started},
        "resident": max(resident),
        "targets": [target(f"× {WITHOUT}", ratio(spreads, WITH, WITHOUT), 1.05),
                    target("ms to the first byte", started["median"] / 1e6, 150)],
    }


if __name__ == "__main__":
    look(sys.argv[1], sys.argv[2], int(sys.argv[3]))
