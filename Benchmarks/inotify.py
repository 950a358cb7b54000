"""A minimal binding of inotify(7) for files that appear and disappear, with times."""
import ctypes
import os
import select
import struct
import time

CREATE, MOVED_TO, MOVED_FROM, DELETE, IS_DIRECTORY = 0x100, 0x80, 0x40, 0x200, 0x40000000


class Watcher:
    """Watches directory trees, including directories that appear later and their content."""

    def __init__(self):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._paths = {}
        self._pending = []

    def add(self, root):
        number = self._libc.inotify_add_watch(
            self._descriptor, os.fsencode(root), CREATE | MOVED_TO | MOVED_FROM | DELETE)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", root)
        self._paths[number] = root
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self.add(entry.path)
                else:
                    self._pending.append((time.clock_gettime_ns(time.CLOCK_REALTIME), CREATE, entry.path))

    def discard(self):
        """Discards earlier events."""
        while self._take(0):
            pass
        self._pending.clear()

    def events(self, seconds):
        """The events: (time in nanoseconds since 1970, kind, path); none after that many seconds of silence."""
        # A new directory alone is not reported: continue.
        while not self._pending and self._take(seconds):
            pass
        events, self._pending = self._pending, []
        return events

    def _take(self, seconds):
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        data, offset = os.read(self._descriptor, 65536), 0
        while offset < len(data):
            number, mask, _, length = struct.unpack_from("iIII", data, offset)
            name = data[offset + 16 : offset + 16 + length].rstrip(b"\0")
            offset += 16 + length
            if number not in self._paths or not name:
                continue
            path = os.path.join(self._paths[number], os.fsdecode(name))
            if mask & IS_DIRECTORY:
                if mask & (CREATE | MOVED_TO):
                    self.add(path)
            else:
                self._pending.append((now, mask, path))
        return True
