#!/usr/bin/python3
"""SIGKILL at a random moment, 0 to 500 ms after it is ready or after its start, while photos pour in; again and again in
the same house, so that recoveries are killed too. After each kill the checker looks whether a whole copy of every photo is
somewhere and nothing half-written stands under a final name; in every second life, on average, it waits until everything
is settled, and asks for all the rest.

usage: Campaigns/random_kill.py [--trials N] [--seed N] [--jobs N] [--rest N] [--patience SECONDS] [--daemon FILE]

  --trials  how many kills (10,000)
  --jobs    houses at once (4): mostly they wait
  --rest    after so many trials a house is given up for a new one, and one life more must change nothing (10)

Half of the trials kill a life that recovers while more comes in, every second of these from its start on, the others from
when it is ready; in the other half everything is settled before more comes. Photos come alone, and as sets: RAW and
JPEG, Live Photos, with sidecars. Prints what was found, in how many trials a filing was under way when the kill came (its
intent or its move was written down and not closed), and the bound that this proves; exits with 1 if there was a violation.
"""
import random
import signal
import sys
import threading
import time

import checker
import commandline
import jobs
import scenarios
from house import Failed, House, cut_jpeg, jpeg, live_photo, raw_and_jpeg


ARGUMENTS = ("--patience", "1ms", "--quiet", "0s", "--set", "sets.wait=50ms")


class Load(threading.Thread):
    """Puts photos into a house until it is told to end: new ones, old ones once more, broken ones, some in folders, some
    of the same name."""

    def __init__(self, house, numbers, pool, most=1 << 30):
        super().__init__(daemon=True)
        self.house, self.numbers, self.pool, self.most = house, numbers, pool, most
        self.is_over = threading.Event()
        # Not always: a broken one is examined twice, a second apart.
        self.has_broken = numbers.random() < 0.2

    def run(self):
        numbers, last = self.numbers, self.house.number + self.most
        while not self.is_over.is_set() and self.house.number < last:
            # In bursts with mostly short pauses.
            for _ in range(numbers.choice((1, 1, 2, 5))):
                self.one()
            self.is_over.wait(numbers.choice((0, 0.01, 0.03, 0.1)))

    def one(self):
        numbers = self.numbers
        self.house.number += 1
        name = f"IMG_{self.house.number:06}.JPG"
        kind = numbers.random()
        if kind < 0.08:
            make = numbers.choice((raw_and_jpeg, live_photo))
            members = make(numbers.random())
            self.house.drop_set(name.removesuffix(".JPG"), members, numbers.sample(list(members), len(members)))
            return
        if kind < 0.2 and self.pool:
            content, ends = numbers.choice(self.pool), ["library", "duplicates"]
        elif kind < 0.3 and self.has_broken:
            content, ends = cut_jpeg(numbers.random()), ["quarantine"]
        else:
            content = jpeg(numbers.random(), numbers.choice((6_000, 6_000, 20_000, 300_000)))
            self.pool.append(content)
            ends = ["library", "duplicates"]
        if numbers.random() < 0.2:
            name = f"{numbers.choice('ab')}/IMG_{numbers.randrange(5)}-{self.house.number}.JPG"
        self.house.drop(name, content, ends=ends)


class Violation(Exception):
    """A rule was violated."""


def campaign(house, numbers, options, counts, longest=0.5, most=1 << 30):
    """The trials in one house."""
    pool = []
    for _ in range(options.rest):
        if counts.kills >= options.trials:
            break
        trial(house, numbers, pool, counts, longest, most)
    expect(scenarios.recover(house))


def trial(house, numbers, pool, counts, longest, most):
    load = Load(house, random.Random(numbers.random()), pool, most)
    settles_first, from_start = numbers.random() < 0.5, numbers.random() < 0.5
    wait = numbers.uniform(0, longest)
    daemon = house.start()
    try:
        if settles_first and not (daemon.wait_ready() and house.settle(daemon)):
            raise Violation("it ended by itself")
        load.start()
        if not settles_first and not from_start and not daemon.wait_ready():
            raise Violation("it ended by itself")
        time.sleep(wait)
        daemon.kill()
        load.is_over.set()
        load.join()
        if daemon.process.returncode != -signal.SIGKILL:
            raise Violation(f"it had ended by itself with status {daemon.process.returncode}")
        rows = checker.Rows(house.places)
        counts.add(kills=1, amid=bool(rows.intents or rows.moves))
        expect(house.violations(crashed=True, rows=rows))
    finally:
        load.is_over.set()
        daemon.abandon()


def expect(wrong):
    if wrong:
        raise Violation("\n  ".join(wrong[:20]))


def work(job, options, counts):
    """One job's houses, one after the other; 0."""
    for number in range(job, 1 << 30, options.jobs):
        if counts.kills >= options.trials:
            return 0
        house = House(options.daemon, arguments=ARGUMENTS)
        try:
            campaign(house, random.Random(f"{options.seed} {number}"), options, counts)
        except (Violation, Failed, RuntimeError) as violation:
            counts.add(wrong=1)
            print(f"VIOLATION in house {number}:\n  {violation}\n{house.tail(80)}", flush=True)
        finally:
            counts.add(files=house.number)
            house.remove()


def main():
    arguments = commandline.parser(__doc__, jobs=4)
    arguments.add_argument("--trials", type=int, default=10_000)
    arguments.add_argument("--rest", type=int, default=10)
    options = commandline.begin(arguments, "random kill")
    begin, counts = time.monotonic(), jobs.Counts("kills", "amid", "files", "wrong")

    def so_far():
        return f"{counts.kills} kills, {counts.amid} amid a filing, {counts.files} files, {counts.wrong} violations"

    if not jobs.run(options.jobs, lambda job: work(job, options, counts), lambda: counts.kills, so_far):
        return 1
    print(f"{so_far()}, {time.monotonic() - begin:.0f} s")
    if not counts.wrong and counts.kills:
        # The rule of three: an event that did not occur in n trials has, at 95 % confidence, a probability below 3/n.
        print(f"so at 95 % confidence fewer than 1 in {counts.kills // 3} such kills loses or doubles anything")
    return 1 if counts.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
