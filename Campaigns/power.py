#!/usr/bin/python3
"""Power cuts: the daemon files what is put into its inbox, and at a random moment its file systems end as if the current
had failed (EXT4_IOC_SHUTDOWN without flushing the journal). They are mounted again, it is started again, and when it has
settled nothing may be lost, doubled or half done.

usage: Campaigns/power.py [--cycles N] [--mode NAME]… [--layout NAME]… [--seed N] [--jobs N]
                          [--program FILE] [--keep]

  --cycles   how many cuts in all (2,100), shared among the modes and layouts
  --mode     ordered, journal, writeback: ext4's data=
  --layout   one       everything on one file system
             library   library, quarantine and duplicates on another than inbox and state
             state     the state on another than inbox and library
  --seed     of the first cycle (1)
  --jobs     houses at once, each with disks of its own (3)
  --keep     leaves everything as it is at a violation, and waits

A photo counts as put in when its writer has synced it and its directory: it must then be whole in exactly one place, for
ever. What was not synced may be lost with the writer, until the daemon says `filed`. After each cut what must hold at
every instant is checked before the daemon starts; in three cycles of ten the current fails again while it recovers; in
one of ten a second recovery must change nothing. The disk's own cache is not part of this: what was handed to the device
is on it. Needs root, loop devices and ext4.
"""
import argparse
import errno
import fcntl
import hashlib
import mmap
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import time

import checker
import jobs
from storm import House, Violation, enter_private_mounts, find_program, jpeg, judge, mount, require_root, scratch, unmount

SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, (2).to_bytes(4, "little")
LOOP_CTL_GET_FREE, LOOP_CONFIGURE, LO_FLAGS_AUTOCLEAR = 0x4C82, 0x4C0A, 4
MODES = ("ordered", "journal", "writeback")
LAYOUTS = {
    "one": {name: "a" for name in ("inbox", "library", "quarantine", "duplicates", "state")},
    "library": {"inbox": "a", "state": "a", "library": "b", "quarantine": "b", "duplicates": "b"},
    "state": {"inbox": "a", "library": "a", "quarantine": "a", "duplicates": "a", "state": "b"},
}
CYCLES_PER_DISK = 20
DISK = 96 << 20
MAKERS = {"ext4": ("-q", "-F", "-J", "size=4", "-E", "lazy_itable_init=0"), "xfs": ("-q", "-f", "-m", "reflink=1")}
WAYS = ("renamed", "renamed", "direct", "direct", "deep", "again", "careless", "careless")


class Disk:
    """A file system on an image, ext4 or XFS, that can be shut down: both know the same ioctl."""

    def __init__(self, directory, name, kind="ext4", size=DISK):
        self.image, self.target, self.kind, self.size = f"{directory}/{name}.img", f"{directory}/{name}", kind, size
        os.mkdir(self.target)

    def format(self):
        with open(self.image, "wb") as file:
            file.truncate(self.size)
        subprocess.run([f"mkfs.{self.kind}", *MAKERS[self.kind], self.image], check=True, stdout=subprocess.DEVNULL)

    def mount(self, mode=None):
        """On a loop device of its own, which goes with the mount: whoever held it open would keep alive, in its cache,
        what a power cut loses."""
        image = os.open(self.image, os.O_RDWR | os.O_CLOEXEC)
        control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
        try:
            while True:
                number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
                name = f"/dev/loop{number}"
                if not os.path.exists(name):
                    os.mknod(name, 0o600 | stat.S_IFBLK, os.makedev(7, number))
                device = os.open(name, os.O_RDWR | os.O_CLOEXEC)
                # struct loop_config: descriptor, block size, struct loop_info64, of which the flags matter.
                info = bytearray(232)
                info[52:56] = LO_FLAGS_AUTOCLEAR.to_bytes(4, "little")
                try:
                    fcntl.ioctl(device, LOOP_CONFIGURE, struct.pack("<II", image, 0) + bytes(info) + bytes(64))
                    mount(name, self.target, self.kind, f"data={mode}" if mode else "")
                    return
                except OSError as error:
                    if error.errno != errno.EBUSY:
                        raise  # Otherwise another program was faster.
                finally:
                    os.close(device)
        finally:
            os.close(control)
            os.close(image)

    def cut(self):
        directory = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(directory, SHUTDOWN, NO_LOG_FLUSH)
        finally:
            os.close(directory)


def sync(directory):
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


class Writer:
    """Puts photos into the inbox from its own process, and reports their progress in shared memory."""

    BEGUN, PUT, SYNCED = 1, 2, 3

    def __init__(self, inbox, photos):
        self.photos, self.progress = photos, mmap.mmap(-1, max(1, len(photos)))
        self.child = os.fork()
        if self.child == 0:
            try:
                for number, photo in enumerate(photos):
                    self.write(inbox, number, *photo)
            except OSError:
                pass  # The power has failed.
            finally:
                os._exit(0)

    def write(self, inbox, number, name, content, way, pause):
        time.sleep(pause)
        path = os.path.join(inbox, name)
        self.progress[number] = self.BEGUN
        parent = os.path.dirname(path)
        if way == "deep":
            os.makedirs(parent, exist_ok=True)
        careful = way != "careless"
        target = path + ".part" if way in ("renamed", "deep") else path
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        view = memoryview(content)
        while view:
            view = view[os.write(file, view[:32768]):]
        if careful:
            os.fsync(file)
        os.close(file)
        if target != path:
            os.rename(target, path)
        self.progress[number] = self.PUT
        if careful:
            while True:
                sync(parent)
                if parent == inbox:
                    break
                parent = os.path.dirname(parent)
            self.progress[number] = self.SYNCED

    def end(self):
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)
        return list(self.progress[:len(self.photos)])


class Trial:
    """One set of disks, with newly created file systems."""

    def __init__(self, options, disks, mode, layout, directory):
        self.mode = mode
        self.disks = [disks[name] for name in sorted(set(LAYOUTS[layout].values()))]
        at = {name: os.path.join(disks[disk].target, name) for name, disk in LAYOUTS[layout].items()}
        self.house = House(directory, options.program, ['inbox.inbox.patience=300ms'], at,
                           around=[disk.target for disk in self.disks])
        self.written = set()  # The hashes of all started files.
        self.torn = []  # Files of unsynced writers that the daemon held aside at the power cut.
        for disk in self.disks:
            disk.format()
            disk.mount(mode)
        self.house.build()
        os.makedirs(self.house.path["state"], exist_ok=True)
        os.sync()
        self.manifest = checker.Manifest(around=checker.canary(self.house.places))
        self.house.start().ready()

    def close(self):
        self.house.daemon.kill()
        for disk in self.disks:
            unmount(disk.target)

    def cycle(self, number, rng):
        house = self.house
        photos, contents = [], []
        for index in range(rng.randint(2, 10)):
            way = rng.choice(WAYS)
            if way == "again" and contents:
                content = rng.choice(contents)
            else:
                content = jpeg(rng, rng.choice((2_000, 20_000, 120_000, 400_000)))
                contents.append(content)
            name = f"{number}-{index}.jpg"
            if way == "deep":
                name = f"d{rng.randint(0, 3)}/e{number % 5}/{name}"
            photos.append((name, content, way, rng.choice((0, 0, 0.002, 0.02))))
            self.written.add(hashlib.sha256(content).hexdigest())
        writer = Writer(house.path["inbox"], photos)
        time.sleep(rng.uniform(0, 0.02 * len(photos) + 0.08))
        self.cut(rng)
        progress = writer.end()
        filed = set(house.daemon.told.get("filed", ())) | set(house.daemon.told.get("duplicate", ()))
        self.mount_again()
        self.take_stock(photos, progress, filed)
        again = 0
        while rng.random() < 0.3:
            house.start()
            time.sleep(rng.uniform(0, 0.25))
            self.cut(rng)
            self.mount_again()
            self.judge(crashed=True)
            again += 1
        house.start().ready()
        house.wait_until_empty(hurry=0.4)
        self.judge()
        if number % 10 == 0:
            self.recover_once_more()
        return again, sum(1 for state in progress if state == Writer.SYNCED), len(filed)

    def cut(self, rng):
        """Ends the file systems, and the daemon with them.

        Half of the time the daemon is stopped first: all disks lose their current at one moment, as in a power cut. Else
        it goes on and meets errors, as when disks fail one after the other, the state's first. That happens to a daemon
        which waits for no disk just then: to an fsync(2) that is under way ext4 may answer with success though its
        journal was aborted meanwhile, since it asks only at the start, and waits for no transaction that is over. What
        rests on such an answer is on no disk, and nobody can know.
        """
        daemon = self.house.daemon
        if rng.random() < 0.5:
            daemon.freeze()
            for disk in rng.sample(self.disks, len(self.disks)):
                disk.cut()
        else:
            for disk in sorted(self.disks, key=lambda disk: not self.house.path["state"].startswith(disk.target + "/")):
                daemon.freeze(amid=False)
                disk.cut()
                daemon.thaw()
                time.sleep(rng.choice((0, 0.005, 0.03, 0.1)))
        daemon.kill()

    def mount_again(self):
        for disk in self.disks:
            unmount(disk.target)
        for disk in self.disks:
            disk.mount(self.mode)

    def take_stock(self, photos, progress, filed):
        """What was put in for good goes into the manifest; of the rest, what is there, whole or torn."""
        inbox = self.house.places.inboxes["inbox"]
        present = {}
        for file in list(checker.walk(inbox)):
            if file.relative.endswith(b".part") and not file.relative.rsplit(b"/", 1)[-1].startswith(b".photo-inbox-"):
                os.unlink(file.path)  # Of a dead writer.
                sync(os.path.dirname(file.path))
                continue
            present[file.relative] = checker.file_hash(file.path)
        elsewhere = {checker.file_hash(file.path)
                     for kind, root in self.house.places.roots if kind != "inbox" for file in checker.walk(root)}
        known = {}
        for (name, content, _, _), state in zip(photos, progress):
            if state == 0:
                continue
            digest = hashlib.sha256(content).hexdigest()
            known[name.encode()] = digest
            here = present.get(name.encode())
            if state == Writer.SYNCED or name in filed or here == digest:
                self.manifest.add(content)
            elif digest in elsewhere and digest not in self.manifest.photos:
                self.manifest.add(content)  # Filed, but the power failed before that was logged.
            if here is not None and here != digest:
                # Torn, since its writer did not sync; it ends in quarantine.
                if state == Writer.SYNCED:
                    raise Violation(f"{name} was synced and is torn: that is the file system's doing")
                with open(os.path.join(inbox, name.encode()), "rb") as torn:
                    self.manifest.add(torn.read())
        self.torn = []
        for relative, digest in present.items():
            if os.path.basename(relative).startswith(b".photo-inbox-") and digest not in self.written:
                with open(os.path.join(inbox, relative), "rb") as torn:
                    self.torn.append(torn.read())
        self.judge(crashed=True)

    def judge(self, crashed=False):
        """A source that was filed and set aside may be torn as well, its copy in the library being synced and it not. It
        is then taken away, or gets its name back and comes to rest in quarantine: both are right."""
        for content in list(self.torn):
            digest = hashlib.sha256(content).hexdigest()
            found = sum(checker.file_hash(file.path) == digest and not os.path.basename(file.path).startswith(b".photo-inbox-")
                        for _, root in self.house.places.roots for file in checker.walk(root) if file.is_regular)
            if found > self.manifest.photos.get(digest, {"count": 0})["count"]:
                self.manifest.add(content)
                self.torn.remove(content)
        judge(self.house.places, self.manifest, crashed=crashed)

    def recover_once_more(self):
        house = self.house
        house.daemon.stop()
        before = checker.snapshot(house.places)
        house.start().ready()
        house.wait_until_empty()
        house.daemon.stop()
        wrong = checker.compare(before, checker.snapshot(house.places))
        if wrong:
            raise Violation("\n  ".join(wrong))
        house.start().ready()


def work(options, kinds, job, counts):
    """One job's share of the cycles; its status."""
    per_disk = min(CYCLES_PER_DISK, max(1, options.cycles // len(kinds)))
    trial = None
    with scratch("/dev/shm") as directory:
        disks = {name: Disk(directory, name) for name in "ab"}
        try:
            for number in range(options.cycles):
                if number // per_disk % options.jobs != job:
                    continue
                if number % per_disk == 0:
                    if trial:
                        trial.close()
                    mode, layout = kinds[number // per_disk % len(kinds)]
                    trial = Trial(options, disks, mode, layout, directory)
                again, synced, filed = trial.cycle(number, random.Random(options.seed + number))
                counts.add(cycles=1, again=again, synced=synced, filed=filed)
            if trial:
                trial.close()
                trial = None
            return 0
        except Violation as violation:
            print(f"VIOLATION in cycle {number} (--seed {options.seed + number}, {mode}, {layout}):\n  {violation}",
                  flush=True)
            if trial:
                print("the daemon's last words:\n  " + "\n  ".join(trial.house.daemon.lines[-40:]), flush=True)
            if options.keep:
                print(f"see {directory} (nsenter -m -t {os.getpid()}); SIGTERM ends it", flush=True)
                signal.pause()
            return 1
        finally:
            if trial:
                trial.house.daemon.process.kill()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--cycles", type=int, default=2_100)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--layout", action="append", choices=LAYOUTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--program")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    require_root("to make file systems and cut them off")
    options.program = find_program(options.program)
    enter_private_mounts()
    kinds = [(mode, layout) for mode in options.mode or MODES for layout in options.layout or LAYOUTS]
    begin, counts = time.monotonic(), jobs.Counts("cycles", "again", "synced", "filed")

    def so_far():
        return (f"{counts.cycles} cycles, {counts.again} cuts more during recovery, {counts.synced} photos synced by their "
                f"writers, {counts.filed} told as filed before the cut")

    if not jobs.run(options.jobs, lambda job: work(options, kinds, job, counts), lambda: counts.cycles, so_far):
        sys.exit(1)
    print(f"power cut: {so_far()} in {'/'.join(dict.fromkeys(mode for mode, _ in kinds))} "
          f"({'/'.join(dict.fromkeys(layout for _, layout in kinds))}), 0 violations, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
