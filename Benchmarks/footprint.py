"""Time to start watching a deep tree, and memory per watched directory."""
import collections
import statistics

import processes
from figures import ratio, spread, target
from trees import DEEP, deep_tree, tree

NEEDED = DEEP + 1000
OURS = "photoinbox watch"


def watches_allowed():
    with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as text:
        return int(text.read())


def measure(session, watchers, wants_memory):
    """Both in the same runs; the results as `setup` and `memory` of the report."""
    able = [watcher for watcher in watchers if watcher.tells_ready]
    if len(able) != len(watchers):
        session.leave_out("fswatch in set-up and memory: it does not say when it watches, and it tells its own listing "
                          "of the tree as events, ten at a time")
    if watches_allowed() < NEEDED:
        session.leave_out(f"set-up and memory: fs.inotify.max_user_watches is {watches_allowed()}; {NEEDED} are needed")
        return {}
    wall, processor, resident, private, empty = (collections.defaultdict(list) for _ in range(5))
    with deep_tree() as deep, tree(0) as nothing:
        with able[0].watching(deep):
            pass  # so that no program is the first to read the tree
        for watcher in session.turns(able, "set-up"):
            name = watcher.name
            with session.attempt(f"set-up of {name}"):
                with watcher.watching(deep) as (pid, took):
                    processor[name].append(processes.processor_ns(pid))
                    wall[name].append(took)
                    after = idle_memory(pid) if wants_memory else None
                if wants_memory:
                    with watcher.watching(nothing) as (pid, _):
                        before = idle_memory(pid)
                    empty[name].append(before["rss"])
                    resident[name].append((after["rss"] - before["rss"]) / DEEP)
                    private[name].append((after["private_dirty"] - before["private_dirty"]) / DEEP)
    result = {"setup": setup_of(wall, processor)}
    if wants_memory:
        result["memory"] = memory_of(resident, private, empty)
    return result


def idle_memory(pid):
    processes.await_idle(pid)
    return processes.memory(pid)


def setup_of(wall, processor):
    wall, processor = ({name: spread(samples) for name, samples in of.items()} for of in (wall, processor))
    targets = [
        target("× floor", ratio(wall, OURS, "floor"), 1.2),
        target("× inotifywait", ratio(wall, OURS, "inotifywait"), 1.0),
    ]
    return {"directories": DEEP, "wall": wall, "processor": processor, "targets": list(filter(None, targets))}


def memory_of(resident, private, empty):
    each = {
        name: {**spread(samples), "private": statistics.median(private[name]), "empty": statistics.median(empty[name])}
        for name, samples in resident.items()
    }
    ours = each.get(OURS)
    targets = [target("bytes a directory", ours and ours["median"], 120)]
    return {"directories": DEEP, "resident": each, "targets": list(filter(None, targets))}
