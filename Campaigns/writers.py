#!/usr/bin/python3
"""Slow and hostile writers: every way in which programs bring files into a folder, each with its pauses. No file may be
taken before it has its final bytes, and none may be left lying. Then those who never come back: pictures of all formats
that were cut, of which none may be filed before patience that lost pixels, pages or trailers.

usage: Campaigns/writers.py [--rounds N] [--style NAME]… [--view NAME]… [--cuts N] [--pictures N] [--seed N]
                            [--program FILE]

  --rounds  how often each style comes, in each view, with other sizes and pauses (20); 0 for the cuts alone
  --style   one of those below; all by default
  --view    root     the daemon may ask for leases on every file
            foreign  it runs as an ordinary user without CAP_LEASE, and the files are another user's: no writer can be
                     seen (needs root)
            overlay  the inbox is an overlay, where a granted lease proves nothing (needs root)
  --cuts    so many cuts, through the proof of filing itself, and some of them through the daemon (40,000); 0 for none
  --pictures  so many different pictures are cut (330)
  --seed    of the first round, and of the pictures (1)

Quiet windows are cut to 2 s here, and pauses are measured by them: a style pauses for longer than the window wherever
writer or structure can be seen, and for less where both are weak, since then nothing but time tells.
"""
import argparse
import hashlib
import mmap
import os
import random
import struct
import sys
import threading
import time

import checker
import cuts
import jobs
from storm import House, Violation, enter_private_mounts, exif, find_program, jpeg, judge, mount, require_root, scratch

QUIET = 2.0
STRANGER, SELF = 61001, 61002


# The content: (ending, content, whether the structure alone shows a cut)


def png(rng, size):
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", rng.randbytes(size)) + chunk(b"IEND", b""))


def mp4(rng, size, header_first):
    def box(kind, data):
        return struct.pack(">I", len(data) + 8) + kind + data
    head = box(b"ftyp", b"isom\0\0\2\0isommp41")
    mvhd = box(b"mvhd", struct.pack(">IIIII", 0, 3_600_000_000, 3_600_000_000, 1000, 5000) + bytes(80))
    moov, mdat = box(b"moov", mvhd + box(b"free", rng.randbytes(200))), box(b"mdat", rng.randbytes(size))
    return head + (moov + mdat if header_first else mdat + moov)


def tiff(rng, size):
    """A TIFF with its strip at the end and its directory at the start."""
    entries = [(0x100, 3, 1, 16), (0x101, 3, 1, 16), (0x111, 4, 1, 8 + 2 + 4 * 12 + 4), (0x117, 4, 1, size)]
    return (b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries))
            + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4) + rng.randbytes(size))


KINDS = {
    "jpg": lambda rng, size: jpeg(rng, size),
    "png": png,
    "mp4": lambda rng, size: mp4(rng, size, False),
    "mov": lambda rng, size: mp4(rng, size, True),
    "tif": tiff,
}


class Upload:
    """One file of a style: its place, its bytes, and its writer's functions."""

    def __init__(self, inbox, name, content, rng, may_pause):
        self.path, self.content, self.rng, self.may_pause = os.path.join(inbox, name), content, rng, may_pause
        self.owner = None
        # When it was last touched, and for how long it was not where the window must not pass: a busy machine may hold a
        # writer up for longer than that.
        self.touched, self.longest = None, 0

    def touch(self):
        now = time.monotonic()
        if self.touched is not None:
            self.longest = max(self.longest, now - self.touched)
        self.touched = now

    @property
    def is_held_up(self):
        return self.longest > QUIET * 0.9

    def open(self, flags=os.O_WRONLY | os.O_CREAT, path=None):
        path = path or self.path
        self.touch()
        file = os.open(path, flags, 0o644)
        if self.owner and flags & os.O_CREAT:
            os.fchown(file, self.owner, self.owner)
        return file

    def write(self, file, start, end):
        view = memoryview(self.content)[start:end]
        offset = start
        while view:
            count = os.pwrite(file, view[:self.rng.choice((512, 4096, 65536))], offset)
            view, offset = view[count:], offset + count
            self.touch()

    def long(self):
        """A pause longer than the quiet window, where writer or structure decide."""
        time.sleep(QUIET * 1.5 if self.may_pause else QUIET * 0.4)
        if self.may_pause:
            self.touched = None

    def short(self):
        time.sleep(self.rng.uniform(0, QUIET * 0.4))

    @property
    def size(self):
        return len(self.content)


def at_once(up):
    file = up.open()
    up.write(file, 0, up.size)
    os.close(file)


def preallocate(up):
    """Samba, many FTP servers: preallocates, then writes."""
    file = up.open()
    os.posix_fallocate(file, 0, up.size)
    up.short()
    up.write(file, 0, up.size // 2)
    up.long()
    up.write(file, up.size // 2, up.size)
    os.close(file)


def preallocate_and_reopen(up):
    """Downloaders with resume: preallocates, closes, and opens again later."""
    file = up.open()
    os.ftruncate(file, up.size)
    os.close(file)
    up.short()
    file = up.open(os.O_WRONLY)
    up.write(file, 0, up.size // 3)
    os.close(file)
    up.short()
    file = up.open(os.O_WRONLY)
    up.write(file, up.size // 3, up.size)
    os.close(file)


def two_sessions(up):
    """Scanners, camera clients over bad lines: writes half, closes, and appends the rest later."""
    file = up.open()
    cut = up.rng.randint(up.size // 4, up.size * 3 // 4)
    up.write(file, 0, cut)
    os.close(file)
    up.long() if up.path.endswith((".jpg", ".png")) else up.short()
    file = up.open(os.O_WRONLY)
    up.write(file, cut, up.size)
    os.close(file)


def many_sessions(up):
    """Opens and closes the file for each piece."""
    step = up.size // 6 + 1
    for start in range(0, up.size, step):
        file = up.open()
        up.write(file, start, min(up.size, start + step))
        os.close(file)
        up.short()


def renamed(up):
    """rsync, browsers: another name until it is complete."""
    part = up.path + ".part"
    file = up.open(path=part)
    up.write(file, 0, up.size // 2)
    up.long()
    up.write(file, up.size // 2, up.size)
    os.close(file)
    os.rename(part, up.path)


def mapped(up):
    """Writes through a mapping, without an event, long after closing the descriptor."""
    file = up.open(os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, up.size)
    with mmap.mmap(file, up.size) as room:
        os.close(file)
        room[:up.size // 2] = up.content[:up.size // 2]
        up.long()
        room[up.size // 2:] = up.content[up.size // 2:]
        room.flush()


def rewritten(up):
    """A truncated first version, then a complete rewrite."""
    file = up.open()
    up.write(file, 0, up.size // 2)
    os.close(file)
    up.short()
    file = up.open(os.O_WRONLY | os.O_TRUNC)
    up.short()
    up.write(file, 0, up.size)
    os.close(file)


def out_of_order(up):
    """Samba, torrents: pieces in any order, with holes between them meanwhile."""
    pieces = list(range(0, up.size, up.size // 8 + 1))
    # The last one first: the end exists long before the middle.
    pieces = [pieces[-1], *up.rng.sample(pieces[:-1], len(pieces) - 1)]
    file = up.open()
    for start in pieces:
        up.write(file, start, min(up.size, start + up.size // 8 + 1))
        up.short() if up.rng.random() < 0.3 else None
    os.close(file)


def out_of_order_and_reopened(up):
    """The same, closed after each piece: header and end exist, the middle is a hole."""
    pieces = list(range(0, up.size, up.size // 4 + 1))
    for start in [pieces[0], pieces[-1], *pieces[1:-1]]:
        file = up.open()
        up.write(file, start, min(up.size, start + up.size // 4 + 1))
        os.close(file)
        up.short()


def zeros_and_reopened(up):
    """Fills with zeros, then writes header and end, and the middle later: without a hole."""
    file = up.open()
    os.pwrite(file, bytes(up.size), 0)
    third = up.size // 3
    up.write(file, 0, third)
    up.write(file, up.size - third, up.size)
    os.close(file)
    up.short()
    file = up.open(os.O_WRONLY)
    up.write(file, third, up.size - third)
    os.close(file)


def trickle(up):
    """A slow line."""
    file = up.open()
    for start in range(0, up.size, up.size // 12 + 1):
        up.write(file, start, min(up.size, start + up.size // 12 + 1))
        time.sleep(up.rng.uniform(0, QUIET * 0.3))
    os.close(file)


def header_at_the_end(up):
    """Cameras, MP4 writers, scanners: writes the sizes in the header last, in the open file."""
    file = up.open()
    head = min(up.size, 64)
    os.pwrite(file, bytes(head), 0)
    up.write(file, head, up.size)
    up.long()
    up.write(file, 0, head)
    os.close(file)


def resumed(up):
    """FTP: interrupted, and resumed with APPE."""
    file = up.open()
    up.write(file, 0, up.size * 2 // 3)
    os.close(file)
    up.long() if up.path.endswith((".jpg", ".png")) else up.short()
    file = up.open(os.O_WRONLY | os.O_APPEND)
    os.write(file, up.content[up.size * 2 // 3:])
    os.close(file)


def linked(up):
    """As in Maildir: links the final name, then removes the first."""
    part = os.path.join(os.path.dirname(up.path), f".{os.path.basename(up.path)}.tmp")
    file = up.open(path=part)
    up.write(file, 0, up.size)
    os.close(file)
    os.link(part, up.path)
    up.short()
    os.unlink(part)


def copied_with_times(up):
    """cp -p, shutil.copy2: sets the times right after the content."""
    file = up.open()
    up.write(file, 0, up.size)
    os.utime(file, (1_500_000_000, 1_500_000_000))
    os.close(file)


def touched_after(up):
    """Keeps the complete file open and writes again, like a photo program that adds its mark."""
    file = up.open(os.O_RDWR | os.O_CREAT)
    up.write(file, 0, up.size)
    up.long()
    up.write(file, up.size // 2, up.size)
    os.close(file)


STYLES = [at_once, preallocate, preallocate_and_reopen, two_sessions, many_sessions, renamed, mapped, rewritten,
          out_of_order, out_of_order_and_reopened, zeros_and_reopened, trickle, header_at_the_end, resumed, linked,
          copied_with_times, touched_after]
VIEWS = ("root", "foreign", "overlay")


def run(options, view, directory, styles):
    """All rounds of one view; the number of files."""
    house = House(directory, options.program, [f"inbox.inbox.quiet={int(QUIET * 1000)}ms", "inbox.inbox.patience=60s"],
                  user=SELF if view == "foreign" else None, around=[])
    os.chmod(directory, 0o755)
    house.build()
    if view == "overlay":
        for name in ("lower", "upper", "work"):
            os.mkdir(f"{directory}/{name}")
        mount("overlay", house.path["inbox"], "overlay",
              f"lowerdir={directory}/lower,upperdir={directory}/upper,workdir={directory}/work")
    if view == "foreign":
        for name in ("inbox", "library"):
            os.chmod(house.path[name], 0o777)
        os.chown(directory, SELF, SELF)
    uploads = {}
    manifest, owners, threads, failures, lock = checker.Manifest(), {}, [], [], threading.Lock()
    house.start().ready()
    try:
        for number in range(options.rounds):
            rng = random.Random(f"{options.seed + number} {view}")
            for style in styles:
                ending = rng.choice(list(KINDS))
                content = KINDS[ending](rng, rng.choice((20_000, 100_000, 600_000)))
                name = f"{style.__name__}-{number}.{ending}"
                # Where no writer can be seen, a pause that is longer than the window is taken for the end, wherever the
                # structure says that it is one.
                up = Upload(house.path["inbox"], name, content, random.Random(rng.random()), view == "root")
                up.owner = STRANGER if view == "foreign" else None
                with lock:
                    owners[manifest.add(content, ends=["library"])] = name
                    uploads[name] = up

                def bring(style=style, up=up):
                    try:
                        time.sleep(up.rng.uniform(0, 1))
                        style(up)
                    except Exception as failure:
                        failures.append(f"{os.path.basename(up.path)}: {failure!r}: taken while it was written")
                threads.append(threading.Thread(target=bring))
                threads[-1].start()
            for thread in threads:
                thread.join()
            threads.clear()
            if failures:
                raise Violation("\n  ".join(failures))
        # Not filed long after window and patience.
        house.wait_until_empty()
        house.daemon.stop()
        found = {}
        for kind, root in house.places.roots:
            for file in checker.walk(root):
                found.setdefault(checker.file_hash(file.path), (kind, file.relative))
        lost = [name for digest, name in owners.items() if digest not in found]
        if lost and all(uploads[name].is_held_up for name in lost):
            print(f"{view}: not judged, run it again: {', '.join(lost)}: their writers were held up by this machine for "
                  f"longer than the window of {QUIET:g} s, and so taken for done", flush=True)
            return len(owners) - len(lost)
        early = [f"{name}: taken early; its writer paused for {uploads[name].longest:.1f} s at most" for name in lost]
        if early:
            odd = [f"{kind}: {os.fsdecode(path)}" for digest, (kind, path) in found.items() if digest not in owners]
            raise Violation("\n  ".join([*early, "and these have bytes that were never final:", *odd]))
        judge(house.places, manifest)
    finally:
        house.daemon.process.kill()
        house.daemon.process.wait()
        for thread in threads:
            thread.join()
    return len(owners)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--style", action="append", choices=[style.__name__ for style in STYLES])
    parser.add_argument("--view", action="append", choices=VIEWS)
    parser.add_argument("--cuts", type=int, default=40_000)
    parser.add_argument("--pictures", type=int, default=330)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program")
    options = parser.parse_args()
    options.program = find_program(options.program)
    if options.rounds:
        write(options)
    if options.cuts:
        try:
            cuts.run(options.cuts, options.pictures, options.seed, options.program)
        except Violation as violation:
            sys.exit(f"VIOLATION (cuts, --seed {options.seed}):\n  {violation}")


def write(options):
    """The slow and hostile writers."""
    views = options.view or list(VIEWS)
    if os.geteuid() != 0:
        if set(views) != {"root"}:
            require_root("for writers who are other users, and for mounts; --view root does without")
    else:
        enter_private_mounts()
    styles = [style for style in STYLES if not options.style or style.__name__ in options.style]
    begin, counts = time.monotonic(), jobs.Counts("files")

    def work(job):
        view = views[job]
        with scratch("/var/tmp" if view != "overlay" else "/dev/shm") as directory:
            try:
                counts.add(files=run(options, view, directory, styles))
            except Violation as violation:
                print(f"VIOLATION (view {view}, --seed {options.seed}):\n  {violation}", flush=True)
                return 1
        print(f"{view}: {len(styles)} styles, {options.rounds} rounds, {time.monotonic() - begin:.0f} s", flush=True)
        return 0

    # In parallel: most of the time is pauses.
    if not jobs.run(len(views), work):
        sys.exit(1)
    print(f"writers: {len(styles)} styles in {'/'.join(views)}, {counts.files} files, 0 taken early, 0 never taken, "
          f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
