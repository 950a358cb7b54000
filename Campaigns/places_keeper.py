"""A daemon of a world of the campaign of places, with its own configuration, and common definitions of the campaign.
Run nothing here by itself."""
import json
import os
import socket

import house as houses
from slowness import SLOWNESS

TICK = "400000"  # microseconds of the watchdog: places are checked twice as often
SLACK = 40 * SLOWNESS  # limit in seconds for expected events on a busy machine
ROLES = ("inbox", "library", "quarantine", "duplicates", "returned", "trash", "state")


class Violation(Exception):
    """A rule that was broken, and how."""

    def __init__(self, rule, words):
        super().__init__(f"{rule}: {words}")
        self.rule, self.words, self.line = rule, words, None


class Place:
    """A real directory: its disk and its path below the disk's root."""

    def __init__(self, disk, relative):
        self.disk, self.relative = disk, relative

    def view(self):
        root = self.disk.view
        return root and os.path.join(root, self.relative) if self.relative else root

    def holds(self, disk, path):
        return disk is self.disk and (not self.relative or path.startswith(self.relative + "/"))

    def __eq__(self, other):
        return isinstance(other, Place) and (self.disk, self.relative) == (other.disk, other.relative)

    def __hash__(self):
        return hash((self.disk.name, self.relative))


class Entry:
    """A content of the ledger."""

    def __init__(self, content, words, is_whole):
        # A sidecar does not count as whole: it is filed only with its photo.
        self.content, self.words, self.is_whole = content, words, is_whole
        # May be in the library twice, since it was not visible there for a while, or was copied.
        self.may_double = False


class Keeper:
    """One daemon with its own configuration, and the interface of a house for `house.Daemon`."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.runtime = os.path.join(world.top, "run", name)
        self.file = os.path.join(world.own, name + ".toml")
        self.log = os.path.join(world.own, name + ".log")
        self.at, self.settings = {}, {"mode": "move", "patience": "1s", "trash": "1s"}
        self.inboxes = {}
        self.daemon, self.under = None, []

    def path(self, _):
        return self.log

    def write(self):
        lines = [f'{role} = "{self.at[role]}"' for role in ROLES if role in self.at and role != "inbox"]
        lines += [f'runtime = "{self.runtime}"']
        for name, path in self.inboxes.items():
            lines += [f"[inbox.{name}]", f'path = "{path}"', 'quiet = "0s"', f'mode = "{self.settings["mode"]}"',
                      f'patience = "{self.settings["patience"]}"']
        lines += ["[filing]", f'trash = "{self.settings["trash"]}"', "[sets]", 'wait = "50ms"']
        if self.name == "one":
            lines += ["[cards]", 'import = "yes"', 'inbox = "a"', f'below = ["{self.world.top}/media"]']
        with open(self.file, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")

    @property
    def catalogue(self):
        return os.path.join(self.at["state"], "catalogue.sqlite")

    @property
    def runs(self):
        return self.daemon is not None and not self.daemon.has_ended()

    def start(self):
        """None once it is ready; otherwise its output if it ended cleanly instead."""
        self.write()
        os.makedirs(self.runtime, exist_ok=True)
        before = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        # It ends with the campaign.
        command = ["setpriv", "--pdeathsig", "KILL", "env", f"WATCHDOG_USEC={TICK}", self.world.program, "--config", self.file,
                   "--log", "console", "--log-level", "info"]
        self.daemon = houses.Daemon(self, command)
        if self.daemon.wait_ready(SLACK):
            return None
        status = self.daemon.end()
        said = self.said(before)
        self.daemon = None
        if status < 0 or "Fatal error" in said:
            raise Violation("died", f"{self.name} ended with {status} at its start: {said[-400:]}")
        return f"status {status}: {said[-300:]}"

    def said(self, since=0):
        with open(self.log, "rb") as text:
            text.seek(since)
            return text.read().decode(errors="backslashreplace").strip()

    def stop(self):
        if self.runs:
            self.check_alive()
            self.daemon.process.terminate()
            status = self.daemon.end(SLACK)
            if status != 0:
                raise Violation("died", f"{self.name} ended with {status} after SIGTERM: {self.said()[-300:]}")
        self.daemon = None

    def kill(self):
        if self.daemon:
            self.check_alive()
            self.daemon.kill()
        self.daemon = None

    def check_alive(self):
        if self.daemon is not None and self.daemon.has_ended():
            status = self.daemon.end()
            self.daemon = None
            raise Violation("died", f"{self.name} ended by itself with {status}: {self.said()[-400:]}")

    def ask(self, do, **more):
        """An answer of the control socket; None without a daemon."""
        request = json.dumps({"version": 1, "id": 1, "do": do, **more}).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(SLACK)
            try:
                control.connect(os.path.join(self.runtime, "control"))
                control.sendall(len(request).to_bytes(4, "big") + request)
                data = b""
                while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
                    more = control.recv(1 << 20)
                    if not more:
                        return None
                    data += more
            except TimeoutError:
                raise Violation("silent", f"{self.name} does not answer {do} within {SLACK} s") from None
            except OSError:
                return None
        return json.loads(data[4:])

    def state(self):
        answer = self.ask("state")
        return answer and answer.get("state")

    def problems(self):
        return (self.state() or {}).get("problems", [])
