"""photoinboxd with its catalogue in PostgreSQL, beside one with a file and beside the server's own floor, all in one run: round
trips and time of a photograph alone, ten hosts of one catalogue, the same with a million photographs, memory."""
import contextlib
import hashlib
import os
import re
import shutil
import statistics
import tempfile
import time

import clients
import life
import processes
import statements
from daemon import Daemon, file_system_of, remove
from databases import ROWS, Connection, Server, postgres
from figures import at_least, ratio, spread, target
from trees import MEMORY

import wire

HOSTS, EACH, ALONE, SECONDS, NAP = 10, 100, 20, 5, 0.1
FILE, SERVER, MANY = "SQLite", "PostgreSQL", f"PostgreSQL, {ROWS:,} photographs"
MEBIBYTE, MILLISECOND = 1 << 20, 1e6


class Photographs:
    """Small ones, each unique."""

    def __init__(self):
        self.before, self.after = life.pattern()
        self.number = 0

    def one(self):
        self.number += 1
        return f"IMG_{7_000_000 + self.number}.JPG", life.photograph(self.before, self.after, self.number)


def measure(session, release, photos, scratch):
    if not postgres.INITDB or not shutil.which("pgbench") or not shutil.which("psql"):
        session.leave_out("fleet: no PostgreSQL (Debian: postgresql)")
        return None
    os.makedirs(scratch, exist_ok=True)
    with contextlib.ExitStack() as stack:
        # Short: a socket's path has 107 bytes.
        root = os.path.realpath(tempfile.mkdtemp(prefix="f-", dir=scratch))
        stack.callback(remove, root)
        os.chmod(root, 0o755)  # the server is another user's
        memory = os.path.realpath(tempfile.mkdtemp(prefix="photo-inbox-fleet-", dir=MEMORY))
        stack.callback(remove, memory)
        session.note("fleet: a server")
        server = Server(root)
        stack.callback(server.stop)
        bench = Bench(session, release / "photoinboxd", server, root, memory)
        session.note(f"fleet: {ROWS:,} photographs")
        bench.prepare()
        trips, behind = bench.trips()
        alone = bench.alone(photos)
        fleet = bench.fleets()
    return report(session, bench, trips, behind, alone, fleet, file_system_of(scratch)[0])


def report(session, bench, trips, behind, alone, fleet, file_system):
    spreads = {name: spread(samples) for name, samples in alone["times"].items()}
    costs = {name: spread(samples) for name, samples in alone["costs"].items()}
    budget = (spreads[FILE]["median"] + 1.5 * MILLISECOND + 3 * costs["round trip"]["median"] + costs["flush"]["median"])
    rates = {name: spread(samples) for name, samples in fleet.items()}
    held = alone["resident"]
    targets = [
        at_least(f"× floor, {HOSTS} hosts", statistics.median(fleet["of the floor"]), 0.7),
        target("round trips of a photograph alone", trips[SERVER], 5),
        target("ms until a photograph alone is filed", spreads[SERVER]["median"] / MILLISECOND, budget / MILLISECOND),
        target(f"× round trips without {ROWS:,} photographs", trips[MANY] / trips[SERVER], 1.1),
        target(f"× time without {ROWS:,} photographs", ratio(spreads, MANY, SERVER), 1.1),
        at_least(f"× photographs a second without {ROWS:,}", ratio(rates, MANY, SERVER), 1 / 1.1),
        target("MiB resident more than with SQLite", (held[SERVER] - held[FILE]) / MEBIBYTE, 8)]
    return {
        "hosts": HOSTS, "each": EACH, "runs": session.runs, "rows": ROWS, "catalogue_bytes": bench.size, "file_system": file_system,
        "version": bench.version, "trips": trips, "behind": behind, "alone": spreads, "costs": costs, "rates": rates,
        "resident": held, "targets": targets}


class Bench:
    def __init__(self, session, program, server, root, memory):
        self.session, self.program, self.server, self.root, self.memory = session, program, server, root, memory
        self.photographs, self.places = Photographs(), 0
        self.version = server.sql("SHOW server_version").stdout.split()[0]
        self.templates, self.size, self.script = {}, 0, ""

    def place(self, base):
        self.places += 1
        return os.path.join(base, str(self.places))

    def options(self, database, directory=None, words=""):
        return ["--set", f"catalogue={self.server.words(database, directory)} {words}"] if database else []

    def daemon(self, root, database, directory=None, words="", **places):
        return Daemon(self.program, root, self.options(database, directory, words), **places)

    def prepare(self):
        """Two catalogues with what a daemon has filed, one of them with a million others; and that daemon's statements."""
        seed, name = self.server.create(), "seed"
        place = self.place(self.root)
        # It makes the tables.
        self.daemon(place, seed, name=name).stop()
        self.server.number_rows(seed)
        daemon = self.daemon(place, seed, words=statements.LOGGED, name=name)
        try:
            self.file(daemon, 9)
            processes.await_idle(daemon.process.pid)
            log, (last, content) = statements.Log(self.server), self.photographs.one()
            self.drop([(daemon, last, content)])
            filing = log.filing()
        finally:
            daemon.stop()
        self.script = statements.script(filing, re.search(r"\d+", last)[0], hashlib.sha256(content).hexdigest(), name)
        many = self.server.create(like=seed)
        self.size = self.server.fill(many)
        self.templates = {SERVER: seed, MANY: many}
        self.library = daemon.library

    def catalogue(self, kind, place):
        """A database with what is in that kind of catalogue, and the library with its few photographs at a place."""
        database, library = self.server.create(like=self.templates[kind]), os.path.join(place, "library")
        shutil.copytree(self.library, library)
        self.server.move(database, library)
        return database

    def drop(self, files):
        """Moves them into the inboxes of daemons, as fast as possible, and waits until these are empty. How long that took."""
        for daemon, name, content in files:
            with open(os.path.join(os.path.dirname(daemon.inbox), name), "wb") as file:
                file.write(content)
        begun = time.monotonic()
        for daemon, name, _ in files:
            os.rename(os.path.join(os.path.dirname(daemon.inbox), name), os.path.join(daemon.inbox, name))
        for daemon in dict.fromkeys(daemon for daemon, _, _ in files):
            daemon.await_empty()
        return time.monotonic() - begun

    def file(self, daemon, count):
        for _ in range(count):
            self.drop([(daemon, *self.photographs.one())])

    def trips(self):
        """The most usual number of round trips for one photograph alone, and of those behind it."""
        usual, behind = {}, {}
        for kind in (SERVER, MANY):
            self.session.note(f"fleet: round trips, {kind}")
            place = self.place(self.root)
            database = self.catalogue(kind, place)
            proxy = wire.Trips(os.path.join(place, "wire"), self.server.socket)
            try:
                daemon = self.daemon(place, database, os.path.join(place, "wire"), name="trips")
                try:
                    self.file(daemon, 10)
                    counts = [self.count(daemon, proxy) for _ in range(9)]
                finally:
                    daemon.stop()
            finally:
                proxy.close()
            usual[kind] = statistics.mode(filing for filing, _ in counts)
            behind[kind] = statistics.mode(other for _, other in counts)
        return usual, behind

    def count(self, daemon, proxy):
        processes.await_idle(daemon.process.pid, 0.5)
        proxy.take_all()
        self.file(daemon, 1)
        processes.await_idle(daemon.process.pid, 0.5)
        return tuple(sum(map(len, some)) for some in proxy.take_all())

    def alone(self, photos):
        """Each of the daemons files one photograph in turn, with nothing else to do."""
        times, costs, resident = {}, {"round trip": [], "flush": []}, {}
        with contextlib.ExitStack() as stack:
            houses = {}
            for kind in (FILE, SERVER, MANY):
                place = self.place(self.root)
                database = None if kind == FILE else self.catalogue(kind, place)
                houses[kind] = clients.House(self.program, place, photos, self.options(database))
                stack.callback(houses[kind].daemon.stop)
                times[kind] = []
            self.server.settle()
            time.sleep(2)  # idle is measured after start-up; not used for timing
            for kind, house in houses.items():
                processes.await_idle(house.daemon.process.pid)
                resident[kind] = processes.memory(house.daemon.process.pid)["rss"]
                house.file(ALONE // 2)  # the first ones open permanent resources
            connection = Connection(self.server.words("postgres"))
            stack.callback(connection.close)
            connection.run("CREATE TABLE flush (number bigint)")
            for run in range(self.session.runs):
                self.session.note(f"fleet: photographs alone, run {run + 1} of {self.session.runs}")
                for number in range(ALONE):
                    names = list(houses)
                    for kind in names[number % 3:] + names[:number % 3]:
                        time.sleep(NAP)  # for what is done behind the last one
                        times[kind] += houses[kind].file(1)[0]
                    costs["round trip"] += [connection.run("SELECT 1") for _ in range(5)][1:]
                    costs["flush"] += [connection.run("INSERT INTO flush VALUES (1)") for _ in range(2)]
        return {"times": times, "costs": costs, "resident": resident}

    def fleets(self):
        """Photographs a second: of the floor before and after that of the hosts, with each catalogue in turn."""
        one = f"one daemon, {FILE}"
        rates = {one: [], f"one daemon, {SERVER}": [], SERVER: [], MANY: [], "floor": [], f"floor, {ROWS:,} photographs": [],
                 "of the floor": [], f"of the floor, {ROWS:,} photographs": []}
        for run in range(self.session.runs):
            for kind, suffix in ((SERVER, ""), (MANY, f", {ROWS:,} photographs")):
                self.session.note(f"fleet: {HOSTS} hosts, {kind}, run {run + 1} of {self.session.runs}")
                place = self.place(self.memory)
                database, beside = self.catalogue(kind, place), self.server.create(like=self.templates[kind])
                self.server.settle()
                floor = [statements.floor(self.server, beside, self.script, HOSTS, SECONDS)]
                rates[kind].append(self.rate(place, HOSTS, EACH, database))
                floor.append(statements.floor(self.server, beside, self.script, HOSTS, SECONDS))
                rates["floor" + suffix] += floor
                rates["of the floor" + suffix].append(2 * rates[kind][-1] / sum(floor))
                self.end(place, database, beside)
            place = self.place(self.memory)
            rates[one].append(self.rate(place, 1, HOSTS * EACH // 2))
            self.end(place)
            place = self.place(self.memory)
            database = self.catalogue(SERVER, place)
            self.server.settle()
            rates[f"one daemon, {SERVER}"].append(self.rate(place, 1, HOSTS * EACH // 2, database))
            self.end(place, database)
        return rates

    def end(self, place, *databases):
        remove(place)
        for database in databases:
            self.server.drop(database)

    def rate(self, place, hosts, each, database=None):
        with contextlib.ExitStack() as stack:
            daemons = []
            for number in range(hosts):
                root = os.path.join(place, f"h{number}")
                daemons.append(self.daemon(root, database, name=f"h{number}", library=os.path.join(place, "library")))
                stack.callback(daemons[-1].stop)
            # The first ones open permanent resources.
            self.drop([(daemon, *self.photographs.one()) for _ in range(10) for daemon in daemons])
            for daemon in daemons:
                processes.await_idle(daemon.process.pid, 0.2)
            seconds = self.drop([(daemon, *self.photographs.one()) for _ in range(each) for daemon in daemons])
            return hosts * each / seconds
