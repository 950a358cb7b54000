"""What sending photos costs: from the last byte of a photo to its receipt "safe to delete", and one large file to photoinbox-drop
and through the pages, beside cp with fsync and copyparty, in turn.
"""
import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import processes
from clients import PHOTOS, House, varied
from daemon import file_system_of, remove
from figures import at_least, ratio, spread, target
from pages import Activated, Pages, connected

LARGE, PIECE = 1 << 30, 1 << 20
SENDERS, PART = 20, 64 << 20
# Of the page on a fast line: see pace.js.
FIRST, MOST = 8 << 20, 32 << 20
SAFE, PLACED = "safe to delete", "in the inbox"
COPY, WHOLE, CHUNKS, RELAY, PARTY = "cp, fsync", "photoinbox-drop, PUT", "photoinbox-drop, chunks", "the pages, PUT", "copyparty, PUT"
RELAYED = "/run/photoinbox-drop/http"


def answer(client):
    """The status and the fields of an answer, whose body is read."""
    bytes_ = b""
    while b"\r\n\r\n" not in bytes_:
        piece = client.recv(65536)
        if not piece:
            raise RuntimeError("the server closed the connection")
        bytes_ += piece
    head, _, body = bytes_.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    left = int(fields.get("content-length", 0)) - len(body)
    while left > 0:
        left -= len(client.recv(left))
    return int(lines[0].split()[1]), fields


def head(method, target_, length, fields=()):
    return "".join(line + "\r\n" for line in (
        f"{method} {target_} HTTP/1.1", "Host: x", f"Content-Length: {length}", *fields, "")).encode()


def put(address, target_, content):
    """Sends a file, and returns the moments of its last byte and of the answer."""
    with contextlib.closing(connected(address)) as client:
        client.sendall(head("PUT", target_, len(content)) + content)
        sent = time.monotonic_ns()
        status, _ = answer(client)
        if status != 201:
            raise RuntimeError(f"a photo was answered with {status}")
        return sent, time.monotonic_ns()


class Receipts:
    """The stream of events of a link."""

    def __init__(self, address, link):
        self.client, self.bytes = connected(address), b""
        self.client.sendall(head("GET", f"/{link}up/live", 0))

    def await_safe(self, name):
        """The moment of a receipt that calls this file safe to delete."""
        while True:
            piece = self.client.recv(65536)
            moment = time.monotonic_ns()
            if not piece:
                raise RuntimeError("the stream of receipts has ended")
            self.bytes += piece
            *events, self.bytes = self.bytes.split(b"\n\n")
            for event in events:
                data = re.search(rb"^data: (.*)$", event, re.MULTILINE)
                receipt = json.loads(data[1]) if data else {}
                if receipt.get("name") == name and receipt["safe"]:
                    return moment


def stream(address, target_, source):
    with contextlib.closing(connected(address)) as client, open(source, "rb") as file:
        client.sendall(head("PUT", target_, LARGE))
        client.sendfile(file)
        status, _ = answer(client)
        if status not in (200, 201):
            raise RuntimeError(f"a large file was answered with {status}")


def digests(source):
    """The sizes of its chunks, and their digests: the page has read the file before."""
    found, size = [], FIRST
    with open(source, "rb") as file:
        while chunk := file.read(size):
            found.append((len(chunk), base64.b64encode(hashlib.sha256(chunk).digest()).decode()))
            size = min(2 * size, MOST)
    return found


def chunks(address, link, source, known):
    """As the page sends."""
    with contextlib.closing(connected(address)) as client, open(source, "rb") as file:
        where, offset = f"/{link}up/?name=large.mp4&length={LARGE}", 0
        for size, digest in known:
            client.sendall(head("POST", where, size, [
                "X-Photo-Inbox: 1", f"Content-Digest: sha-256=:{digest}:", "Content-Type: application/octet-stream"]))
            client.sendfile(file, offset, size)
            status, fields = answer(client)
            offset += size
            if status not in (200, 201) or int(fields["upload-offset"]) != offset:
                raise RuntimeError(f"a chunk was answered with {status}")
            if "location" in fields:
                number = fields["location"].rstrip("/").rpartition("/")[2]
            where = f"/{link}up/{number}?at={offset}"


def copy(source, place):
    path = os.path.join(place, "large")
    subprocess.run(["cp", "--reflink=never", source, path], check=True)
    for each in (path, place):
        descriptor = os.open(each, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


@contextlib.contextmanager
def copyparty(place):
    """Its address, or nothing where it is not installed. It does not sync what it receives."""
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    address = probe.getsockname()
    probe.close()
    os.makedirs(place, exist_ok=True)
    if subprocess.run([sys.executable, "-m", "copyparty", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode:
        yield None
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "copyparty", "-q", "-i", address[0], "-p", str(address[1]), "-v", f"{place}::rwd", "--no-thumb"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                connected(address).close()
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def emptied(place):
    """Removes what was received, which is not measured."""
    for each in os.scandir(place):
        if each.name.startswith("."):
            continue
        if each.is_dir(follow_symlinks=False):
            shutil.rmtree(each.path)
        else:
            os.unlink(each.path)


class Sending:
    """A daemon, photoinbox-drop, and the pages, which lead to it where nobody else's are there; and a link."""

    def __init__(self, release, root, photos):
        self.house = House(release / "photoinboxd", root, photos)
        # The pages have one address of the other program.
        self.is_whole = os.geteuid() == 0 and not os.path.exists(os.path.dirname(RELAYED))
        if self.is_whole:
            os.mkdir(os.path.dirname(RELAYED))
        self.pages = Pages(release, root, self.house.daemon)
        self.drop = Activated(
            [release / "photoinbox-drop", "--config", self.pages.configuration, "--pages-user", "nobody"],
            RELAYED if self.is_whole else os.path.join(root, "d"), os.path.join(root, "own-d"))
        self.link = self.add_link("bench")
        self.pages.start()
        self.drop.start()

    def add_link(self, name):
        """The path of a new link."""
        added = subprocess.run(
            [self.pages.release / "photoinbox", "web", "link", "add", name, "--until", "2099-12-31", "--config",
             self.pages.configuration], check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        return re.search("d/[0-9a-f]{64}/", added.stdout)[0]

    @property
    def front(self):
        """Where a person sends to."""
        return (self.pages if self.is_whole else self.drop).address

    def stop(self):
        self.drop.close()
        self.pages.close()
        if self.is_whole:
            os.rmdir(os.path.dirname(RELAYED))

    def receipts(self, session, address):
        """How long photos took from their last byte to the answer, and to a receipt that calls them safe."""
        stream_, placed, safe, number = Receipts(address, self.link), [], [], 0
        for run in range(session.runs + 1):
            session.note(f"sending: photos, run {run} of {session.runs}")
            for _ in range(PHOTOS):
                number += 1
                name = f"{number:05}.jpg"
                content = varied(self.house.photos[number % len(self.house.photos)], number)
                sent, answered = put(address, f"/{self.link}up/{name}", content)
                filed = stream_.await_safe(name)
                if run > 0:  # the first ones open permanent resources
                    placed.append(answered - sent)
                    safe.append(filed - sent)
        return {PLACED: spread(placed), SAFE: spread(safe)}


def rates(session, sending, root):
    """Bytes a second of one large file, whose source is in memory."""
    source, place, inbox = os.path.join(root, "source"), os.path.join(root, "copy"), sending.house.daemon.inbox
    other = os.path.join(root, "party")
    with open(source, "wb") as file:
        for _ in range(LARGE // PIECE):
            file.write(os.urandom(PIECE))
        os.fsync(file.fileno())
    os.mkdir(place)
    link, known = sending.link, digests(source)
    with copyparty(other) as party:
        ways = {COPY: (place, lambda: copy(source, place)),
                WHOLE: (inbox, lambda: stream(sending.drop.address, f"/{link}up/large.mp4", source)),
                CHUNKS: (inbox, lambda: chunks(sending.drop.address, link, source, known))}
        if sending.is_whole:
            ways[RELAY] = (inbox, lambda: stream(sending.pages.address, f"/{link}up/large.mp4", source))
        else:
            session.leave_out(f"{RELAY}: {os.path.dirname(RELAYED)} is there already, or this user cannot make it")
        if party:
            ways[PARTY] = (other, lambda: stream(party, "/large.mp4", source))
        else:
            session.leave_out("copyparty is not installed (pip install copyparty)")
        samples = {name: [] for name in ways}
        for run in range(session.runs):
            for name, (where, send) in ways.items():
                session.note(f"sending: {name}, run {run + 1} of {session.runs}")
                os.sync()
                begun = time.monotonic_ns()
                send()
                samples[name].append(LARGE * 1e9 / (time.monotonic_ns() - begun))
                emptied(where)
    return {name: spread(values) for name, values in samples.items()}


def at_once(session, sending):
    """The most that the programs have held, while and before so many large files are sent at a time."""
    session.note(f"sending: {SENDERS} files of {PART >> 20} MiB at a time")
    content = os.urandom(PIECE)

    def send(number):
        with contextlib.closing(connected(sending.front)) as client:
            client.sendall(head("PUT", f"/{sending.link}up/{number}.mp4", PART))
            for _ in range(PART // PIECE):
                client.sendall(content)
            if answer(client)[0] != 201:
                raise RuntimeError(f"file {number} of {SENDERS} at a time was not accepted")

    with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, range(SENDERS)))
    return {name: processes.peak(program.process.pid)
            for name, program in (("photoinbox-web", sending.pages), ("photoinbox-drop", sending.drop))}


def measure(session, release, photos, scratch):
    os.makedirs(scratch, exist_ok=True)
    # Short: a socket's path has 107 bytes.
    root = os.path.realpath(tempfile.mkdtemp(prefix="s-", dir=scratch))
    kind, mount_point = file_system_of(root)
    try:
        sending = Sending(release, root, photos)
        try:
            try:
                receipts = sending.receipts(session, sending.front)
            finally:
                status = sending.house.daemon.stop()
            held = at_once(session, sending)
            emptied(sending.house.daemon.inbox)
            speeds = rates(session, sending, root)
        finally:
            sending.stop()
    finally:
        shutil.rmtree(os.path.join(root, "library"), ignore_errors=True)
        remove(root)
    if status:
        raise RuntimeError(f"the daemon ended with {status}")
    return {
        "photos": PHOTOS, "runs": session.runs, "file_system": kind, "mounted_on": mount_point, "bytes": LARGE,
        "receipts": receipts, "rates": speeds, "peak": held, "through": "the pages" if sending.is_whole else "photoinbox-drop",
        "targets": list(filter(None, [
            target("ms to safe to delete", receipts[SAFE]["median"] / 1e6, 250),
            *(target(f"MB at most held by {name}, {SENDERS} files at a time", values / 1e6, 30) for name, values in held.items()),
            at_least(f"× {COPY}", ratio(speeds, WHOLE, COPY), 0.8),
            at_least(f"× {COPY}, in chunks", ratio(speeds, CHUNKS, COPY), 0.8),
            at_least(f"× {COPY}, through the pages", ratio(speeds, RELAY, COPY), 0.8),
            at_least(f"× {PARTY}", ratio(speeds, WHOLE, PARTY), 1)])),
    }
