#!/usr/bin/python3 -B
"""An hour with everything on: pictures, hooks, metrics, imports, dropped links, sets, duplicates, broken photos, requests,
clients good and bad, timers, dumps, and another configuration twice a minute. Prints by the minute what the daemon holds,
and judges it: what grows after the first quarter would fill the machine in a life of months. It begins with 2,500 photos.

usage: Campaigns/soak.py [--minutes N] [--plant leak] [--base DIR] [--seed N] [--patience SECONDS] [--daemon FILE]

  --minutes  how long (60); fewer than 8 are judged by the outcomes alone
  --plant    leak: one more directory in the inbox each minute, and so a watch that stays, which must be told
  --base     where (/dev/shm): all that is filed stays there until the end

In the last ten seconds of each minute nobody comes. Of descriptors, threads, watches, monitors and children the least then
counts: what is open for a moment is left out, and a leak raises the least. Of memory the median of the minute counts, of
the catalogue's WAL file the largest size. The last quarter is compared with the second by medians, by the least number of
threads, by the largest WAL.
At the end each photo must have exactly one outcome. Exits with 1 if there was a violation, with 2 if it was cut short.
"""
import collections
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import commandline
import house as houses
from soak_house import REST, Soak

sys.path.append(str(houses.ROOT / "Benchmarks"))
import processes  # noqa: E402

Measure = collections.namedtuple("Measure", "unit of_minute of_quarter tolerance why")
MIB, LEAST, PHOTOS = 1 << 20, 8, 2_500
MEASURES = {
    "memory": Measure(MIB, statistics.median, statistics.median, 2, "the allocator's free pages"),
    "decoder": Measure(MIB, max, statistics.median, 2, "the largest one's; they come and go"),
    "descriptors": Measure(1, min, statistics.median, 4, "a second decoder that waits has four"),
    "threads": Measure(1, min, min, 2, "libdispatch keeps idle ones for some seconds"),
    "watches": Measure(1, min, statistics.median, 0, "none is for a moment"),
    "monitors": Measure(1, min, statistics.median, 2, "a second decoder that waits has two"),
    "children": Measure(1, min, statistics.median, 1, "a decoder waits for half a minute before it ends"),
    "WAL": Measure(MIB, max, max, 0.1, "SQLite begins it anew after the commit that is past 1,000 pages"),
}
SHOWN = {**MEASURES, "private": MEASURES["memory"]}


def judge(minutes):
    """The values that grew after the first quarter, as sentences, from one value a minute by name; None if too few."""
    if len(minutes) < LEAST:
        return None
    quarter, grown = len(minutes) // 4, []
    for name, measure in MEASURES.items():
        before, after = (measure.of_quarter([minute[name] for minute in some])
                         for some in (minutes[quarter:2 * quarter], minutes[-quarter:]))
        if after > before + measure.tolerance:
            grown.append(f"{name} grew: {before:.2f} in the second quarter, {after:.2f} in the last; allowed are "
                         f"{measure.tolerance} more ({measure.why})")
    return grown


def held(pid):
    """A process's current resources. An inotify instance may have two descriptors with the same watches."""
    watches, children, decoder = set(), 0, 0
    descriptors = os.listdir(f"/proc/{pid}/fd")
    for number in descriptors:
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{number}") == "anon_inode:inotify":
                text = pathlib.Path(f"/proc/{pid}/fdinfo/{number}").read_text(encoding="ascii", errors="replace")
                watches.update(line for line in text.splitlines() if line.startswith("inotify "))
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split():
                children += 1
                if pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8").startswith("photoinbox-deco"):
                    decoder = max(decoder, processes.memory(child)["rss"])
    memory = processes.memory(pid)
    return {"memory": memory["rss"], "private": memory["private_dirty"], "decoder": decoder, "children": children,
            "descriptors": len(descriptors), "threads": processes.threads(pid), "watches": len(watches)}


def one_minute(house, number, begun):
    """Runs one minute; its values by name."""
    samples, log = [], house.places.catalogue + b"-wal"
    for second in range(60):
        house.act(number, second)
        house.collect()
        samples.append({**held(house.daemon.own_pid), "WAL": os.path.getsize(log)})
        time.sleep(max(0, begun + number * 60 + second + 1 - time.monotonic()))
    samples[-1]["monitors"] = len(json.loads(house.said("dump"))["monitors"])
    return {name: measure.of_minute([sample[name] for sample in samples[REST if measure.of_minute is min else 0:]
                                     if name in sample]) / measure.unit for name, measure in SHOWN.items()}


def run(house, count):
    """Runs the minutes, prints each, and returns the violations at the end."""
    minutes, begun = [], time.monotonic()
    print("minute  " + "  ".join(f"{name:>11}" for name in SHOWN) + "  (memory, decoder, WAL, private: MiB)", flush=True)
    for number in range(count):
        minutes.append(one_minute(house, number, begun))
        cells = (f"{value:11.2f}" if SHOWN[name].unit == MIB else f"{value:11g}" for name, value in minutes[-1].items())
        print(f"{number + 1:6}  " + "  ".join(cells), flush=True)
    if (late := time.monotonic() - begun - 60 * count) > 5:
        print(f"the machine was busy: {late:.0f} s late")
    outcomes = house.end()
    print(f"outcomes: {dict(outcomes)}\nanswers by status: {dict(sorted(house.statuses.items()))}", flush=True)
    return judge(minutes)


def main():
    arguments = commandline.parser(__doc__, jobs=1)
    arguments.add_argument("--minutes", type=int, default=60)
    arguments.add_argument("--plant", choices=["leak"])
    arguments.add_argument("--base", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    options = commandline.begin(arguments, "soak")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(2))
    house, grown = Soak(options), []
    try:
        house.begin()
        if options.minutes >= LEAST:
            house.fill(PHOTOS)
        grown = run(house, options.minutes)
    except (houses.Failed, OSError, subprocess.SubprocessError) as failure:
        house.wrong.append(str(failure))
        print(house.tail(60))
    except (KeyboardInterrupt, SystemExit):
        print("cut short: no verdict")
        return 2
    finally:
        house.abandon()
        house.remove()
    if grown is None:
        print("too few minutes to judge what grew")
    wrong = house.wrong + (grown or [])
    for line in wrong:
        print(f"VIOLATION: {line}")
    print(f"soak of {options.minutes} minutes: {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
