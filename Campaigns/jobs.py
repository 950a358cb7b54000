"""Distributes a campaign's work among processes, with common counters."""
import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
import tempfile
import time


class Counts:
    """Counters by name, in memory shared by all jobs. Must be created before the jobs."""

    def __init__(self, *names):
        self.names, self.format = names, f"{len(names)}q"
        self.memory, self.lock = mmap.mmap(-1, 8 * len(names)), tempfile.TemporaryFile()

    def add(self, **more):
        # POSIX locks end with their process, however it ends. Only one thread of each job counts.
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        try:
            counts = self.all()
            for name, count in more.items():
                counts[name] += count
            self.memory[:] = struct.pack(self.format, *counts.values())
        finally:
            fcntl.lockf(self.lock, fcntl.LOCK_UN)

    def all(self):
        return dict(zip(self.names, struct.unpack(self.format, self.memory)))

    def __getattr__(self, name):
        return self.all()[name]


def run(count, work, told=lambda: 0, every=str):
    """Runs `work(job)`, which returns a status, in `count` processes; prints `every()` whenever `told()` is past one
    hundred more. Whether all were well; the first that is not ends the others."""
    jobs, begin, printed = [], time.monotonic(), 0
    sys.stdout.flush()
    # On SIGTERM all clean up as after any other end.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        for job in range(count):
            jobs.append(os.fork())
            if jobs[-1] == 0:
                jobs = []
                ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: no job outlives the campaign.
                os._exit(status_of(work, job))
        while jobs:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended:
                jobs.remove(ended)
                if status:
                    return False
            else:
                time.sleep(0.1)
            if told() // 100 > printed:
                printed = told() // 100
                print(f"{every()}, {time.monotonic() - begin:.0f} s", flush=True)
        return True
    finally:
        for job in jobs:
            os.kill(job, signal.SIGTERM)
        for job in jobs:
            os.waitpid(job, 0)


def status_of(work, job):
    """The status of a job, also after an exception: a job must never continue as the campaign."""
    try:
        return work(job)
    except SystemExit:
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
