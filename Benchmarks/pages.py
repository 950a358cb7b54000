"""What the pages cost: from finished write to filed with 100 live pages open, beside the same without them, in turn; how long the
first byte takes from a socket alone, as the service manager hands it over; and what is left when nobody is there.

usage, for the pages that are open: pages.py SOCKET COOKIE COUNT
"""
import contextlib
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
from figures import noise, ratio, spread, target

PAGES, STARTS, WITH, WITHOUT = 100, 20, "100 live pages", "no pages"
WEB, DROP = "photoinbox-web", "photoinbox-drop"
ENDED_AFTER = 60  # seconds without anybody, as the programs have it
PASSWORD = "a long password"


class Local(http.client.HTTPConnection):
    """A connection to a socket, which is local or of this machine."""

    def __init__(self, address):
        super().__init__("x", timeout=60)
        self.address = address

    def connect(self):
        self.sock = connected(self.address)


def connected(address):
    client = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, socket.SOCK_STREAM)
    client.settimeout(120)
    client.connect(address)
    return client


class Activated:
    """A program and its socket, which is held here as the service manager holds it."""

    def __init__(self, words, address, own):
        self.words, self.own, self.process = words, own, None
        os.makedirs(own, exist_ok=True)
        if isinstance(address, str) and os.path.exists(address):
            os.unlink(address)
        self.socket = socket.socket(
            socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.bind(address)
        self.socket.listen(512)
        self.address = self.socket.getsockname()

    def start(self):
        number = self.socket.fileno()

        def become_service():
            os.dup2(number, 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), STATE_DIRECTORY=self.own)

        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=become_service)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        """Ends it, and gives up its socket."""
        self.stop()
        self.socket.close()
        if isinstance(self.address, str):
            os.unlink(self.address)

    def first_byte(self):
        """From the connection, with nothing running, to the first byte of the answer."""
        begun = time.monotonic_ns()
        with contextlib.closing(connected(self.address)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.start()
            if not client.recv(1):
                raise RuntimeError(f"{self.words[0]} did not answer")
            return time.monotonic_ns() - begun

    def await_end(self, since):
        """The seconds since then until it has ended by itself, and what it holds if it has not within the limit."""
        left = since + ENDED_AFTER + 15 - time.monotonic()
        try:
            status = self.process.wait(max(left, 0))
        except subprocess.TimeoutExpired:
            return None, processes.memory(self.process.pid)["rss"]
        if status:
            raise RuntimeError(f"{self.words[0]} ended with {status}")
        self.process = None
        return time.monotonic() - since, 0


class Pages(Activated):
    """photoinbox-web, at a local socket or, for a browser, at an address of this machine."""

    def __init__(self, release, root, daemon, address=None):
        self.release, self.configuration = release, os.path.join(root, "photoinbox.toml")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'library = "{daemon.library}"\nstate = "{daemon.state}"\nruntime = "{daemon.runtime}"\n'
                       f'[inbox.inbox]\npath = "{daemon.inbox}"\n[web]\ninbox = "inbox"\n')
        super().__init__([release / "photoinbox-web", "--config", self.configuration], address or os.path.join(root, "http"),
                         os.path.join(root, "web"))

    def sign_in(self, name="ana"):
        """The cookie of a new operator."""
        added = subprocess.run(
            [self.release / "photoinbox", "web", "user", "add", name, "--role", "operator", "--config", self.configuration],
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


def idle(session, programs):
    """How long the programs stay after their only connection has ended, and what is held by those that do not end by themselves."""
    session.note(f"pages: until programs without anybody have ended, in about {ENDED_AFTER} s")
    for program in programs:
        program.first_byte()
    since = time.monotonic()
    seconds, held = zip(*(program.await_end(since) for program in programs))
    return {"seconds": max((each for each in seconds if each is not None), default=None), "held": sum(held),
            "left": seconds.count(None)}


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
        drop = Activated([release / "photoinbox-drop", "--config", pages.configuration, "--pages-user", "nobody"],
                         os.path.join(root, "drop"), os.path.join(root, "own"))
        try:
            first = {WEB: [], DROP: []}
            session.note(f"pages: {STARTS} starts by the first connection")
            for _ in range(STARTS):
                for name, program in ((WEB, pages), (DROP, drop)):
                    first[name].append(program.first_byte())
                    program.stop()
            without_anybody = idle(session, (pages, drop))
            pages.stop()
            drop.stop()
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
                    samples[name].append(times)
                    processor[name].append(used / PHOTOS)
        finally:
            pages.stop()
            drop.stop()
            status = house.daemon.stop()
    finally:
        shutil.rmtree(os.path.join(root, "library"), ignore_errors=True)
        remove(root)
    if status:
        raise RuntimeError(f"the daemon ended with {status}")
    spreads = {name: spread(sum(runs, [])) for name, runs in samples.items()}
    started = {name: spread(times) for name, times in first.items()}
    return {
        "photos": PHOTOS, "runs": session.runs, "file_system": kind, "mounted_on": mount_point, "filed": spreads,
        "noise": noise(samples[WITHOUT]), "processor": {name: spread(values) for name, values in processor.items()},
        "first": started, "idle": without_anybody, "resident": max(resident),
        "targets": [target(f"× {WITHOUT}", ratio(spreads, WITH, WITHOUT), 1.05),
                    *(target(f"ms to the first byte of {name}", values["median"] / 1e6, 150) for name, values in started.items()),
                    target("processes left without anybody", without_anybody["left"], 0),
                    target("MB held without anybody", without_anybody["held"] / 1e6, 0)],
    }


if __name__ == "__main__":
    look(sys.argv[1], sys.argv[2], int(sys.argv[3]))
