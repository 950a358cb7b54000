#!/usr/bin/python3
"""SIGKILL at every state-changing system call of the daemon, counted over all its threads, in each scenario; then, from a
crash at each step of filing, at every such call of the recovery. After each: the checker, a life that recovers, the
checker, and one life more that must change nothing.

usage: Campaigns/kill_at_every_syscall.py [--scenario NAME]... [--recovery | --no-recovery] [--sample N] [--seed N]
                                          [--catalogue sqlite | postgresql] [--at N] [--jobs N] [--first]
                                          [--patience SECONDS] [--daemon FILE]

  --scenario  only these (all of Campaigns/scenarios.py)
  --sample    in each scenario, and in recovery, only so many points, drawn from --seed
  --catalogue which engine keeps it (sqlite); with postgresql, in a server that this starts
  --at        only this point; prints what the daemon logged
  --jobs      how many trials at once (2)
  --first     ends at the first violation
  --patience  how long anything may take that must come (60)
  --daemon    what is tested (.build/release/photoinboxd)

Prints a line for each scenario and each violation, and exits with 1 if there was one.
"""
import collections
import concurrent.futures
import itertools
import random
import sys
import time

import checker
import commandline
import scenarios
from house import Failed, Fault

# Scenarios whose recovery is killed, too.
RECOVERED = ("lone", "collision", "named", "across", "gone", "sets")


def struck_life(scenario, house, fault):
    """One life that is struck if it reaches the call; its ended daemon."""
    if not scenario.live:
        scenario.drops(house)
    daemon = house.start(fault)
    try:
        is_up = daemon.wait_ready()
        if scenario.live:
            scenario.drops(house)
        if is_up and house.settle(daemon) and house.wait_idle(daemon):
            daemon.process.terminate()
        daemon.end()
        return daemon
    finally:
        daemon.abandon()


def judged(house, body):
    """The violations of `body`, with the daemon's log if there are any."""
    try:
        wrong = body()
    except Failed as failure:
        wrong = [str(failure)]
    return wrong, house.tail() if wrong else ""


def trial(scenario, at, options):
    """(call that was struck or None, violations, log)"""
    house = scenario.build(options.daemon, server=options.server)
    try:
        fired = None

        def body():
            nonlocal fired
            daemon = struck_life(scenario, house, Fault(at=at, kill=True))
            fired = daemon.fired()
            wrong = house.violations(crashed=True) if fired else []
            return wrong + scenarios.recover(house)

        wrong, log = judged(house, body)
        return fired, wrong, log
    finally:
        house.remove()


def recovery_trial(scenario, crash, at, options):
    """The same for a life that begins with the state after a crash at call `crash`."""
    house = scenario.build(options.daemon, server=options.server)
    try:
        fired = None

        def body():
            nonlocal fired
            if not struck_life(scenario, house, Fault(at=crash, kill=True)).fired():
                # Lives differ by a call or two: this one had no crash and counts as not reached.
                return scenarios.recover(house)
            daemon = house.start(Fault(at=at, kill=True))
            try:
                if daemon.wait_ready() and house.settle(daemon) and house.wait_idle(daemon):
                    daemon.process.terminate()
                daemon.end()
            finally:
                daemon.abandon()
            fired = daemon.fired()
            wrong = house.violations(crashed=True) if fired else []
            return wrong + scenarios.recover(house)

        wrong, log = judged(house, body)
        return fired, wrong, log
    finally:
        house.remove()


def calls_of(scenario, options):
    """The calls of an undisturbed life, as (number, name, path)."""
    house = scenario.build(options.daemon, server=options.server)
    try:
        daemon = struck_life(scenario, house, Fault(traces=True))
        return [(int(words[1]), words[2], words[3]) for words in daemon.reports if words[0] == "call"], house
    finally:
        house.remove()


def place_of(path, house):
    return next((kind for kind, root in house.places.roots if path.encode().startswith(root)), "catalogue")


def first_of_filing(calls, house):
    """Where the first intent begins to be written: the commit before the first change in a place. What comes before is
    the start's, and each scenario is killed there."""
    index = next(index for index, (_, _, path) in enumerate(calls) if place_of(path, house) != "catalogue")
    while index > 0 and not calls[index - 1][2].endswith("-wal"):
        index -= 1
    index -= 1
    while index > 0 and calls[index - 1][1].startswith("pwrite") and calls[index - 1][2].endswith("-wal"):
        index -= 1
    return max(0, index)


def steps_of(calls, house):
    """One call for each step of a filing: the first of each name in each place, and the last of each there."""
    steps = {}
    for number, name, path in calls[first_of_filing(calls, house):]:
        place = place_of(path, house)
        if "/st/run" in path:
            continue
        steps.setdefault((name, place, "first"), number)
        steps[name, place, "last"] = number
    return sorted(set(steps.values()))


class Tally:
    def __init__(self):
        self.fired = self.trials = self.wrong = 0
        self.names = collections.Counter()

    def take(self, label, at, fired, wrong, log):
        self.trials += 1
        if fired:
            self.fired += 1
            self.names[fired[1]] += 1
        if wrong:
            self.wrong += 1
            where = f"{fired[1]} {fired[2]}" if fired else "not struck"
            print(f"VIOLATION {label}, call {at} ({where}):", flush=True)
            for line in wrong:
                print(f"  {line}")
            print(log, flush=True)


def run(label, points, attempt, tally, options):
    """Tries `points` in order, several at once, until three in a row are not reached."""
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = collections.deque()
        points = iter(points)
        while True:
            if options.first and tally.wrong:
                points = iter(())
            while missed < 3 and len(waiting) < options.jobs and (at := next(points, None)) is not None:
                waiting.append((at, pool.submit(attempt, at)))
            if not waiting:
                return
            at, future = waiting.popleft()
            fired, wrong, log = future.result()
            missed = 0 if fired else missed + 1
            tally.take(label, at, fired, wrong, log)
            if options.at:
                print(log or "no violation")


def main():
    arguments = commandline.fault_parser(__doc__, jobs=2)
    arguments.add_argument("--recovery", action="store_true")
    arguments.add_argument("--no-recovery", action="store_true")
    arguments.add_argument("--sample", type=int)
    arguments.add_argument("--crash", type=int)
    arguments.add_argument("--catalogue", choices=("sqlite", "postgresql"))
    if not (options := commandline.begin(arguments, "kill at every system call", traces=True)):
        return 0
    numbers = random.Random(options.seed)
    chosen = [each for each in scenarios.ALL if not options.scenario or each.name in options.scenario]
    # Timing-dependent scenarios are only run.
    chosen += [each for each in scenarios.TIMED if each.name in (options.scenario or ())]
    total = Tally()

    def work(label, points, attempt):
        tally, began = Tally(), time.monotonic()
        run(label, points, attempt, tally, options)
        print(f"{label}: {tally.trials} trials, killed at {tally.fired} points, {tally.wrong} violations, "
              f"{time.monotonic() - began:.0f} s", flush=True)
        total.trials += tally.trials
        total.fired += tally.fired
        total.wrong += tally.wrong

    def points_up_to(count):
        if options.at:
            return [options.at]
        if options.sample:
            return sorted(numbers.sample(range(1, count + 1), min(options.sample, count)))
        return itertools.count(1)

    for scenario in chosen:
        if options.first and total.wrong:
            return 1
        if reason := scenario.needs():
            print(f"{scenario.name}: skipped: {reason}")
            continue
        if options.crash is None and not options.recovery:
            count = len(calls_of(scenario, options)[0]) if options.sample else 0
            work(f"{scenario.name} ({scenario.words})", points_up_to(count),
                 lambda at, scenario=scenario: trial(scenario, at, options))
    for scenario in chosen:
        if options.no_recovery or scenario.needs() or scenario.name not in RECOVERED:
            continue
        calls, house = calls_of(scenario, options)
        crashes = [options.crash] if options.crash else steps_of(calls, house)
        if options.sample:
            crashes = sorted(numbers.sample(crashes, min(options.sample, len(crashes))))
        names = {number: f"{name} {path.rsplit('/', 1)[-1]}" for number, name, path in calls}
        for crash in crashes:
            points = [numbers.randrange(1, 60)] if options.sample and not options.at else points_up_to(60)
            work(f"recovery of {scenario.name} from {crash} ({names.get(crash)})", points,
                 lambda at, scenario=scenario, crash=crash: recovery_trial(scenario, crash, at, options))
    print(f"{total.trials} trials, {total.fired} kills, {total.wrong} violations")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
