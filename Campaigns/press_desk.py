#!/usr/bin/python3
"""Three hosts with one catalogue and one library, as a press desk has them: three daemons, a primary of PostgreSQL and its
synchronous standby, each in a network namespace with a cable to one switch. Hosts are set up by `photoinbox setup --join`. In
turn: one card is copied into two hosts; while photos go on arriving, the primary's cable is pulled, the standby promoted, and
the cable is back, with the old primary alive; the same again, within seconds; a primary is killed; a host's cable is pulled for
a minute; a host is gone for good while photos wait there; 200 photos are filed over lines that are slow and lose packets. After
each, all are filed, the commands that people ask have said what is the case, and at every look there is a whole copy of
everything. In the end what Campaigns/failover.py asks holds: each content is in the library once and has a row, and one life
more changes nothing. No daemon may end by itself.

usage: Campaigns/press_desk.py [--rounds N] [--seed N] [--show] [--patience SECONDS] [--daemon FILE]

  --rounds    how many times all of it (1)
  --show      prints all that the commands say
  --patience  seconds for what must come (120): a host is silent after 30, and a line that is cut is given up after 60

Prints a line for each act with its time and what was found wrong, and exits with 1 if anything was. As root; changes nothing
of the machine, whose network it leaves. `setup` has `--user`, since there is no service manager; a state directory of its own
was written into each configuration before, since by default it is beside the library, which all share.
"""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import checker
import commandline
import failover
import fleet
import house as houses
import postgres
import press_desk_house
from house import Failed, Waiting, jpeg, raw_and_jpeg


class Round(failover.Round):
    """All acts, in this order."""

    def __init__(self, number, options):
        self.numbers, self.fleet = random.Random(f"{options.seed} {number}"), press_desk_house.Desk(options)
        self.told, self.wrong, self.refuted, self.due, self.pause, self.cut = [], [], [], {}, 1, set()
        self.is_over, self.arriving, self.count, self.began = threading.Event(), threading.Event(), 0, time.monotonic()

    def tell(self, words):
        print(f"{time.monotonic() - self.began:6.1f} s  {words}", flush=True)

    def require(self, holds, words):
        if not holds:
            self.refuted.append(words)
            self.tell(f"WRONG: {words}")

    def until(self, what, holds, seconds=None):
        """Waits for it while daemons are begun again; how long it took."""
        began, waiting = time.monotonic(), Waiting(what, seconds)
        while not holds():
            self.keep()
            waiting.once()
        return time.monotonic() - began

    def let_pass(self, seconds):
        end = time.monotonic() + seconds
        self.until("time", lambda: time.monotonic() >= end, seconds + 60)

    def put_in(self, hosts, count):
        """Photos and sets, each on one of `hosts` or on two."""
        for _ in range(count):
            self.count += 1
            seed, stem = f"{self.numbers.random()}", f"DCIM/{100 + self.count // 100}PRESS/IMG_{self.count:04}"
            members = raw_and_jpeg(seed) if self.numbers.random() < 0.15 else {".JPG": jpeg(seed, 20_000)}
            for host in self.numbers.sample(hosts, min(len(hosts), self.numbers.choice((1, 1, 2)))):
                host.put(stem, members)

    def arrive(self):
        while not self.is_over.wait(self.numbers.uniform(0.1, 0.7)):
            if self.arriving.is_set():
                self.put_in(self.fleet.hosts, 1)

    def status(self, host, wanted, *lines, must=False):
        """Whether `status --all` ends with that, and says all of these."""
        run = host.ask("status", "--all")
        holds = run.returncode == wanted and all(line in run.stdout + run.stderr for line in lines)
        self.require(holds or not must, f"status --all on {host.name}: {run.returncode}, and not {wanted}, or it lacks one of "
                     f"{lines}:\n{run.stdout}{run.stderr}")
        return holds

    def rest(self, what, seconds=None):
        """No more arrives, all is filed, and all is well with all."""
        self.arriving.clear()
        hosts, took = self.fleet.hosts, []
        for words, holds, why in (
                ("inboxes are not empty", lambda: all(host.is_empty for host in hosts), lambda: self.waiting(hosts)),
                ("violations", lambda: not self.look(), lambda: "; ".join(self.look()[:20])),
                ("status --all is not well", lambda: all(self.status(host, 0) for host in hosts), lambda: "")):
            try:
                took.append(self.until(words, holds, seconds))
            except Failed:
                return self.require(False, f"{what}: {words} after {houses.PATIENCE} s: {why()}")
        return self.tell(f"{what}: inboxes empty after {took[0]:.1f} s, status --all well {took[2]:.1f} s later; "
                         f"{len(self.fleet.drops)} files so far")

    def waiting(self, hosts):
        """What some that do not empty their inboxes say of the first file."""
        found = {host: next(checker.walk(os.fsencode(host.path("inbox"))), None) for host in hosts}
        return "".join(host.ask("explain", f"{host.name}/{os.fsdecode(file.relative)}").stdout
                       for host, file in found.items() if file)

    def card(self):
        some, names = self.fleet.hosts[:2], []
        for number in range(1, 41):
            seed, stem = f"{self.numbers.random()}", f"DCIM/100CANON/DSC_{number:04}"
            members = raw_and_jpeg(seed) if number % 6 == 0 else {".JPG": jpeg(seed, 200_000)}
            members.pop(".xmp", None)
            names += [stem + ending for ending in members]
            for host in self.numbers.sample(some, 2):
                host.put(stem, members)
        self.until("filing of the card", lambda: all(host.is_empty for host in some))
        verdicts = {}
        for host in some:
            run = host.ask("explain", "--json", *(f"{host.name}/{name}" for name in names))
            verdicts[host] = [file["verdict"] for file in json.loads(run.stdout)["files"]]
        for name, *pair in zip(names, *verdicts.values(), strict=True):
            self.require(sorted(pair) == ["duplicate", "filed"], f"explain says {pair} of {name}")
        counts = [f"{host.name} {dict(collections.Counter(some))}" for host, some in verdicts.items()]
        self.rest(f"1. one card of {len(names)} files into two hosts: {', '.join(counts)}")

    def load(self):
        """Photos arrive from now on; the primary, and where it is."""
        self.arriving.set()
        self.let_pass(8)
        return self.fleet.server.leading, self.fleet.server.homes[self.fleet.server.leading]

    def cut_primary(self):
        (old, home), servers, asked = self.load(), self.fleet.server, self.fleet.hosts[0]
        home.pull()
        self.tell(f"2. {home.name} is cut off")
        lines = ["PI-506", *(machine.address for machine in servers.machines)]
        took = self.until("PI-506", lambda: self.status(asked, 5, *lines))
        self.tell(f"   status --all on {asked.name} shows PI-506, and both servers, after {took:.1f} s")
        self.let_pass(self.numbers.uniform(0, 40))
        self.status(asked, 5, "a standby: the hosts are shown as of ", must=True)
        self.require("PI-601" not in asked.ask("status", "--all").stdout, "a host is called silent that only the standby lost")
        self.promote()
        self.let_pass(self.numbers.uniform(0, 30))
        self.come_back(old, "2. a primary that was cut off")

    def blink(self):
        """The line is back before anybody gives it up, and another is the primary by then."""
        old, home = self.load()
        home.pull()
        self.fleet.promote()
        self.tell(f"3. {home.name} is cut off, and its standby is promoted at once")
        self.let_pass(self.numbers.uniform(0, 4))
        self.come_back(old, "3. a primary that was cut off for a moment")

    def promote(self):
        """And photos must be filed there."""
        servers = self.fleet.server
        self.fleet.promote()
        before = self.photos_recorded()
        took = self.until("filing on the new primary", lambda: self.photos_recorded() > before)
        self.tell(f"   {servers.homes[servers.leading].name} is promoted; photos are filed there after {took:.1f} s")

    def come_back(self, old, what):
        """The old primary's line; it is made the standby when all is filed."""
        servers, home = self.fleet.server, self.fleet.server.homes[old]
        write = subprocess.Popen([postgres.PSQL, "-XAtq", old.words("postgres"), "-c", "CREATE TABLE late ()"],
                                 stderr=subprocess.DEVNULL)
        home.plug()
        self.tell(f"   {home.name}, the old primary, is back, alive")
        self.let_pass(20)
        self.require(write.poll() is None, "the old primary commits without its standby")
        self.rest(what)
        text = "SELECT encode(sha256, 'hex') FROM photoinbox.photo"
        theirs, ours = (set(one.sql(text, self.fleet.database).stdout.split()) for one in (old, servers.leading))
        self.require(theirs <= ours, f"the old primary has {len(theirs - ours)} photos that the new one has not")
        used = old.sql("SELECT count(*), count(*) FILTER (WHERE wait_event = 'SyncRep') FROM pg_stat_activity "
                       "WHERE usename = 'photoinbox'").stdout.strip()
        self.tell(f"   connections to the old primary, and those of them that wait for the standby: {used}")
        servers.end(old)
        write.wait()
        servers.follow(home)

    def photos_recorded(self):
        return int(self.fleet.server.sql("SELECT count(*) FROM photoinbox.photo", self.fleet.database).stdout)

    def kill_primary(self):
        old, home = self.load()
        old.crash(signal.SIGKILL)
        self.tell(f"4. {home.name} is killed")
        self.let_pass(self.numbers.uniform(0, 10))
        self.promote()
        self.rest("4. a primary that was killed")
        self.fleet.server.end(old)
        self.fleet.server.follow(home)

    def cut_host(self):
        *others, away = self.fleet.hosts
        self.load()
        away.machine.pull()
        began = time.monotonic()
        self.tell(f"5. {away.name} is cut off for a minute")
        took = self.until("PI-601", lambda: self.status(others[0], 3, "PI-601", away.name))
        self.tell(f"   {others[0].name} shows it as silent after {took:.1f} s")
        before = self.photos_recorded()
        self.let_pass(max(1, began + 55 - time.monotonic()))
        self.require(not away.is_empty, f"no photo waits on {away.name}, which is cut off")
        self.require(self.photos_recorded() > before, "the others do not go on")
        for host in others:
            self.status(host, 3, "PI-601", "silent since", away.name, must=True)
        self.status(away, 5, "PI-506", must=True)
        self.let_pass(max(0, began + 60 - time.monotonic()))
        away.machine.plug()
        self.rest("5. a host that was cut off")

    def lose_host(self):
        other, gone = self.fleet.hosts[:2]
        self.require(gone.ask("pause", gone.name).returncode == 0, "pause fails")
        waiting = {f"DCIM/999LAST/IMG_{number:04}.JPG": jpeg(f"{self.numbers.random()}", 20_000) for number in range(1, 13)}
        for name, content in waiting.items():
            gone.drop(name, content)
        # It says every ten seconds how it is.
        self.let_pass(25)
        gone.machine.pull()
        gone.daemon.kill()
        self.tell(f"6. {gone.name} is gone for good, with {len(waiting)} photos in its inbox")
        self.fleet.hosts.remove(gone)
        took = self.until("PI-601", lambda: self.status(other, 3, "PI-601", gone.name))
        shown, forgotten = (other.ask("hosts", *words, gone.name) for words in (("show",), ("forget", "--yes")))
        missing = [name for name in waiting if name not in shown.stdout]
        self.require(shown.returncode == 0 and not missing, f"hosts show lacks {missing}: {shown.stdout}{shown.stderr}")
        self.require(forgotten.returncode == 0, f"hosts forget: {forgotten.stdout}{forgotten.stderr}")
        with self.fleet.lock:
            for name, content in waiting.items():
                other.drop(name, content)
                os.unlink(os.path.join(gone.path("inbox"), name))
        self.rest(f"6. silent after {took:.1f} s, forgotten, its photos copied to {other.name}")

    def slow_lines(self):
        undo, words = press_desk_house.slow(self.fleet.machines)
        try:
            self.tell(f"7. each line delays by 20 ms ± 10, and loses 1 % of the packets ({words})")
            self.status(self.fleet.hosts[0], 0, " ms away", must=True)
            self.put_in(self.fleet.hosts, 200)
            self.rest("7. 200 photos and sets over slow lines", 6 * houses.PATIENCE)
        finally:
            undo()

    def run(self):
        for host in self.fleet.hosts:
            host.set_up(self.fleet.server)
            host.start()
            if not host.daemon.wait_ready():
                raise Failed(f"{host.name} does not start")
        self.tell("0. three hosts are set up, and run")
        threads = [threading.Thread(target=act, daemon=True) for act in (self.watch, self.arrive)]
        for thread in threads:
            thread.start()
        try:
            for act in (self.card, self.cut_primary, self.blink, self.kill_primary, self.cut_host, self.lose_host,
                        self.slow_lines):
                act()
        finally:
            self.is_over.set()
            for thread in threads:
                thread.join()
        wrong = self.refuted + self.wrong + self.told + self.look() + self.last_life()
        self.tell(f"   judged: {len(self.fleet.drops)} files, {self.photos_recorded()} photos, {len(wrong)} violations")
        return wrong


def main():
    arguments = commandline.parser(__doc__, jobs=1)
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--show", action="store_true")
    arguments.set_defaults(patience=120)
    if reason := press_desk_house.leave():
        print(f"skipped: {reason}")
        return 0
    options, status = commandline.begin(arguments, "press desk"), 0
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for number in range(options.rounds):
        one = Round(number, options)
        try:
            wrong, log = fleet.judged(one.fleet, one.run)
            if wrong:
                status, lines = 1, [f"VIOLATION in round {number} with --seed {options.seed}:", *wrong[:30], log]
                print("\n  ".join(lines), flush=True)
        finally:
            one.is_over.set()
            one.fleet.remove()
    return status


if __name__ == "__main__":
    sys.exit(main())
