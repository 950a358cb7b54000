"""What the campaign of uploads knows of contents, owners and the inbox's file system, and its judges. They know nothing of the
programs but the inbox, the library and what is answered. Run nothing here by itself."""
import collections
import contextlib
import json
import os
import random
import re
import threading
import time

import checker
import storm

HIDDEN = b".photo-inbox-drop"
# How long bytes may be on their way between two names: a look at two directories is no moment.
GLANCE = 3.0 * storm.SLOWNESS
# Breaks a judge's rule from outside, so that it can be seen to fail; see uploads_test.py.
BREAKS = ("truncate", "lose", "offset", "receipt", "known", "accept", "stranger", "part", "twice", "quarantine")


class Content:
    """A whole photo, unique to its number. `state`: open; done, which a sender was told; never, which no file may have."""

    def __init__(self, seed, number, size, state="open", name=None):
        self.seed, self.number, self.state, self.about = seed, number, state, size
        data = self.data()
        self.size, self.digest = len(data), checker.hashlib.sha256(data).hexdigest()
        self.name = name or f"P{number:06}.jpg"
        self.place, self.owners, self.tries = None, set(), 0

    def data(self):
        return storm.jpeg(random.Random(f"{self.seed} content {self.number}"), self.about, b"%d" % self.number)


class Owner:
    """A guest's link, or a device with its password. Replaced by another when many of its uploads were left."""

    def __init__(self, kind, label, base, fields=()):
        self.kind, self.label, self.base, self.fields = kind, label, base, tuple(fields)
        self.left, self.is_over, self.last, self.uploads = 0, False, time.monotonic(), {}

    @property
    def up(self):
        return f"{self.base}up/"


class Judge:
    def __init__(self, seed, places, broken=None):
        self.seed, self.places, self.broken = seed, places, broken
        self.lock = threading.Lock()
        self.contents, self.names = {}, collections.defaultdict(list)
        self.wrong, self.counts = [], collections.defaultdict(collections.Counter)
        self.done, self.ended, self.complete, self.directories = [], set(), set(), set()
        self.number, self.is_over = 0, threading.Event()

    @property
    def inbox(self):
        return next(iter(self.places.inboxes.values()))

    def count(self, table, what):
        with self.lock:
            self.counts[table][what] += 1

    def violation(self, text, number=None):
        with self.lock:
            self.wrong.append(text)
            where = "" if number is None else f", upload {number}"
            if len(self.wrong) <= 40:
                print(f"VIOLATION (seed {self.seed}{where}): {text}", flush=True)

    def content(self, size, state="open", name=None):
        with self.lock:
            self.number += 1
            number = self.number
        content = Content(self.seed, number, size, state, name)
        with self.lock:
            self.contents[content.digest] = content
            self.names[content.name].append(content)
        return content

    # Where bytes are

    def visible(self):
        """What has a name in the inbox that is not hidden."""
        for file in checker.walk(self.inbox):
            if not any(part.startswith(b".") or part == b"lost+found" for part in file.relative.split(b"/")):
                yield file

    def is_in_inbox(self, content):
        # Also where the daemon has set it aside for a moment.
        return any(
            file.status.st_size == content.size and checker.file_hash(file.path) == content.digest
            for file in checker.walk(self.inbox) if not file.relative.startswith((HIDDEN, b"lost+found")))

    def is_in_library(self, content):
        with contextlib.suppress(OSError):
            if content.place and checker.file_hash(content.place) == content.digest:
                return True
        name = os.fsencode(content.name)
        for directory in list(self.directories):
            if checker.file_hash(os.path.join(directory, name)) == content.digest:
                content.place = os.path.join(directory, name)
                return True
        for file in checker.walk(self.places.library):
            self.directories.add(os.path.dirname(file.path))
            if file.status.st_size == content.size and checker.file_hash(file.path) == content.digest:
                content.place = file.path
                return True
        return False

    def is_there(self, content, where=("inbox", "library")):
        end = time.monotonic() + GLANCE
        while True:
            # What leaves the inbox is in the library before.
            if "inbox" in where and self.is_in_inbox(content) or self.is_in_library(content):
                return True
            # In the library nothing moves.
            if "inbox" not in where or time.monotonic() > end:
                return False
            time.sleep(0.05)

    # Judges

    def completed(self, content, why):
        """A sender was told that all of it has come."""
        if content.state == "never":
            return self.violation(f"{content.name} was accepted: {why}", content.number)
        if not self.is_there(content):
            self.violation(f"{content.name} ({content.size} bytes) is in neither inbox nor library after {why}", content.number)
        with self.lock:
            if content.state == "open":
                content.state = "done"
                self.done.append(content)

    def receipt(self, owner, receipt):
        """One event of a stream."""
        name, safe, step = receipt["name"].rsplit("/", 1)[-1], receipt["safe"], receipt["step"]
        self.count("receipts", "safe" if safe else step)
        own = [content for content in self.names[name] if owner.label in content.owners]
        if self.broken == "receipt":
            safe, own = True, [Content(self.seed, 0, 500)]
        if not own:
            return self.violation(f"{owner.label} hears of {name}, which is another's: {receipt}")
        if content := owner.uploads.get(receipt["upload"]):
            own = [content]
        if step in ("quarantined", "lost", "returned"):
            self.violation(f"{name} is {step}: {receipt}", own[0].number)
        if not safe:
            return None
        if all(content.state == "never" for content in own):
            self.violation(f"{name}, which never came, is called safe: {receipt}", own[0].number)
        elif not any(self.is_there(content, ["library"]) for content in own):
            self.violation(f"{name} is called safe, and is not in the library: {receipt}", own[0].number)

    def known(self, owner, asked, answers):
        """Which contents are said to be filed."""
        for content, answer in zip(asked, answers):
            state = "filed" if self.broken == "known" else answer["state"]
            self.count("known", state)
            if state != "unknown" and owner.kind != "device" and owner.label not in content.owners:
                self.violation(f"{owner.label} hears of the content {content.name}: {answer}", content.number)
            if state == "filed" and not self.is_there(content, ["library"]):
                self.violation(f"{content.name} is said to be filed, and is not in the library", content.number)
            if (upload := answer.get("upload")) and owner.uploads.get(upload, content).digest != content.digest:
                self.violation(f"{content.name} would be continued as another: {answer}", content.number)

    def look(self):
        """Continually: no name has bytes that are not one whole content; and what was once there stays."""
        chance = random.Random(f"{self.seed} look")
        while not self.is_over.is_set():
            self.look_once()
            for content in chance.sample(self.done, min(4, len(self.done))):
                if not self.is_there(content):
                    self.violation(f"{content.name} was in the inbox or the library, and is gone", content.number)
            self.is_over.wait(0.02)

    def look_once(self):
        for file in self.visible():
            digest = checker.file_hash(file.path) if file.is_regular else "no file"
            self.count("looks", "files")
            if digest is None:
                continue
            content = self.contents.get(digest)
            if content is None or content.state == "never":
                what = f"all bytes of {content.name}, which must not come" if content else "bytes that are nobody's whole file"
                self.violation(f"in the inbox {checker.shown(file.relative)} has {what} ({file.status.st_size} of them)")

    def last(self):
        """When everything has settled."""
        places = collections.defaultdict(collections.Counter)
        for kind, root in self.places.roots:
            for file in checker.walk(root):
                if kind == "inbox" and file.relative.startswith((HIDDEN, b"lost+found")):
                    continue
                name, digest = checker.shown(file.relative), checker.file_hash(file.path)
                if kind == "quarantine":
                    self.violation(f"in quarantine: {name}")
                elif kind == "inbox":
                    self.violation(f"left in the inbox: {name}")
                elif digest not in self.contents or self.contents[digest].state == "never":
                    self.violation(f"in the {kind}: {name}, {file.status.st_size} bytes that were never completed")
                elif file.relative.rsplit(b"/", 1)[-1].startswith(b"."):
                    self.violation(f"a temporary is left in the {kind}: {name}")
                else:
                    places[kind][digest] += 1
        for digest, content in self.contents.items():
            count = places["library"][digest]
            if count != 1 and (content.state == "done" or count):
                self.violation(f"{content.name} was told to be complete and is {count} times in the library", content.number)
            # A sender who was not answered sends it again.
            if places["duplicates"][digest] >= max(content.tries, 1):
                self.violation(f"{content.name} is {places['duplicates'][digest]} times among the duplicates, and was sent "
                               f"{content.tries} times", content.number)
        for entry in sorted(os.listdir(os.path.join(self.inbox, HIDDEN))):
            name = os.fsdecode(entry)
            if match := re.fullmatch("([0-9a-f]{32})[.]part", name):
                self.count("left", "unfinished uploads whose sender has begun anew")
                if match[1] in self.ended or match[1] in self.complete:
                    self.violation(f"a part of an upload that has ended is left: {name}")
            elif name != "ledger" and not name.endswith(".listing"):
                self.violation(f"left in the store: {name}")


def events(lines):
    """The receipts among the lines of server-sent events."""
    for line in lines:
        if line.startswith(b"data:"):
            with contextlib.suppress(ValueError):
                value = json.loads(line[5:])
                if "upload" in value:
                    yield value
