#!/usr/bin/python3
"""Full disks: a small file system is filled and freed again, round after round, while photos arrive. None may be lost, the
trouble must be told, and everything must be filed within a minute after there is room again, by itself.

usage: Campaigns/fulldisk.py [--rounds N] [--variant NAME]… [--houses N] [--seed N] [--program FILE]

  --rounds   how many in all (200), shared among the houses, which stand side by side: most of it is waiting
  --houses   of each variant (3)
  --variant  library    the library's disk alone is full (tmpfs)
             whole      inbox, library, duplicates, quarantine and state share one disk (ext4)
             catalogue  the disk of the state directory alone is full (tmpfs)
             inodes     the library's disk has room, and no inode left (tmpfs)
  --heals-within  seconds after which everything must be filed (60): more where other programs take the processors
  --seed     of the first round (1)

Needs root, to mount. Quotas are not part of this: the kernel must be built with them; EDQUOT is injected by the errno
campaign.
"""
import argparse
import os
import random
import subprocess
import sys
import threading
import time

import checker
from slowness import SLOWNESS
from storm import House, Violation, enter_private_mounts, find_program, jpeg, judge, mount, require_root, scratch

VARIANTS = ("library", "whole", "catalogue", "inodes")


def fill(target, leaving):
    """Fills the disk of `target`, except about `leaving` bytes."""
    file = os.open(os.path.join(target, "filler"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        block = b"\xaa" * 65536
        while block:
            try:
                os.write(file, block)
            except OSError:
                block = block[:len(block) // 2]
        os.ftruncate(file, max(0, os.fstat(file).st_size - leaving))
    finally:
        os.close(file)


def fill_inodes(target):
    os.makedirs(os.path.join(target, "fillers"), exist_ok=True)
    for number in range(1 << 20):
        try:
            os.close(os.open(os.path.join(target, "fillers", str(number)), os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError:
            return


def free(target):
    subprocess.run(["rm", "-rf", os.path.join(target, "filler"), os.path.join(target, "fillers")], check=True)


class Trial:
    """One variant: a house with one small disk."""

    def __init__(self, options, variant, directory, rounds, seed):
        self.variant, self.rounds, self.seed, self.done = variant, rounds, seed, 0
        self.heals_within = options.heals_within
        self.small = os.path.join(directory, "small")
        os.mkdir(self.small)
        room = (24 << 20) + rounds * (3 << 20)
        if variant == "whole":
            image = os.path.join(directory, "image")
            with open(image, "wb") as file:
                file.truncate(room)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
            subprocess.run(["mount", "-o", "loop", image, self.small], check=True)
            names = ("inbox", "library", "duplicates", "quarantine", "state")
        elif variant == "catalogue":
            mount("tmpfs", self.small, "tmpfs", "size=8m")
            names = ("state",)
        else:
            limit = f",nr_inodes={400 + 60 * rounds}" if variant == "inodes" else ""
            mount("tmpfs", self.small, "tmpfs", f"size={room}{limit}")
            names = ("library", "duplicates", "quarantine")
        self.house = House(directory, options.program, ["inbox.inbox.patience=1h"],
                           {name: os.path.join(self.small, name) for name in names}, around=[])
        self.house.build()
        self.manifest = checker.Manifest()
        self.code = "PI-501" if variant == "catalogue" else "PI-402"
        self.slowest, self.photos, self.told, self.failure = 0.0, 0, 0, None
        self.lock = threading.Lock()

    def run(self):
        try:
            self.house.start().ready()
            for number in range(self.rounds):
                self.round(random.Random(self.seed + number))
                self.done = number + 1
            self.house.daemon.stop()
            judge(self.house.places, self.manifest)
        except Exception as failure:  # Reported by the main thread.
            self.failure = failure
            if self.house.daemon:
                self.house.daemon.process.kill()

    def write(self, rng, count):
        """Moves whole photos into the inbox; retries while there is no space."""
        contents = []
        for number in range(count):
            content = rng.choice(contents) if contents and rng.random() < 0.1 else jpeg(
                rng, rng.choice((3_000, 30_000, 90_000, 300_000)))
            contents.append(content)
            name = f"{self.photos}-{number}"
            part = os.path.join(os.path.dirname(self.house.path["inbox"]), f"{name}.part")
            while True:
                try:
                    with open(part, "wb") as file:
                        file.write(content)
                    with self.lock:
                        self.manifest.add(content)
                        os.rename(part, os.path.join(self.house.path["inbox"], f"{name}.jpg"))
                    break
                except OSError:
                    time.sleep(0.05)
            time.sleep(rng.choice((0, 0.01, 0.05)))
        self.photos += count

    def expect_told(self):
        """Whoever waits for room, it is told why: in one dump of the state, or in the next ones."""
        for _ in range(10):
            state = self.house.daemon.state()
            if self.code in (problem["code"] for problem in state["problems"]):
                self.told += 1
                return
            full = [one["what"] for one in state["inHand"] if "No space" in one["what"] or "is full" in one["what"]]
            if not full:
                return
            time.sleep(0.2)
        raise Violation(f"photos wait for room and {self.code} is not raised: {full[:3]}")

    def fill(self, rng):
        if self.variant == "inodes":
            fill_inodes(self.small)
        else:
            fill(self.small, rng.choice((0, 0, 4096, 40_000)))

    def round(self, rng):
        house = self.house
        writer = threading.Thread(target=self.write, args=(rng, rng.randint(8, 24)))
        first = rng.random() < 0.5
        if first:
            self.fill(rng)
        writer.start()
        if not first:
            time.sleep(rng.uniform(0, 0.4))
            self.fill(rng)
        # Some space is freed for a moment and used again.
        for _ in range(rng.choice((0, 0, 1, 3))):
            time.sleep(rng.uniform(0, 0.5))
            free(self.small)
            time.sleep(rng.uniform(0, 0.05))
            self.fill(rng)
        time.sleep(rng.choice((0.5, 1, 2, 4, 8)))
        with self.lock:
            judge(house.places, self.manifest, crashed=True)
        if self.variant != "whole" and house.left() and not writer.is_alive():
            self.expect_told()
        free(self.small)
        writer.join()
        took = house.wait_until_empty(self.heals_within)
        self.slowest = max(self.slowest, took)
        end = time.monotonic() + max(10, self.heals_within / 2)
        while any(problem["code"] == self.code for problem in house.daemon.state()["problems"]):
            if time.monotonic() > end:
                raise Violation(f"{self.code} is still raised, though everything is filed")
            time.sleep(0.1)
        # Records that could not be written at once must follow within the same time.
        end = time.monotonic() + self.heals_within
        while True:
            try:
                judge(house.places, self.manifest)
                return
            except Violation:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--houses", type=int, default=3)
    parser.add_argument("--heals-within", type=float, default=60 * SLOWNESS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program")
    options = parser.parse_args()
    require_root("to mount small file systems")
    options.program = find_program(options.program)
    enter_private_mounts()
    variants = options.variant or list(VARIANTS)
    begin = time.monotonic()
    with scratch("/dev/shm") as directory:
        trials, threads = [], []
        houses = [variant for _ in range(options.houses) for variant in variants]
        first = options.seed
        for index, variant in enumerate(houses):
            own = os.path.join(directory, f"{variant}-{index}")
            os.mkdir(own)
            rounds = options.rounds // len(houses) + (index < options.rounds % len(houses))
            if not rounds:
                continue
            trial = Trial(options, variant, own, rounds, first)
            first += rounds
            trials.append(trial)
            threads.append(threading.Thread(target=trial.run))
            threads[-1].start()
        for thread in threads:
            thread.join()
        for trial in trials:
            if trial.failure:
                print(f"VIOLATION ({trial.variant}, round {trial.done + 1}, --seed {trial.seed + trial.done}):\n"
                      f"  {trial.failure!r}\n  {trial.failure}")
            print(f"{trial.variant}: {trial.done} rounds, {trial.photos} photos, {trial.code} told in "
                  f"{trial.told} rounds, the slowest healed within {trial.slowest:.1f} s", flush=True)
    if any(trial.failure for trial in trials):
        sys.exit(1)
    print(f"full disk: {options.rounds} rounds ({'/'.join(variants)}), {sum(trial.photos for trial in trials)} photos, "
          f"0 lost, healed within {max(trial.slowest for trial in trials):.1f} s, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
