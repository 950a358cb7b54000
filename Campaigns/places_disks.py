"""File systems for the campaign of places: created, mounted, swapped, and read independently of their mounts.
Run nothing here by itself."""
import contextlib
import ctypes
import errno
import fcntl
import itertools
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import time

from house import HERE, ROOT, Waiting
from power import LO_FLAGS_AUTOCLEAR, LOOP_CONFIGURE
from storm import libc, mount, unmount

SIZES = {"ext4": 16 << 20, "xfs": 300 << 20, "btrfs": 120 << 20}
MAKERS = {"ext4": ["mkfs.ext4", "-q", "-F", "-m", "0"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
FUSE = {"no-flags": ["--refuse-flags", "--links"], "bare": ["--refuse-flags"], "folding": ["--fold"],
        "liar": ["--ignore-flags", "--links"]}
LOOP_CTL_ADD = 0x4C80
OPEN_TREE, OPEN_TREE_CLONE, MOVE_MOUNT, MOVE_MOUNT_F_EMPTY_PATH, AT_FDCWD = 428, 1, 429, 4, -100
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096


def fuse_tool():
    """The FUSE file system's program, compiled if its source is newer; raises if that is impossible."""
    source = HERE / "places_fuse.c"
    directory = pathlib.Path(os.environ.get("PHOTOINBOX_CAMPAIGN_TOOLS", ROOT / ".build/campaigns"))
    tool = directory / "places_fuse"
    if tool.exists() and tool.stat().st_mtime >= source.stat().st_mtime:
        return str(tool)
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False, text=True) if shutil.which("pkg-config") else None
    if not compiler or not flags or flags.returncode:
        raise FileNotFoundError("no C compiler, or no libfuse3-dev")
    directory.mkdir(parents=True, exist_ok=True)
    part = tool.with_suffix(f".{os.getpid()}")
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", part, source, *flags.stdout.split()], check=True)
    part.rename(tool)
    return str(tool)


def missing():
    """Kind of disk → why it is unavailable on this machine."""
    why = {}
    for kind, maker in MAKERS.items():
        if not shutil.which(maker[0]):
            why[kind] = f"no {maker[0]}"
        elif not os.access("/dev/loop-control", os.W_OK):
            why[kind] = "no loop devices"
    with open("/proc/filesystems", encoding="ascii") as lines:
        known = {line.split()[-1] for line in lines}
    for kind in ("ext4", "xfs", "btrfs", "overlay"):
        if kind not in known:
            why.setdefault(kind, f"the kernel has no {kind}")
    try:
        fuse_tool()
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            why["fuse"] = "no /dev/fuse"
    except FileNotFoundError as error:
        why["fuse"] = str(error)
    return why


def bind(source, target):
    mount(source, target, "none", flags=MS_BIND)


def clone_of(target):
    """A directory's file system, as a descriptor of a detached mount, which later mounts do not hide."""
    tree = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(target), OPEN_TREE_CLONE | os.O_CLOEXEC)
    if tree < 0:
        raise OSError(ctypes.get_errno(), f"open_tree {target}")
    return tree


def attach(image, numbers):
    """A loop device over an image, the first free one of these numbers: (number, name, descriptor). It is removed with its
    mount."""
    content, control = os.open(image, os.O_RDWR | os.O_CLOEXEC), os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    # struct loop_config: descriptor, block size, struct loop_info64, of which the flags matter.
    info = bytearray(232)
    info[52:56] = LO_FLAGS_AUTOCLEAR.to_bytes(4, "little")
    waiting = Waiting("free loop device", 10)
    try:
        for wanted in itertools.cycle(numbers):
            try:
                fcntl.ioctl(control, LOOP_CTL_ADD, wanted)
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise
            name = f"/dev/loop{wanted}"
            if not os.path.exists(name):
                os.mknod(name, 0o600 | stat.S_IFBLK, os.makedev(7, wanted))
            device = os.open(name, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, struct.pack("<II", content, 0) + bytes(info) + bytes(64))
                return wanted, name, device
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:
                    raise
                waiting.once()
    finally:
        os.close(control)
        os.close(content)


class Disk:
    """A file system of one kind: `ext4`, `xfs`, `btrfs`, `tmpfs`, `overlay`, `no-flags`, `bare`, `folding`, `liar` or, of the
    world itself, `base`. `view` leads the checker to its root, whatever people mount or unmount."""

    def __init__(self, own, name, kind, loops=()):
        self.own, self.name, self.kind, self.loops = own, name, kind, loops
        self.mounts = []  # its mount points
        self.tree, self.servers = None, {}
        self.is_out = False  # removed: not known to the kernel
        self.listing = {}
        self.place = os.path.join(own, "disks", name)
        self.trap = os.path.join(own, "traps", name)
        if kind in MAKERS:
            with open(self.place, "wb") as file:
                file.truncate(SIZES[kind])
            subprocess.run(MAKERS[kind] + [self.place], check=True, stdout=subprocess.DEVNULL)
        elif kind != "base":
            os.mkdir(self.place)
            for part in ("lower", "upper", "work") if kind == "overlay" else ():
                os.mkdir(os.path.join(self.place, part))
            os.makedirs(self.trap)

    @property
    def is_fuse(self):
        return self.kind in FUSE

    @property
    def view(self):
        """The root, independent of mounts; None while the disk is removed."""
        if self.kind == "base":
            return self.place if self.tree is None else f"/proc/self/fd/{self.tree}"
        if self.is_fuse:
            return self.place
        return None if self.is_out or self.tree is None else f"/proc/self/fd/{self.tree}"

    def adopt_base(self, directory, is_mount):
        self.place, self.mounts = directory, [directory]
        self.tree = clone_of(directory) if is_mount else None

    def mount(self, target, server=False):
        """Where people see it: the first time as a file system of its own, later as one more mount of it, or, of FUSE, by a
        `server` of its own: then nothing but the content tells that both are one."""
        os.makedirs(target, exist_ok=True)
        if self.is_fuse and (server or not self.mounts):
            self.serve(target)
        elif self.mounts:
            bind(self.mounts[0], target)
        elif self.tree is not None:
            # The kernel still knows it: reuses the mount that the checker holds.
            if libc.syscall(MOVE_MOUNT, self.tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH) < 0:
                raise OSError(ctypes.get_errno(), f"move_mount {target}")
            os.close(self.tree)
            self.tree = clone_of(target)
        elif self.kind in MAKERS:
            number, name, device = attach(self.place, self.loops)
            self.loops = [number]
            try:
                mount(name, target, self.kind, "nouuid" if self.kind == "xfs" else "")
            finally:
                os.close(device)
            self.tree = clone_of(target)
        elif self.kind == "overlay":
            parts = [f"{option}={self.place}/{part}" for option, part in
                         (("lowerdir", "lower"), ("upperdir", "upper"), ("workdir", "work"))]
            mount("overlay", target, "overlay", ",".join(parts))
            self.tree = clone_of(target)
        else:
            mount("tmpfs", target, "tmpfs", "size=64m,mode=755")
            self.tree = clone_of(target)
        self.is_out = False
        self.mounts.append(target)

    def serve(self, target):
        with open(os.path.join(self.own, "fuse.log"), "ab") as log:
            self.servers[target] = subprocess.Popen(
                [fuse_tool(), *FUSE[self.kind], "--trap", self.trap, self.place, target], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        waiting, before = Waiting("FUSE mount", 20), os.stat(os.path.dirname(target)).st_dev
        while os.stat(target).st_dev == before:
            waiting.once()

    def unmount(self, target):
        unmount(target, patience=1)
        self.mounts.remove(target)
        if server := self.servers.pop(target, None):
            if any(other != target and other not in self.servers for other in self.mounts):
                self.servers[target] = server  # Bind mounts keep it.
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(2)

    def take_out(self, listed):
        """Removes it: its content is that of the last `listed`, when it was not writable."""
        for target in list(self.mounts):
            self.unmount(target)
        self.listing = listed(self)
        if self.tree is not None:
            os.close(self.tree)
            self.tree = None
        self.is_out = True

    def set_read_only(self, target, is_so):
        mount("none", target, "none", flags=MS_REMOUNT | MS_BIND | (MS_RDONLY if is_so else 0))

    def caught(self, call, seconds):
        """Arms the trap and waits until it catches this call; the call's path below the root, or None."""
        with open(os.path.join(self.trap, "armed"), "w", encoding="ascii") as file:
            file.write(call)
        end = time.monotonic() + seconds
        path = os.path.join(self.trap, "caught")
        while time.monotonic() < end:
            if os.path.exists(path):
                with open(path, "rb") as file:
                    return os.fsdecode(file.read()).lstrip("/")
            time.sleep(0.005)
        return None

    def release(self):
        """Releases the trapped call."""
        for name in ("armed", "caught"):
            if os.path.exists(os.path.join(self.trap, name)):
                os.unlink(os.path.join(self.trap, name))
