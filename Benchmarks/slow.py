"""From finished write to filed while 1,000 slow clients are at photoinbox-web and photoinbox-drop, beside the same without them, in
turn; and whether whoever is in no hurry keeps out those who are.

usage, for the clients: slow.py COUNT PAGES DROP LINK…

Half of the clients are at each program. They connect within two seconds, and each sends a byte every two seconds: of its head, of a
body, or of a photo, which a link allows. The pages pass photos on, so that photoinbox-drop has more connections than it allows. Whoever
is sent away is back after a second. Prints "ready" once all have tried, and at the end, when standard input is closed, one JSON object
of what became of their connections.
"""
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import processes
from clients import PHOTOS, raise_limit, varied
from daemon import file_system_of, remove
from figures import at_least, noise, ratio, spread, target
from pages import Local
from sending import Receipts, Sending, put

CLIENTS, WITH, WITHOUT = 1_000, "1,000 slow", "no clients"
PAGE, PHOTO = "the page", "a photo, until it is safe to delete"
FILED = 3 * PHOTOS
VISITS, SENT = 20, 5
EACH = 2  # seconds from byte to byte
# What is sent slowly to the pages, and to photoinbox-drop, where everything but photos is refused by its head.
KINDS = (("head", "body", "photo"), ("head", "photo"))
# A link allows 64 uploads at a time.
LINKS = 8


def words(kind, link, number):
    """What is sent at once, and what byte by byte."""
    head = {
        "head": "",
        "body": "POST /link HTTP/1.1\r\nHost: x\r\nX-Photo-Inbox: 1\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n",
        "photo": f"PUT /{link}up/slow-{number}.jpg HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n",
    }[kind]
    return head.encode(), b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " if kind == "head" else b"{"


class Crowd:
    def __init__(self, count, addresses, links):
        self.done = dict.fromkeys(("connected", "refused", "answered", "ended"), 0)
        self.open = self.most = self.tried = 0
        self.count, self.addresses, self.links = count, addresses, links

    async def client(self, number):
        address, kinds = self.addresses[number % 2], KINDS[number % 2]
        kind, link = kinds[number // 2 % len(kinds)], self.links[number // 2 % len(self.links)]
        await asyncio.sleep(EACH * number / self.count)
        is_first = True
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(address)
            except OSError:  # no room in the backlog
                self.done["refused"] += 1
                self.tried += is_first
                is_first = False
                await asyncio.sleep(1)
                continue
            self.done["connected"] += 1
            self.open += 1
            self.most = max(self.most, self.open)
            self.tried += is_first
            is_first = False
            try:
                await self.speak(reader, writer, *words(kind, link, number))
            except OSError:
                pass
            finally:
                self.open -= 1
                writer.close()
            self.done["ended"] += 1
            await asyncio.sleep(1)

    async def speak(self, reader, writer, head, more):
        """Until the server ends the connection."""
        writer.write(head)
        at, is_answered = 0, False
        while True:
            writer.write(more[at:at + 1] or b"a")
            at += 1
            with contextlib.suppress(asyncio.TimeoutError):
                if not await asyncio.wait_for(reader.read(65536), EACH):
                    return
                self.done["answered"] += not is_answered
                is_answered = True

    async def run(self):
        clients = [asyncio.ensure_future(self.client(number)) for number in range(self.count)]
        while self.tried < self.count:
            await asyncio.sleep(0.1)
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for client in clients:
            client.cancel()
        times = os.times()
        print(json.dumps({**self.done, "most": self.most, "open": self.open, "processor_seconds": times.user + times.system}),
              flush=True)
        # Without the end of each of them.
        os._exit(0)


@contextlib.contextmanager
def crowd(sending, links, done):
    """Slow clients, half of them at each program."""
    clients = subprocess.Popen(
        [sys.executable, "-B", os.path.abspath(__file__), str(CLIENTS), sending.pages.address, sending.drop.address, *links],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if clients.stdout.readline() != "ready\n":
            raise RuntimeError("the slow clients did not start")
        begun = time.monotonic()
        yield
        told = json.loads(clients.communicate("")[0])
        told["seconds"] = time.monotonic() - begun
        if told["most"] < CLIENTS / 2:
            raise RuntimeError(f"no more than {told['most']} slow clients were connected at a time")
        done.append(told)
    finally:
        clients.kill()
        clients.wait()


class Honest:
    """Somebody who reads a page and sends photos."""

    def __init__(self, sending, link):
        self.sending, self.link, self.number = sending, link, 0
        self.times, self.failures = {PAGE: [], PHOTO: []}, []

    def visit(self):
        for _ in range(VISITS):
            with self.attempt(PAGE), contextlib.closing(Local(self.sending.pages.address)) as client:
                client.request("GET", "/")
                answer = client.getresponse()
                if answer.status != 200 or not answer.read():
                    raise RuntimeError(f"the page was answered with {answer.status}")
        stream = Receipts(self.sending.drop.address, self.link)
        with contextlib.closing(stream.client):
            for _ in range(SENT):
                self.number += 1
                name = f"honest-{self.number}.jpg"
                content = varied(self.sending.house.photos[0], f"{self.number} of {self.link}")
                with self.attempt(PHOTO):
                    put(self.sending.drop.address, f"/{self.link}up/{name}", content)
                    stream.await_safe(name)

    @contextlib.contextmanager
    def attempt(self, what):
        begun = time.monotonic_ns()
        try:
            yield
        except (OSError, RuntimeError) as error:
            self.failures.append(f"{what}: {error}")
        else:
            self.times[what].append(time.monotonic_ns() - begun)


def measure(session, release, photos, scratch):
    raise_limit()
    os.makedirs(scratch, exist_ok=True)
    # Short: a socket's path has 107 bytes.
    root = os.path.realpath(tempfile.mkdtemp(prefix="l-", dir=scratch))
    kind, mount_point = file_system_of(root)
    samples, processor, done, resident = {WITHOUT: [], WITH: []}, {WITHOUT: [], WITH: []}, [], {}
    try:
        sending = Sending(release, root, photos)
        try:
            house, theirs = sending.house, [sending.add_link(f"slow{number}") for number in range(LINKS)]
            honest, alone = Honest(sending, sending.link), Honest(sending, sending.add_link("alone"))
            house.file(PHOTOS)  # the first ones open permanent resources
            for run in range(session.runs):
                # The order alternates, so that neither always has the fuller disk.
                for name in (WITHOUT, WITH) if run % 2 == 0 else (WITH, WITHOUT):
                    session.note(f"slow: {name}, run {run + 1} of {session.runs}")
                    with crowd(sending, theirs, done) if name == WITH else contextlib.nullcontext():
                        times, used = house.file(FILED)
                        (honest if name == WITH else alone).visit()
                    samples[name].append(times)
                    processor[name].append(used / FILED)
            resident = {name: processes.peak(program.process.pid)
                        for name, program in (("photoinbox-web", sending.pages), ("photoinbox-drop", sending.drop))}
        finally:
            sending.stop()
            status = sending.house.daemon.stop()
    finally:
        shutil.rmtree(os.path.join(root, "library"), ignore_errors=True)
        remove(root)
    if status:
        raise RuntimeError(f"the daemon ended with {status}")
    if alone.failures:
        raise RuntimeError(f"with nobody else there: {alone.failures[0]}")
    spreads = {name: spread(sum(runs, [])) for name, runs in samples.items()}
    answered, asked = sum(map(len, honest.times.values())), session.runs * (VISITS + SENT)
    return {
        "clients": CLIENTS, "photos": FILED, "runs": session.runs, "file_system": kind, "mounted_on": mount_point,
        "filed": spreads, "noise": noise(samples[WITHOUT]),
        "processor": {name: spread(values) for name, values in processor.items()}, "done": done, "resident": resident,
        "failures": honest.failures,
        "answers": {f"{what}{others}": spread(times) for one, others in ((honest, ""), (alone, ", nobody else there"))
                    for what, times in one.times.items() if times},
        "targets": [target(f"× {WITHOUT}", ratio(spreads, WITH, WITHOUT), 1.05),
                    at_least("others answered meanwhile", answered, asked)],
    }


if __name__ == "__main__":
    raise_limit()
    asyncio.run(Crowd(int(sys.argv[1]), sys.argv[2:4], sys.argv[4:]).run())
