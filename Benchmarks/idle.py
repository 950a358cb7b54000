"""How often a program is woken while nothing happens: its threads' voluntary context switches, looked at ten times a
second, so that it is known when they were. What a thread did last before it ended, within that tenth, is not seen."""
import collections
import contextlib
import os
import tempfile
import time

import processes
from daemon import Daemon, remove
from figures import target
from trees import tree

SECONDS, SETTLING = 60, 12
TICK = 5  # seconds between the watchdog's ticks by default; `watch` has its own for its roots
NEAR = 0.2  # seconds: wake-ups this near to a tick are caused by it
DAEMON, OURS, DIRECTORIES = "photoinboxd", "photoinbox watch", 100


def measure(session, watchers, daemon, scratch, seconds=SECONDS):
    """Measures all of them in parallel, in the same minute."""
    with contextlib.ExitStack() as stack:
        pids = {}
        path = stack.enter_context(tree(DIRECTORIES))
        for watcher in watchers:
            if watcher.tells_ready:
                pids[watcher.name] = stack.enter_context(watcher.watching(path))[0]
            else:
                session.leave_out(f"{watcher.name} in idle: it does not say when it watches")
        if daemon.exists():
            pids[DAEMON] = start_daemon(daemon, scratch, stack)
        else:
            session.leave_out("photoinboxd is not built (make release)")
        session.note(f"idle: {', '.join(pids)}; {SETTLING} s to settle, {seconds} s measured")
        time.sleep(SETTLING)  # threads of the start-up have ended by then
        observed = observe(pids, seconds)
        resident = {name: processes.memory(pid)["rss"] for name, pid in pids.items()}
    programs = {name: {**told(woken, name in (DAEMON, OURS), seconds), "resident": resident[name]}
                for name, woken in observed.items()}
    targets = [target(f"other wake-ups of {name}", programs[name]["other_wakeups"], 0)
               for name in (DAEMON, OURS) if name in programs]
    if DAEMON in programs:
        targets.append(target(f"MiB resident of {DAEMON}", programs[DAEMON]["resident"] / 2**20, 20))
    return {"seconds": seconds, "tick_seconds": TICK, "programs": programs, "targets": targets}


def start_daemon(program, scratch, stack):
    os.makedirs(scratch, exist_ok=True)
    root = os.path.realpath(tempfile.mkdtemp(prefix="idle-", dir=scratch))
    stack.callback(remove, root)
    daemon = Daemon(program, os.path.join(root, "daemon"))
    stack.callback(daemon.stop)
    return daemon.process.pid


def observe(pids, seconds):
    """When threads were woken: (seconds since the start, thread, what it waits in, how often) for each program."""
    before = {name: processes.voluntary_switches(pid) for name, pid in pids.items()}
    woken = {name: [] for name in pids}
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        time.sleep(0.1)
        for name, pid in pids.items():
            counts = processes.voluntary_switches(pid)
            for thread, count in counts.items():
                # A new thread was woken as often as it has slept.
                if times := count - before[name].get(thread, 0):
                    woken[name].append((now, thread, processes.waits_in(pid, thread), times))
            before[name] = counts
    return woken


def told(woken, has_ticks, seconds):
    """Wake-ups at the ticks and others. The ticks' phase is the one with the most wake-ups."""
    phase, most = None, 0
    for start in {when for when, *_ in woken} if has_ticks else ():
        times = sum(times for when, _, _, times in woken if is_near(when, start))
        if times > most:
            phase, most = start, times
    others, places = collections.Counter(), {}
    for when, thread, place, times in woken:
        if phase is None or not is_near(when, phase):
            others[thread] += times
            places[thread] = place
    return {
        "ticks_expected": seconds // TICK if has_ticks else 0,
        "ticks_seen": len({round((when - phase) / TICK) for when, *_ in woken if is_near(when, phase)}) if most else 0,
        "tick_wakeups": most,
        "other_wakeups": sum(others.values()),
        "others": [{"thread": thread, "waits_in": places[thread], "wakeups": times}
                   for thread, times in others.most_common()],
    }


def is_near(when, phase):
    away = (when - phase) % TICK
    return min(away, TICK - away) <= NEAR
