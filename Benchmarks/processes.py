"""The kernel's figures for a running process: processor time, memory, threads, wake-ups. See proc(5)."""
import os
import resource
import subprocess
import time


def processor_ns(pid):
    """User and system time of all its threads so far, by its own clock; see clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def children_ns():
    """The same for all reaped children and their reaped children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def run(words):
    """Runs a program to its end, silently, and returns its processor time with that of its children."""
    before = children_ns()
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return children_ns() - before


def await_idle(pid, seconds=1.0, limit=60.0):
    """Waits until it has used no processor time for `seconds`, or for the limit."""
    end, last = time.monotonic() + limit, -1
    while time.monotonic() < end and (now := processor_ns(pid)) != last:
        last = now
        time.sleep(seconds)


def memory(pid):
    """In bytes: resident, proportional share, and private anonymous memory."""
    wanted = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        for line in lines:
            key, _, rest = line.partition(":")
            if key in ("Rss", "Pss", "Private_Dirty"):
                wanted[key.lower()] = int(rest.split()[0]) * 1024
    return wanted


def peak(pid):
    """The most that was resident, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def voluntary_switches(pid):
    """The voluntary context switches of each thread: one per wake-up."""
    counts = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8", errors="replace") as lines:
                counts[int(thread)] = next(
                    int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
    return counts


def waits_in(pid, thread):
    """The kernel function in which a thread sleeps, if it may be asked."""
    try:
        with open(f"/proc/{pid}/task/{thread}/wchan", encoding="ascii") as text:
            return text.read().strip("0") or "?"
    except OSError:
        return "?"
