#!/usr/bin/python3
"""Several daemons on one catalogue in PostgreSQL and one library. In steps: one host stands still before each system call that
changes something, and at each answer of the server, of what it does with one photo, a set and so on; its lease is over, another
host that has the same content finishes; then the first goes on, or dies and is begun again; or it goes on before its lease is
over; or the other one stands still as well, until the first has finished. In rounds: three hosts, a third of the contents on
several of them, names in common, sets, photos that are taken back; and one to three faults: SIGKILL, SIGSTOP, a
connection cut or stalled, one that the server ends, the server's end. At every look there is a whole copy of everything, and
no record is without its file; in the end all is at rest: each file that was put in has one outcome, each content is in the
library once, and one life more changes nothing.

usage: Campaigns/fleet.py [--steps] [--scenario NAME]... [--struck call | answer] [--then NAME]... [--sample N] [--at N]
                          [--first] [--rounds N] [--round N] [--hosts N] [--seed N] [--jobs N] [--patience SECONDS]
                          [--daemon FILE]

  --steps     only the steps; with --scenario, --struck, --then (taken, died, held, both) and --at only these; --at prints
              what the daemons logged
  --sample    of each of those only so many points, drawn from --seed
  --first     ends at the first violation
  --rounds    how many rounds (100); 0 for the steps alone
  --round     only this round
  --hosts     in a round (3)
  --jobs      how many trials at once (6): many wait for a limit
  --patience  how long anything may take that must come (180): a lease is 30 s, and a silent connection is given up after 60

Prints a line for each scenario and each violation, with the options that repeat it, and exits with 1 if there was one.
"""
import dataclasses
import functools
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import typing

import checker
import commandline
import house as houses
import jobs
import kill_at_every_syscall as kills
import pictures
import postgres
import wire
from fleet_house import Fleet, collect
from house import Failed, Fault, Waiting, jpeg, raw_and_jpeg


# --- the steps ---

def nothing(*_):
    pass


@dataclasses.dataclass
class Scenario:
    """What host `a` does while it is struck, and what `b` does meanwhile; what was filed before."""
    name: str
    words: str
    struck: typing.Callable
    other: typing.Callable
    before: typing.Callable = nothing
    # What else befalls, when `b` has done that and `a` still stands.
    after: typing.Callable = nothing
    # Whether `b` may have to wait until `a` goes on, however long.
    may_wait: bool = False


def digest_of(content):
    return checker.hashlib.sha256(content).hexdigest()


ONE, OTHER, SET = jpeg("one", 20_000), jpeg("other"), raw_and_jpeg("set")
# Another RAW beside the same JPEG.
COMMON = {".NEF": raw_and_jpeg("common")[".NEF"], ".JPG": SET[".JPG"]}


def drop(name, content):
    return lambda host: host.drop(name, content)


def drop_set(stem, members, wanted=None):
    return lambda host: host.drop_set(stem, members, wanted)


def both(*some):
    return lambda host: [each(host) for each in some]


def common(host):
    host.drop_set("DSC_0001", COMMON, list(COMMON))
    # Each RAW may find the JPEG beside the other one.
    host.manifest.sets.clear()
    host.fleet.partners.append(([digest_of(SET[".NEF"]), digest_of(COMMON[".NEF"])], digest_of(SET[".JPG"])))


def lose(host):
    """The photo's file is gone from the library, behind everybody's back."""
    for path in collect(host.fleet.places)[digest_of(ONE), "library"]:
        host.fleet.lost.add(path)
        os.unlink(path)
    # Its first outcome remains in the catalogue.
    del host.manifest.photos[digest_of(ONE)]
    host.manifest.stands_still = False
    host.drop("AGAIN.JPG", ONE)


def lose_both(host):
    """The file that another host has recorded is gone, and the host's own source with it, if its copy is in the library: then
    that is the last one."""
    fleet = host.fleet
    with fleet.lock:
        found = collect(fleet.places)
        copies, sources = (found[digest_of(ONE), kind] for kind in ("library", "inbox"))
        if others := set(copies) & set(fleet.recorded(but=host.name).values()):
            for path in others | set(sources if len(copies) > len(others) else ()):
                fleet.lost.add(path)
                os.unlink(path)
            host.manifest.photos[digest_of(ONE)]["count"] -= 1
            host.manifest.stands_still = False


STEPS = [
    Scenario("lone", "one photo, and the same on the other host", drop("IMG_0001.JPG", ONE), drop("IMG_0001.JPG", ONE)),
    Scenario("names", "one photo; on the other host its name with another content, and its content with another name",
             drop("IMG_0001.JPG", ONE), both(drop("IMG_0001.JPG", OTHER), drop("A.JPG", ONE))),
    Scenario("sets", "RAW, JPEG and sidecar, and the same on the other host", drop_set("DSC_0001", SET),
             drop_set("DSC_0001", SET)),
    Scenario("common", "RAW and JPEG; another RAW beside the same JPEG on the other host",
             drop_set("DSC_0001", SET, [".NEF", ".JPG"]), common),
    Scenario("member", "RAW and JPEG; the JPEG alone on the other host", drop_set("DSC_0001", SET, [".NEF", ".JPG"]),
             drop_set("DSC_0001", SET, [".JPG"])),
    Scenario("begun", "a JPEG; its RAW and it on the other host", drop_set("DSC_0001", SET, [".JPG"]),
             drop_set("DSC_0001", SET, [".NEF", ".JPG"])),
    Scenario("late", "a RAW whose JPEG is filed, on both", drop_set("DSC_0001", SET, [".NEF"]),
             drop_set("DSC_0001", SET, [".NEF"]), drop_set("DSC_0001", SET, [".JPG"])),
    Scenario("duplicate", "a photo that is filed, on both", drop("AGAIN.JPG", ONE), drop("AGAIN.JPG", ONE),
             drop("IMG_0001.JPG", ONE)),
    Scenario("duplicate-undone", "a photo that is filed, which the other host takes back", drop("AGAIN.JPG", ONE),
             lambda host: host.undo(ONE), drop("IMG_0001.JPG", ONE), may_wait=True),
    Scenario("taken-back", "one photo, which the other host takes back", drop("IMG_0001.JPG", ONE), lambda host: host.undo(ONE),
             may_wait=True),
    Scenario("undo", "a photo is taken back, and comes to the other host", lambda host: host.undo(ONE), drop("AGAIN.JPG", ONE),
             drop("IMG_0001.JPG", ONE), may_wait=True),
    Scenario("missing", "a photo whose file is missing comes again, on both", lose, drop("AGAIN.JPG", ONE),
             drop("IMG_0001.JPG", ONE)),
    Scenario("last", "one photo, and the same on the other host, whose copy is then gone with the source",
             drop("IMG_0001.JPG", ONE), drop("A.JPG", ONE), after=lose_both),
]


def prepared(scenario, options, *faults):
    """Two hosts, which may be struck from now on."""
    fleet = Fleet(options.server, min(2, options.hosts), options.daemon)
    try:
        fleet.start(*faults)
        # What a start and the first photo ask of the file systems is no step of what follows.
        for host in fleet.hosts:
            host.drop("FIRST.JPG", jpeg(host.name))
        fleet.settle()
        scenario.before(fleet.hosts[0])
        fleet.settle()
        for host in fleet.hosts:
            host.wire.arm()
            if host.daemon.read_end is not None:
                host.daemon.ask_tool(signal.SIGALRM, "counting")
        return fleet
    except BaseException:
        fleet.remove()
        raise


def step(scenario, struck, at, then, options):
    """(what was struck or None, violations, log)"""
    numbers = random.Random(f"{options.seed} {scenario.name} {struck} {at}")
    # Where the other host stands still, if both do.
    points = (at, numbers.randrange(1, 20 if struck == "call" else 30))[:2 if then == "both" else 1]
    try:
        fleet = prepared(scenario, options, *(Fault(at=point, stop=True) for point in points if struck == "call"))
    except Failed as failure:
        return None, [str(failure)], ""
    (a, *others), fired, samples, told = fleet.hosts, None, [], []

    def stands(host):
        """What it was struck at, once it stands still; None if it has done its work before, or waits for the one that stands."""
        is_patient = scenario.may_wait and host is not a
        waiting = Waiting(f"standstill, or rest, of {host.name}", 10 if is_patient else None)
        while not (found := host.daemon.fired() if struck == "call" else host.wire.fired):
            if host.has_done and not (host is a and fleet.look()):
                host.go_on()
                return None
            if host is not a:
                a.age()
            if is_patient and waiting.left <= 0:
                return None
            waiting.once()
        host.wait_still()
        return found

    def look():
        samples.extend(fleet.seen() + fleet.missing())

    def body():
        nonlocal fired
        if struck == "answer":
            for host, point in zip(fleet.hosts, points):
                host.wire.arm(point, "stopped")
        scenario.struck(a)
        fired = stands(a)
        for other in others:
            scenario.other(other)
        if not fired:
            for other in others:
                other.go_on()
            return fleet.rest()
        if then == "held":
            time.sleep(numbers.uniform(0, 3))
        elif then == "both":
            for other in others:
                if found := stands(other):
                    told.append(f"{other.name} stood still at {' '.join(map(str, found))}")
        else:
            wait_for(others, scenario, a)
        look()
        if then == "held":
            samples.extend(fleet.taken_over())
        elif then != "both":
            scenario.after(a)
        if then == "died":
            a.daemon.kill()
        a.go_on()
        if then == "died":
            a.start()
            if not a.daemon.wait_ready():
                return [f"{a.name} does not start"]
        if then == "both":
            wait_for([a], scenario, *others)
            look()
            for other in others:
                other.go_on()
        return fleet.rest()

    try:
        wrong, log = judged(fleet, body)
        wrong = samples + wrong
        return fired, told * bool(wrong) + wrong, log or (fleet.tail() if wrong else "")
    finally:
        fleet.remove()


def wait_for(hosts, scenario, *standing):
    """Until these have done what they were to do, while another stands still."""
    waiting = Waiting("end of the others' work", 10 if scenario.may_wait else None)
    while not all(host.has_done for host in hosts):
        for host in standing:
            host.age()
        if waiting.left <= 0 and scenario.may_wait:
            return
        waiting.once(why=lambda: " and ".join(host.name for host in standing) + " stands still, and another waits for it")


def judged(fleet, body):
    try:
        wrong = body()
    except Failed as failure:
        wrong = [str(failure)]
    return wrong, fleet.tail() if wrong else ""


def points(scenario, options, struck):
    """Where an undisturbed first host can be struck."""
    fleet = prepared(scenario, options, Fault(stop=True, traces=True))
    a = fleet.hosts[0]
    try:
        scenario.struck(a)
        waiting = Waiting("rest of an undisturbed host")
        while not a.has_done or fleet.look():
            waiting.once(why=lambda: "; ".join(fleet.look()) + "\n" + fleet.tail())
        a.daemon.read()
        if struck == "call":
            return [int(words[1]) for words in a.daemon.reports if words[0] == "call"]
        return list(range(1, a.wire.answers + 1))
    finally:
        fleet.remove()


def steps(options):
    """All of them; how many violations."""
    numbers, total = random.Random(options.seed), kills.Tally()
    for scenario in STEPS:
        if options.scenario and scenario.name not in options.scenario or options.first and total.wrong:
            continue
        for struck in [options.struck] if options.struck else ["call", "answer"]:
            some = [options.at] if options.at else points(scenario, options, struck)
            if options.sample and not options.at:
                some = sorted(numbers.sample(some, min(options.sample, len(some))))
            chosen = [f"--at {at} --then {then}" for at, then in itertools.product(some, options.then or THEN)]
            tally, began = kills.Tally(), time.monotonic()

            def attempt(point, scenario=scenario, struck=struck):
                at, then = point.removeprefix("--at ").split(" --then ")
                return step(scenario, struck, int(at), then, options)

            kills.run(f"--steps --scenario {scenario.name} --struck {struck}", chosen, attempt, tally, options)
            print(f"{scenario.name} ({scenario.words}): {tally.trials} trials, stood still at {tally.fired} {struck}s, "
                  f"{tally.wrong} violations, {time.monotonic() - began:.0f} s", flush=True)
            for name in ("trials", "fired", "wrong"):
                setattr(total, name, getattr(total, name) + getattr(tally, name))
    print(f"steps: {total.trials} trials, {total.fired} standstills, {total.wrong} violations", flush=True)
    return total.wrong


# What follows when the first host stands still.
THEN = ("taken", "died", "held", "both")


# --- the rounds ---

class Round:
    """Drawn in full before it begins, from the seed and its number."""
    kinds = pictures.BUILT

    def __init__(self, number, options, server):
        self.numbers = numbers = random.Random(f"{options.seed} {number}")
        self.fleet = Fleet(server, options.hosts, options.daemon, owns_places=numbers.random() < 0.5)
        self.server, self.told, self.pool, self.wrong = server, [], [], []
        self.is_over, self.beside = threading.Event(), {}
        # (when, what, in words)
        self.acts = [(numbers.uniform(0, 4), act, "") for act in self.photos(40)]
        self.acts += [(numbers.uniform(1, 6), self.undo, "") for _ in range(numbers.choice((0, 2, 4)))]
        for _ in range(numbers.randint(1, 3)):
            self.fault(numbers.uniform(0.2, 5))
        self.acts.sort(key=lambda act: act[0])

    def photos(self, count):
        """What puts them in."""
        numbers, hosts = self.numbers, self.fleet.hosts
        for number in range(count):
            seed, kind = f"{numbers.random()}", numbers.random()
            copies = numbers.choice((2, 3)) if numbers.random() < 0.33 else 1
            some = numbers.sample(hosts, min(len(hosts), copies))
            if kind < 0.1:
                members, stem, has_others = raw_and_jpeg(seed), f"DSC_{number:04}", numbers.random() < 0.4
                for host in some:
                    if has_others:
                        # Of each host another RAW beside the same JPEG.
                        members = {".NEF": raw_and_jpeg(f"{seed} {host.name}")[".NEF"], ".JPG": members[".JPG"]}
                    yield functools.partial(self.put_set, host, stem, members, has_others)
                continue
            if kind < 0.2:
                # Contents of their own under one name.
                for host in numbers.sample(hosts, min(len(hosts), 2)):
                    content = jpeg(f"{seed} {host.name}", numbers.choice((6_000, 60_000)))
                    yield functools.partial(self.put, host, f"SAME_{number}.JPG", content)
                continue
            if kind < 0.3:
                picture = numbers.choice(self.kinds)(numbers)
                content, ending = picture.content, picture.ending
            else:
                content, ending = jpeg(seed, numbers.choice((6_000, 20_000, 300_000))), "JPG"
            for host in some:
                name = numbers.choice((f"IMG_{number:03}", f"a/{host.name}-{number}", f"b/{host.name}-{number}"))
                yield functools.partial(self.put, host, f"{name}.{ending}", content)

    def put(self, host, name, content):
        host.drop(name, content)
        self.pool.append((host, content))

    def put_set(self, host, stem, members, has_others):
        digests = [digest_of(content) for content in members.values()]
        with self.fleet.lock:
            for ending, content in members.items():
                host.drop(stem + ending, content)
            if has_others:
                self.beside.setdefault(digests[1], []).append(digests[0])
                self.fleet.partners = [(raws, jpeg) for jpeg, raws in self.beside.items()]
            elif digests not in host.manifest.sets:
                host.manifest.sets.append(digests)
        self.pool.append((host, members[".JPG"]))

    def undo(self):
        if self.pool:
            self.numbers.choice(self.fleet.hosts).undo(self.numbers.choice(self.pool)[1])

    def fault(self, at):
        numbers, host = self.numbers, self.numbers.choice(self.fleet.hosts)
        kind = numbers.choice(("killed", "stopped", "stopped", "stopped", "wire", "wire", "terminated", "crashed"))
        wait = numbers.choice((0, 0.2, 1, 3))

        def add(after, act, words):
            self.acts.append((at + after, act, f"{at + after:.2f} s: {words}"))

        if kind == "killed":
            add(0, lambda: host.daemon.kill(), f"SIGKILL {host.name}")
            add(wait, lambda: self.begin(host), f"{host.name} is begun again")
        elif kind == "stopped":
            then = numbers.choice(("taken", "taken", "died", "held"))
            add(0, lambda: self.stand_still(host, then), f"SIGSTOP {host.name}, {then}")
            add(2 + wait, lambda: self.go_on(host, then), f"{host.name} goes on")
        elif kind == "wire":
            number, way, late = numbers.randint(1, 300), numbers.choice(wire.KINDS), numbers.choice((0, 0.5, 3, 8))
            add(0, lambda: host.wire.arm(number, way, late), f"{way} at message {number} of {host.name}")
        elif kind == "terminated":
            text = (f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.fleet.database}' "
                    "AND pid <> pg_backend_pid()" + numbers.choice(("", " LIMIT 1")))
            add(0, lambda: self.server.sql(text, check=False), "the server ends connections")
        else:
            add(0, self.server.crash, "the server crashes")
            add(0.1 + wait, self.server.come_back, "the server is begun again")

    def stand_still(self, host, then):
        host.stand_still()
        if then != "held":
            host.age()

    def go_on(self, host, then):
        if then == "died":
            host.daemon.kill()
        host.go_on()
        self.begin(host)

    def begin(self, host):
        """If it has ended: as a service manager would."""
        if host.daemon.has_ended():
            host.daemon.end()
            host.start()

    def watch(self):
        """Looks all the time."""
        while not self.is_over.wait(0.05):
            self.wrong += self.fleet.seen() + self.fleet.missing()
            if self.wrong:
                return

    def keep(self):
        """Begins again what was killed at a message; nothing else may end once it was ready."""
        for host in self.fleet.hosts:
            daemon = host.daemon
            daemon.read()
            if not daemon.has_ended():
                continue
            status = daemon.end()
            if status != -signal.SIGKILL and (status != 75 or daemon.is_ready):
                self.wrong.append(f"{host.name} ended with status {status}")
            # What an act has killed, another begins again, unless they are over.
            if status != -signal.SIGKILL or not self.acts or host.wire.fired and host.wire.fired[1] == "killed":
                host.start()

    def bring_server_back(self):
        self.server.come_back()
        waiting = Waiting("answer of the server")
        while self.server.sql("", check=False).returncode:
            waiting.once()

    def run(self):
        """The violations."""
        self.fleet.start()
        looker = threading.Thread(target=self.watch, daemon=True)
        looker.start()
        try:
            began = time.monotonic()
            while self.acts:
                when, act, words = self.acts[0]
                while (left := began + when - time.monotonic()) > 0:
                    self.keep()
                    time.sleep(min(left, 0.05))
                if words:
                    self.told.append(words)
                act()
                del self.acts[0]
            self.bring_server_back()
            for host in self.fleet.hosts:
                host.go_on()
                self.begin(host)
            waiting = Waiting("start of all")
            while not all(host.daemon.is_ready for host in self.fleet.hosts):
                self.keep()
                waiting.once()
            self.fleet.settle(self.keep)
        finally:
            self.is_over.set()
            looker.join()
            self.bring_server_back()
        return self.wrong + self.fleet.rest()


def rounds(job, options, counts):
    """One job's, one after the other; 0."""
    server = postgres.Server(houses.default_base(), Waiting("answer of PostgreSQL"))
    numbers = [options.round] if options.round is not None else range(job, options.rounds, options.jobs)
    for number in numbers:
        if options.first and counts.wrong:
            break
        one = Round(number, options, server)
        try:
            wrong, log = judged(one.fleet, one.run)
            wrong = one.wrong + wrong if wrong[:len(one.wrong)] != one.wrong else wrong
            counts.add(rounds=1, files=len(one.fleet.drops), wrong=bool(wrong))
            if wrong:
                print("\n".join([f"VIOLATION in --rounds 1 --round {number} --hosts {options.hosts} --seed {options.seed}:",
                                 *("  " + line for line in one.told + wrong[:20]), log or one.fleet.tail()]), flush=True)
        finally:
            one.fleet.remove()
    server.process.stdin.close()
    server.process.wait()
    return 0


def main():
    arguments = commandline.fault_parser(__doc__, jobs=6)
    arguments.add_argument("--steps", action="store_true")
    arguments.add_argument("--struck", choices=("call", "answer"))
    arguments.add_argument("--then", action="append", choices=THEN)
    arguments.add_argument("--sample", type=int)
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--round", type=int)
    arguments.add_argument("--hosts", type=int, default=3)
    arguments.set_defaults(patience=3 * houses.PATIENCE)
    if not (options := commandline.begin(arguments, "fleet", traces=True, server=True)):
        return 0
    wrong = steps(options) if options.round is None else 0
    if options.steps or not options.rounds:
        return 1 if wrong else 0
    counts, began = jobs.Counts("rounds", "files", "wrong"), time.monotonic()
    is_well = jobs.run(1 if options.round is not None else options.jobs, lambda job: rounds(job, options, counts))
    print(f"{counts.rounds} rounds, {counts.files} files, {counts.wrong} with violations, {time.monotonic() - began:.0f} s")
    return 0 if is_well and not wrong and not counts.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
