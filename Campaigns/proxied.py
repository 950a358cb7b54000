#!/usr/bin/python3
"""One large film sent by a browser through nginx as it is installed, while all between and the browser are killed, and the power fails.

usage: Campaigns/proxied.py [--bytes N] [--kills N] [--seed N] [--programs DIR]

Chromium opens a guest's link and is given the film. Killed at drawn offsets are photoinbox-drop, the pages, nginx, the connection, the
daemon, and the browser: a new one, of the same profile, is given the film again. At a power cut the file system with the inbox, the
library and the state ends without flushing, with all programs of its machine; its log is recovered, they are started again, and the page
goes on by itself. The daemon files the film, killed and without power meanwhile, too. When the page calls it safe the power fails once
more: it must be in the library once, with the very bytes and one row, not filed again, and the inbox must be empty. What came over the
line twice must be at most a chunk for each kill, and what nginx refuses of each browser. Needs root, for the mounts and for the address at
which the pages expect photoinbox-drop; nginx (Debian: nginx-light), mkfs.xfs (xfsprogs), and Chromium with playwright (scripts/deps
web-test).
"""
import argparse
import contextlib
import fcntl
import hashlib
import json
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
from concurrent import futures

import power
import storm

TOOLS = storm.ROOT / ".build/tools/web/bin/python"
RELAY = pathlib.Path("/run/photoinbox-drop/http")
BLOCK = 1 << 20
# Of a chunk, as pace.js has it; nginx refuses one that is larger than its limit.
LEAST, FIRST, LIMIT = 512 << 10, 8 << 20, 1 << 20
FICLONERANGE = 0x4020940D
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
        # Whoever has it sees to it that none is started.
        self.starting = threading.Lock()
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

            with self.starting, open(os.devnull, "r+b") as null:
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
        self.stop()
        self.start()

    def stop(self):
        """Master and worker."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        (self.configuration.parent / "front").unlink(missing_ok=True)


class Line:
    """Between the browser and nginx: counts what goes there, and can be cut."""

    def __init__(self, front):
        self.front, self.sent, self.ends, self.counting = front, 0, set(), threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.carry, args=(self.socket.accept()[0],), daemon=True).start()

    def carry(self, near):
        with near, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as far, contextlib.suppress(OSError):
            far.connect(str(self.front))
            self.ends.add(near)
            back = threading.Thread(target=self.pump, args=(far, near, False), daemon=True)
            back.start()
            self.pump(near, far, True)
            back.join()
        self.ends.discard(near)

    def pump(self, source, target, is_counted):
        """One way until its end; nginx may answer, and end, before it has read all."""
        how = socket.SHUT_WR
        try:
            while piece := source.recv(1 << 18):
                target.sendall(piece)
                with self.counting:
                    self.sent += len(piece) * is_counted
        except OSError:
            how = socket.SHUT_RDWR
        for each in (target,) if how == socket.SHUT_WR else (target, source):
            with contextlib.suppress(OSError):
                each.shutdown(how)

    def cut(self):
        for near in list(self.ends):
            with contextlib.suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)


class Content:
    """The same bytes each time, of any length: a film, and a box that no player reads."""

    def __init__(self, size, seed):
        self.size, self.noise = size, random.Random(seed).randbytes(BLOCK)
        film = (storm.ROOT / "Tests/Fixtures/film.mp4").read_bytes()
        self.film = film + struct.pack(">I4sQ", 1, b"free", size - len(film))

    def block(self, number):
        block = number.to_bytes(8, "big") + self.noise[8:]
        if number == 0:
            block = self.film + block[len(self.film) :]
        return block[: self.size - number * BLOCK]

    def write(self, path):
        """Where blocks can be shared, they are but for their beginnings."""
        with open(path, "w+b") as file, open(f"{path}.block", "w+b") as shared:
            shared.write(self.noise)
            shared.flush()
            for number in range(-(-self.size // BLOCK)):
                fcntl.ioctl(file, FICLONERANGE, struct.pack("qQQQ", shared.fileno(), 0, BLOCK, number * BLOCK))
                os.pwrite(file.fileno(), self.block(number)[:4096], number * BLOCK)
            file.truncate(self.size)


class Browser:
    """Chromium with the page, which is given the film; again after each kill, by proxied_page.py."""

    def __init__(self, root, address, film, size):
        self.words = [str(TOOLS), str(storm.ROOT / "Campaigns/proxied_page.py"), address, str(film), str(root / "profile")]
        self.parts, self.size, self.shown, self.changed = root / "disk/inbox/.photo-inbox-drop", size, {}, threading.Condition()
        # It reads all of the film before it sends, and again at the end.
        self.patience = storm.PATIENCE + size / 40e6
        self.start()

    def start(self):
        with self.changed:
            self.group, self.shown = None, {}
            self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, args=(self.process,), daemon=True).start()

    def read(self, process):
        for line in process.stdout:
            with self.changed:
                if process is self.process:
                    self.shown = json.loads(line)
                    self.group = self.shown["group"]
                    self.changed.notify_all()

    def end(self):
        with self.changed:
            self.changed.wait_for(lambda: self.group, storm.PATIENCE)
        os.killpg(self.group, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def kill(self):
        self.end()
        self.start()

    @property
    def offset(self):
        """What the server has of it."""
        with contextlib.suppress(OSError):
            return max((part.stat().st_size for part in self.parts.glob("*.part")), default=0)
        return 0

    def wait(self, *texts):
        """Until the page says one of these of the film."""
        end, last = time.monotonic() + self.patience, None
        with self.changed:
            while not any(text in self.shown.get("film", "") for text in texts):
                if self.shown != last:
                    end, last = time.monotonic() + self.patience, self.shown
                if time.monotonic() > end or self.shown.get("isOver"):
                    raise storm.Violation(f"the page does not go on: {self.shown}")
                self.changed.wait(1)


class Filing:
    """The daemon, again after each kill; killed as often while it files what came."""

    def __init__(self, root, programs, configuration):
        self.root, self.words = root, (str(programs / "photoinboxd"), ["--config", str(configuration)], str(root / "run"))
        self.daemon = storm.Daemon(*self.words).ready()

    def kill(self):
        self.daemon.kill()
        self.start()

    def start(self):
        self.daemon = storm.Daemon(*self.words)

    def photos(self):
        """The names and hashes of all rows."""
        place = f"file:{self.root}/disk/state/catalogue.sqlite?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True, timeout=60)) as catalogue:
            return catalogue.execute("SELECT library_path, lower(hex(sha256)) FROM photo").fetchall()

    def strike(self, victims, kills, chance, log):
        """Kills some of them until it did so often, or the film is filed."""
        for count in range(kills):
            end = time.monotonic() + chance.uniform(0.5, 8)
            while time.monotonic() < end:
                if self.photos():
                    return
                time.sleep(0.05)
            name, kill = victims[count % len(victims)]
            kill()
            log.append(name)


def cut_power(disk, filing, services, proxy):
    """All of that machine ends at one moment, and nobody sees an error before; it is begun again. The browser is another machine."""
    with contextlib.ExitStack() as held:
        for each in services:
            held.enter_context(each.starting)
        processes = [each.process for each in services if each.process]
        for process in (*processes, filing.daemon.process):
            storm.freeze(process)
        disk.cut()
        for process in processes:
            process.kill()
            process.wait()
        filing.daemon.kill()
        proxy.stop()
        storm.unmount(disk.target)
        disk.mount()
        shutil.rmtree(filing.root / "run")
        filing.start()
        proxy.start()


def kill_now_and_then(browser, victims, count, chance, done, log):
    """Kills one of them at each of so many offsets, drawn."""
    places = sorted(chance.randrange(browser.size) for _ in range(count))
    for index, place in enumerate(places):
        while browser.offset < place:
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
    storm.require_root("for mounts, and the address of photoinbox-drop")
    if RELAY.parent.exists() or not TOOLS.exists() or not all(map(shutil.which, ("nginx", "mkfs.xfs", "chromium-headless-shell"))):
        print("skipped: nginx, mkfs.xfs, Chromium or playwright is missing, or photoinbox-drop is installed here", file=sys.stderr)
        return storm.SKIPPED
    storm.enter_private_mounts()
    chance = random.Random(options.seed)
    print(f"proxied: seed {options.seed}, {options.bytes:,} bytes, {options.kills} kills", flush=True)
    with storm.scratch() as directory, contextlib.ExitStack() as ending:
        root = pathlib.Path(directory)
        # XFS sets room aside for a file that grows. The film is shared by the inbox and the library.
        disk = power.Disk(directory, "disk", "xfs", 2 * options.bytes + (2 << 30))
        own = power.Disk(directory, "own", "xfs", options.bytes // 50 + (1 << 30))
        for each in (disk, own):
            each.format()
            each.mount()
        content, film = Content(options.bytes, options.seed), root / "own/large.mp4"
        content.write(film)
        for name in ("disk/inbox", "disk/library", "disk/drop", "etc"):
            (root / name).mkdir()
        os.sync()
        configuration = root / "etc/photoinbox.toml"
        configuration.write_text(
            f'library = "{disk.target}/library"\nstate = "{disk.target}/state"\nruntime = "{root}/run"\n'
            f'[inbox.phones]\npath = "{disk.target}/inbox"\n[web]\ninbox = "phones"\n')
        filing = Filing(root, options.programs, configuration)
        ending.callback(lambda: filing.daemon.kill())
        added = subprocess.run(
            [options.programs / "photoinbox", "web", "link", "add", "oma", "--until", "2099-12-31", "--config", configuration],
            check=True, stdout=subprocess.PIPE, text=True)
        link = re.search("d/[0-9a-f]{64}/", added.stdout)[0]
        RELAY.parent.mkdir()
        ending.callback(shutil.rmtree, RELAY.parent)
        environment = {"STATE_DIRECTORY": f"{disk.target}/drop"}
        drop = Activated(
            [options.programs / "photoinbox-drop", "--config", configuration, "--pages-user", "nobody"], RELAY, environment)
        pages = Activated([options.programs / "photoinbox-web", "--config", configuration], root / "w", environment)
        proxy, line = Proxy(root), Line(root / "front")
        for one in (proxy, pages, drop):
            ending.callback(one.stop)
        browser, done, log = Browser(root, f"http://127.0.0.1:{line.port}/photos/{link}", film, content.size), threading.Event(), []
        ending.callback(lambda: browser.end())
        daemon, current = ("daemon", filing.kill), ("power", lambda: cut_power(disk, filing, (drop, pages), proxy))
        victims = [("drop", drop.kill), ("pages", pages.kill), ("nginx", proxy.kill), ("network", line.cut), daemon,
                   ("browser", browser.kill), current]
        killer = ending.enter_context(futures.ThreadPoolExecutor(1)).submit(
            kill_now_and_then, browser, victims, options.kills, chance, done, log)
        began = time.monotonic()
        try:
            browser.wait("durable", "in the inbox", "filed")
        finally:
            done.set()
            killer.result()
        seconds, began, amid = time.monotonic() - began, time.monotonic(), []
        filing.strike([daemon, daemon, current], options.kills // 2, chance, amid)
        browser.wait("filed, safe to delete where it came from")
        filed, twice = time.monotonic() - began, line.sent - content.size
        # Whoever reads that deletes it.
        current[1]()
        filing.daemon.ready().stop()
        wrong = check(root / "disk", content, filing.photos())
        if "filed" in filing.daemon.told:
            wrong.append("it was called safe, and had to be filed again")
        # Each chunk has a head, and a browser that begins learns anew how large one may be.
        if twice > 2 * FIRST * (1 + log.count("browser")) + LIMIT * len(log + amid) + 1024 * (content.size // LEAST):
            wrong.append(f"{twice:,} bytes were sent twice")
        for text in wrong:
            print(text)
        kills, struck = (", ".join(f"{names.count(name)} {name}" for name, _ in victims if name in names) for names in (log, amid))
        print(f"{content.size:,} bytes in {seconds:.0f} s; {len(log)} kills ({kills}), {twice:,} bytes more than that over the line; "
              f"filed {filed:.0f} s later with {len(amid)} kills ({struck}); {len(wrong)} violations")
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
