#!/usr/bin/env python3
"""Emulates a FAT card for kernels without vfat: a FUSE file system over a directory, which uses /dev/fuse directly.

usage: fat_card.py BACKING PLACE [--exact] [--block IMAGE] [--hold NAME FILE]

Times are even seconds (--exact: unchanged), names ignore case and keep their spelling, a file has another
inode number after each mount, and change times are not kept. With --block the mount has a block device, as a real
card does: a loop device over IMAGE. With --hold reads of the file NAME are not answered until FILE exists, and fail
then, as on a card that is removed. Mounts in this process's mount namespace, and ends when it is unmounted. Needs root.
"""
import ctypes, errno, os, random, stat, struct, subprocess, sys, time

LOOKUP, FORGET, GETATTR, UNLINK, RENAME, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 10, 12, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = 25, 26, 27, 28, 29, 36, 38, 42, 45
NOREPLACE = 1


class Card:
    def __init__(self, backing, device, exact, hold):
        self.device, self.exact, self.hold = device, exact, hold
        self.paths, self.numbers = {1: backing}, {backing: 1}
        # Different numbers with each mount.
        self.base = random.SystemRandom().randrange(1 << 20, 1 << 30)

    def fold(self, directory, name):
        """The path of `name` in its actual spelling."""
        wanted = name.decode("utf-8", "surrogateescape")
        for there in os.listdir(directory):
            if there.casefold() == wanted.casefold():
                return os.path.join(directory, there)
        return None

    def node(self, path):
        if path not in self.numbers:
            self.numbers[path] = len(self.paths) + 1
            self.paths[len(self.paths) + 1] = path
        return self.numbers[path]

    def attributes(self, path):
        at = os.stat(path)
        seconds, rest = divmod(at.st_mtime_ns, 10**9)
        if not self.exact:
            seconds, rest = seconds // 2 * 2, 0
        mode = (stat.S_IFDIR if stat.S_ISDIR(at.st_mode) else stat.S_IFREG) | 0o755
        return struct.pack("<6Q10I", self.base + self.node(path), at.st_size, (at.st_size + 511) // 512, seconds, seconds,
                           seconds, rest, rest, rest, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, path):
        return struct.pack("<4Q2I", self.node(path), 0, 1, 1, 0, 0) + self.attributes(path)

    def moved(self, old, new):
        number = self.numbers.pop(old)
        self.numbers[new] = number
        self.paths[number] = new

    def rename(self, node, body, offset, flags):
        old_name, new_name = body[offset:].split(b"\0")[:2]
        directory = self.paths[struct.unpack_from("<Q", body)[0]]
        old, taken = self.fold(self.paths[node], old_name), self.fold(directory, new_name)
        if old is None:
            raise FileNotFoundError(errno.ENOENT, "")
        if taken not in (None, old) and flags & NOREPLACE:
            raise FileExistsError(errno.EEXIST, "")
        self.node(old)
        new = os.path.join(directory, new_name.decode("utf-8", "surrogateescape"))
        os.rename(old, new)
        self.moved(old, new)

    def listing(self, path, offset, size):
        out = b""
        for index, name in enumerate(sorted(os.listdir(path))):
            if index < offset:
                continue
            whole, text = os.path.join(path, name), os.fsencode(name)
            kind = 4 if os.path.isdir(whole) else 8
            record = struct.pack("<2Q2I", self.base + self.node(whole), index + 1, len(text), kind) + text
            record += b"\0" * (-len(record) % 8)
            if len(out) + len(record) > size:
                break
            out += record
        return out

    def read(self, path, offset, size):
        if self.hold and os.path.basename(path) == self.hold[0]:
            while not os.path.exists(self.hold[1]):
                time.sleep(0.01)
            raise OSError(errno.EIO, "")
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def answer(self, opcode, node, body):
        """What is answered; None for no answer."""
        path = self.paths.get(node)
        if opcode == INIT:
            return struct.pack("<4I2H2I2HI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, *[0] * 7)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if opcode == LOOKUP:
            found = self.fold(path, body.split(b"\0")[0])
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "")
            return self.entry(found)
        if opcode == GETATTR:
            return struct.pack("<QII", 1, 0, 0) + self.attributes(path)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.read(path, offset, size)
        if opcode == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.listing(path, offset, size)
        if opcode == STATFS:
            return struct.pack("<5Q10I", 1 << 16, 1 << 15, 1 << 15, 0, 0, 4096, 255, 4096, 0, *[0] * 6)
        if opcode == UNLINK:
            found = self.fold(path, body.split(b"\0")[0])
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "")
            os.unlink(found)
            return b""
        if opcode == RENAME:
            self.rename(node, body, 8, 0)
            return b""
        if opcode == RENAME2:
            self.rename(node, body, 16, struct.unpack_from("<QI", body)[1])
            return b""
        if opcode in (RELEASE, RELEASEDIR, FLUSH, DESTROY):
            return b""
        raise OSError(errno.ENOSYS, "")

    def serve(self, told):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            code, data = 0, b""
            try:
                data = self.answer(opcode, node, request[40:])
            except OSError as error:
                code = -(error.errno or errno.EIO)
            if data is not None:
                try:
                    os.write(self.device, struct.pack("<IiQ", 16 + len(data), code, unique) + data)
                except OSError:
                    # The caller is gone.
                    pass
            if opcode == INIT and told is not None:
                os.close(told)
                told = None


def namespace_outside():
    """The mount namespace of the nearest ancestor that has another one, opened; None if none is to be had."""
    own, ancestor = os.readlink("/proc/self/ns/mnt"), os.getppid()
    while ancestor > 1:
        try:
            if os.readlink(f"/proc/{ancestor}/ns/mnt") != own:
                return os.open(f"/proc/{ancestor}/ns/mnt", os.O_RDONLY)
            with open(f"/proc/{ancestor}/stat", encoding="utf-8", errors="replace") as stat:
                ancestor = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            return None
    return None


def main():
    words = sys.argv[1:]
    backing, place = os.path.realpath(words[0]), os.path.realpath(words[1])
    image = words[words.index("--block") + 1] if "--block" in words else None
    index = words.index("--hold") if "--hold" in words else None
    hold = words[index + 1:index + 3] if index is not None else None
    outside = namespace_outside()
    device = os.open("/dev/fuse", os.O_RDWR)
    kind, source, options = b"fuse", b"card", "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
    if image:
        with open(image, "wb") as file:
            file.truncate(1 << 20)
        source = subprocess.check_output(["/sbin/losetup", "--find", "--show", image]).strip()
        kind, options = b"fuseblk", options + ",blksize=512"
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.mount(source, place.encode(), kind, 2 | 4 | 8, options.encode())
    if image:
        # It is removed with the mount.
        subprocess.call(["/sbin/losetup", "--detach", source.decode()])
    if failed:
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    waiting, told = os.pipe()
    if os.fork():
        os.close(told)
        os.read(waiting, 1)
        return
    os.close(waiting)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.setsid()
    # Leaves the mount's namespace: the last process in it unmounts at its end and waits for an answer,
    # which it cannot give itself.
    if outside is not None and libc.setns(outside, 0x20000):
        sys.exit("setns: " + os.strerror(ctypes.get_errno()))
    Card(backing, device, "--exact" in words, hold).serve(told)


main()
