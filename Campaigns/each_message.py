#!/usr/bin/python3
"""Strikes at every message between the daemon and PostgreSQL, as its catalogue, counted over all connections and in both
directions, in each scenario: the connection is cut before it or after it, or stalls there until the daemon gives up,
and what was sent may come to the server late; the server refuses a statement; or the daemon gets SIGKILL. The daemon
must file everything by itself, and be started again only if it ended before it was ready, with status 75, or another
for which systemd starts it again where its server refuses. Then the checker, a life more that must change nothing,
and a copy of the catalogue in SQLite, which the checker must find as good. Then the same in a life that recovers,
from SIGKILL at each commit.

usage: Campaigns/each_message.py [--scenario NAME]... [--kind NAME]... [--kill] [--recovery | --no-recovery] [--sample N]
                                 [--seed N] [--refusal STATE] [--at N] [--jobs N] [--first] [--patience SECONDS] [--daemon FILE]

  --scenario  only these (all of Campaigns/scenarios.py)
  --kind      only these: cut-before, cut-after, stalled, late, killed, refused
  --kill      only "killed"
  --sample    in each scenario, for each kind, only so many messages, drawn from --seed; in recovery one from so many commits
  --refusal   this SQLSTATE instead of one that is drawn from --seed for each message that is refused
  --at        only this message; prints what the daemon logged
  --jobs      how many trials at once (8): many wait for a limit
  --first     ends at the first violation
  --patience  how long anything may take that must come (120): the answer to a change of the schema is waited for 60 s

A message that executes nothing and says of nothing that it is done (Parse, Bind, Describe, their answers, settings) leaves
both where they were and is no point, nor is a second row. What a start asks before it files is the same in all scenarios: it is
struck in "first" and "lone". Prints a line for each scenario and each violation, and exits with 1 if there was one.
"""
import copy
import itertools
import os
import random
import re
import subprocess
import sys
import time

import checker
import commandline
import house as houses
import kill_at_every_syscall as kills
import scenarios
import wire


# What each of the two can tell from the one before: a start, Execute, Sync, Terminate; the password is right, done, a row,
# ready, an error.
POINTS = ("> s", "> E", "> S", "> X", "< R", "< C", "< D", "< Z", "< E")


# What systemd starts again: without a server that answers, and in front of one that refuses what a start needs.
TEMPORARY, REFUSED = 75, (71, 73, 74, 75)


def life(house, drops):
    """One life, begun again while it ends with a temporary failure before it is ready; `drops` puts in what is not there yet
    when it is. Its violations, and what it held in the end: None if it was killed."""
    for _ in range(4):
        daemon, held = house.start(), None
        try:
            is_up = daemon.wait_ready()
            if is_up and drops:
                drops.pop()(house)
            if is_up and house.settle(daemon) and house.wait_idle(daemon):
                if house.wire.kind != "killed":
                    held = checker.steady_resources(daemon.own_pid, house.places)
                daemon.process.terminate()
            status = daemon.end()
        finally:
            daemon.abandon()
        if status == -9 and house.wire.fired:
            return [], None
        if is_up or status not in (REFUSED if house.wire.kind == "refused" else (TEMPORARY,)):
            return [f"it ended with status {status}"] if status else [], held
    return ["it does not stay up"], None


def trial(scenario, kind, at, options, crash=None):
    """(message that was struck or None, violations, log), in a life that recovers from SIGKILL at message `crash`, if one is
    given."""
    house = scenario.build(options.daemon, server=options.server, is_wired=True)
    drawn = random.Random(f"{options.seed} {crash} {at}")
    late, refusal = drawn.choice((0, 0.5, 3, 8)), options.refusal or drawn.choice(wire.REFUSALS)
    fired, drops = None, [scenario.drops]

    def body():
        nonlocal fired
        if not scenario.live:
            drops.pop()(house)
        if crash:
            house.wire.arm(crash, "killed")
            wrong, _ = life(house, drops)
            if wrong or not house.wire.fired:
                # Lives differ by a message or two: this one had no crash and counts as not reached.
                return wrong
        house.wire.arm(at, kind, late, refusal)
        wrong, held = life(house, drops)
        fired = house.wire.fired
        house.wire.arm()
        if not fired or wrong:
            return wrong
        if held is None:
            return house.violations(crashed=True) + scenarios.recover(house) + copied(house)
        return scenarios.unchanged(house, held) + copied(house)

    try:
        wrong, log = kills.judged(house, body)
        return fired or house.wire.fired, wrong, log
    finally:
        house.remove()


def copied(house):
    """The violations of a copy of the catalogue in SQLite."""
    places = copy.copy(house.places)
    places.catalogue = os.fsencode(house.path("own/copy.sqlite"))
    program = os.path.join(os.path.dirname(house.program), "photoinbox")
    run = subprocess.run([program, "catalogue", "copy", os.fsdecode(house.places.catalogue), os.fsdecode(places.catalogue)],
                         capture_output=True, text=True, env=houses.plain_environment(), check=False)
    if run.returncode:
        return [f"the catalogue cannot be copied: {run.stderr.strip()}"]
    return [f"in a copy of the catalogue: {line}" for line in checker.check(places, house.manifest)]


def messages_of(scenario, options, crash=None):
    """The messages of an undisturbed life, in words, with the number of the connection; and those that confirm a commit."""
    house = scenario.build(options.daemon, server=options.server, is_wired=True)
    drops = [scenario.drops]
    try:
        if not scenario.live:
            drops.pop()(house)
        for at in [crash, 0] if crash else [0]:
            house.wire.arm(at, "killed")
            wrong, _ = life(house, drops)
            if wrong:
                raise houses.Failed(f"{scenario.name}, undisturbed: {wrong[0]}\n{house.tail()}")
        return house.wire.trace
    finally:
        house.remove()


def points_of(trace, scenario, kind):
    """The messages that are struck."""
    begin = 0 if scenario.name in ("first", "lone") else next(
        (number for number, each in enumerate(trace) if re.match("> P INSERT INTO (intent|move)", each[2])), 0)
    return [number for number, each in enumerate(trace, 1)
            if number > begin and each[2].startswith(POINTS) and each != trace[number - 2] and (kind != "late" or each[1])
            and (kind != "refused" or each[3])]


def commits(trace):
    """The messages that confirm a change."""
    writing, found = set(), []
    for number, (connection, _, words, _) in enumerate(trace, 1):
        if words.startswith("> P BEGIN"):
            (writing.discard if "READ ONLY" in words else writing.add)(connection)
        elif words == "< C COMMIT" and connection in writing:
            found.append(number)
    return found


def main():
    arguments = commandline.fault_parser(__doc__, jobs=8)
    arguments.add_argument("--kind", action="append", choices=wire.KINDS)
    arguments.add_argument("--kill", dest="kind", action="append_const", const="killed")
    arguments.add_argument("--refusal", choices=wire.REFUSALS)
    arguments.add_argument("--recovery", action="store_true")
    arguments.add_argument("--no-recovery", action="store_true")
    arguments.add_argument("--sample", type=int)
    arguments.set_defaults(patience=houses.PATIENCE + 60)
    if not (options := commandline.begin(arguments, "each message", server=True)):
        return 0
    numbers, began, total = random.Random(options.seed), time.monotonic(), kills.Tally()
    kinds = options.kind or wire.KINDS
    chosen = [each for each in scenarios.ALL if not options.scenario or each.name in options.scenario]

    def work(label, trace, scenario, count, crash=None):
        """Strikes at the messages of one life, in all kinds, so that those that wait for a limit wait at the same time."""
        tally, start = kills.Tally(), time.monotonic()

        def points():
            chosen = []
            for kind in kinds:
                some = [options.at] if options.at else points_of(trace, scenario, kind)
                chosen += [(number, kind) for number in (numbers.sample(some, min(count, len(some))) if count else some)]
            yield from sorted(chosen)
            # Lives differ by a message or two.
            if not options.at and not count:
                yield from ((number, kind) for number in itertools.count(len(trace) + 1) for kind in kinds)

        def attempt(point):
            number, kind = point.removeprefix("--at ").split(" --kind ")
            return trial(scenario, kind, int(number), options, crash)

        kills.run(label, (f"--at {number} --kind {kind}" for number, kind in points()), attempt, tally, options)
        by_kind = ", ".join(f"{kind} {tally.names[kind]}" for kind in wire.KINDS)
        print(f"{label}: {tally.trials} trials, struck at {tally.fired} messages ({by_kind}), {tally.wrong} violations, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        for name in ("trials", "fired", "wrong"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))

    for scenario in chosen:
        if options.first and total.wrong:
            break
        if reason := scenario.needs():
            print(f"{scenario.name}: skipped: {reason}")
            continue
        trace = messages_of(scenario, options)
        print(f"{scenario.name} ({scenario.words}): {len(trace)} messages, {len(commits(trace))} of them confirm a change",
              flush=True)
        if not options.recovery:
            work(scenario.name, trace, scenario, options.sample)
        if options.no_recovery or scenario.name not in kills.RECOVERED:
            continue
        crashes = commits(trace)
        if options.sample:
            crashes = sorted(numbers.sample(crashes, min(options.sample, len(crashes))))
        for crash in crashes:
            if not (options.first and total.wrong):
                work(f"recovery of {scenario.name} from {crash}", messages_of(scenario, options, crash), scenario,
                     options.sample and 1, crash)
    print(f"{total.trials} trials, {total.fired} messages struck, {total.wrong} violations, {time.monotonic() - began:.0f} s")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
