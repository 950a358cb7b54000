#!/usr/bin/python3
"""Races: names, links and directories are swapped under the hands of the daemon, in its inbox and in its library, while
photos arrive. What lies outside must not be read, changed, removed or filed; under a final name there must never be
anything but one whole photo; and when the swapping ends, each photo must come to rest in one place.

usage: Campaigns/race.py [--swaps N] [--houses N] [--jobs N] [--inside] [--seed N]
                         [--program FILE]

  --swaps   how many in all (100,000): half of them by a program beside the daemon, half inside it, each right before one of
            its own calls on files (a library that is loaded into it)
  --houses  over how many fresh houses they are spread (20)
  --jobs    how many of them at once (2)
  --inside  begins with a house whose swaps are made inside the daemon
  --seed    of the first house (1)

The daemon runs as root here, so that nothing but its own care keeps it inside. Needs root, for a file system that notes
every reading, and a C compiler.
"""
import argparse
import ctypes
import mmap
import os
import random
import shutil
import subprocess
import sys
import time

import checker
import jobs
from storm import PATIENCE, House, Violation, enter_private_mounts, find_program, jpeg, judge, libc, mount, require_root, scratch

SLOTS, FOLDERS = 8, 4
STRICT_ATIME = 1 << 24
MARK = b"CANARY: of all that must not be filed this is the first"


def compile_swapper(directory):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        print("skipped: no C compiler")
        sys.exit(77)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "swapper.c")
    program, library = os.path.join(directory, "swapper"), os.path.join(directory, "swapper.so")
    strict = [compiler, "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*strict, "-o", program, source], check=True)
    subprocess.run([*strict, "-shared", "-fPIC", "-DPRELOAD", "-o", library, source, "-ldl"], check=True)
    return program, library


class Arena:
    """A house under attack and its surroundings."""

    def __init__(self, options, tools, directory, seed):
        self.rng, self.tools = random.Random(seed), tools
        self.seed, self.directory = seed, directory
        mount("tmpfs", directory, "tmpfs", "size=1g", STRICT_ATIME)
        self.house = House(directory, options.program, around=[])
        self.house.build()
        self.inbox, self.library = self.house.path["inbox"], self.house.path["library"]
        self.outside = os.path.join(directory, "outside")
        self.forbidden = os.path.join(directory, "forbidden")
        for path in (self.outside, self.forbidden):
            os.mkdir(path)
        self.manifest, self.number = checker.Manifest(), 0
        # A source that is swapped during its removal arrives again, and a photo that was swapped away is filed again.
        self.manifest.stands_still = False
        self.plan, self.exchanged = [], []
        self.lay_out()

    def lay_out(self):
        """Creates canaries, traps, and the plan of swaps."""
        rng, inbox, outside, forbidden = self.rng, self.inbox, self.outside, self.forbidden
        canary = jpeg(rng, 5_000, MARK)
        os.mkdir(f"{forbidden}/trap")
        for name in ["canary.jpg", *(f"trap/s{slot}.jpg" for slot in range(SLOTS))]:
            with open(f"{forbidden}/{name}", "wb") as file:
                file.write(canary)
        places = [inbox, *(f"{inbox}/d{folder}" for folder in range(FOLDERS))]
        for folder in range(FOLDERS):
            os.mkdir(f"{inbox}/d{folder}")
            os.symlink(f"{forbidden}/trap", f"{outside}/directory{folder}")
            self.exchange(f"{inbox}/d{folder}", f"{outside}/directory{folder}")
            self.plan.append(("exchange", f"{inbox}/d{folder}", f"{inbox}/d{(folder + 1) % FOLDERS}"))
        self.slots = [f"{place}/s{slot}.jpg" for place in places for slot in range(SLOTS)]
        for index, slot in enumerate(self.slots):
            os.symlink(f"{forbidden}/canary.jpg", f"{outside}/link{index}")
            self.exchange(slot, f"{outside}/link{index}")
            with open(f"{outside}/other{index}.jpg", "wb") as file:
                file.write(self.photo())
            self.plan.append(("exchange", slot, f"{outside}/other{index}.jpg"))
            self.plan.append(("exchange", slot, self.slots[(index + 1) % len(self.slots)]))
            self.plan.append(("link", slot, f"{outside}/second{index}"))
        for index in range(4):
            self.plan.append(("link", f"{forbidden}/canary.jpg", f"{inbox}/hard{index}.jpg"))
        # Other users may write to the library, too.
        os.makedirs(f"{self.library}/2024/01/2024-01-01")
        for index, place in enumerate(["2024", *(f"2024/{month:02d}" for month in range(1, 4)),
                                       *(f"2024/{month:02d}/2024-{month:02d}-{day:02d}" for month in range(1, 4)
                                         for day in range(1, 5))]):
            os.symlink(f"{forbidden}/trap", f"{outside}/library{index}")
            self.exchange(f"{self.library}/{place}", f"{outside}/library{index}")
            if place.count("/") == 2:
                for slot in range(0, SLOTS, 3):
                    self.plan.append(("symlink", f"{forbidden}/canary.jpg", f"{self.library}/{place}/s{slot}.jpg"))
        self.plan_file = f"{self.directory}/plan"
        with open(self.plan_file, "w", encoding="ascii") as file:
            file.writelines("\t".join(line) + "\n" for line in self.plan)
        self.canary = self.look_at_canary()

    def exchange(self, inside, out):
        self.plan.append(("exchange", inside, out))
        self.exchanged.append((inside, out))

    def look_at_canary(self):
        """Names, modes, sizes, times and accesses; not the content, since that would be an access."""
        listing = {}
        for top, directories, files in os.walk(self.forbidden):
            for name in [*directories, *files]:
                status = os.stat(os.path.join(top, name), follow_symlinks=False)
                listing[os.path.join(top, name)] = (
                    status.st_mode, status.st_nlink, status.st_uid, status.st_size, status.st_mtime_ns,
                    # This walk reads directories, too.
                    status.st_atime_ns if name in files else 0)
        return listing

    def photo(self):
        content = jpeg(self.rng, self.rng.choice((1_000, 20_000, 200_000)))
        self.manifest.add(content)
        return content

    def put(self, slot):
        """Moves a whole photo into a free slot."""
        part = f"{self.outside}/new.jpg"
        with open(part, "wb") as file:
            file.write(self.photo())
        while libc.renameat2(-100, part.encode(), -100, slot.encode(), 1) != 0:
            slot = f"{self.inbox}/n{self.number}.jpg" if not os.path.exists(os.path.dirname(slot)) \
                or self.rng.random() < 0.5 else self.rng.choice(self.slots)
            self.number += 1

    def fight(self, swaps, inside):
        """Swaps while photos arrive; the number of swaps."""
        environment, swapper, counter = {}, None, None
        if inside:
            path = f"{self.directory}/counter"
            with open(path, "wb") as file:
                file.write(swaps.to_bytes(8, "little"))
            with open(path, "r+b") as file:
                counter = mmap.mmap(file.fileno(), 8)
            environment = {"LD_PRELOAD": self.tools[1], "SWAPPER_PLAN": self.plan_file, "SWAPPER_COUNT": path,
                           "SWAPPER_SEED": str(self.seed), "SWAPPER_ODDS": "3"}
        os.environ.update(environment)
        try:
            daemon = self.house.start()
        finally:
            for name in environment:
                del os.environ[name]
        daemon.ready()
        if not inside:
            swapper = subprocess.Popen([self.tools[0], self.plan_file, str(swaps), str(self.seed), "150"],
                                       stdout=subprocess.DEVNULL)
        end = time.monotonic() + 5 * PATIENCE
        while swapper.poll() is None if swapper else int.from_bytes(counter[:8], "little", signed=True) > 0:
            if time.monotonic() > end:
                raise Violation("the swaps do not come to an end")
            if len(self.house.left()) < 40:
                self.put(self.rng.choice(self.slots))
            else:
                time.sleep(0.002)
            if self.number % 16 == 0:
                daemon.process.send_signal(12)  # SIGUSR2: rescan everything and retry deferred files.
            if daemon.is_over:
                raise Violation("the daemon ended:\n  " + "\n  ".join(daemon.lines[-12:]))
        if swapper and swapper.returncode != 0:
            raise Violation(f"the swapper ended with status {swapper.returncode}")

    def restore(self):
        """Moves everything back to its place, and files held by the attacker into the inbox."""
        # From the outermost directory inwards.
        for inside, out in sorted(self.exchanged, key=lambda pair: pair[0].count("/")):
            if inside.startswith(self.library) and os.path.islink(inside):
                if libc.renameat2(-100, inside.encode(), -100, out.encode(), 2) != 0:
                    raise Violation(f"what was at {inside} is not outside any more")
        for kind, _, place in self.plan:
            if kind == "link" and os.path.lexists(place):
                os.unlink(place)
        for name in os.listdir(self.outside):
            path = f"{self.outside}/{name}"
            if not os.path.islink(path):
                os.rename(path, f"{self.inbox}/back-{name}" + (".jpg" if os.path.isfile(path) and
                                                               not name.endswith(".jpg") else ""))
        for root in (self.inbox, self.library):
            for file in list(checker.walk(os.fsencode(root))):
                if os.path.islink(file.path):
                    os.unlink(file.path)

    def bring_again(self):
        """A photo whose copy's path led to itself for a moment was filed, and stays in the inbox, as PI-207 says. Whoever
        reads that puts it in again."""
        for path in self.house.left():
            name = os.path.basename(path).decode()
            if any(f"opening the copy by its path, {name}: it is the same file as its copy" in line
                   for line in self.house.daemon.lines):
                os.rename(os.path.join(self.inbox, os.fsdecode(path)), f"{self.inbox}/back-{name}")

    def settle(self):
        self.restore()
        daemon = self.house.daemon
        daemon.process.send_signal(12)
        end = time.monotonic() + PATIENCE
        while self.house.left():
            if time.monotonic() > end:
                state = daemon.state()
                names = [os.path.basename(name).decode() for name in self.house.left()[:3]]
                told = [line[:250] for line in daemon.lines if any(name in line for name in names)]
                waiting = [(one["file"], one["what"]) for one in state["inHand"]]
                raise Violation(f"never taken: {self.house.left()[:5]}, in hand {waiting[:5]}\n  "
                                + "\n  ".join(told[-12:]))
            time.sleep(1)
            daemon.process.send_signal(12)
            self.bring_again()
        self.house.wait_until_empty()
        # What could not be removed while it was swapped is recovered.
        while checker.Rows(self.house.places).intents:
            if time.monotonic() > end + PATIENCE:
                break
            time.sleep(0.1)
            daemon.process.send_signal(12)
        after = self.look_at_canary()
        if after != self.canary:
            raise Violation("LEAK: what lies outside was read or changed: " + "; ".join(
                f"{path} was {self.canary.get(path)}, is {after.get(path)}"
                for path in sorted(self.canary.keys() | after.keys()) if self.canary.get(path) != after.get(path)))
        daemon.stop()
        for _, root in self.house.places.roots:
            for file in checker.walk(root):
                with open(file.path, "rb") as content:
                    if MARK in content.read():
                        raise Violation(f"LEAK: the canary was brought to {file.path}")
        # A photo that changed at the end of its filing (such as its name) arrives again, and is a duplicate.
        for file in checker.walk(self.house.places.duplicates):
            self.manifest.photos[checker.file_hash(file.path)]["count"] += 1
        judge(self.house.places, self.manifest)


def fight(options, tools, directory, number, counts, begin):
    """One house's share of the swaps; whether it succeeded."""
    inside = (number + options.inside) % 2 == 1
    swaps = options.swaps // options.houses + (number < options.swaps % options.houses)
    arena = None
    try:
        os.makedirs(directory)
        arena = Arena(options, tools, directory, options.seed + number)
        arena.fight(swaps, inside)
        arena.settle()
    except Violation as violation:
        print(f"VIOLATION ({'--inside ' if inside else ''}--houses 1 --swaps {swaps} --seed {options.seed + number}):\n"
              f"  {violation}", flush=True)
        return False
    finally:
        if arena and arena.house.daemon:
            arena.house.daemon.process.kill()
            arena.house.daemon.process.wait()
    libc.umount2(os.fsencode(arena.directory), 2)
    photos = sum(photo["count"] for photo in arena.manifest.photos.values())
    counts.add(photos=photos, houses=1)
    print(f"house {number + 1}: {swaps} swaps {'inside' if inside else 'beside'} the daemon, {photos} photos, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--swaps", type=int, default=100_000)
    parser.add_argument("--houses", type=int, default=20)
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program")
    options = parser.parse_args()
    require_root("for a file system that notes every reading")
    options.program = find_program(options.program)
    enter_private_mounts()
    libc.renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    begin, counts = time.monotonic(), jobs.Counts("photos", "houses")
    with scratch("/dev/shm") as directory:
        tools = compile_swapper(directory)

        def work(job):
            for number in range(job, options.houses, options.jobs):
                if not fight(options, tools, f"{directory}/{number}", number, counts, begin):
                    return 1
            return 0

        if not jobs.run(min(options.jobs, options.houses), work):
            sys.exit(1)
    print(f"race: {options.swaps} swaps in {options.houses} houses, {counts.photos} photos, 0 leaks, 0 wrong bytes under a "
          f"final name, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
