"""The programs that watch a directory, with a common interface for measurements."""
import contextlib
import os
import select
import shutil
import signal
import subprocess
import time

import watchman

READY_LIMIT = 120  # seconds


class Watcher:
    """A program that prints events below a directory and reports when it is ready."""

    tells_ready = True

    def __init__(self, name, command, ready):
        self.name, self.command, self.ready = name, [str(word) for word in command], ready

    @contextlib.contextmanager
    def watching(self, directory):
        """Runs it on a directory: its process number, and the nanoseconds from exec until it said that it watches."""
        began = time.monotonic_ns()
        process = subprocess.Popen([*self.command, directory], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            self._await_ready(process)
            yield process.pid, time.monotonic_ns() - began
        finally:
            stop(process)

    def _await_ready(self, process):
        said = b""
        while self.ready not in said:
            more = select.select([process.stderr], [], [], READY_LIMIT)[0] and os.read(process.stderr.fileno(), 65536)
            if not more:
                raise RuntimeError(f"{self.name} did not say {self.ready.decode()!r}: {said[-500:]!r}")
            said += more

    @contextlib.contextmanager
    def metered(self, directory):
        """Arguments for watchmeter: its options, the command, and the command's standard input."""
        quietly = ["-q"] if self.command[0] == "inotifywait" else []
        yield [], [*self.command, *quietly, directory], subprocess.DEVNULL


class Fswatch(Watcher):
    """It does not report when it is ready and is flooded by its own listing of a large tree: measured by its events."""

    tells_ready = False

    def __init__(self):
        # The shortest latency it accepts; an overflow would end it; it reports a close as Updated.
        super().__init__("fswatch", ["fswatch", "-r", "-l", "0.1", "--allow-overflow", "--event", "Updated"], None)


class Watchman(Watcher):
    """Measures its server, and its client where names are read. With its default settings."""

    def __init__(self):
        super().__init__("watchman", ["watchman"], None)

    @contextlib.contextmanager
    def watching(self, directory):
        began = time.monotonic_ns()
        with watchman.Server() as server:
            server.ask("watch", str(directory))
            # The answer comes after the first crawl and after an event of a file made for the purpose.
            server.ask("clock", str(directory), {"sync_timeout": READY_LIMIT * 1000})
            yield server.pid, time.monotonic_ns() - began

    @contextlib.contextmanager
    def metered(self, directory):
        with watchman.Server() as server:
            server.ask("watch", str(directory))
            query = {"expression": ["type", "f"], "fields": ["name"]}
            with server.command("subscribe", str(directory), "photo-inbox", query) as file:
                yield ["--also", str(server.pid)], server.client(), file


def stop(process):
    """Ends a process and waits until the kernel has removed its watches."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def first_line(*command):
    """A program's version output."""
    answer = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False).stdout
    return answer.partition("\n")[0].strip()


def installed(session, floor, ours):
    """The installed programs, the floor first, with their versions; missing ones are reported."""
    found, versions = [Watcher("floor", [floor], b"ready")], {}
    if shutil.which("inotifywait"):
        command = ["inotifywait", "-m", "-r", "-e", "close_write,moved_to", "--format", "%w%f"]
        found.append(Watcher("inotifywait", command, b"Watches established"))
        versions["inotifywait"] = first_line("inotifywait", "--help")
    else:
        session.leave_out("inotifywait is not installed (Debian: inotify-tools)")
    if shutil.which("fswatch"):
        found.append(Fswatch())
        versions["fswatch"] = first_line("fswatch", "--version")
    else:
        session.leave_out("fswatch is not installed (Debian: fswatch)")
    if shutil.which("watchman"):
        found.append(Watchman())
        versions["watchman"] = f"watchman {first_line('watchman', '--version')}"
    else:
        session.leave_out("watchman is not installed (Debian: watchman)")
    if ours.exists():
        found.append(Watcher("photoinbox watch", [ours, "watch"], b": watching "))
        versions["photoinbox watch"] = first_line(ours, "--version")
    else:
        session.leave_out("photoinbox is not built (make release)")
    return found, versions
