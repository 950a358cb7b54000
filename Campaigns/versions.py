#!/usr/bin/python3
"""Random trees under `photoinbox watch`, with every version of every file judged: each is told once, under a path that it had.

usage: Campaigns/versions.py [--seeds N] [--overflows N] [--first SEED] [--operations N] [--program FILE] [--scratch DIRECTORY]

  --seeds       how many trees (100), of which
  --overflows   so many with the watch stopped by SIGSTOP until the kernel's queue has overflowed (20)
  --operations  how many in a tree (3,000), by three threads, each in a directory of its own
  --scratch     where the trees are (/dev/shm and TMPDIR in turn)

Each version of a file has a size that no other has, so that a line says which one it tells. An arrival is whatever brings a version
under a path: a close after writing, a rename of the file or of a directory above, a new link. Judged are
  told twice    more lines for a version under a path than it arrived there
  false         lines for what never was under that path: a path that never existed, or a version that nobody closed
  missed        what is there when all is at rest, and was not told last
Counted, and no fault, are lines for a file that the next writer had open again by the time it was looked at.
Prints a line for each seed and exits with 1 if one is wrong.
"""
import argparse
import collections
import json
import mmap
import os
import pathlib
import random
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from slowness import SLOWNESS

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["a", "b", "c", "d.jpg", "e\xe9", "f f"]
PATIENCE = 180 * SLOWNESS
SHOWN = 6


class Gardener(threading.Thread):
    """Changes its own tree at random and records arrivals by path and size, and the current files."""

    def __init__(self, top, outside, seed, number, operations):
        super().__init__()
        self.top, self.outside = top, outside
        self.random = random.Random(seed * 7 + number)
        self.sizes = iter(range(number + 100, 1 << 40, 3))
        self.operations = operations
        self.arrivals = collections.Counter()
        self.unfinished = set()  # path and size, while a file is written
        self.files = {}  # path: size
        self.directories = [top]
        self.failure = None

    def run(self):
        try:
            for _ in range(self.operations):
                getattr(self, self.random.choice(OPERATIONS))()
        except BaseException as error:  # reported by the waiting thread
            self.failure = error

    def arrive(self, path, size):
        self.files[path] = size
        self.arrivals[path, size] += 1

    def name(self):
        return os.path.join(self.random.choice(self.directories), self.random.choice(NAMES))

    def free(self):
        """A free path; None if a few tries found none."""
        for _ in range(4):
            path = self.name()
            if path not in self.files and path not in self.directories:
                return path
        return None

    def file(self):
        return self.random.choice(list(self.files)) if self.files else None

    # Patterns of programs

    def write(self):
        path = self.name()
        if path in self.directories:
            return
        size = next(self.sizes)
        self.unfinished |= {(path, 0), (path, len(b"unfinished"))}
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if self.random.random() < 0.3:
            os.write(descriptor, b"unfinished")
            time.sleep(self.random.random() / 2000)
        os.ftruncate(descriptor, size)
        if self.random.random() < 0.3:
            os.fchmod(descriptor, 0o600)
            os.utime(descriptor, (1, 1_000_000_000 + size))
        self.arrive(path, size)
        os.close(descriptor)

    def write_mapped(self):
        path = self.free()
        if path is None:
            return
        size = next(self.sizes)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.ftruncate(descriptor, size)
        with mmap.mmap(descriptor, size) as memory:
            os.close(descriptor)
            memory[0] = 1
            self.arrive(path, size)

    def open_and_close(self):
        path = self.file()
        if path:
            self.arrive(path, self.files[path])
            os.close(os.open(path, os.O_WRONLY))

    def replace(self):
        """As rsync and editors: a temporary file beside it, renamed over it."""
        path, size = self.name(), next(self.sizes)
        if path in self.directories:
            return
        temporary = os.path.join(os.path.dirname(path), f".{size}.tmp")
        self.arrivals[temporary, size] += 1
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.ftruncate(descriptor, size)
        os.close(descriptor)
        self.arrive(path, size)
        os.rename(temporary, path)

    def move(self):
        old, new = self.file(), self.free()
        if old and new:
            self.arrive(new, self.files.pop(old))
            os.rename(old, new)

    def move_out(self):
        path = self.file()
        if path:
            del self.files[path]
            os.rename(path, os.path.join(self.outside, "file"))

    def move_in(self):
        path, size = self.free(), next(self.sizes)
        if path is None:
            return
        beside = os.path.join(self.outside, "new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT)
        os.ftruncate(descriptor, size)
        os.close(descriptor)
        self.arrive(path, size)
        os.rename(beside, path)

    def link(self):
        """A rename by link(2) and unlink(2), without a write between, which would change both names."""
        old, new = self.file(), self.free()
        if old and new:
            self.arrive(new, self.files.pop(old))
            os.link(old, new)
            os.unlink(old)

    def change_mode(self):
        path = self.file()
        if path:
            os.chmod(path, self.random.choice((0o600, 0o644)))

    def unlink(self):
        path = self.file()
        if path:
            del self.files[path]
            os.unlink(path)

    def make_directory(self):
        path = self.free()
        if path and path.count("/") < 14:
            os.mkdir(path)
            self.directories.append(path)

    def move_directory(self):
        old, new = self.random.choice(self.directories), self.free()
        if old == self.top or new is None or new.startswith(old + "/"):
            return
        for path in [path for path in self.files if path.startswith(old + "/")]:
            self.arrive(new + path[len(old):], self.files.pop(path))
        self.directories = [new + path[len(old):] if (path + "/").startswith(old + "/") else path for path in self.directories]
        os.rename(old, new)

    def remove_directory(self):
        old = self.random.choice(self.directories)
        if old == self.top:
            return
        self.files = {path: size for path, size in self.files.items() if not path.startswith(old + "/")}
        self.directories = [path for path in self.directories if not (path + "/").startswith(old + "/")]
        shutil.rmtree(old)

    def unpack(self):
        """A deep directory with its files at once."""
        path = self.free()
        if path is None or path.count("/") > 10:
            return
        for depth in range(self.random.randint(1, 3)):
            os.mkdir(path)
            self.directories.append(path)
            for number in range(3):
                file, size = os.path.join(path, f"u{number}"), next(self.sizes)
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                os.ftruncate(descriptor, size)
                os.utime(descriptor, (1, 1_000_000_000 + size))
                self.arrive(file, size)
                os.close(descriptor)
            path = os.path.join(path, NAMES[depth])


OPERATIONS = (
    ["write"] * 6 + ["replace"] * 3 + ["move"] * 3 + ["unlink"] * 3 + ["move_directory"] * 2 + ["make_directory"] * 2
    + ["write_mapped", "open_and_close", "move_out", "move_in", "link", "change_mode", "remove_directory", "unpack"])


class Watch:
    """The program and its output: lines by path and size, and the files that it reports as present."""

    def __init__(self, program, root):
        self.process = subprocess.Popen(
            [program, "watch", "--json", "--unfinished", "-e", "finished,renamed,vanished", root], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.told = collections.Counter()
        self.there = {}
        self.buffer = b""
        line = self.process.stderr.readline()
        if b"watching" not in line:
            raise SystemExit(f"versions.py: {program} does not watch: {line}")

    def read(self, until):
        """Reads lines up to one of this path."""
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        while True:
            while b"\n" in self.buffer:
                line, self.buffer = self.buffer.split(b"\n", 1)
                if self.take(json.loads(line)) == until:
                    return
            if not selector.select(PATIENCE):
                raise SystemExit(f"versions.py: nothing told for {PATIENCE:.0f} s, waiting for {until}")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise SystemExit(f"versions.py: the watch ended: {self.process.stderr.read()}")
            self.buffer += part

    def take(self, line):
        path, event = line["path"], line["event"]
        if event == "vanished":
            self.there.pop(path, None)
            return path
        if event == "renamed":
            self.there.pop(line["from"], None)
        self.told[path, line["size"]] += 1
        self.there[path] = line["size"]
        return path

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def settle(watch, root, number):
    """Waits until a new file is reported, twice: then all earlier events have been."""
    for round in range(2):
        cookie = os.path.join(root, f"cookie-{number}-{round}")
        os.close(os.open(cookie, os.O_WRONLY | os.O_CREAT))
        watch.read(cookie)


def run(program, scratch, seed, operations, overflows):
    """One tree; returns counts and what is wrong."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        directory = os.path.realpath(directory)
        root, outside = os.path.join(directory, "root"), os.path.join(directory, "outside")
        tops = []
        for number in range(3):
            tops.append((os.path.join(root, f"t{number}"), os.path.join(outside, str(number))))
            for path in tops[-1]:
                os.makedirs(path)
        watch = Watch(program, root)
        try:
            gardeners = [Gardener(*top, seed, number, operations // 9) for number, top in enumerate(tops)]
            wrong = []
            for part in range(3):
                is_stopped = overflows and part == 1
                if is_stopped:
                    watch.process.send_signal(signal.SIGSTOP)
                threads = gardeners if part == 0 else [again(gardener) for gardener in gardeners]
                gardeners = threads
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                    if thread.failure:
                        raise thread.failure
                if is_stopped:
                    noise(root)
                    watch.process.send_signal(signal.SIGCONT)
                settle(watch, root, part)
                wrong += differences(watch, gardeners)
                if wrong:
                    break
            arrivals = sum((gardener.arrivals for gardener in gardeners), collections.Counter())
            lines = {key: count for key, count in watch.told.items() if "/cookie-" not in key[0] and "/noise-" not in key[0]}
            twice = [(key, count, arrivals[key]) for key, count in lines.items() if arrivals[key] and count > arrivals[key]]
            unfinished = set().union(*(gardener.unfinished for gardener in gardeners))
            false = [key for key in lines if not arrivals[key] and key not in unfinished]
            open_again = sum(not arrivals[key] and key in unfinished for key in lines)
            return sum(arrivals.values()), sum(lines.values()), open_again, wrong, twice, false
        finally:
            watch.end()


def again(gardener):
    """A gardener that continues where another ended, since a thread runs once."""
    following = Gardener(gardener.top, gardener.outside, 0, 0, gardener.operations)
    for name in ("random", "sizes", "arrivals", "unfinished", "files", "directories"):
        setattr(following, name, getattr(gardener, name))
    return following


def noise(root):
    """More events than the kernel's queue holds."""
    limit = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    names = [os.path.join(root, f"noise-{number}").encode() for number in range(2)]
    os.close(os.open(names[0], os.O_WRONLY | os.O_CREAT))
    for _ in range(limit // 4 + 1):
        os.rename(names[0], names[1])
        os.rename(names[1], names[0])
    os.unlink(names[0])


def differences(watch, gardeners):
    """Files that were not reported correctly at the end; pending reports get time."""
    deadline = time.monotonic() + PATIENCE
    number = 0
    while True:
        there = {path: size for gardener in gardeners for path, size in gardener.files.items()}
        told = {path: size for path, size in watch.there.items() if "/cookie-" not in path and "/noise-" not in path}
        wrong = [(path, there.get(path), told.get(path)) for path in there.keys() | told.keys() if there.get(path) != told.get(path)]
        if not wrong or time.monotonic() > deadline:
            return wrong
        # Changes found on ticks, and halves of renames.
        time.sleep(0.05)
        number += 1
        settle(watch, os.path.dirname(gardeners[0].top), f"again-{number}")


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--overflows", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--operations", type=int, default=3000)
    parser.add_argument("--program", default=str(pathlib.Path(os.environ.get("PHOTOINBOX_PROGRAMS", ROOT / ".build/release")) / "photoinbox"))
    parser.add_argument("--scratch")
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args()
    if options.help:
        print(__doc__)
        return 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    totals, failed = collections.Counter(), 0
    for seed in range(options.first, options.first + options.seeds):
        overflows = seed - options.first < options.overflows
        scratch = options.scratch or ("/dev/shm" if seed % 2 else tempfile.gettempdir())
        arrivals, lines, open_again, missed, twice, false = run(options.program, scratch, seed, options.operations, overflows)
        totals.update(arrivals=arrivals, lines=lines, open_again=open_again, missed=len(missed), twice=len(twice), false=len(false))
        print(f"seed {seed}{', overflow' if overflows else ''}: {arrivals} arrivals, {lines} lines, missed {len(missed)}, "
              f"told twice {len(twice)}, false {len(false)}", flush=True)
        for title, rows in (("missed (path, there, told)", missed), ("told twice (version, lines, arrivals)", twice), ("false", false)):
            for row in rows[:SHOWN]:
                print(f"  {title}: {row}")
        failed += bool(missed or twice or false)
    print(f"{options.seeds} seeds, {totals['arrivals']} arrivals, {totals['lines']} lines: missed {totals['missed']}, "
          f"told twice {totals['twice']}, false {totals['false']}; {totals['open_again']} were open again")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
