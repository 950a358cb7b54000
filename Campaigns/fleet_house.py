"""Several daemons on one catalogue and one library, each with a state, an inbox and a connection of its own. For the campaign
of fleets; run nothing here by itself."""
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import types

import checker
import house as houses
import wire
from house import Failed, Waiting

# Where the checker asks only for bytes, it needs no rows: the server may be away.
NO_ROWS = types.SimpleNamespace(faults=[])

CONFIGURATION = """\
library = {library}
duplicates = {duplicates}
quarantine = {quarantine}
returned = {returned}
state = {state}
runtime = {runtime}
catalogue = {catalogue}

[inbox.{name}]
path = {inbox}
quiet = "0s"
patience = "1s"

[sets]
wait = "1s"
"""


class Places(checker.Places):
    """Those of all hosts, with what people have taken back."""

    def __init__(self, base, hosts, catalogue):
        aside = os.path.join(base, "aside")
        super().__init__({name: os.path.join(base, "hosts", name, "inbox") for name in hosts}, os.path.join(base, "library"),
                         os.path.join(aside, "duplicates"), os.path.join(aside, "quarantine"), os.path.join(base, "hosts"),
                         catalogue, [os.path.join(base, "canary")])
        self.returned = os.fsencode(os.path.join(aside, "returned"))

    @property
    def roots(self):
        # Walked in this order: a file that moves meanwhile moves to one that comes later.
        return super().roots + [("returned", self.returned)]


class Host(houses.House):
    """One daemon, its inbox and its state."""
    dump = "run/state.json"

    def __init__(self, fleet, name, owns_places):
        self.fleet, self.name, self.manifest = fleet, name, fleet.manifest
        self.program, self.base, self.number = fleet.program, os.path.join(fleet.base, "hosts", name), 0
        self.daemon, self.ordinary, self.is_removed, self.is_aged = None, False, False, False
        for directory in ("", "inbox", "outside", "own"):
            os.mkdir(self.path(directory))
        self.wire = fleet.proxy(self.path("wire"), fleet.server.socket)
        aside = os.path.join(fleet.base, "aside")
        places = {kind: os.path.join(aside, kind, *[name] * owns_places) for kind in ("duplicates", "quarantine", "returned")}
        for path in places.values():
            os.makedirs(path, exist_ok=True)
        words = {"library": os.fsdecode(fleet.places.library), "inbox": self.path("inbox"),
                 "state": self.path("st"), "runtime": self.path("run"),
                 "catalogue": fleet.server.words(fleet.database, self.path("wire"))} | places
        self.configuration = self.configure("own/photoinbox.toml", words)
        # Commands are not struck.
        self.for_commands = self.configure("own/command.toml", words | {"catalogue": fleet.server.words(fleet.database)})
        # All that it changes but its log, sockets and state dumps.
        self.under = [self.path("inbox"), words["library"], aside, self.path("st")]
        self.asked = []

    def configure(self, file, words):
        text = CONFIGURATION.format(name=self.name, **{key: json.dumps(value) for key, value in words.items()})
        pathlib.Path(self.path(file)).write_text(text, encoding="utf-8")
        return self.path(file)

    def start(self, fault=None, arguments=()):
        command = [self.program, "--config", self.configuration, "--log", "console", "--log-level", "debug", *arguments]
        self.daemon = houses.Daemon(self, command, fault)
        return self.daemon

    def drop(self, name, content, stays="no", ends=None):
        # Nobody looks between the entry in the manifest and the file.
        with self.fleet.lock:
            digest = checker.hashlib.sha256(content).hexdigest()
            self.fleet.drops[self.name, os.fsencode(name)] = digest
            super().drop(name, content)

    def drop_set(self, stem, members, wanted=None):
        for ending in wanted or members:
            self.drop(stem + ending, members[ending])
        digests = [checker.hashlib.sha256(members[ending]).hexdigest() for ending in members]
        if not wanted and digests not in self.manifest.sets:
            self.manifest.sets.append(digests)

    @property
    def is_empty(self):
        return next(checker.walk(os.fsencode(self.path("inbox"))), None) is None

    @property
    def has_done(self):
        """Whether all that it was asked for has an end."""
        return self.is_empty and all(process.poll() is not None for process in self.asked)

    def undo(self, content):
        """Asks for it, as a person would, and goes on."""
        digest = checker.hashlib.sha256(content).hexdigest()
        program = os.path.join(os.path.dirname(self.program), "photoinbox")
        log = open(self.path("own/log"), "ab")
        with log:
            self.asked.append(subprocess.Popen(
                [program, "undo", digest[:16], "--yes", "--config", self.for_commands], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=houses.plain_environment(), process_group=0))

    def age(self):
        """Lets its lease be over, unless its row is locked by itself, or the server is away: then again, or it takes its time."""
        if self.is_aged:
            return
        text = ("SET lock_timeout = '500ms'; UPDATE photoinbox.host SET seen = clock_timestamp() - interval '1 hour' "
                f"WHERE id = (SELECT host FROM photoinbox.inbox WHERE name = '{self.name}')")
        run = self.fleet.server.sql(text, self.fleet.database, check=False)
        self.is_aged = run.returncode == 0
        if "does not exist" in run.stderr:
            raise Failed(f"the lease of {self.name} cannot be aged: {run.stderr.strip()}")

    def stand_still(self):
        """Until all its threads do."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.daemon.own_pid, signal.SIGSTOP)
            self.wait_still()

    def wait_still(self):
        waiting, tasks = Waiting(f"standstill of {self.name}"), f"/proc/{self.daemon.own_pid}/task"
        while not self.daemon.has_ended() and any(
                state_of(f"{tasks}/{task}/stat") not in "tTXZ" for task in os.listdir(tasks)):
            waiting.once()

    def go_on(self):
        self.is_aged = False
        self.wire.arm()
        if self.daemon.read_end is not None:
            self.daemon.ask_tool(signal.SIGUSR1, "healed")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.daemon.own_pid, signal.SIGCONT)

    def end(self):
        self.wire.close()
        if self.daemon:
            self.daemon.abandon()
        for process in self.asked:
            process.kill()
            process.wait()


def state_of(file):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(file, encoding="utf-8", errors="replace") as text:
        return text.read().rpartition(")")[2].split()[0]
    return "X"


class Fleet:
    """So many hosts, h1, h2 …, with one library; with places for duplicates and so on of their own or common ones."""

    def __init__(self, server, count, daemon=None, owns_places=True, proxy=wire.Wire):
        self.program, self.server, self.lock, self.proxy = houses.program(given=daemon), server, threading.RLock(), proxy
        self.base = tempfile.mkdtemp(prefix="photo-inbox-campaign-", dir=houses.default_base())
        for name in ("library", "hosts", "aside", "canary"):
            os.mkdir(os.path.join(self.base, name))
        self.share()
        pathlib.Path(self.base, "canary/a.jpg").write_bytes(b"canary")
        self.database = server.create()
        names = [f"h{number}" for number in range(1, count + 1)]
        self.places = Places(self.base, names, server.words(self.database))
        self.manifest = checker.Manifest(around=checker.canary(self.places))
        self.drops = {}  # (inbox, path) → hash
        self.lost = set()  # paths of files that went from the library behind everybody's back
        self.partners = []  # ([hash, …], hash): one of these is beside that one
        self.hosts = [Host(self, name, owns_places) for name in names]

    def share(self):
        """Before anything is in the places that hosts have in common."""

    def remove(self):
        for host in self.hosts:
            host.end()
        self.server.drop(self.database)
        shutil.rmtree(self.base, ignore_errors=True)

    def tail(self, lines=60):
        return "\n".join(f"  {host.name}:\n{host.tail(lines)}" for host in self.hosts)

    def seen(self):
        """What must hold at every moment, and does not."""
        with self.lock:
            return checker.check(self.places, self.manifest, crashed=True, rows=NO_ROWS)

    def recorded(self, but=""):
        """Photos that are recorded as being in the library, that nobody has asked to take back, from all hosts but one:
        number → path."""
        text = f"""SELECT id, encode(library || '/'::bytea || library_path, 'hex') FROM photoinbox.photo
            WHERE superseded_at IS NULL AND inbox <> '{but}'
                AND id NOT IN (SELECT photo_id FROM photoinbox.request WHERE photo_id IS NOT NULL)"""
        run = self.server.sql(text, self.database, check=False)
        return {int(number): bytes.fromhex(path) for number, path in (line.split("|") for line in run.stdout.splitlines())}

    def missing(self):
        """Records without a file: those that were there before somebody looked, and are there after."""
        lacking = {number: path for number, path in self.recorded().items()
                   if path not in self.lost and not os.path.lexists(path)}
        return [f"photo {number} is recorded, and its file is missing: {checker.shown(path)}"
                for number, path in (lacking and self.recorded() or {}).items() if lacking.get(number) == path]

    def taken_over(self):
        """What must not be, while all leases last."""
        run = self.server.sql("SELECT token FROM photoinbox.intent WHERE step = 'lost'", self.database, check=False)
        return [f"taken over while its lease lasts: the filing {token}" for token in run.stdout.split()]

    def violations(self):
        """What must hold when all is at rest, and does not."""
        with self.lock:
            rows = checker.Rows(self.places)
            found = collect(self.places)
            manifest = checker.Manifest(self.manifest.photos, [
                members for members in self.manifest.sets if not any(found[member, "returned"] for member in members)],
                self.manifest.around)
            manifest.stands_still = self.manifest.stands_still
            wrong = checker.check(self.places, manifest, rows=rows)
            outcomes = {}
            for row in rows.outcomes:
                if row["outcome"] in ("filed", "duplicate"):
                    outcomes.setdefault((row["inbox"], bytes(row["path"])), []).append(row)
            for (inbox, path), digest in self.drops.items():
                some = outcomes.pop((inbox, path), [])
                if [bytes(row["sha256"] or b"").hex() for row in some] != [digest]:
                    told = ", ".join(f"{row['outcome']} {bytes(row['sha256'] or b'').hex()[:12]}" for row in some)
                    wrong.append(f"{inbox}/{checker.shown(path)} ({digest[:12]}) has {len(some)} outcomes: {told}")
            wrong += [f"an outcome of what nobody put in: {inbox}/{checker.shown(path)}" for inbox, path in outcomes]
            for choices, digest in self.partners:
                homes = {(os.path.dirname(path), os.path.basename(path).split(b".")[0])
                         for choice in choices for path in found[choice, "library"]}
                for path in found[digest, "library"]:
                    if (os.path.dirname(path), os.path.basename(path).split(b".")[0]) not in homes:
                        wrong.append(f"a set is torn apart: {digest[:12]} is beside none of its partners: {checker.shown(path)}")
            return wrong + self.requests(found)

    def requests(self, found):
        """What was taken back, and its records."""
        text = "SELECT step, encode(destination_root || '/'::bytea || destination_path, 'hex') FROM photoinbox.request"
        rows = [line.split("|") for line in self.server.sql(text, self.database, check=False).stdout.splitlines()]
        wrong = [f"a request is left open: {checker.shown(bytes.fromhex(path))}" for step, path in rows if step == "begun"]
        told = {bytes.fromhex(path) for step, path in rows if step == "done"}
        lying = {path for (_, kind), paths in found.items() if kind == "returned" for path in paths}
        wrong += [f"not recorded: returned: {checker.shown(path)}" for path in lying - told]
        return wrong + [f"recorded as taken back, and not there: {checker.shown(path)}" for path in told - lying if path]

    def look(self):
        try:
            return self.violations()
        except (OSError, subprocess.CalledProcessError) as error:
            return [str(error)]

    def require_running(self):
        for host in self.hosts:
            if host.daemon.has_ended():
                raise Failed(f"{host.name} ended by itself with status {host.daemon.end()}")

    def settle(self, keep=None):
        """Waits for rest, in which nothing is wrong, while all run, or `keep` begins them again. Nothing that is still armed
        strikes after that."""
        waiting, keep = Waiting("rest"), keep or self.require_running
        while True:
            keep()
            if all(host.is_empty for host in self.hosts) and not self.look():
                break
            waiting.once(why=lambda: "at rest: " + "; ".join(self.look()))
        for host in self.hosts:
            host.wire.disarm()
        keep()
        for host in self.hosts:
            if not host.wait_idle(host.daemon):
                raise Failed(f"{host.name} ended by itself")

    def start(self, *faults):
        """All, the first ones with faults."""
        for host, fault in itertools.zip_longest(self.hosts, faults[:len(self.hosts)]):
            host.start(fault)
        for host in self.hosts:
            if not host.daemon.wait_ready():
                raise Failed(f"{host.name} does not start")

    def stop(self):
        for host in self.hosts:
            host.daemon.stop()
            for process in host.asked:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(houses.PATIENCE)

    def rest(self):
        """The violations at rest, and after one life more, which must change nothing; ends all."""
        self.settle()
        self.stop()
        wrong, before = self.violations(), checker.snapshot(self.places)
        self.start()
        self.settle()
        self.stop()
        return wrong + checker.compare(before, checker.snapshot(self.places))


def collect(places):
    """(hash, kind of place) → paths; none for what is not there."""
    found = checker.collections.defaultdict(list)
    for kind, root in places.roots:
        for file in checker.walk(root):
            if file.is_regular:
                found[checker.file_hash(file.path), kind].append(file.path)
    return found
