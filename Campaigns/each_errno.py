#!/usr/bin/python3
"""Lets the Nth system call that touches the places fail with each errno that it may have, once, or from then on until it
is healed, or lets a copy be made that was not; the daemon must come to a state in which the checker finds nothing, by
itself, within 60 s of the healing.

usage: Campaigns/each_errno.py [--faults N] [--errno NAME]... [--scenario NAME]... [--lasting | --once] [--at N]
                               [--seed N] [--jobs N] [--first] [--patience SECONDS] [--daemon FILE]

  --faults   how many are to fire (2,000)
  --errno    only these
  --at       only this call; prints what the daemon logged
  --jobs     how many daemons at once (24): most of them wait most of the time
  --first    ends at the first violation
  --patience seconds until healed (60)

Which calls an errno may strike is in the table of this file. A lasting one is healed after a second. Prints for each
errno how many were fired and healed, and how long that took, and exits with 1 if one was not.
"""
import collections
import concurrent.futures
import dataclasses
import random
import sys
import time

import checker
import house as houses
import commandline
import scenarios
from house import Failed, Fault

CREATE = "create,mkdirat,mkdir,linkat,link,renameat2,renameat,rename"
WRITE = "write,pwrite64,writev,pwritev,copy_file_range,clone,fallocate,ftruncate"
SYNC = "fsync,fdatasync"
REMOVE = "unlinkat,unlink,rmdir"
CHANGE = "fchmod,fchown,utimensat,fchmodat,fchownat,chmod,chown"
OPEN = "openat,open,openat2"
LOOK = "fstat,newfstatat,stat,lstat,statx,getdents64,fstatfs,readlinkat"
READ = "read,pread64"

# errno → calls that may fail with it, without impossible combinations (that an existing photo does not
# exist).
TABLE = {
    "ENOSPC": ",".join((CREATE, WRITE, SYNC)),
    "EDQUOT": ",".join((CREATE, WRITE, SYNC)),
    "EROFS": ",".join((CREATE, REMOVE, CHANGE)),
    "EIO": ",".join((CREATE, WRITE, SYNC, REMOVE, CHANGE, OPEN, LOOK, READ)),
    "EACCES": ",".join((CREATE, REMOVE, CHANGE, OPEN)),
    "EPERM": ",".join((CREATE, REMOVE, CHANGE)),
    "EMFILE": OPEN,
    "ENFILE": OPEN,
    "ENOMEM": ",".join((CREATE, WRITE, REMOVE, OPEN, LOOK, READ)),
    "EINTR": ",".join((WRITE, SYNC, OPEN, READ)),
    "ENOENT": "create,mkdirat,mkdir,linkat,link",
    "EBUSY": ",".join((CREATE, REMOVE)),
    "ESTALE": ",".join((CREATE, SYNC, REMOVE, CHANGE, OPEN, LOOK)),
    "ENOLCK": "fcntl",
    "EAGAIN": "fcntl",
    "EINVAL": "renameat2,copy_file_range,clone",
    "EXDEV": "renameat2,linkat,copy_file_range,clone",
    # Not an errno: the call reports success without effect.
    "LIE": "copy_file_range,clone,pwrite64",
    "EOPNOTSUPP": "create,copy_file_range,clone,fallocate,linkat",
}
# Never lasting: it means that a retry may succeed, or nothing could be done about it.
PASSING = ("EINTR", "LIE")
SCENARIOS = ("lone", "collision", "duplicate", "quarantine", "across", "named", "sets")


@dataclasses.dataclass
class Result:
    fired: tuple = None
    wrong: list = dataclasses.field(default_factory=list)
    log: str = ""
    seconds: float = 0
    restarts: int = 0


def trial(scenario, error, lasting, at, options):
    house = scenario.build(options.daemon)
    result = Result()
    try:
        fault = Fault(at=at, error=error, lasting=lasting, calls=TABLE[error])
        if error == "LIE":
            # The catalogue cannot be checked if its device lies.
            fault = Fault(at=at, lies=True, calls=TABLE[error], under=(house.places.library.decode(),))
        try:
            strike(scenario, house, fault, result)
        except (Failed, RuntimeError) as failure:
            result.wrong.append(str(failure))
        if result.wrong or options.at:
            result.log = house.tail(80)
        return result
    finally:
        house.remove()


def loosened(house):
    """Sources that cannot be removed may stay: "filed, source kept"."""
    for photo in house.manifest.photos.values():
        if photo["stays"] == "no":
            photo["stays"] = "may"


def strike(scenario, house, fault, result):
    """Restarts the daemon after each end, with a delay, as a service manager does."""
    if not scenario.live:
        scenario.drops(house)
    has_dropped = not scenario.live
    loosened(house)
    began = time.monotonic()
    healed = None
    while True:
        daemon = house.start(fault)
        try:
            is_up = daemon.wait_ready()
            if not has_dropped:
                scenario.drops(house)
                has_dropped = True
                loosened(house)
            if fault and fault.lasting:
                # Until it is struck or idle.
                deadline = time.monotonic() + 3
                while not daemon.fired() and not daemon.has_ended() and time.monotonic() < deadline:
                    if house.has_settled() and not house.looked():
                        break
                    time.sleep(0.01)
                if daemon.fired():
                    time.sleep(1)
                if not daemon.has_ended():
                    daemon.heal()
            healed = healed or time.monotonic()
            if is_up and house.settle(daemon):
                result.seconds = time.monotonic() - healed
                result.fired = result.fired or daemon.fired()
                if house.wait_idle(daemon) and not daemon.has_ended():
                    daemon.process.terminate()
                    status = daemon.end()
                    if status != 0:
                        result.wrong.append(f"it ended with status {status} after SIGTERM")
                break
            # It ended by itself: it must have reported why.
            status = daemon.end()
            result.fired = result.fired or daemon.fired()
            if status not in (71, 73, 78, 70):
                result.wrong.append(f"it ended with status {status}")
                return
        finally:
            result.fired = result.fired or daemon.fired()
            daemon.abandon()
        fault = None
        result.restarts += 1
        if result.restarts > 3 or time.monotonic() - began > 2 * houses.PATIENCE:
            result.wrong.append("it does not stay up")
            return
    if result.fired:
        result.wrong += scenarios.recover(house)


class Tally:
    def __init__(self):
        self.fired, self.healed, self.restarts = collections.Counter(), collections.Counter(), 0
        self.longest = collections.Counter()
        self.wrong = 0


def main():
    arguments = commandline.fault_parser(__doc__, jobs=24)
    arguments.add_argument("--faults", type=int, default=2_000)
    arguments.add_argument("--errno", action="append")
    arguments.add_argument("--lasting", action="store_true")
    arguments.add_argument("--once", action="store_true")
    if not (options := commandline.begin(arguments, "errno", traces=True)):
        return 0
    tally = Tally()
    numbers = random.Random(options.seed)
    began = time.monotonic()
    over = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        points = drawn(options, numbers, over)
        waiting = {}
        exhausted, printed = False, 0
        while True:
            exhausted = exhausted or options.first and tally.wrong > 0
            while not exhausted and len(waiting) < options.jobs and sum(tally.fired.values()) < options.faults:
                point = next(points, None)
                exhausted = point is None
                if point:
                    waiting[pool.submit(trial, *point, options)] = point
            if not waiting:
                break
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                point = waiting.pop(future)
                take(point, future.result(), tally, over, options)
                if (fired := sum(tally.fired.values())) // 200 > printed:
                    printed = fired // 200
                    print(f"  {fired} fired, {tally.wrong} violations, {time.monotonic() - began:.0f} s", flush=True)
    for error in TABLE:
        if tally.fired[error]:
            print(f"{error}: {tally.fired[error]} fired, {tally.healed[error]} healed, "
                  f"the slowest after {tally.longest[error]:.1f} s")
    fired = sum(tally.fired.values())
    print(f"{fired} faults fired, {sum(tally.healed.values())} healed, {tally.restarts} of them with a restart, "
          f"{tally.wrong} violations, {time.monotonic() - began:.0f} s")
    return 1 if tally.wrong else 0


def drawn(options, numbers, over):
    """Points to strike: each line (scenario, errno, kind) in turn, at the next of its calls; a line is over when a call
    was not reached."""
    chosen = [each for each in scenarios.ALL if each.name in (options.scenario or SCENARIOS) and not each.needs()]
    kinds = [False] * (not options.lasting) + [True] * (not options.once)
    lines = [(scenario, error, lasting) for scenario in chosen for error in (options.errno or TABLE)
             for lasting in kinds if not (lasting and error in PASSING)]
    numbers.shuffle(lines)
    if options.at:
        for line in lines:
            yield *line, options.at
        return
    # From a random place in a line, so that a campaign of few faults does not only strike at start-ups.
    order = {index: numbers.sample(range(1, 161), 160) for index in range(len(lines))}
    for turn in range(160):
        for index, (scenario, error, lasting) in enumerate(lines):
            at = order[index][turn]
            if at < min((limit for name, limit in over if name == (scenario.name, error, lasting)), default=1 << 30):
                yield scenario, error, lasting, at


def take(point, result, tally, over, options):
    scenario, error, lasting, at = point
    if not result.fired:
        # Calls after one that was not reached are probably not reached either.
        over.add(((scenario.name, error, lasting), at + 8))
    else:
        tally.fired[error] += 1
        tally.restarts += bool(result.restarts)
        if not result.wrong:
            tally.healed[error] += 1
            tally.longest[error] = max(tally.longest[error], result.seconds)
    if result.wrong:
        tally.wrong += 1
        where = f"{result.fired[1]} {result.fired[2]}" if result.fired else "not struck"
        print(f"VIOLATION {scenario.name}, {error} {'lasting' if lasting else 'once'}, call {at} ({where}):")
        for line in result.wrong[:12]:
            print(f"  {line}")
        print(result.log, flush=True)
    elif options.at:
        print(f"{scenario.name}, {error}, {result.fired}: healed after {result.seconds:.1f} s, "
              f"{result.restarts} restarts\n{result.log}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
