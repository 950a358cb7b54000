#!/usr/bin/python3
"""Uploads in every dialect, to the real programs, while connections are cut at every border of every message, bytes are wrong, two
send at once, photoinbox-drop and photoinboxd are killed, the clock jumps and the disk is full. Clients go on as real ones do. What
was acknowledged must be there, what is called safe must be in the library, and no name may have bytes that are not a whole file.

usage: Campaigns/uploads.py [--uploads N] [--seed N] [--jobs N] [--programs DIR] [--case NAME] [--calm] [--break KIND]

  --uploads  how many files are sent (5,000); the cases are gone through in an order drawn from --seed
  --jobs     how many senders at a time (10)
  --case     only cases of this name: cut, stranger …
  --calm     nothing is killed, no clock jumps and no disk is full
  --break    does what a judge must see; see uploads_test.py

Prints a line for each violation, and exits with 1 if there was one. Full disks need root; clocks that jump need a C compiler.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import checker
import storm
import uploads_clients as clients
import uploads_judge as judges
from proxied import Activated
from uploads_clients import BODILESS, BORDERS, DIALECTS, Dav, Draft, Post, Put, Request, Sender, Tus

# By which the wall clock is wrong, in seconds: it jumps there and back. Never behind the kernel's, by which files have their
# times: a file that is newer than its record is one that was written to since.
JUMPS = (0, 0, 420, 3 * 3_600, 86_400, 40 * 86_400, 400 * 86_400)
# What photoinbox-drop leaves free.
MIN_FREE = 1 << 30


class World:
    """The two programs, their places, and who may send."""

    def __init__(self, options, root, small):
        self.options, self.root, self.small = options, pathlib.Path(root), small
        self.chance = random.Random(f"{options.seed} world")
        self.is_over, self.lock, self.filled = threading.Event(), threading.Lock(), (0.0, None)
        self.owners, self.serial = [], 0
        place = small or root
        paths = {name: f"{place}/{name}" for name in ("inbox", "library", "quarantine", "duplicates")}
        for name in ("inbox", "library"):
            os.mkdir(paths[name])
        for name in ("own", "etc"):
            (self.root / name).mkdir()
        self.places = checker.Places(
            {"phones": paths["inbox"]}, paths["library"], paths["duplicates"], paths["quarantine"], f"{root}/state")
        self.judge = judges.Judge(options.seed, self.places, options.broken)
        self.configuration = self.root / "etc/photoinbox.toml"
        self.configuration.write_text(
            "".join(f'{name} = "{path}"\n' for name, path in paths.items() if name != "inbox")
            + f'state = "{root}/state"\nruntime = "{root}/run"\n'
            f'[inbox.phones]\npath = "{paths["inbox"]}"\n[web]\ninbox = "phones"\n')
        self.photoinbox("web", "user", "add", "ana", "--role", "sender")
        self.clock, self.environment = self.root / "clock", {"STATE_DIRECTORY": f"{root}/own"}
        self.set_clock(0)
        self.faked = {"LD_PRELOAD": str(options.clock), "CAMPAIGN_CLOCK": str(self.clock)} if options.clock else {}
        self.log = open(self.root / "drop.log", "wb")
        self.socket = self.root / "http"
        self.drop = Activated(
            [options.programs / "photoinbox-drop", "--config", self.configuration, "--pages-user", "nobody"], self.socket,
            self.environment | self.faked, self.log)
        self.daemon = None

    def photoinbox(self, *words):
        result = subprocess.run(
            [self.options.programs / "photoinbox", *words, "--config", self.configuration], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        if words[0] == "web" and result.returncode:
            raise storm.Violation(f"photoinbox {' '.join(words)}: {result.stdout}")
        return result

    def set_clock(self, seconds):
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("l", seconds))

    def start_daemon(self):
        self.daemon = storm.Daemon(
            str(self.options.programs / "photoinboxd"), ["--config", str(self.configuration)], f"{self.root}/run", self.faked)
        self.daemon.ready()

    def was_full(self):
        """Whether the disk was full a moment ago."""
        begin, end = self.filled
        return begin > 0 and (end is None or time.monotonic() - end < 5 * storm.SLOWNESS)

    # Who sends

    def current(self, owner):
        """The owner, or who has taken the place of one of whose uploads many were left."""
        with self.lock:
            while owner.is_over:
                owner = owner.next
            return owner

    def owner(self, kind):
        """Another link, or another device."""
        self.serial += 1
        label = f"{kind}{self.serial}"
        if kind == "device":
            said = self.photoinbox("web", "device", "add", "ana", label).stdout
            password = re.search(r"\n([0-9a-z-]{30,})\n", said)[1]
            word = clients.base64_of(f"ana:{password}".encode())
            owner = judges.Owner(kind, label, "/", [("Authorization", f"Basic {word}")])
        else:
            said = self.photoinbox("web", "link", "add", label, "--until", "2999-12-31").stdout
            owner = judges.Owner(kind, label, re.search("/d/[0-9a-f]{64}/", said)[0])
        self.owners.append(owner)
        listener = threading.Thread(target=self.listen, args=(owner,), daemon=True)
        listener.start()
        return owner

    def left(self, owner):
        """An upload of which the number is not known is left behind: one may have 64."""
        owner.left += 1
        if owner.left > 20:
            self.retire(owner)

    def retire(self, owner):
        with self.lock:
            if not owner.is_over:
                owner.next, owner.last = self.owner(owner.kind), time.monotonic()
                owner.is_over = True

    def exchange(self, owner, request, *more):
        fields = [*request.fields, *(owner.fields if owner else ())]
        return clients.exchange(self.socket, request._replace(fields=fields), *more)

    def find(self, owner, content):
        """The number of an upload of this content that is unfinished, as the page asks for it."""
        said = clients.ask_known(self, owner, [content])
        return said[0].get("upload") if said else None

    # What is heard

    def listen(self, owner):
        """Receipts, as long as somebody may send, and a while after."""
        while not self.is_over.is_set() and not (owner.is_over and time.monotonic() - owner.last > 20):
            with contextlib.suppress(OSError):
                for receipt in self.receipts(owner):
                    self.judge.receipt(owner, receipt)
            self.is_over.wait(0.05)

    def receipts(self, owner, seconds=None, is_enough=lambda: False):
        """Of one stream: for so many seconds, or until the campaign is over."""
        end = None if seconds is None else time.monotonic() + seconds
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(0.25)
            connection.connect(str(self.socket))
            fields = "".join(f"{name}: {value}\r\n" for name, value in owner.fields)
            connection.sendall(f"GET {owner.up}live HTTP/1.1\r\nHost: photos.example.org\r\n{fields}\r\n".encode())
            rest = b""
            while not is_enough() and (time.monotonic() < end if end else not self.is_over.is_set()):
                try:
                    more = connection.recv(65536)
                except TimeoutError:
                    continue
                if not more:
                    return
                *lines, rest = (rest + more).split(b"\n")
                yield from judges.events(lines)

    def ask(self):
        """Continually, what is known by content."""
        chance = random.Random(f"{self.options.seed} ask")
        while not self.is_over.wait(0.3):
            contents = list(self.judge.contents.values())
            owners = [owner for owner in self.owners if not owner.is_over]
            if contents and owners:
                asked, owner = chance.sample(contents, min(20, len(contents))), chance.choice(owners)
                if said := clients.ask_known(self, owner, asked):
                    self.judge.known(owner, asked, said)


# Troubles


class Troubles:
    """Kills, full disks and jumping clocks, until it is over."""

    def __init__(self, world):
        self.world, self.kills, self.full, self.jumps = world, collections.Counter(), 0.0, 0
        self.threads = [threading.Thread(target=self.keep, args=(body,)) for body in (self.kill, self.fill, self.jump)]

    def keep(self, body):
        try:
            body(random.Random(f"{self.world.options.seed} {body.__name__}"), self.world.is_over)
        except Exception as failure:  # Reported as what it is.
            self.world.judge.violation(f"{body.__name__}: {failure!r} {failure}")

    def kill(self, chance, over):
        while not over.wait(chance.expovariate(1) + 0.05):
            drawn = chance.random()
            if drawn < 0.2:
                self.world.daemon.kill()
                over.wait(chance.choice((0, 0.2, 1)))
                self.world.start_daemon()
                self.kills["photoinboxd killed"] += 1
            elif drawn < 0.3 and self.world.drop.process:
                self.world.drop.process.terminate()
                self.kills["photoinbox-drop ended"] += 1
            else:
                self.world.drop.kill()
                self.kills["photoinbox-drop killed"] += 1

    def fill(self, chance, over):
        if not self.world.small:
            return
        while not over.wait(chance.uniform(2, 10)):
            begin = time.monotonic()
            self.world.filled = (begin, None)
            fill(self.world.small, chance.choice((0, 0, 300_000, MIN_FREE // 2)))
            over.wait(chance.uniform(0.5, 4))
            free(self.world.small)
            self.world.filled = (begin, time.monotonic())
            self.full += time.monotonic() - begin

    def jump(self, chance, over):
        if not self.world.options.clock:
            return
        while not over.wait(chance.uniform(0.3, 3)):
            self.world.set_clock(chance.choice(JUMPS))
            self.jumps += 1
        self.world.set_clock(0)


def fill(target, leaving):
    """Takes all the room of a disk but so many bytes, at once."""
    room = os.statvfs(target)
    with open(f"{target}/filler", "wb") as filler:
        for size in (room.f_bavail * room.f_frsize - leaving, 1 << 20, 65536, 4096):
            with contextlib.suppress(OSError):
                while leaving < 4096 or filler.tell() == 0:
                    os.posix_fallocate(filler.fileno(), filler.tell(), max(size, 1))
                    filler.seek(0, os.SEEK_END)


def free(target):
    pathlib.Path(f"{target}/filler").unlink(missing_ok=True)


def clock_tool():
    """The library that lets the wall clock jump; None without a compiler."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if not compiler:
        print("left out: clocks that jump need a C compiler")
        return None
    directory = pathlib.Path(os.environ.get("PHOTOINBOX_CAMPAIGN_TOOLS", storm.ROOT / ".build/campaigns"))
    directory.mkdir(parents=True, exist_ok=True)
    tool, part = directory / "clock.so", directory / f"clock.{os.getpid()}"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", part,
                    pathlib.Path(__file__).with_name("clock.c")], check=True)
    part.rename(tool)
    return tool


# Cases


def cases():
    """Every dialect × message × border, then what is wrong, and two at once: (what, dialect, rest…)."""
    found = []
    for dialect in DIALECTS:
        found.append(("plain", dialect))
        for message in dialect.messages:
            has_body = message in ("append", "last") or message == "create" and not (
                isinstance(dialect, Tus) and "with" not in dialect.marks or "empty" in dialect.marks)
            found += [("cut", dialect, message, border, False) for border in (BORDERS if has_body else BODILESS)]
            # The other half of the connection stays open.
            found += [("cut", dialect, message, border, True) for border in BORDERS[1:6] if has_body]
    continued = [dialect for dialect in DIALECTS if dialect.is_resumable and "whole" not in dialect.marks]
    for dialect in DIALECTS:
        if not isinstance(dialect, Dav):
            found.append(("wrong whole digest", dialect))
            found.append(("one name", dialect))
            found.append(("the same twice", dialect))
    for dialect in continued:
        found += [(what, dialect) for what in (
            "wrong chunk digest", "beyond the length", "wrong offset", "stranger", "two senders", "one ends it")]
    found += [("another length", dialect) for dialect in DIALECTS if isinstance(dialect, (Tus, Draft)) and dialect in continued]
    return found


class Case:
    """One of them, done."""

    def __init__(self, world, case, number):
        self.world, self.judge, self.case, self.number = world, world.judge, case, number
        self.chance = random.Random(f"{world.options.seed} case {number}")
        kinds = ["device"] if isinstance(case[1], Dav) else ["oma", "opa", "device"]
        self.owner = world.current(world.first[kinds[number % len(kinds)]])

    def size(self):
        drawn = self.chance.random()
        return self.chance.randrange(400, 20_000) if drawn < 0.7 else self.chance.randrange(60_000, 300_000) if drawn < 0.93 \
            else self.chance.randrange(1_000_000, 3_000_000)

    def pause(self):
        return self.chance.choice((0, 0, 0.02, 0.1, 0.4))

    def run(self):
        what, dialect, *rest = self.case
        try:
            getattr(self, what.replace(" ", "_"))(dialect, *rest)
        except storm.Violation as violation:
            if not self.world.is_over.is_set():
                self.judge.violation(str(violation), self.number)
        except Exception as failure:  # Of this program.
            self.judge.violation(f"{what}, {dialect.name}: {failure!r}", self.number)
            raise
        self.judge.count("cases", what)

    def sender(self, dialect, content=None, *more):
        return Sender(self.world, dialect, self.owner, content or self.judge.content(self.size()), *more, pause=self.pause())

    def plain(self, dialect):
        self.sender(dialect).send()

    def cut(self, dialect, message, border, halves):
        self.sender(dialect, None, message, border, halves).send()

    def refused(self, content, request, owner=None, pause=0, pause_at=None):
        """The answer to a request that must not have 2xx."""
        while True:
            answer = self.world.exchange(owner or self.owner, request, None, False, pause, pause_at)
            self.judge.count("answers", "lost" if answer.status == 0 else str(answer.status))
            if self.judge.broken == "accept":
                answer = answer._replace(status=204)
            if 200 <= answer.status < 300:
                self.judge.violation(f"{self.case[0]}, {self.case[1].name}: accepted with {answer}", content.number)
            if answer.status not in (0, 408, 429, 500, 503, 507) or self.world.is_over.is_set():
                return answer
            if answer.status == 429:
                self.world.retire(self.owner)
                self.owner = self.world.current(self.owner)
            time.sleep(0.1)

    def begun(self, sender):
        """Sends until the upload has a number and some bytes."""
        while not sender.upload.is_complete and (sender.upload.number is None or sender.offset == 0 or not sender.is_certain):
            sender.check_patience()
            sender.step()
        return not sender.upload.is_complete

    def poison(self, size=None):
        """A content that must not come."""
        content = self.judge.content(size or self.size(), "never")
        content.owners.add(self.owner.label)
        return content

    def begin(self, dialect, poison, body, **more):
        """The answer to its creation, once there is one; its number."""
        while not self.world.is_over.is_set():
            answer = self.world.exchange(self.owner, dialect.create(self.owner.up, poison, body, **more))
            if 200 <= answer.status < 300 and (upload := dialect.upload_of(answer)):
                self.owner.uploads[upload] = poison
                return answer, upload
            self.world.left(self.owner)
            self.owner = self.world.current(self.owner)
            poison.owners.add(self.owner.label)
            time.sleep(0.1)
        raise storm.Violation("the campaign has ended")

    def wrong_whole_digest(self, dialect):
        poison, wrong = self.poison(), clients.sha256(b"something else")
        data = poison.data()
        request = dialect.create(self.owner.up, poison, data, whole=wrong)
        if request.body is not None:
            upload = dialect.upload_of(self.refused(poison, request))
        else:
            _, upload = self.begin(dialect, poison, data, whole=wrong)
            self.refused(poison, dialect.append(self.owner.up, upload, poison, 0, data))
        if upload:
            self.is_no_more(poison, dialect, upload)
        self.sender(dialect).send()

    def is_no_more(self, poison, dialect, upload, size=None):
        """And nothing makes it right afterwards."""
        answer = self.world.exchange(self.owner, dialect.ask(self.owner.up, upload))
        if dialect.completes(answer, size or poison.size):
            self.judge.violation(f"{self.case[0]}, {dialect.name}: complete afterwards: {answer}", poison.number)

    def wrong_chunk_digest(self, dialect):
        sender = self.sender(dialect)
        if self.begun(sender):
            body = bytearray(sender.data[sender.offset:])
            body[len(body) // 2] ^= 1
            self.refused(sender.content, dialect.append(
                sender.owner.up, sender.upload.number, sender.content, sender.offset, bytes(body), wrong=True), sender.owner)
            sender.is_certain = False
        sender.send()

    def beyond_the_length(self, dialect):
        """More than was announced: neither what was announced nor all of it is a file, wherever packets end."""
        poison = self.poison()
        data, short = poison.data(), poison.size - 7
        answer, upload = self.begin(dialect, poison, data[:short // 2], length=short)
        offset = dialect.offset_of(answer) or 0
        self.refused(poison, dialect.append(self.owner.up, upload, poison, offset, data[offset:], length=short), None,
                     *self.chance.choice(((0, None), (0.1, short - offset))))
        self.is_no_more(poison, dialect, upload, short)
        for _ in range(50):
            answer = self.world.exchange(self.owner, dialect.end(self.owner.up, upload))
            if answer.status in (204, 404, 409, 410, 400):
                break
            time.sleep(0.1)
        if answer.status == 204:
            self.judge.ended.add(upload)
        self.sender(dialect).send()

    def another_length(self, dialect):
        sender = self.sender(dialect)
        if self.begun(sender):
            number, content = sender.upload.number, sender.content
            if "deferred" not in dialect.marks:
                request = dialect.append(sender.owner.up, number, content, sender.offset, b"")
                fields = [field for field in request.fields if field[0] not in ("Upload-Length", "Upload-Complete")]
                fields += [("Upload-Length", str(content.size + 1))] + [("Upload-Complete", "?0")] * isinstance(dialect, Draft)
                self.refused(content, request._replace(fields=fields), sender.owner)
                sender.is_certain = False
        sender.send()

    def wrong_offset(self, dialect):
        sender = self.sender(dialect)
        if self.begun(sender):
            for offset in (0, sender.offset + 1, sender.offset - 1, sender.content.size):
                if offset != sender.offset:
                    self.refused(sender.content, dialect.append(
                        sender.owner.up, sender.upload.number, sender.content, offset, sender.data[offset:]), sender.owner)
            sender.is_certain = False
        sender.send()

    def stranger(self, dialect):
        """Another link, another device and nobody: they neither see nor continue nor end it."""
        sender = self.sender(dialect)
        if self.begun(sender):
            number, content, offset = sender.upload.number, sender.content, sender.offset
            others = [self.world.current(owner) for owner in self.world.first.values() if owner.kind != sender.owner.kind]
            others += [self.world.another] if sender.owner.kind == "device" else []
            if self.judge.broken == "stranger":
                self.refused(content, dialect.ask(sender.owner.up, number), sender.owner)
            for owner in [*others, judges.Owner("nobody", "nobody", "/")]:
                noise = bytes(len(sender.data) - offset)
                for request in (dialect.ask(owner.up, number), dialect.append(owner.up, number, content, offset, noise),
                                dialect.end(owner.up, number)):
                    self.refused(content, request, owner)
        sender.send()

    # Two at once

    def both(self, *bodies):
        """Both, to their ends; the first exception is raised."""
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            for future in [pool.submit(body) for body in bodies]:
                future.result()

    def two_senders(self, dialect):
        first = self.sender(dialect)
        if not self.begun(first):
            return
        second = Sender(self.world, dialect, first.owner, first.content, pause=self.pause())
        second.upload, second.is_certain = first.upload, False
        self.both(first.send, second.send)

    def one_name(self, dialect):
        first = self.sender(dialect)
        second = self.sender(dialect, self.judge.content(self.size(), name=first.content.name))
        self.both(first.send, second.send)

    def the_same_twice(self, dialect):
        first = self.sender(dialect)
        second = self.sender(dialect, first.content)
        self.both(first.send, second.send)

    def one_ends_it(self, dialect):
        sender = self.sender(dialect)
        if not self.begun(sender):
            return
        upload, owner = sender.upload, sender.owner
        sender.pause = 0.05

        def end():
            time.sleep(self.chance.uniform(0, 0.1))
            with upload.lock:
                upload.may_end = True
            answer = self.world.exchange(owner, dialect.end(owner.up, upload.number or sender.upload.number))
            if answer.status == 204:
                self.judge.ended.add(number)
                if number in self.judge.complete:
                    self.judge.violation(f"{number} was complete, and is ended: {answer}", sender.content.number)

        number = upload.number
        self.both(sender.send, end)


# The whole


def settle(world):
    """The store's recovery, after a last kill; then the daemon has nothing more to do."""
    world.drop.kill()
    world.daemon.kill()
    world.start_daemon()
    end = time.monotonic() + storm.PATIENCE
    while world.exchange(None, Request("OPTIONS", "/up/", [Tus.MARK])).status != 204:
        if time.monotonic() > end:
            raise storm.Violation("photoinbox-drop does not come back")
        time.sleep(0.1)
    while True:
        left = [checker.shown(file.relative) for file in world.judge.visible()]
        state = world.daemon.state()
        busy = sum(inbox["counts"]["inHand"] + inbox["counts"]["deferred"] for inbox in state["inboxes"])
        if not left and not busy:
            return
        if time.monotonic() > end:
            raise storm.Violation(f"after {storm.PATIENCE} s {busy} files are in hand or deferred, and {left[:3]} in the inbox")
        time.sleep(0.2)


def last_receipts(world):
    """Who comes now hears that all is safe."""
    wanted = {content.name for content in world.judge.done}
    safe, seconds = set(), 3 if world.options.broken else 20 * storm.SLOWNESS

    def hear(owner):
        with contextlib.suppress(OSError):
            for receipt in world.receipts(owner, seconds, lambda: wanted <= safe):
                world.judge.receipt(owner, receipt)
                if receipt["safe"]:
                    safe.add(receipt["name"].rsplit("/", 1)[-1])

    # Of one that was begun by several owners one hears it.
    with concurrent.futures.ThreadPoolExecutor(len(world.owners)) as pool:
        list(pool.map(hear, world.owners))
    for content in world.judge.done:
        if content.name not in safe:
            world.judge.violation(f"{content.name} was told to be complete, and nobody hears that it is safe", content.number)


def last_questions(world):
    owner = next(owner for owner in reversed(world.owners) if owner.kind == "device")
    contents = list(world.judge.contents.values())
    for start in range(0, len(contents), 500):
        some = contents[start:start + 500]
        said = clients.ask_known(world, owner, some) or [{"state": "nothing"}] * len(some)
        world.judge.known(owner, some, said)
        for content, answer in zip(some, said):
            if content.state == "done" and answer["state"] == "unknown":
                world.judge.violation(f"{content.name} is in the library, and is said to be {answer}", content.number)


def damage(world, kind):
    """What a judge must see, at the end."""
    judge = world.judge
    if not kind:
        return
    place = next(content.place for content in judge.done if judge.is_in_library(content))
    inbox, library = (pathlib.Path(os.fsdecode(path)) for path in (judge.inbox, place))
    if kind == "truncate":
        # Again and again until it is seen: the daemon quarantines it at once.
        end = time.monotonic() + 20
        while not judge.wrong and time.monotonic() < end:
            (inbox / "cut.jpg").write_bytes(library.read_bytes()[:-9])
            time.sleep(0.1)
    elif kind == "lose":
        library.unlink()
    elif kind == "part":
        (inbox / ".photo-inbox-drop" / f"{min(judge.complete)}.part").write_bytes(b"x")
    elif kind == "twice":
        library.with_suffix(".again.jpg").write_bytes(library.read_bytes())
    elif kind == "quarantine":
        quarantine = pathlib.Path(os.fsdecode(judge.places.quarantine))
        quarantine.mkdir(exist_ok=True)
        (quarantine / "a.jpg").write_bytes(b"x")


def campaign(options, directory, small):
    world = World(options, directory, small)
    try:
        world.start_daemon()
    except storm.Violation:
        world.drop.stop()
        raise
    judge, troubles, begin = world.judge, Troubles(world), time.monotonic()
    world.first = {kind: world.owner(kind) for kind in ("oma", "opa", "device")}
    world.another = world.owner("device")
    watching = [threading.Thread(target=body) for body in (judge.look, world.ask)]
    for thread in watching + ([] if options.calm else troubles.threads):
        thread.start()
    everything = [case for case in cases() if options.case in (None, case[0])]
    order = []
    while len(order) < options.uploads:
        order += random.Random(f"{options.seed} round {len(order)}").sample(everything, len(everything))
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for index, _ in enumerate(pool.map(lambda number: Case(world, order[number], number).run(), range(options.uploads))):
            if index % 500 == 499:
                print(f"{index + 1} uploads, {len(judge.wrong)} violations, {time.monotonic() - begin:.0f} s", flush=True)
        sending = time.monotonic() - begin
        world.is_over.set()
        for thread in troubles.threads if not options.calm else ():
            thread.join()
        settle(world)
        damage(world, options.broken)
        last_receipts(world)
        last_questions(world)
        judge.is_over.set()
        for thread in watching:
            thread.join()
        judge.last()
        for words in (("verify",), ("status",)):
            said = world.photoinbox(*words)
            if said.returncode:
                judge.violation(f"photoinbox {words[0]} ends with {said.returncode}: {said.stdout}")
        world.daemon.stop()
    except storm.Violation as violation:
        judge.violation(str(violation))
    finally:
        # All threads see it, and end.
        for event in (world.is_over, judge.is_over):
            event.set()
        pool.shutdown(cancel_futures=True)
        world.drop.stop()
        if world.daemon.process.poll() is None:
            world.daemon.kill()
        world.log.close()
    if judge.wrong:
        print("photoinbox-drop said:", *(world.root / "drop.log").read_text(errors="replace").splitlines()[-30:], sep="\n  ")
        print("photoinboxd said:", *world.daemon.lines[-30:], sep="\n  ")
    report(world, troubles, sending if not judge.wrong else time.monotonic() - begin)
    return judge


def report(world, troubles, seconds):
    judge = world.judge
    titles = {"uploads": "uploads by dialect", "cases": "cases", "cuts": "cuts by border", "answers": "answers by status",
              "receipts": "receipts judged", "known": "questions by content", "looks": "looked at in the inbox", "left": "left"}
    for table, title in titles.items():
        counts = ", ".join(f"{what} {count}" for what, count in sorted(judge.counts[table].items()))
        print(f"{title}: {counts or 'none'}")
    print("kills: " + (", ".join(f"{what} {count}" for what, count in sorted(troubles.kills.items())) or "none"))
    print(f"full disk: {troubles.full / 60:.1f} minutes; clock jumps: {troubles.jumps}; owners: {len(world.owners)}; "
          f"{len(judge.done)} contents complete, {seconds:.0f} s of sending")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--uploads", type=int, default=5_000)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    arguments.add_argument("--jobs", type=int, default=10)
    arguments.add_argument("--programs")
    arguments.add_argument("--case")
    arguments.add_argument("--calm", action="store_true")
    arguments.add_argument("--break", dest="broken", choices=judges.BREAKS)
    options = arguments.parse_args()
    if options.broken:
        # What is damaged is not waited for as what is slow.
        storm.PATIENCE = 30
    options.programs = pathlib.Path(storm.find_program(options.programs and f"{options.programs}/photoinboxd")).resolve().parent
    print(f"uploads: seed {options.seed}, {options.uploads} of {len(cases())} cases, {options.programs}", flush=True)
    options.clock = None if options.calm else clock_tool()
    small, parent, may_mount = None, None, not options.calm
    with contextlib.suppress(OSError):
        room = os.statvfs("/dev/shm")
        parent = "/dev/shm" if room.f_bavail * room.f_frsize > 4 * MIN_FREE else None
    if may_mount and (os.geteuid() != 0 or not shutil.which("mkfs.ext4")):
        print("left out: full disks need root and mkfs.ext4")
        may_mount = False
    if may_mount:
        storm.enter_private_mounts()
    with storm.scratch(parent) as directory:
        if may_mount:
            small, image = f"{directory}/small", f"{directory}/image"
            os.mkdir(small)
            with open(image, "wb") as file:
                file.truncate(MIN_FREE + (1 << 29) + options.uploads * 600_000)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
            if subprocess.run(["mount", "-o", "loop", image, small], check=False).returncode:
                print("left out: full disks need loop devices")
                small = None
        judge = campaign(options, directory, small)
    print(f"{options.uploads} uploads, {len(judge.wrong)} violations")
    return 1 if judge.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
