#!/usr/bin/python3
"""One or two daemons on a catalogue in PostgreSQL with an asynchronous standby, which is held back, so that it lacks the
commits of 0.1 to 5 seconds. While photos, sets, duplicates, damaged photos arrive and are taken back, the primary ends at once
or is killed, the standby is promoted, what was filed comes again, and the old primary is started beside the new one. Daemons
are killed, have new lives in the time that is lost, or their connections end. A daemon that ends is begun again, as a service
manager would. At every look there is a whole copy of everything. In the end nothing was written on the old primary, inboxes
are empty, each content is in the library once and has a row, no record is without its file, nothing is half done, and one
life more changes nothing. What did not come about by itself is tried by hand (restart, verify --repair), and told.

usage: Campaigns/failover.py [--rounds N] [--round N] [--hosts N] [--held SECONDS] [--seed N] [--jobs N]
                             [--patience SECONDS] [--first] [--daemon FILE] [--undisturbed]

  --rounds       how many (20)
  --round        only this one; prints what the daemons logged
  --hosts        always so many (1 or 2)
  --held         the standby always lacks so many seconds
  --jobs         how many rounds at once (2): each has two servers
  --patience     seconds until all is healthy, from when all daemons run (60)
  --first        ends at the first violation
  --undisturbed  daemons are not killed, and the old primary stays away

Prints a line for each round, each violation and what was done by hand, and exits with 1 if there was a violation.
"""
import collections
import os
import random
import signal
import subprocess
import sys
import threading
import time

import checker
import commandline
import fleet
import house as houses
import jobs
import pictures
import postgres
from fleet_house import Fleet
from house import Failed, Waiting, cut_jpeg, jpeg

# As systemd does after a failure, with RestartSec=5 and less. 64 and 78 it leaves.
PAUSES, FINAL = (0.2, 1, 5), (64, 78)


# --- the judge ---

def violations(lives, cut=()):
    """What must hold when all is at rest, and does not; `cut` are hashes of what is no whole photo."""
    places, manifest, wrong = lives.places, lives.manifest, []
    rows, found = checker.Rows(places), collections.defaultdict(lambda: collections.defaultdict(list))
    # A sidecar waits for its photo, though what was set aside as duplicates with it had that name: it is recorded all the same.
    waits = {bytes(row["path"]) for row in rows.outcomes if row["outcome"] == "ignored"}
    kept = {bytes(row["sha256"]).hex() for row in rows.photos if row["superseded_at"] is None}
    for kind, root in places.roots:
        for file in checker.walk(root):
            name = file.relative.rsplit(b"/", 1)[-1]
            if kind == "inbox" and file.relative in waits and checker.file_hash(file.path) in kept:
                continue
            if kind == "inbox" or checker.TEMPORARY.search(name):
                wrong.append(f"left in {kind}: {checker.shown(file.relative)}")
            if kind != "quarantine" or not checker.REASON.search(name):
                found[checker.file_hash(file.path)][kind].append(file)
    wrong += rows.faults + checker.check_rows(places, rows, found)
    for digest in manifest.photos:
        lying = found[digest]
        shown = ", ".join(f"{kind}: {checker.shown(file.relative)}" for kind in lying for file in lying[kind])
        if len(lying["library"]) > 1:
            wrong.append(f"stands {len(lying['library'])} times ({digest[:12]}; {shown})")
        if not lying["library"] and not lying["quarantine" if digest in cut else "returned"]:
            wrong.append(f"is in no library ({digest[:12]}; {shown})")
    sets = [members for members in manifest.sets if not any(found[member]["returned"] for member in members)]
    wrong += checker.check_sets(checker.Manifest(sets=sets), found, rows)
    numbers = {bytes(row["sha256"]).hex(): row["set_id"] for row in rows.photos if row["superseded_at"] is None}
    for members in sets:
        some = [numbers[member] for member in members if member in numbers]
        if len(set(some)) > 1:
            wrong.append(f"a set has several numbers: {some}")
    return wrong + [line for line in lives.requests({}) if line.startswith("a request is left open")]


class Round(fleet.Round):
    """Drawn in full before it begins, from the seed and its number."""
    # Those that need not be unchanged for a minute before they are whole.
    kinds = [pictures.plain_jpeg, pictures.gif, pictures.heif, pictures.canon]

    def __init__(self, number, options):
        self.numbers = numbers = random.Random(f"{options.seed} {number}")
        count, self.lost, self.untold = options.hosts or numbers.choice((1, 2, 2)), None, 0
        self.pair = postgres.Pair(houses.default_base(), Waiting("standby that follows"), numbers.random() < 0.3)
        self.fleet = Fleet(self.pair, count, options.daemon)
        self.told, self.pool, self.wrong, self.by_hand, self.cut = [], [], [], [], set()
        self.is_over, self.beside, self.due = threading.Event(), {}, {}
        self.pause, self.is_undisturbed, self.healthy = numbers.choice(PAUSES), options.undisturbed, None
        held = numbers.choice((0.1, 0.3, 1, 2, 5)) if options.held is None else options.held
        fails = held + numbers.uniform(0.5, 1.5)
        promoted = fails + numbers.choice((0.05, 0.5, 2))
        comes = promoted + numbers.choice((0, 1, 5))
        number = numbers.choice((signal.SIGQUIT, signal.SIGKILL))
        self.acts = [(numbers.uniform(0, promoted + 2), act, "") for act in self.photos(int(10 * (promoted + 2)))]
        self.acts += [(numbers.uniform(0, promoted), self.put_damaged, "") for _ in range(3)]
        self.acts += [(numbers.uniform(fails - held, promoted + 2), self.undo, "") for _ in range(numbers.choice((0, 2, 4)))]
        self.acts += [(numbers.uniform(promoted, promoted + 4), self.again, "") for _ in range(8)]
        self.add(fails - held, self.pair.hold_back, "the standby gets nothing more")
        self.add(fails, lambda: self.pair.fail(number), f"{signal.Signals(number).name} to the primary")
        self.add(promoted, self.promote, "the standby is promoted")
        if not self.is_undisturbed:
            self.add(comes, self.pair.primary.come_back, "the old primary is begun again")
            for _ in range(numbers.choice((0, 1, 2))):
                self.trouble(fails, held, promoted, comes)
        self.acts.sort(key=lambda act: act[0])

    def add(self, at, act, words):
        self.acts.append((at, act, f"{at:.2f} s: {words}"))

    def trouble(self, fails, held, promoted, comes):
        numbers, host = self.numbers, self.numbers.choice(self.fleet.hosts)
        kind = numbers.choice(("killed", "reborn", "ended", "restarted"))
        if kind == "killed":
            self.add(fails + numbers.uniform(-0.2, promoted - fails), lambda: host.daemon.kill(), f"SIGKILL {host.name}")
        elif kind == "reborn":
            # A life that the standby does not know.
            self.add(fails - held * numbers.random(), lambda: self.begin_anew(host), f"SIGKILL {host.name}, which is begun again")
        elif kind == "ended":
            text = ("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'photoinboxd%'")
            self.add(comes + numbers.uniform(0.5, 4), lambda: self.pair.sql(text, check=False), "the server ends connections")
        else:
            self.add(comes + numbers.uniform(0.5, 4), lambda: self.stop(host), f"SIGTERM {host.name}, which is begun again")

    def begin_anew(self, host):
        self.due.pop(host, None)
        host.daemon.kill()
        host.start()

    def stop(self, host):
        """What it ends with is seen to by `keep`."""
        host.daemon.process.send_signal(signal.SIGTERM)

    # --- what is put in ---

    def put_damaged(self):
        content = cut_jpeg(f"{self.numbers.random()}")
        self.cut.add(checker.hashlib.sha256(content).hexdigest())
        self.numbers.choice(self.fleet.hosts).drop(f"cut_{len(self.cut)}.JPG", content)

    def again(self):
        """A lone photo of what was put in not long ago, with another name, on another host if there is one."""
        sets = {member for members in self.fleet.manifest.sets for member in members} | {*self.beside}
        alone = [one for one in self.pool[-40:] if checker.hashlib.sha256(one[1]).hexdigest() not in sets]
        if alone:
            host, content = self.numbers.choice(alone)
            others = [other for other in self.fleet.hosts if other is not host] or [host]
            self.numbers.choice(others).drop(f"again/{len(self.fleet.drops)}.JPG", content)

    # --- servers and daemons ---

    def promote(self):
        self.pair.promote()
        self.promoted = time.monotonic()
        self.known = self.count(self.pair.standby)
        self.fleet.places.catalogue = os.fsencode(self.pair.standby.words(self.fleet.database))

    def count(self, server):
        return {name: int(server.sql(f"SELECT count(*) FROM photoinbox.{name}", self.fleet.database).stdout)
                for name in ("photo", "outcome", "host")}

    def keep(self):
        """Begins again what has ended."""
        for host in self.fleet.hosts:
            host.daemon.read()
            if not host.daemon.has_ended():
                continue
            if host not in self.due:
                status = host.daemon.end()
                self.told.append(f"{time.monotonic() - self.began:.2f} s: {host.name} has ended with status {status}")
                self.due[host] = time.monotonic() + self.pause
                if status in FINAL:
                    self.wrong.append(f"{host.name} has ended with status {status}, and is not begun again")
            elif self.due[host] <= time.monotonic():
                del self.due[host]
                host.start()

    def watch(self):
        while not self.is_over.wait(0.05):
            self.wrong += self.fleet.seen()
            if self.wrong:
                return

    def written(self):
        """The tables of the old primary that were written in since it was begun again."""
        # Its counts begin with a recovery.
        text = """SELECT relname || ': ' || n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
            WHERE schemaname = 'photoinbox' AND n_tup_ins + n_tup_upd + n_tup_del > 0"""
        waiting = Waiting("answer of the old primary")
        while (run := self.pair.primary.sql(text, self.fleet.database, check=False)).returncode:
            waiting.once(why=lambda: run.stderr)
        return run.stdout.split("\n")[:-1]

    # --- the end ---

    def look(self):
        try:
            return violations(self.fleet, self.cut)
        except (OSError, subprocess.CalledProcessError) as error:
            return [str(error)]

    def wait_healthy(self, seconds=None):
        """Until all run and nothing is wrong; what is wrong after that time."""
        waiting = Waiting("start of all")
        while not all(host.daemon.is_ready for host in self.fleet.hosts) or self.due:
            self.keep()
            waiting.once()
        waiting = Waiting("health", seconds)
        while waiting.left > 0:
            self.keep()
            if all(host.has_done for host in self.fleet.hosts) and not self.due and not self.look():
                return []
            for _ in range(4):
                if waiting.left > 0:
                    waiting.once()
        return self.look()

    def heal(self):
        """Waits for health, and then does by hand what a person would; the violations."""
        if not (wrong := self.wait_healthy()):
            self.healthy = time.monotonic() - self.promoted
            return []
        for words, act in [("restart", self.restart), ("verify --repair", self.verify)]:
            self.by_hand.append((words, wrong))
            act()
            if not (wrong := self.wait_healthy(20)):
                return []
        return wrong

    def restart(self):
        for host in self.fleet.hosts:
            self.stop(host)
            self.told.append(f"by hand: {host.name} has ended with status {host.daemon.end()}")
            host.start()

    def verify(self):
        host = self.fleet.hosts[0]
        program = os.path.join(os.path.dirname(host.program), "photoinbox")
        run = subprocess.run([program, "verify", "--repair", "--yes", "--config", host.for_commands], capture_output=True,
                             text=True, check=False, stdin=subprocess.DEVNULL, env=houses.plain_environment())
        self.told.append(f"by hand: verify --repair, status {run.returncode}: {run.stdout}{run.stderr}")

    def run(self):
        """The violations."""
        self.fleet.start()
        looker = threading.Thread(target=self.watch, daemon=True)
        looker.start()
        self.began = time.monotonic()
        try:
            for when, act, words in self.acts:
                while (left := self.began + when - time.monotonic()) > 0:
                    self.keep()
                    time.sleep(min(left, 0.05))
                if words:
                    self.told.append(words)
                act()
            wrong = self.heal()
        finally:
            self.is_over.set()
            looker.join()
        told = {(row["inbox"], bytes(row["path"])) for row in checker.Rows(self.fleet.places).outcomes}
        self.untold = len(self.fleet.drops.keys() - told)
        wrong = wrong or self.last_life()
        self.pair.primary.come_back()
        if tables := self.written():
            return self.wrong + wrong + [f"written on the old primary: {', '.join(tables)}"]
        before = self.count(self.pair.primary)
        self.lost = {name: before[name] - count for name, count in self.known.items()}
        return self.wrong + wrong

    def last_life(self):
        """What one life more changes."""
        lives = self.fleet
        lives.stop()
        before = checker.snapshot(lives.places)
        lives.start()
        for host in lives.hosts:
            if not host.wait_idle(host.daemon):
                return [f"{host.name} has ended by itself"]
        lives.stop()
        return checker.compare(before, checker.snapshot(lives.places))


def rounds(job, options, counts):
    """One job's, one after the other; 0."""
    numbers = [options.round] if options.round is not None else range(job, options.rounds, options.jobs)
    for number in numbers:
        if options.first and counts.wrong:
            break
        one = Round(number, options)
        try:
            wrong, log = fleet.judged(one.fleet, one.run)
            counts.add(rounds=1, files=len(one.fleet.drops), wrong=bool(wrong), by_hand=bool(one.by_hand),
                       lost=one.lost["photo"] if one.lost else 0, untold=one.untold)
            told = ", ".join(f"{count} {name}s" for name, count in (one.lost or {}).items())
            print(f"round {number}: {len(one.fleet.hosts)} hosts, {len(one.fleet.drops)} files; the new primary lacked {told}; "
                  f"{one.untold} without an outcome; "
                  + (f"healthy {one.healthy:.1f} s after the promotion" if one.healthy else "not healthy by itself")
                  + "".join(f"; by hand: {words}" for words, _ in one.by_hand), flush=True)
            for words, why in one.by_hand:
                print("\n".join([f"  {words}, because:", *("    " + line for line in why[:10])]), flush=True)
            if wrong:
                print("\n".join([f"VIOLATION in --round {number} --seed {options.seed}:",
                                 *("  " + line for line in one.told + wrong[:20])]), flush=True)
            if wrong or options.round is not None:
                print(one.fleet.tail(400 if options.round is not None else 60))
        finally:
            one.fleet.remove()
    return 0


def main():
    arguments = commandline.parser(__doc__, jobs=2)
    arguments.add_argument("--first", action="store_true")
    arguments.add_argument("--undisturbed", action="store_true")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--round", type=int)
    arguments.add_argument("--hosts", type=int)
    arguments.add_argument("--held", type=float)
    if not postgres.INITDB:
        print("skipped: needs PostgreSQL's server (package postgresql)")
        return 0
    options = commandline.begin(arguments, "failover")
    counts, began = jobs.Counts("rounds", "files", "lost", "untold", "by_hand", "wrong"), time.monotonic()
    is_well = jobs.run(1 if options.round is not None else options.jobs, lambda job: rounds(job, options, counts))
    print(f"{counts.rounds} rounds, {counts.files} files, {counts.lost} photos whose records the new primary lacked, "
          f"{counts.untold} files without an outcome, {counts.by_hand} healed by hand, {counts.wrong} with violations, "
          f"{time.monotonic() - began:.0f} s")
    return 0 if is_well and not counts.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
