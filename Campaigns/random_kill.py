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
import argparse
import random
import signal
import sys
import threading
import time

import checker
import house as houses
import scenarios
from house import Failed, House, cut_jpeg, jpeg, live_photo, raw_and_jpeg


ARGUMENTS = ("--patience", "1ms", "--quiet", "0s", "--set", "sets.wait=50ms")


class Load(threading.Thread):
    """Puts photos into a house until it is told to end: new ones, old ones once more, broken ones, some in folders, some
    of the same name."""

    def __init__(self, house, numbers, pool):
        super().__init__(daemon=True)
        self.house, self.numbers, self.pool = house, numbers, pool
        self.is_over = threading.Event()
        # Not always: a broken one is looked at twice, a second apart.
        self.has_broken = numbers.random() < 0.2

    def run(self):
        numbers = self.numbers
        while not self.is_over.is_set():
            # In bursts, with rests that are mostly short.
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


class Campaign:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.trials = self.photos = self.wrong = self.begun = self.under_way = 0
        self.started = time.monotonic()

    def more(self):
        with self.lock:
            self.begun += 1
            return self.begun <= self.options.trials

    def violation(self, seed, wrong, house):
        with self.lock:
            self.wrong += 1
            print(f"VIOLATION in the house of seed {seed}:", flush=True)
            for line in wrong[:20]:
                print(f"  {line}")
            print(house.tail(60), flush=True)

    def house(self, seed):
        """The trials in one house."""
        numbers = random.Random(seed)
        house = House(self.options.daemon, arguments=ARGUMENTS)
        try:
            pool = []
            for _ in range(self.options.rest):
                if not self.more():
                    break
                wrong = self.trial(house, numbers, pool)
                if wrong:
                    return self.violation(seed, wrong, house)
            wrong = self.judge(lambda: scenarios.recover(house))
            if wrong:
                self.violation(seed, wrong, house)
        finally:
            with self.lock:
                self.photos += house.number
            house.remove()

    @staticmethod
    def judge(body):
        try:
            return body()
        except (Failed, RuntimeError) as failure:
            return [str(failure)]

    def trial(self, house, numbers, pool):
        load = Load(house, random.Random(numbers.random()), pool)
        settles_first, from_start = numbers.random() < 0.5, numbers.random() < 0.5
        wait = numbers.uniform(0, 0.5)
        daemon = house.start()
        try:
            if settles_first:
                wrong = self.judge(lambda: [] if daemon.wait_ready() and house.settle(daemon) else ["it ended"])
                if wrong:
                    return wrong
            load.start()
            if not settles_first and not from_start:
                wrong = self.judge(lambda: [] if daemon.wait_ready() else ["it ended"])
                if wrong:
                    return wrong
            time.sleep(wait)
            daemon.kill()
            load.is_over.set()
            load.join()
            if daemon.process.returncode != -signal.SIGKILL:
                return [f"it had ended by itself with status {daemon.process.returncode}"]
            with self.lock:
                self.trials += 1
            rows = checker.Rows(house.places)
            with self.lock:
                self.under_way += bool(rows.intents or rows.moves)
            return house.violations(crashed=True, rows=rows)
        finally:
            load.is_over.set()
            daemon.abandon()

    def run(self):
        seeds = random.Random(self.options.seed)

        def work():
            while True:
                with self.lock:
                    if self.begun >= self.options.trials:
                        return
                    seed = seeds.randrange(1 << 48)
                self.house(seed)
                if self.trials % 500 < self.options.rest:
                    print(f"  {self.trials} kills, {self.under_way} amid a filing, {self.wrong} violations, "
                          f"{time.monotonic() - self.started:.0f} s", flush=True)

        workers = [threading.Thread(target=work) for _ in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--rest", type=int, default=10)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--daemon")
    options = parser.parse_args()
    houses.PATIENCE = options.patience
    options.daemon = houses.program(given=options.daemon)
    print(f"random kill: seed {options.seed}, {options.daemon}", flush=True)
    campaign = Campaign(options)
    campaign.run()
    print(f"{campaign.trials} kills, {campaign.under_way} amid a filing, {campaign.photos} files, {campaign.wrong} violations, "
          f"{time.monotonic() - campaign.started:.0f} s")
    if not campaign.wrong and campaign.trials:
        # The rule of three: what was never seen in n trials has, at 95 % confidence, a probability below 3/n.
        print(f"so at 95 % confidence fewer than 1 in {campaign.trials // 3} such kills loses or doubles anything")
    return 1 if campaign.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
