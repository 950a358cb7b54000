"""The senders of the campaign of uploads: each dialect's requests, connections that are cut at any place, and what a real client
does next. Run nothing here by itself."""
import base64
import collections
import hashlib
import json
import re
import socket
import threading
import time

import storm

Request = collections.namedtuple("Request", "method path fields body", defaults=((), None))
Answer = collections.namedtuple("Answer", "status fields body interim", defaults=({}, b"", None))
LOST = Answer(0)
# Where a connection ends. Of a request without a body there are three.
BORDERS = ("in the head", "after the head", "after a byte", "in the middle", "before the last byte", "unanswered", "in the answer")
BODILESS = ("in the head", "unanswered", "in the answer")


def base64_of(data):
    return base64.b64encode(data).decode()


def sha256(data):
    return hashlib.sha256(data).digest()


def digest_field(name, data):
    return name, f"sha-256=:{base64_of(sha256(data))}:"


def cut_at(border, head, body):
    """How many bytes are sent."""
    return {"in the head": head // 2, "after the head": head, "after a byte": head + min(body, 1),
            "in the middle": head + body // 2, "before the last byte": head + max(body - 1, 0)}.get(border, head + body)


def exchange(path, request, border=None, halves=False, pause=0, pause_at=None):
    """The answer; LOST where the connection ended before. `border`: this end cuts it there, or with `halves` sends no more, and
    still reads. It may pause in the middle of the body, or where that is said."""
    head = f"{request.method} {request.path} HTTP/1.1\r\nHost: photos.example.org\r\nConnection: close\r\n"
    fields, body = list(request.fields), request.body
    if body is not None:
        if ("Transfer-Encoding", "chunked") in fields:
            half = len(body) // 2
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part) + b"0\r\n\r\n"
        else:
            fields.append(("Content-Length", str(len(body))))
    data = (head + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n").encode()
    size = len(data)
    data += body or b""
    data = data[:cut_at(border, size, len(data) - size)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(storm.PATIENCE)
        try:
            connection.connect(str(path))
        except OSError:
            return LOST
        try:
            if pause and len(data) > size:
                # In pieces: what happens meanwhile happens in its middle.
                part = size + ((len(data) - size) // 2 if pause_at is None else pause_at)
                connection.sendall(data[:part])
                time.sleep(pause)
                connection.sendall(data[part:])
            else:
                connection.sendall(data)
        except OSError:
            # It may have been answered all the same.
            pass
        try:
            if border and halves:
                connection.shutdown(socket.SHUT_WR)
            elif border == "in the answer":
                connection.recv(20)
                return LOST
            elif border:
                return Answer(0, {}, b"", told_of(connection, request, len(data) - size))
            return read(connection, request.method)
        except OSError:
            return LOST


def told_of(connection, request, sent):
    """The fields of an answer before the answer, by which the draft says where an upload is continued."""
    if sent < 0 or request.method not in ("POST", "PUT") or Draft.MARK not in request.fields:
        return None
    connection.settimeout(1)
    found = re.match(rb"HTTP/1.1 104 .*?\r\nlocation: ([^\r]*)\r", connection.recv(4096), re.DOTALL | re.IGNORECASE)
    return {"location": found[1].decode()} if found else None


def read(connection, method):
    received, interim = b"", None
    while True:
        while b"\r\n\r\n" in received:
            lines, rest = received.split(b"\r\n\r\n", 1)
            first, *lines = lines.decode("latin-1").split("\r\n")
            status = int(first.split(" ")[1])
            fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if ": " in line)}
            if status >= 200:
                while more := connection.recv(65536):
                    rest += more
                if len(rest) < int(fields.get("content-length", 0)) and method != "HEAD":
                    return LOST
                return Answer(status, fields, rest, interim)
            received, interim = rest, fields
        more = connection.recv(65536)
        if not more:
            # An upload that is told of before the answer is lost can be continued.
            return Answer(0, {}, b"", interim)
        received += more


# Dialects: what a client says, and what an answer means


class Dialect:
    """One way to send one content; a value of its place, its content and what is peculiar about it."""

    # Messages that can be cut, and whether an upload has a number by which it is continued.
    messages, is_resumable = ("create",), True

    def __init__(self, name, *marks):
        self.name, self.marks = name, marks

    def chunked(self, content):
        """The first body, and the later ones."""
        return content.size // 3 + 1

    def modified(self, content):
        return 1_700_000_000_000 + content.number * 1000

    def upload_of(self, answer):
        for fields in (answer.fields, answer.interim or {}):
            if found := re.search("([0-9a-f]{32})/?$", fields.get("location", "")):
                return found[1]
        return None

    def offset_of(self, answer):
        value = answer.fields.get("upload-offset")
        return int(value) if value is not None else None

    def completes(self, answer, size):
        """Whether an answer says that all has come."""
        return 200 <= answer.status < 300 and self.offset_of(answer) == size


class Tus(Dialect):
    """Marks: with (creation-with-upload), deferred, checksum, override."""

    messages = ("create", "append", "ask", "last", "end")
    MARK = ("Tus-Resumable", "1.0.0")
    TYPE = ("Content-Type", "application/offset+octet-stream")

    def sums(self, body, wrong):
        if "checksum" not in self.marks and not wrong:
            return []
        return [("Upload-Checksum", f"sha256 {base64_of(sha256(body + (b'x' if wrong else b'')))}")]

    def method(self, method):
        if "override" in self.marks:
            return "POST", [self.MARK, ("X-HTTP-Method-Override", method)]
        return method, [self.MARK]

    def create(self, up, content, body, wrong=False, whole=None, length=None):
        metadata = f"filename {base64_of(content.name.encode())},lastModified {base64_of(b'%d' % self.modified(content))}"
        if whole:
            metadata += f",sha256 {base64_of(whole.hex().encode())}"
        fields = [self.MARK, ("Upload-Metadata", metadata)]
        if "deferred" in self.marks:
            fields.append(("Upload-Defer-Length", "1"))
        else:
            fields.append(("Upload-Length", str(length or content.size)))
        if "with" not in self.marks:
            return Request("POST", up, fields, None)
        return Request("POST", up, [*fields, self.TYPE, *self.sums(body, wrong)], body)

    def append(self, up, upload, content, offset, body, wrong=False, length=None):
        method, fields = self.method("PATCH")
        if "deferred" in self.marks and offset + len(body) >= content.size:
            fields.append(("Upload-Length", str(length or content.size)))
        return Request(method, up + upload, [
            *fields, ("Upload-Offset", str(offset)), self.TYPE, *self.sums(body, wrong)], body)

    def ask(self, up, upload):
        return Request("HEAD", up + upload, [self.MARK])

    def end(self, up, upload):
        method, fields = self.method("DELETE")
        return Request(method, up + upload, fields, None)

    def completes(self, answer, size):
        # A length that is not said leaves it open.
        return super().completes(answer, size) and "upload-defer-length" not in answer.fields


class Draft(Dialect):
    """Marks: whole (all in one request that can be continued), put."""

    messages = ("create", "append", "ask", "last", "end")
    MARK = ("Upload-Draft-Interop-Version", "8")

    def __init__(self, name, *marks):
        super().__init__(name, *marks)
        if "whole" in marks:
            self.messages = ("create", "ask", "end")

    def chunked(self, content):
        return content.size if "whole" in self.marks else super().chunked(content)

    def create(self, up, content, body, wrong=False, whole=None, length=None):
        is_last = len(body) >= content.size
        fields = [self.MARK, ("Upload-Complete", "?1" if is_last else "?0")]
        if not is_last or length:
            fields.append(("Upload-Length", str(length or content.size)))
        if whole:
            fields.append(("Repr-Digest", f"sha-256=:{base64_of(whole)}:"))
        if wrong:
            fields.append(digest_field("Content-Digest", body + b"x"))
        if "put" in self.marks:
            return Request("PUT", f"{up}{content.name}?modified={self.modified(content)}", fields, body)
        return Request("POST", f"{up}?name={content.name}&modified={self.modified(content)}", fields, body)

    def append(self, up, upload, content, offset, body, wrong=False, length=None):
        is_last = offset + len(body) >= content.size
        return Request("PATCH", up + upload, [
            self.MARK, ("Upload-Offset", str(offset)), ("Upload-Complete", "?1" if is_last else "?0"),
            ("Content-Type", "application/partial-upload"),
            digest_field("Content-Digest", body + (b"x" if wrong else b""))], body)

    def ask(self, up, upload):
        return Request("HEAD", up + upload, [self.MARK])

    def end(self, up, upload):
        return Request("DELETE", up + upload, [self.MARK])

    def completes(self, answer, size):
        return 200 <= answer.status < 300 and answer.fields.get("upload-complete") == "?1"


class Post(Dialect):
    """The page's. Marks: empty (created without a byte)."""

    messages = ("create", "append", "ask", "last", "end")
    PAGE = ("X-Photo-Inbox", "1")

    def fields(self, body, wrong=False, whole=None):
        fields = [self.PAGE, ("Content-Type", "application/octet-stream"),
                  digest_field("Content-Digest", body + (b"x" if wrong else b""))]
        return fields + ([("Repr-Digest", f"sha-256=:{base64_of(whole)}:")] if whole else [])

    def create(self, up, content, body, wrong=False, whole=None, length=None):
        path = f"{up}?name={content.name}&length={length or content.size}&modified={self.modified(content)}"
        if "empty" in self.marks:
            return Request("POST", path, [self.PAGE] + (self.fields(b"", whole=whole)[-1:] if whole else []), None)
        return Request("POST", path, self.fields(body, wrong, whole or bytes.fromhex(content.digest)), body)

    def append(self, up, upload, content, offset, body, wrong=False, length=None):
        return Request("POST", f"{up}{upload}?at={offset}", self.fields(body, wrong), body)

    def ask(self, up, upload):
        return Request("POST", up + upload, [self.PAGE])

    def end(self, up, upload):
        return Request("POST", f"{up}{upload}?end=1", [self.PAGE])


class Put(Dialect):
    """Marks: chunked, digest."""

    is_resumable = False

    def chunked(self, content):
        return content.size

    def create(self, up, content, body, wrong=False, whole=None, length=None):
        fields = [("Transfer-Encoding", "chunked")] if "chunked" in self.marks else []
        if whole or "digest" in self.marks:
            fields.append(("Repr-Digest", f"sha-256=:{base64_of(whole or sha256(body))}:"))
        if wrong:
            fields.append(digest_field("Content-Digest", body + b"x"))
        return Request("PUT", up + content.name, fields, body)

    def completes(self, answer, size):
        return 200 <= answer.status < 300


class Dav(Dialect):
    """Marks: part, tacitpart (put under an unfinished name, then moved), folder (made before)."""

    is_resumable = False

    def __init__(self, name, *marks):
        super().__init__(name, *marks)
        self.messages = (("mkcol",) if "folder" in marks else ()) + ("create",) + (("move",) if self.suffix else ())

    @property
    def suffix(self):
        return next((f".{mark}" for mark in self.marks if mark.endswith("part")), "")

    def folder(self, content):
        return f"/dav/F{content.number}/" if "folder" in self.marks else "/dav/"

    def mkcol(self, content):
        return Request("MKCOL", self.folder(content))

    def put(self, content, body):
        return Request("PUT", self.folder(content) + content.name + self.suffix, [("X-OC-Mtime", "1700000000")], body)

    def move(self, content):
        path = self.folder(content) + content.name
        return Request("MOVE", path + self.suffix, [("Destination", f"https://photos.example.org{path}")])

    def look(self, content, suffix=""):
        return Request("HEAD", self.folder(content) + content.name + suffix)


DIALECTS = [
    Tus("tus"), Tus("tus, with upload", "with"), Tus("tus, deferred length", "deferred"), Tus("tus, checksum", "with", "checksum"),
    Tus("tus, override", "override"), Draft("draft, whole", "whole"), Draft("draft, parts"), Draft("draft, PUT", "whole", "put"),
    Post("page"), Post("page, empty", "empty"), Put("PUT"), Put("PUT, chunked", "chunked"), Put("PUT, digest", "digest"),
    Dav("WebDAV"), Dav("WebDAV, .part", "part"), Dav("WebDAV, .tacitpart in a folder", "tacitpart", "folder"),
]


class Upload:
    """What senders of one upload know together."""

    def __init__(self):
        self.lock, self.number, self.acknowledged, self.is_complete, self.may_end = threading.Lock(), None, 0, False, False


class Sender:
    """Sends one content until it is told that all has come, as real clients do; cuts one message once."""

    def __init__(self, world, dialect, owner, content, message=None, border=None, halves=False, pause=0):
        (self.world, self.judge, self.dialect, self.owner, self.content) = (world, world.judge, dialect, owner, content)
        self.message, self.border, self.halves, self.pause = message, border, halves, pause
        self.upload, self.data, self.end = Upload(), content.data(), time.monotonic() + storm.PATIENCE
        self.offset, self.is_certain, self.has_asked, self.begun, self.last = 0, True, message != "ask", 0, LOST
        self.ends_first, self.floor = message == "end", 0
        content.owners.add(owner.label)

    def speak(self, message, request):
        """One message; cut where this one is to be."""
        border, halves = None, False
        if message == self.message and self.border:
            border, halves, self.message = self.border, self.halves, None
            self.judge.count("cuts", border + (", reading on" if halves else ""))
        if message in ("create", "last", "append") and request.body is not None:
            self.content.tries += 1
        elif message == "create" and self.message in ("ask", "end") and "whole" in self.dialect.marks and self.begun == 1:
            # So that there is something to ask for.
            border = "in the middle"
        # Of two senders the other may be told of more before this one is answered.
        self.floor, self.was_complete = self.upload.acknowledged, self.upload.is_complete
        answer = self.world.exchange(self.owner, request, border, halves, self.pause)
        self.last = answer
        self.judge.count("answers", "lost" if answer.status == 0 else str(answer.status))
        return answer

    def check_patience(self):
        if self.world.is_over.is_set():
            raise storm.Violation("the campaign has ended")
        if time.monotonic() > self.end:
            raise storm.Violation(f"{self.dialect.name}: {self.content.name} has not come in {storm.PATIENCE} s, at "
                                  f"{self.offset} of {self.content.size}; the last answer: {self.last}")

    def wrong(self, text):
        self.judge.violation(f"{self.dialect.name}, {self.owner.label}: {text}", self.content.number)

    def send(self):
        if self.upload.number is None:
            self.owner = self.world.current(self.owner)
            self.content.owners.add(self.owner.label)
        if isinstance(self.dialect, Dav):
            self.send_dav()
        else:
            while not self.upload.is_complete:
                self.check_patience()
                self.step()
        self.judge.count("uploads", self.dialect.name)

    def step(self):
        content, dialect, up = self.content, self.dialect, self.owner.up
        number = self.upload.number
        if number is None:
            self.begin()
        elif not self.is_certain or not self.has_asked and self.offset > 0:
            self.has_asked = True
            self.hear("ask", self.speak("ask", dialect.ask(up, number)), number)
        elif self.ends_first and self.offset > 0:
            self.end_it(number)
        else:
            size = content.size - self.offset
            if self.message == "append" or self.offset == 0:
                size = min(size, dialect.chunked(content))
            body = self.data[self.offset:self.offset + size]
            message = "last" if self.offset + size == content.size else "append"
            self.hear(message, self.speak(message, dialect.append(up, number, content, self.offset, body)), number)

    def begin(self):
        """A new upload; before, the page asks whether one of which it was not told is there."""
        content, dialect = self.content, self.dialect
        if self.begun and isinstance(dialect, Post) and (found := self.world.find(self.owner, content)):
            self.upload.number, self.is_certain = found, False
            self.owner.uploads[found] = content
            return
        if self.begun and dialect.is_resumable:
            self.world.left(self.owner)
            self.owner = self.world.current(self.owner)
            content.owners.add(self.owner.label)
        self.begun += 1
        body = self.data[:dialect.chunked(content)]
        answer = self.speak("create", dialect.create(self.owner.up, content, body))
        if dialect.is_resumable and (number := dialect.upload_of(answer)):
            self.owner.uploads[number] = content
            self.upload.number = number
            self.is_certain = answer.status != 0
        if number := self.upload.number:
            if answer.status:
                self.hear("create", answer, number)
        elif dialect.completes(answer, content.size):
            if answer.status == 202:
                self.wrong(f"a whole file is answered {answer.status} {answer.body}")
            self.complete(f"{answer.status} to {dialect.name}")
        else:
            self.wait(answer, "create")

    def end_it(self, number):
        """Its sender ends it, and sends it anew."""
        with self.upload.lock:
            self.upload.may_end = True
        answer = self.speak("end", self.dialect.end(self.owner.up, number))
        if answer.status == 204:
            self.judge.ended.add(number)
        if answer.status in (204, 404, 410):
            self.ends_first, self.upload = False, Upload()
            self.offset, self.is_certain, self.has_asked = 0, True, True
        elif answer.status in (409, 400):
            self.ends_first, self.is_certain = False, False
        else:
            self.wait(answer, "end")

    def hear(self, message, answer, number):
        """What an answer means for an upload that has a number."""
        upload, dialect, size = self.upload, self.dialect, self.content.size
        if 200 <= answer.status < 300:
            offset = dialect.offset_of(answer)
            if self.judge.broken == "offset" and message == "ask" and offset:
                offset -= 1
            if offset is None:
                return self.wrong(f"{answer.status} to {message} has no Upload-Offset")
            self.move(offset, f"{answer.status} to {message}", number)
            if dialect.completes(answer, size):
                self.complete(f"{answer.status} to {message}, upload {number}")
            elif self.was_complete:
                self.wrong(f"{number} was complete, and is at {offset} now: {answer}")
        elif answer.status in (404, 410):
            with upload.lock:
                if not upload.may_end and number not in self.judge.ended:
                    self.wrong(f"{number} is gone at {self.offset} of {size}: {answer.status} {answer.body} to {message}")
            self.upload, self.offset, self.is_certain = Upload(), 0, True
        elif answer.status == 409 and dialect.offset_of(answer) is not None:
            self.move(dialect.offset_of(answer), "409", number)
        elif answer.status in (400, 409) and answer.body.find(b"digest") < 0:
            self.is_certain = False
            time.sleep(0.05)
        else:
            self.wait(answer, message)
        return None

    def move(self, offset, why, number):
        """The server says where it is: never before what it has said."""
        with self.upload.lock:
            self.upload.acknowledged = max(self.upload.acknowledged, offset)
        if offset < self.floor:
            self.wrong(f"{number} goes back from {self.floor} to {offset}: {why}")
        if offset > self.content.size:
            self.wrong(f"{number} is at {offset} of {self.content.size}: {why}")
        self.offset, self.is_certain = offset, True

    def complete(self, why):
        self.upload.is_complete = True
        if self.upload.number:
            self.judge.complete.add(self.upload.number)
            if self.upload.number in self.judge.ended:
                self.wrong(f"{self.upload.number} was ended, and is complete: {why}")
        self.judge.completed(self.content, why)

    def wait(self, answer, message):
        """What ends by itself is waited for. Other refusals are unexpected."""
        self.is_certain = False
        if answer.status == 429:
            # Too many are unfinished: these are ended after ten minutes.
            self.world.retire(self.owner)
            if self.upload.number is None:
                self.owner = self.world.current(self.owner)
                self.content.owners.add(self.owner.label)
        elif answer.status in (500, 507) and not self.world.was_full():
            self.wrong(f"{answer.status} {answer.body} to {message}, and the disk is not full")
        elif answer.status not in (0, 408, 500, 503, 507):
            self.wrong(f"{answer.status} {answer.body} to {message}")
        time.sleep(0.05 if answer.status == 0 else 0.3)

    # WebDAV

    def send_dav(self):
        """Puts it until it is answered; whoever was not answered looks what is there."""
        dialect, content = self.dialect, self.content
        if "folder" in dialect.marks:
            self.until("mkcol", dialect.mkcol(content), (201, 405))
        while not self.upload.is_complete:
            self.until("create", dialect.put(content, self.data), (201, 204))
            if not dialect.suffix:
                return self.complete("PUT by WebDAV")
            was_lost = False
            while True:
                answer = self.speak("move", dialect.move(content))
                if answer.status in (201, 204):
                    return self.complete("MOVE to its name")
                if answer.status == 404:
                    if not was_lost:
                        self.wrong(f"what was put as {content.name}{dialect.suffix} is not there")
                    found = self.until("look", dialect.look(content), (200, 404))
                    if found.status == 200 and found.fields.get("content-length") == str(content.size):
                        return self.complete("HEAD after MOVE")
                    # See docs/decisions/0064: until the store can place it, it has neither name.
                    self.judge.count("left", "files sent again by WebDAV after a MOVE that failed")
                    break
                was_lost = was_lost or answer.status in (0, 500, 507)
                self.check_patience()
                self.wait(answer, "move")
        return None

    def until(self, message, request, right):
        while True:
            self.check_patience()
            answer = self.speak(message, request)
            if answer.status in right:
                return answer
            self.wait(answer, message)


def ask_known(world, owner, contents):
    """What is said of contents by their digests: a list, or None where it was not answered."""
    files = [{"name": content.name, "size": content.size, "sha256": content.digest} for content in contents]
    body = json.dumps({"files": files}).encode()
    answer = world.exchange(owner, Request("POST", f"{owner.up}known", [("X-Photo-Inbox", "1")], body))
    if answer.status != 200:
        return None
    return json.loads(answer.body)["files"]
