#!/usr/bin/python3
"""One large film sent through nginx as it is installed, while photoinbox-drop, the pages, nginx, the daemon and the connection are killed.

usage: Campaigns/proxied.py [--bytes N] [--kills N] [--seed N] [--programs DIR]

Sends as the page does: by POST, in chunks that a 413 halves and that grow again, each with its digest; after a lost connection it
asks where to go on. The daemon files the film, and is killed meanwhile, too. It must be in the library once, with the very bytes and one
row, what is sent twice must be at most a chunk for each kill, and the inbox must be empty. Needs root, for the address at which the pages expect photoinbox-drop, and nginx (Debian: nginx-light).
"""
import argparse
import base64
import contextlib
import hashlib
import http.client
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

import storm

RELAY = pathlib.Path("/run/photoinbox-drop/http")
BLOCK = 1 << 20
# As pace.js has them.
LEAST, FIRST, MOST = 512 << 10, 8 << 20, 32 << 20
NGINX = """
daemon off; user root; pid {root}/nginx.pid; error_log {root}/nginx.log; worker_processes 1; events {{}}
http {{
    access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
    uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
    server {{ listen unix:{root}/front; location /photos/ {{ proxy_pass http://unix:{root}/w:/; }} }}
}}
"""


class Activated:
    """A program behind a socket that is never closed: started by a connection, and again after its end, as by a service manager."""

    def __init__(self, words, address, environment, log=None):
        self.words, self.environment, self.process, self.is_over, self.log = words, environment, None, False, log
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.bind(str(address))
        self.socket.listen(512)
        self.keeper = threading.Thread(target=self.keep)
        self.keeper.start()

    def keep(self):
        while not self.is_over:
            if not select.select([self.socket], [], [], 0.1)[0]:
                continue
            number = self.socket.fileno()

            def become_service():
                os.dup2(number, 3)
                os.set_inheritable(3, True)
                os.environ.update(self.environment, LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))

            with open(os.devnull, "r+b") as null:
                self.process = subprocess.Popen(
                    self.words, stdin=null, stdout=null, stderr=self.log, close_fds=False, preexec_fn=become_service)
            self.process.wait()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()

    def stop(self):
        self.is_over = True
        while self.keeper.is_alive():
            self.kill()
            self.keeper.join(0.1)
        self.socket.close()


class Proxy:
    def __init__(self, root):
        self.configuration, self.process = root / "nginx.conf", None
        self.configuration.write_text(NGINX.format(root=root))
        self.start()

    def start(self):
        self.process = subprocess.Popen(["nginx", "-c", self.configuration], start_new_session=True)

    def kill(self):
        """Master and worker."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        (self.configuration.parent / "front").unlink(missing_ok=True)
        self.start()

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("photos.example.org", timeout=storm.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Content:
    """The same bytes each time, of any length, without a file: a film, and a box that no player reads."""

    def __init__(self, size, seed):
        self.size, self.noise = size, random.Random(seed).randbytes(BLOCK)
        film = (storm.ROOT / "Tests/Fixtures/film.mp4").read_bytes()
        self.film = film + struct.pack(">I4sQ", 1, b"free", size - len(film))

    def block(self, number):
        block = number.to_bytes(8, "big") + self.noise[8:]
        if number == 0:
            block = self.film + block[len(self.film) :]
        return block[: self.size - number * BLOCK]

    def read(self, offset, size):
        size = min(size, self.size - offset)
        first, last = offset // BLOCK, (offset + size - 1) // BLOCK
        blocks = b"".join(self.block(number) for number in range(first, last + 1))
        return blocks[offset - first * BLOCK :][:size]


class Sender:
    """The page's loop, of one file."""

    def __init__(self, front, link, content):
        self.front, self.link, self.content = front, link, content
        self.offset, self.upload, self.chunk, self.sent, self.connection = 0, None, FIRST, 0, None
        self.refusals = 0

    def ask(self, path, body=b"", fields=()):
        """The status, the offset and the upload of the answer; status 0 for a lost connection."""
        try:
            self.connection = Local(self.front)
            self.connection.request(
                "POST", f"/photos/{self.link}up/{path}", body, {"X-Photo-Inbox": "1", "Connection": "close", **dict(fields)})
            answer = self.connection.getresponse()
            answer.read()
            offset, place = answer.getheader("Upload-Offset"), answer.getheader("Location") or ""
            return answer.status, None if offset is None else int(offset), re.search("[0-9a-f]{32}", place)
        except (OSError, http.client.HTTPException):
            return 0, None, None

    def cut(self):
        """As where a network ends."""
        connection = self.connection
        if connection and connection.sock:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def send(self):
        end = time.monotonic() + storm.PATIENCE
        is_certain = True
        while self.offset < self.content.size:
            if time.monotonic() > end:
                raise storm.Violation(f"nothing has gone on at {self.offset:,} for {storm.PATIENCE} s")
            if not is_certain:
                status, offset, _ = self.ask(self.upload)
                if 200 <= status < 300:
                    self.offset, is_certain = offset, True
                elif status in (404, 410):
                    raise storm.Violation(f"the upload is gone at {self.offset:,}: {status}")
                else:
                    time.sleep(0.1)
                continue
            body = self.content.read(self.offset, self.chunk)
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            path = f"{self.upload}?at={self.offset}" if self.upload else f"?name=large.mp4&length={self.content.size}"
            status, offset, place = self.ask(path, body, [
                ("Content-Digest", f"sha-256=:{digest}:"), ("Content-Type", "application/octet-stream")])
            self.upload = self.upload or (place and place[0])
            if 200 <= status < 300:
                self.sent += len(body)
                self.offset, end = offset, time.monotonic() + storm.PATIENCE
                self.chunk = min(MOST, self.chunk * 2) if not self.refusals else self.chunk
            elif status == 413 and len(body) > LEAST:
                self.chunk, self.refusals = len(body) // 2, self.refusals + 1
            elif status in (404, 410) and self.upload:
                raise storm.Violation(f"the upload is gone at {self.offset:,}: {status}")
            else:
                # What the server got of it is not known. Without a number it is begun anew; see `find` in send.js.
                self.sent += len(body) if status == 0 else 0
                is_certain = self.upload is None
                time.sleep(0.05)


class Filing:
    """The daemon, again after each kill; killed as often while it files what came."""

    def __init__(self, root, programs, configuration):
        self.root, self.words = root, (str(programs / "photoinboxd"), ["--config", str(configuration)], str(root / "run"))
        self.daemon = storm.Daemon(*self.words).ready()

    def kill(self):
        self.daemon.kill()
        self.daemon = storm.Daemon(*self.words)

    def photos(self):
        """The names and hashes of all rows."""
        with contextlib.closing(sqlite3.connect(f"file:{self.root}/state/catalogue.sqlite?mode=ro", uri=True, timeout=60)) as catalogue:
            return catalogue.execute("SELECT library_path, lower(hex(sha256)) FROM photo").fetchall()

    def finish(self, kills, chance):
        """Kills it until it was killed so often, or has filed the film; how often it was."""
        for count in range(kills):
            end = time.monotonic() + chance.uniform(0.5, 8)
            while time.monotonic() < end:
                if self.photos():
                    break
                time.sleep(0.05)
            else:
                self.kill()
                continue
            return count
        self.daemon.wait_for(" filed phones/guests/oma/")
        return kills

    def stop(self):
        """What was begun is done before it ends."""
        self.daemon.process.terminate()
        if status := self.daemon.process.wait(storm.PATIENCE):
            raise storm.Violation(f"the daemon ended with {status}")


def kill_now_and_then(sender, victims, count, chance, done, log):
    """Kills one of them at each of so many offsets, drawn."""
    places = sorted(chance.randrange(sender.content.size) for _ in range(count))
    for index, place in enumerate(places):
        while sender.offset < place:
            if done.wait(0.002):
                return
        # In the middle of a request, mostly.
        done.wait(chance.random() * 0.05)
        name, kill = victims[index % len(victims)]
        log.append(name)
        kill()


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--bytes", type=int, default=20_000_000_000)
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    arguments.add_argument("--programs", default=storm.ROOT / ".build/debug", type=pathlib.Path)
    options = arguments.parse_args()
    storm.require_root("the address of photoinbox-drop")
    if not shutil.which("nginx") or RELAY.parent.exists():
        print("skipped: nginx is missing, or photoinbox-drop is installed here", file=sys.stderr)
        return storm.SKIPPED
    chance = random.Random(options.seed)
    print(f"proxied: seed {options.seed}, {options.bytes:,} bytes, {options.kills} kills")
    with storm.scratch() as directory, contextlib.ExitStack() as ending:
        root = pathlib.Path(directory)
        for name in ("inbox", "library", "own", "etc"):
            (root / name).mkdir()
        configuration = root / "etc/photoinbox.toml"
        configuration.write_text(
            f'library = "{root}/library"\nstate = "{root}/state"\nruntime = "{root}/run"\n'
            f'[inbox.phones]\npath = "{root}/inbox"\n[web]\ninbox = "phones"\n')
        filing = Filing(root, options.programs, configuration)
        ending.callback(lambda: filing.daemon.kill())
        added = subprocess.run(
            [options.programs / "photoinbox", "web", "link", "add", "oma", "--until", "2099-12-31", "--config", configuration],
            check=True, stdout=subprocess.PIPE, text=True)
        link = re.search("d/[0-9a-f]{64}/", added.stdout)[0]
        RELAY.parent.mkdir()
        environment = {"STATE_DIRECTORY": str(root / "own")}
        drop = Activated(
            [options.programs / "photoinbox-drop", "--config", configuration, "--pages-user", "nobody"], RELAY, environment)
        pages = Activated([options.programs / "photoinbox-web", "--config", configuration], root / "w", environment)
        proxy = Proxy(root)
        content = Content(options.bytes, options.seed)
        sender, done, log = Sender(root / "front", link, content), threading.Event(), []
        victims = [
            ("drop", drop.kill), ("pages", pages.kill), ("nginx", proxy.kill), ("network", sender.cut), ("daemon", filing.kill)]
        killer = threading.Thread(target=kill_now_and_then, args=(sender, victims, options.kills, chance, done, log))
        killer.start()
        began = time.monotonic()
        try:
            sender.send()
            seconds = time.monotonic() - began
        finally:
            done.set()
            killer.join()
            for one in (proxy, pages, drop):
                one.stop()
            RELAY.unlink(missing_ok=True)
            RELAY.parent.rmdir()
        began = time.monotonic()
        amid = filing.finish(options.kills // 2, chance)
        filing.stop()
        filed = time.monotonic() - began
        wrong = check(root, content, filing.photos())
        twice = sender.sent - content.size
        if twice > len(log) * MOST:
            wrong.append(f"{twice:,} bytes were sent twice")
        for line in wrong:
            print(line)
        print(f"{content.size:,} bytes in {seconds:.0f} s, chunks of {sender.chunk:,}; {len(log)} kills "
              f"({', '.join(f'{log.count(name)} {name}' for name, _ in victims)}), {twice:,} bytes sent twice; filed {filed:.0f} s later "
              f"with {amid} kills of the daemon; {len(wrong)} violations")
        return 1 if wrong else 0


def check(root, content, photos):
    inbox = root / "inbox"
    files = {directory: [path for path in (root / directory).rglob("*") if path.is_file() and not path.name.startswith(".")
                         and ".photo-inbox-drop" not in path.parts] for directory in ("inbox", "library")}
    if files["inbox"] or [path.name for path in files["library"]] != ["large.mp4"]:
        return [f"there are {files}"]
    hasher = hashlib.sha256()
    with files["library"][0].open("rb") as file:
        for number in range(-(-content.size // BLOCK)):
            block = file.read(BLOCK)
            if block != content.block(number):
                return [f"the film differs in block {number}"]
            hasher.update(block)
        if file.read(1):
            return ["the film is longer"]
    if [(os.path.basename(os.fsdecode(path)), found) for path, found in photos] != [("large.mp4", hasher.hexdigest())]:
        return [f"the catalogue has {photos}"]
    left = [name for name in os.listdir(inbox / ".photo-inbox-drop") if name != "ledger"]
    return [f"left: {left}"] if left else []


if __name__ == "__main__":
    sys.exit(main())
