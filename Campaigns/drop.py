#!/usr/bin/python3
"""SIGKILL at every state-changing system call of uploads, and of the store's recovery; with --power the file system ends at that
moment, too, as in a power cut; with --errno the call fails instead. What was acknowledged must be there, nothing may have a name
that is not whole, and no file of somebody else may be replaced.

usage: Campaigns/drop.py [--sample N] [--at N] [--power] [--mode NAME]... [--errno NAME]... [--seed N] [--programs DIR]

  --sample  only so many points of each kind, drawn from --seed
  --at      only this point; prints what was said
  --power   on ext4 that is shut down without flushing its journal (root, loop devices)
  --mode    ordered, journal, writeback: ext4's data= (all)
  --errno   the call is not killed but fails once, with each of these: ENOSPC, EIO

Prints a line for each violation, and exits with 1 if there was one.
"""
import argparse
import collections
import contextlib
import hashlib
import os
import pathlib
import random
import subprocess
import sys

import house
import power
import storm

HIDDEN = ".photo-inbox-drop"
LISTING = "ana+phone+1.listing"
FOREIGN = {"ana/2026-11-26/IMG_1.JPG": b"of somebody else", "ana/2026-11-26-2/IMG_3.MOV": b"and another"}
# Uploads that may end without a name; those of a device are sent again, or in no row.
NAMELESS = {"IMG_6.JPG", "IMG_7.JPG", "DCIM/P_2.JPG.part", "DCIM/P_3.JPG.part"}


def run(program, verb, inbox, at=0, error=None):
    """What the probe said, and the call that was struck."""
    command = [program, verb, str(inbox)]
    read, write = os.pipe()
    os.set_inheritable(write, True)
    if at:
        strike = ["--errno", error] if error else ["--kill"]
        command = [house.fault_tool(), "--at", str(at), *strike, "--calls", "changes", "--under", str(inbox),
                   "--report", str(write), "--"] + command
    process = subprocess.run(command, pass_fds=[write], stdout=subprocess.PIPE, text=True, check=False,
                             env=house.plain_environment() | {"SWIFT_BACKTRACE": "enable=no"})
    os.close(write)
    with os.fdopen(read) as reports:
        fired = [line for line in reports if line.startswith("fired")]
    return [line.split(" ") for line in process.stdout.splitlines()], fired[0].strip() if fired else None


def files(inbox):
    """Path and digest of all that has a name."""
    found = {}
    for path in sorted(pathlib.Path(inbox).rglob("*")):
        name = str(path.relative_to(inbox))
        if path.is_file() and not name.startswith((HIDDEN, "lost+found")):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


class Told:
    """What was acknowledged before the kill."""

    def __init__(self, lines):
        self.created, self.offset, self.placed, self.ended, self.waiting = {}, collections.Counter(), {}, set(), set()
        self.wrong, self.rows = [], {}
        for word, *rest in lines:
            if word == "created":
                self.created[rest[0]] = rest[1]
            elif word == "offset":
                self.offset[rest[0]] = max(self.offset[rest[0]], int(rest[1]))
            elif word == "placed":
                self.placed[rest[0]] = (rest[1], rest[2])
            elif word == "ended":
                self.ended.add(rest[0])
            elif word == "waiting":
                self.waiting.add(rest[0])
            elif word in ("changing", "listed", "unlisted"):
                self.rows[rest[0]] = word
            elif word in ("accepted", "failed"):
                self.wrong.append(" ".join([word, *rest]))


def partial(inbox, contents):
    """What has a name though it is not whole, at any moment."""
    wrong = []
    for name, digest in files(inbox).items():
        if name in FOREIGN:
            if digest != hashlib.sha256(FOREIGN[name]).hexdigest():
                wrong.append(f"{name} of somebody else was replaced")
        elif digest not in contents.get(pathlib.PurePath(name).name, ()):
            wrong.append(f"{name} is not whole")
    for name in FOREIGN:
        if not (pathlib.Path(inbox) / name).is_file():
            wrong.append(f"{name} of somebody else is gone")
    return wrong


def compare(told, lines, is_cut, is_failing):
    """What was acknowledged and is not found by the restart."""
    # The probe ends at an error that it does not expect.
    wrong = [line for line in told.wrong if not (is_failing and line.startswith("failed"))]
    found = {line[1]: line[2:] for line in lines if line[0] == "found"}
    wrong += [" ".join(line) for line in lines if line[0] in ("accepted", "failed", "remark") and not is_cut]
    if not lines or lines[-1] != ["end"]:
        wrong.append(f"the store does not open: {lines[-1:]}")
        return wrong
    rows = {line[1] for line in lines if line[0] == "row"}
    wrong += [f"the row {path} was {word}" for path, word in told.rows.items()
              if word == "listed" and path not in rows or word == "unlisted" and path in rows]
    for identity in told.created:
        phase, offset, *end = found.get(identity, ["nothing", "0"])
        expected = told.offset[identity]
        if identity in told.placed:
            good = phase == "placed"
        elif identity in told.ended:
            good = phase == "ended"
        elif identity in told.waiting:
            good = phase in ("whole", "placing", "placed")
        elif phase == "ended":
            # An end that was not reported yet, or of an upload of which no byte was.
            good = (told.created[identity] in NAMELESS and end != ["lost"] or is_cut and expected == 0
                    or is_failing and end == ["failed"])
        elif phase == "nothing":
            good = is_cut and expected == 0
        else:
            good = int(offset) >= expected
        if not good:
            wrong.append(f"{told.created[identity]}: acknowledged up to {expected}"
                         f"{', placed' * (identity in told.placed)}, found {phase} {offset} {end}")
    return wrong


def finished(inbox, told, lines, before, may_keep):
    """What is wrong when everything has been continued. Where lines of the ledger can be lost, parts without one are kept."""
    wrong = []
    placed = {line[1]: (line[2], line[3]) for line in lines if line[0] == "placed"}
    there = {name: digest for name, digest in files(inbox).items() if name not in FOREIGN}
    for identity, (digest, path) in {**told.placed, **placed}.items():
        if there.get(path) != digest:
            wrong.append(f"{path} was placed and is not there")
        if identity in placed and placed[identity] != (digest, path):
            wrong.append(f"{path} has another name now")
    if sorted(path for _, path in placed.values()) != sorted(there):
        wrong.append(f"names that no upload has, or none: {sorted(set(there) ^ {path for _, path in placed.values()})}")
    ended = {told.created.get(identity) for identity in told.ended} | {"IMG_7.JPG"}
    wrong += [f"{path} has a name" for path in there if pathlib.PurePath(path).name in ended]
    parts = [name for name in os.listdir(pathlib.Path(inbox) / HIDDEN)
             if name not in ("ledger", LISTING) and not (may_keep and name.endswith(".kept"))]
    if parts:
        wrong.append(f"left: {parts}")
    missing = [path for path in before if path not in there and path not in FOREIGN]
    return wrong + [f"{path} had a name and is gone" for path in missing]


def prepare(inbox):
    for name, content in FOREIGN.items():
        path = pathlib.Path(inbox) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    os.sync()


def trial(options, at, place, contents, resumed_at=0, error=None):
    """One kill, or failing call, in the uploads and, with `resumed_at`, one in the recovery."""
    with place() as (inbox, cut):
        prepare(inbox)
        lines, fired = run(options.probe, "run", inbox, at, error)
        told = Told(lines)
        wrong = partial(inbox, contents)
        cut()
        if resumed_at and fired:
            more, _ = run(options.probe, "resume", inbox, resumed_at, error)
            again = Told(more)
            for identity, offset in again.offset.items():
                told.offset[identity] = max(told.offset[identity], offset)
            told.placed |= again.placed
            told.rows |= again.rows
            told.waiting |= again.waiting
            cut()
        before = files(inbox)
        wrong += partial(inbox, contents)
        lines, _ = run(options.probe, "resume", inbox)
        wrong += compare(told, lines, options.power, error) + partial(inbox, contents)
        if lines and lines[-1] == ["end"]:
            wrong += finished(inbox, told, lines, before, options.power or error)
            after = files(inbox)
            run(options.probe, "resume", inbox)
            if files(inbox) != after:
                wrong.append("a second restart changed something")
        if options.at:
            print(fired, *(" ".join(line) for line in lines), sep="\n")
        return fired, wrong


@contextlib.contextmanager
def plain():
    with storm.scratch(os.environ.get("TMPDIR")) as directory:
        yield directory, lambda: None


def disks(mode):
    @contextlib.contextmanager
    def disk():
        with storm.scratch() as directory:
            disk = power.Disk(directory, "inbox")
            disk.format()
            disk.mount(mode)

            def cut():
                disk.cut()
                storm.unmount(disk.target)
                disk.mount(mode)
            yield disk.target, cut
    return disk


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--sample", type=int)
    arguments.add_argument("--at", type=int)
    arguments.add_argument("--power", action="store_true")
    arguments.add_argument("--mode", action="append", choices=power.MODES)
    arguments.add_argument("--errno", action="append")
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments.add_argument("--programs")
    options = arguments.parse_args()
    if reason := house.why_not_traceable():
        print(f"skipped: {reason}")
        return 0
    if options.programs:
        os.environ["PHOTOINBOX_PROGRAMS"] = options.programs
    options.probe = house.program("drop-probe")
    print(f"drop: seed {options.seed}, {options.probe}", flush=True)
    if options.power:
        storm.require_root("mounts")
        storm.enter_private_mounts()
    chance = random.Random(options.seed)
    contents, failed, count = collections.defaultdict(set), 0, 0
    with plain() as (inbox, _):
        prepare(inbox)
        lines, _ = run(options.probe, "run", inbox, 1 << 30)
        for line in lines:
            if line[0] == "created":
                contents[pathlib.PurePath(line[2]).name.removesuffix(".part")].add(line[3])
    places = [disks(mode) for mode in options.mode or power.MODES] if options.power else [plain]
    for place, error in [(place, error) for place in places for error in options.errno or [None]]:
        # Points until one is not reached.
        points = range(1, 1_000)
        if options.at:
            points = [options.at]
        elif options.sample:
            total = 1
            while trial(options, total * 2, place, contents)[0]:
                total *= 2
            points = sorted(chance.sample(range(1, total * 2), min(options.sample, total)))
        for at in points:
            for resumed_at in (0, chance.randrange(1, 60)):
                fired, wrong = trial(options, at, place, contents, resumed_at, error)
                count += 1
                for line in wrong:
                    print(f"at {at}, then {resumed_at} ({fired}): {line}", flush=True)
                failed += bool(wrong)
            if not fired and not options.sample:
                break
    print(f"{count} trials, {failed} with violations")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
