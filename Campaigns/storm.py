"""Common code of the campaigns about disks and writers: photographs, directories, the daemon, private mounts.

Needs Python's standard library alone. Where root is needed and missing, `require_root` says so and ends with status 77.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import checker
from slowness import SLOWNESS

# On SIGTERM a campaign cleans up as after any other end.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77
# Limit in seconds for expected events without their own limit.
PATIENCE = 180 * SLOWNESS
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
libc = ctypes.CDLL(None, use_errno=True)


class Violation(Exception):
    """A rule was violated."""


# Photographs


def exif(taken):
    """A TIFF block with EXIF's DateTimeOriginal."""
    main = struct.pack("<HHHIII", 1, 0x8769, 4, 1, 26, 0)
    text = taken.encode() + b"\0"
    more = struct.pack("<HHHIII", 1, 0x9003, 2, len(text), 26 + 18, 0)
    return b"II*\0\x08\0\0\0" + main + more + text


def jpeg(random, size, comment=b"", taken=None):
    """A unique whole JPEG of about `size` bytes: a picture's markers around noise."""
    taken = taken or f"2024:{random.randint(1, 3):02d}:{random.randint(1, 4):02d} 12:34:{random.randint(0, 59):02d}"
    block = b"Exif\0\0" + exif(taken)
    head = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(block) + 2) + block
    if comment:
        head += b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment
    head += b"\xff\xc0\x00\x0b\x08\x00\x10\x00\x10\x01\x01\x11\x00"  # a frame of 16 by 16, one component
    head += b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
    noise = random.randbytes(max(64, size - len(head) - 2)).replace(b"\xff", b"\xfe")
    return head + noise + b"\xff\xd9"


# Mounts


def require_root(what):
    if os.geteuid() != 0:
        print(f"skipped: needs root {what}")
        sys.exit(SKIPPED)


def enter_private_mounts():
    """Makes mounts of this process and its children private; they end with them."""
    if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) != 0:
        print(f"skipped: no private mount namespace ({os.strerror(ctypes.get_errno())})")
        sys.exit(SKIPPED)


def mount(source, target, kind, options="", flags=0):
    if libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode()) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount {source} on {target}: {os.strerror(code)}")


def unmount(target, patience=10):
    """Unmounts; retries while the mount is in use."""
    end = time.monotonic() + patience
    while libc.umount2(os.fsencode(target), 0) != 0:
        code = ctypes.get_errno()
        if code != 16 or time.monotonic() > end:
            raise OSError(code, f"umount {target}: {os.strerror(code)}")
        time.sleep(0.002)


@contextlib.contextmanager
def scratch(parent=None):
    """A temporary directory, removed with all mounts below it."""
    directory = tempfile.mkdtemp(prefix="photo-inbox-storm-", dir=parent)
    try:
        yield directory
    finally:
        with open("/proc/self/mounts", encoding="utf-8") as lines:
            below = [line.split()[1] for line in lines if line.split()[1].startswith(directory)]
        for place in reversed(below):
            libc.umount2(os.fsencode(place), 2)
        subprocess.run(["rm", "-rf", "--one-file-system", directory], check=False)


# The daemon


def freeze(process, amid=True):
    """Stops it; when this returns, no thread of it is outside the kernel, nor, unless `amid` a call, in one."""
    process.send_signal(signal.SIGSTOP)
    tasks = f"/proc/{process.pid}/task"
    while process.poll() is None:
        states = set()
        for task in os.listdir(tasks):
            with contextlib.suppress(OSError), open(f"{tasks}/{task}/stat", encoding="utf-8", errors="replace") as file:
                states.add(file.read().rsplit(")", 1)[1].split()[0])
        if not states & {"R", "S"} and (amid or "D" not in states):
            return


class Daemon:
    """A running photoinboxd and its output."""

    TOLD = re.compile(r" (filed|duplicate|quarantined|ignored|withdrawn|deferred) [^/ ]+/(.+?)(?: as |: | \()")

    def __init__(self, program, arguments, runtime, environment=None, user=None):
        self.runtime = runtime
        self.lines, self.told, self.condition = [], {}, threading.Condition()
        self.is_over = False
        self.process = subprocess.Popen(
            [program, *arguments, "--set", f"runtime={runtime}", "--log-level", "debug"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env={**os.environ, "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no", **(environment or {})}, user=user, group=user,
            extra_groups=[] if user else None)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for raw in self.process.stderr:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            match = self.TOLD.search(line)
            with self.condition:
                self.lines.append(line)
                if match:
                    self.told.setdefault(match[1], []).append(match[2])
                self.condition.notify_all()
        with self.condition:
            self.is_over = True
            self.condition.notify_all()

    def wait_for(self, part, patience=PATIENCE, start=0):
        """Waits for a line with `part`; its number."""
        end = time.monotonic() + patience
        with self.condition:
            while True:
                for number in range(start, len(self.lines)):
                    if part in self.lines[number]:
                        return number
                start = len(self.lines)
                left = end - time.monotonic()
                if left <= 0 or self.is_over:
                    raise Violation(f"{'it ended' if self.is_over else f'{patience} s passed'} without {part!r}; "
                                    "its last words:\n  " + "\n  ".join(self.lines[-12:]))
                self.condition.wait(left)

    def ready(self, patience=PATIENCE):
        self.wait_for("ready: ", patience)
        return self

    def state(self, patience=PATIENCE):
        """The daemon's state dump, by SIGUSR1."""
        start = len(self.lines)
        self.process.send_signal(signal.SIGUSR1)
        self.wait_for(", asked by SIGUSR1", patience, start)
        with open(self.runtime + "/state.json", encoding="utf-8") as file:
            return json.load(file)

    def freeze(self, amid=True):
        freeze(self.process, amid)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """Kills it at once, like a power cut. Whether it was still running."""
        was_alive = self.process.poll() is None
        self.process.kill()
        status = self.process.wait()
        self.reader.join()
        # It may have said that it cannot start, and ended. SQLite shares its index by mapping a file: a page of it that
        # cannot be read any more ends the process, too.
        if not was_alive and status < 0 and status != -signal.SIGBUS:
            raise Violation(f"it had ended by itself with status {status}:\n  " + "\n  ".join(self.lines[-12:]))
        return was_alive

    def stop(self, patience=PATIENCE):
        self.process.terminate()
        try:
            status = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Violation(f"it did not stop within {patience} s") from None
        self.reader.join()
        if status != 0:
            raise Violation(f"it ended with status {status}:\n  " + "\n  ".join(self.lines[-12:]))


class House:
    """The places of one daemon, below one directory or at the paths in `at`."""

    def __init__(self, directory, program, settings=(), at=None, around=None, user=None):
        at = at or {}
        path = {name: at.get(name, os.path.join(directory, name))
                for name in ("inbox", "library", "quarantine", "duplicates", "state")}
        self.program, self.settings, self.path, self.user = program, list(settings), path, user
        self.places = checker.Places(
            {"inbox": path["inbox"]}, path["library"], path["duplicates"], path["quarantine"], path["state"],
            around=around if around is not None else [directory])
        # In memory as usual: not on the disks that are cut, filled or attacked.
        self.runtime = os.path.join(directory, "run")
        self.daemon = None

    def build(self):
        os.makedirs(self.runtime, exist_ok=True)
        if self.user:
            os.chown(self.runtime, self.user, self.user)
        for name in ("inbox", "library"):
            os.makedirs(self.path[name], exist_ok=True)
            if self.user:
                os.chown(self.path[name], self.user, self.user)

    def start(self):
        path = self.path
        arguments = ["--inbox", f"inbox={path['inbox']}", "--library", path["library"], "--state", path["state"],
                     "--set", f"quarantine={path['quarantine']}", "--set", f"duplicates={path['duplicates']}"]
        for setting in self.settings:
            arguments += ["--set", setting]
        self.daemon = Daemon(self.program, arguments, self.runtime, user=self.user)
        return self.daemon

    def left(self):
        """The files in the inbox."""
        return [file.relative for file in checker.walk(self.places.inboxes["inbox"])]

    def wait_until_empty(self, patience=PATIENCE, hurry=None):
        """Waits until nothing lies in the inbox, and nothing is in hand; how long that took. With `hurry`, what waits for
        a time is looked at every so many seconds."""
        begin = hurried = time.monotonic()
        while True:
            left = self.left()
            if not left:
                break
            if time.monotonic() - begin > patience:
                raise Violation(f"after {patience} s the inbox still holds {len(left)} files, {left[:3]}:\n  "
                                + "\n  ".join(self.daemon.lines[-12:]))
            if hurry and time.monotonic() - hurried > hurry:
                hurried = time.monotonic()
                self.daemon.process.send_signal(signal.SIGUSR2)
            if self.daemon.is_over:
                raise Violation("the daemon ended:\n  " + "\n  ".join(self.daemon.lines[-12:]))
            time.sleep(0.01)
        took = time.monotonic() - begin
        while any(inbox["counts"]["inHand"] + inbox["counts"]["deferred"]
                  for inbox in self.daemon.state()["inboxes"]):
            if time.monotonic() - begin > patience + 30:
                raise Violation("the inbox is empty, and something is still in hand")
            time.sleep(0.01)
        return took


def find_program(given, name="photoinboxd"):
    """The built program: the one that is named, or in $PHOTOINBOX_PROGRAMS, the release build, or the debug build."""
    places = [given] if given else [
        pathlib.Path(directory) / name for directory in (
            os.environ.get("PHOTOINBOX_PROGRAMS"), ROOT / ".build/release", ROOT / ".build/debug") if directory]
    for place in places:
        if os.access(place, os.X_OK):
            return os.fspath(place)
    sys.exit(f"there is no {places[0]}: make release")


def judge(places, manifest, crashed=False):
    """Raises a Violation for what is wrong. Of a daemon that runs, intents are closed a moment after their outcome."""
    end = time.monotonic() + PATIENCE
    rows = checker.Rows(places)
    while not crashed and (rows.intents or rows.moves) and time.monotonic() < end:
        time.sleep(0.01)
        rows = checker.Rows(places)
    wrong = checker.check(places, manifest, crashed, rows)
    if wrong:
        raise Violation("\n  ".join(wrong))
