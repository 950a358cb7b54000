#!/usr/bin/python3
"""Random worlds: file systems of all kinds, mounted here, there and twice, with the library, the inboxes and all else somewhere
on them; and random acts of people: photos come, cards are imported, former libraries are brought over, disks are unmounted,
swapped, emptied and restored, the catalogue is lost or old, there are two daemons. After every act a checker that knows every
content that ever came looks at all file systems past all mounts, and demands:

  lost          each content stands in a real file, unless somebody destroyed it knowingly
  twice         none was filed under two names, unless its first copy was away
  no-original   what is called a duplicate has an equal elsewhere
  below         nothing is written below a mount point whose disk is away
  struck        no command takes the record of a photo that stands in the library, be its disk away or not
  library-gone, catalogue-gone, damage-told, unseen, two-daemons
                status does not say that all is well while something is missing, or waits for nothing
  verify        verify does not say so either
  proposed      each command that is proposed can be run, and breaks none of these rules
  refused       the daemon starts where nothing is wrong; died, silent: it lives on and answers
  heals, stuck  once nothing is away, it files by itself, the lost catalogue has all photos again, and every whole photo is filed

usage: Campaigns/places.py [--worlds N] [--acts N] [--seed N] [--jobs N] [--only-kind KIND]… [--only-act ACT]… [--without RULE]…
                           [--short] [--go-on] [--shrink-for SECONDS] [--replay FILE] [--daemon FILE] [--tool FILE]

  --worlds     how many (200)
  --acts       how many in all worlds together (10,000)
  --only-kind  plain (no mounts: also for ordinary users), disks, overlay, fuse, nested
  --without    a rule that is not asked for; never asked for: damage-told
  --tool       the command-line program; photoinbox beside the daemon
  --go-on      counts violations by rule, and goes on
  --replay     a file that an earlier run has written of a violation: {"world": …, "acts": [[NAME, SEED], …]}

A violation is shrunk: acts are left out as long as the same rule is broken. Needs root, to mount; else only worlds without
mounts are tried. Exits with 1 if there was a violation.
"""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback

import commandline
import house as houses
import jobs
import places_acts
import places_disks
import places_troubles
from places_keeper import Violation
from places_layouts import LOCAL, WEAK
from places_world import World
from storm import SKIPPED, libc, mount, scratch

KINDS = {"plain": 4, "disks": 8, "overlay": 1, "fuse": 3, "nested": 3}
CLONE_NEWNS, CLONE_NEWPID, MS_REC_PRIVATE = 0x20000, 0x20000000, 0x4000 | 0x40000
HUNG = 900  # seconds for one world


# --- one trial, in its own namespace ---

@dataclasses.dataclass
class Result:
    """The result of a trial: the broken rule, if any, the lines of the performed acts, and the number of tries."""
    rule: str = None
    words: str = ""
    lines: list = dataclasses.field(default_factory=list)
    tried: int = 0
    done: int = 0
    said: list = dataclasses.field(default_factory=list)
    names: list = dataclasses.field(default_factory=list)
    log: str = ""
    spec: dict = None


def end_once(number, frame):
    """Ends this process cleanly; further signals are ignored."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


def trial(options, spec, acts, wanted=None, seconds=HUNG):
    """Makes the world and does the acts in it, until so many of them had something to do, in a process of its own; whatever is
    left of it goes when that ends."""
    top = tempfile.mkdtemp(prefix="world-", dir=options.scratch)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 1
        try:
            status = enter(options, spec, acts, wanted, top, write)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    data, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if not select.select([read], [], [], 1)[0]:
                continue
            more = os.read(read, 1 << 20)
            if not more:
                break
            data += more
        else:
            return Result("hung", f"it has not ended within {seconds} s")
        return Result(**json.loads(data)) if data else Result("campaign", "its process ended without a word")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        os.close(read)
        if not data:
            os.kill(child, signal.SIGTERM)
        end = time.monotonic() + 30
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.005)
        shutil.rmtree(top, ignore_errors=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end_once)


def enter(options, spec, acts, wanted, top, write):
    """Puts the trial into namespaces of mounts and of processes, where it may mount; the second ends all that it started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end_once)
    if not options.can_mount:
        return live(options, spec, acts, wanted, top, write)
    # PR_SET_PDEATHSIG. In good order, always: of what is killed here, kernels were seen to keep mounts and loop devices.
    libc.prctl(1, signal.SIGTERM)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID) != 0 or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
        raise OSError("no private namespaces")
    first = os.fork()
    if first:
        signal.signal(signal.SIGTERM, lambda number, frame: os.kill(first, signal.SIGTERM))
        return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    libc.prctl(1, signal.SIGTERM)
    mount("proc", "/proc", "proc")
    mount("tmpfs", top, "tmpfs", "size=2g,mode=755")
    try:
        return live(options, spec, acts, wanted, top, write)
    finally:
        with open("/proc/self/mounts", encoding="utf-8") as lines:
            below = [line.split()[1] for line in lines if line.split()[1].startswith(top)]
        for place in reversed(below):
            libc.umount2(os.fsencode(place), 2)


def live(options, spec, acts, wanted, top, write):
    """The trial itself: reports its result through the pipe."""
    world, result = World(spec, top, options, options.can_mount), {}
    lines, names, last, tried, at = [], [], [], 0, "start the daemon"
    try:
        world.begin()
        world.settle()
        world.found = world.standing()
        for name, seed in acts:
            if wanted is not None and len(lines) == wanted:
                break
            tried, at = tried + 1, name
            line = places_acts.perform(world, name, seed)
            if line is not None:
                lines.append(line)
                names.append(name)
        at = "put all right at the end"
        places_troubles.finish(world)
        for keeper in world.keepers.values():
            keeper.stop()
    except Violation as violation:
        result = {"rule": violation.rule, "words": violation.words.replace(top + "/", "")}
        last = [violation.line or at]
    except houses.Failed as failed:
        result = {"rule": "waits", "words": str(failed).replace(top + "/", "")}
    except Exception:
        result = {"rule": "campaign", "words": traceback.format_exc().replace(top + "/", "")}
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        world.close()
    log = ""
    if result:
        log = "\n".join(f"  {name}: {line}" for name, keeper in world.keepers.items() if os.path.exists(keeper.log)
                        for line in keeper.said().splitlines()[-options.tail:]).replace(top + "/", "")
    if result:
        result["said"] = world.said[-6:]
    answer = json.dumps({**result, "lines": lines + last, "tried": tried, "done": len(lines),
                         "names": names, "log": log, "spec": spec})
    with os.fdopen(write, "w") as out:
        out.write(answer)
    return 0


# --- many of them ---

def world_spec(options, number):
    rng = random.Random(f"{options.seed} {number}")
    kinds = {kind: weight for kind, weight in KINDS.items() if kind in options.only_kind}
    spec = {"kind": rng.choices(list(kinds), list(kinds.values()))[0], "seed": rng.randrange(1 << 32)}
    # A file on FUSE must be unchanged for half a minute before it is filed.
    return {**spec, "role": "library"} if options.short else spec


def shrunk(options, spec, acts, found):
    """The smallest found list of acts that breaks the same rule: (acts, result)."""
    end = time.monotonic() + options.shrink_for
    for few in (acts[-1:], acts[:1] + acts[-1:]):
        result = trial(options, spec, few, seconds=300)
        if result.rule == found.rule:
            return few, result
    size = max(1, len(acts) // 2)
    while size >= 1 and time.monotonic() < end:
        at, is_smaller = 0, False
        while at < len(acts) and time.monotonic() < end:
            fewer = acts[:at] + acts[at + size:]
            result = trial(options, spec, fewer, seconds=300)
            if result.rule == found.rule:
                acts, found, is_smaller = fewer, result, True
            else:
                at += size
        if size == 1 and not is_smaller:
            break
        size = size // 2 if size > 1 else 1 if is_smaller else 0
    return acts, found


def tell(options, spec, acts, found, number):
    """Shrinks and prints a violation, and saves it for a replay."""
    count = len(acts)
    acts = acts[:]
    if options.shrink_for > 0 and found.rule not in ("campaign", "hung"):
        acts, found = shrunk(options, spec, acts, found)
    directory = pathlib.Path(os.environ.get("PHOTOINBOX_CAMPAIGN_TOOLS", houses.ROOT / ".build/campaigns"))
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"places-{options.seed}-{number}.json"
    file.write_text(json.dumps({"world": spec, "acts": acts}), encoding="utf-8")
    shown = found.spec or spec
    lines = [f"VIOLATION in world {number} (--seed {options.seed}), of the rule {found.rule}:", f"  {found.words}",
             f"a world of kind {shown['kind']}" + "".join(f", {key} {shown[key]}" for key in shown if key not in ("kind", "seed"))
             + f"; {count} acts shrunk to {len(acts)}:"]
    lines += [f"  {index + 1}. {line}" for index, line in enumerate(found.lines)]
    lines += ["what was said:"] + ["  " + line for line in found.said]
    lines += ["the daemon's last words:", found.log, f"again: Campaigns/places.py --replay {file}"]
    print("\n".join(lines), flush=True)


def work(options, job, counts):
    """One job's share of the worlds; its status."""
    options.loops = 64 + 32 * job
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_once)
    per_world, more = divmod(options.acts, options.worlds)
    status = 0
    for number in range(job, options.worlds, options.jobs):
        if options.until and time.monotonic() > options.until:
            break
        spec, wanted = world_spec(options, number), per_world + (number < more)
        # Some acts have nothing to do in many worlds.
        acts = places_acts.draw(random.Random(f"acts {options.seed} {number}"), 3 * wanted + 10, options)
        result = trial(options, spec, acts, wanted)
        counts.add(worlds=1, acts=result.done, **collections.Counter(result.names))
        if result.rule:
            counts.add(violations=1)
            tell(options, spec, acts[:result.tried], result, number)
            status = 1
            if not options.go_on:
                break
    return 0 if options.go_on else status


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--acts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--only-kind", action="append", choices=KINDS)
    parser.add_argument("--only-act", action="append", choices=places_acts.ACTS)
    # Findings of verify are not in status yet.
    parser.add_argument("--without", action="append", default=["damage-told"])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--go-on", action="store_true")
    parser.add_argument("--shrink-for", type=float, default=180)
    parser.add_argument("--tail", type=int, default=12)
    parser.add_argument("--replay", type=pathlib.Path)
    parser.add_argument("--patience", type=float, default=houses.PATIENCE)
    parser.add_argument("--daemon")
    parser.add_argument("--tool")
    options = commandline.begin(parser, "places")
    options.tool = options.tool or str(pathlib.Path(options.daemon).with_name("photoinbox"))
    if not os.access(options.tool, os.X_OK):
        options.tool = houses.program("photoinbox")
    options.can_mount = os.geteuid() == 0
    options.loops = 64
    options.until = time.monotonic() + 25 if options.short else None
    options.only_kind = options.only_kind or list(KINDS)
    if not options.can_mount:
        print("skipped: needs root to mount: all worlds but plain ones")
        options.only_kind = [kind for kind in options.only_kind if kind == "plain"]
        if not options.only_kind:
            return SKIPPED
    why = places_disks.missing() if options.can_mount else {}
    for kind, reason in why.items():
        print(f"skipped: {reason}: worlds with {kind}")
    options.kinds_of_disks = [kind for kind in LOCAL + WEAK if (kind if kind in LOCAL else "fuse") not in why]
    options.has_fuse = "fuse" not in why
    options.only_kind = [kind for kind in options.only_kind if kind not in why]
    if options.short:
        options.worlds, options.acts = 40, 400
    begin, counts = time.monotonic(), jobs.Counts("worlds", "acts", "violations", *places_acts.ACTS)

    def so_far():
        return f"{counts.acts} acts in {counts.worlds} worlds, {counts.violations} violations"

    with scratch(houses.default_base()) as options.scratch:
        if options.replay:
            return replay(options)
        done = jobs.run(options.jobs, lambda job: work(options, job, counts), lambda: counts.acts, so_far)
    done_so_far = counts.all()
    print("done: " + ", ".join(f"{name} {done_so_far[name]}" for name in sorted(places_acts.ACTS)))
    print(f"places: {so_far()} ({'/'.join(options.only_kind)}), {time.monotonic() - begin:.0f} s")
    return 0 if done and not counts.violations else 1


def replay(options):
    """Repeats the acts of an earlier violation; the status."""
    saved = json.loads(options.replay.read_text(encoding="utf-8"))
    found = trial(options, saved["world"], [tuple(one) for one in saved["acts"]])
    print("\n".join([f"  {index + 1}. {line}" for index, line in enumerate(found.lines)] + found.said + [found.log]))
    print(f"VIOLATION of the rule {found.rule}:\n  {found.words}" if found.rule else "0 violations")
    return 1 if found.rule else 0


if __name__ == "__main__":
    sys.exit(main())
