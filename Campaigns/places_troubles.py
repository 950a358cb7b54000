"""What goes wrong in a world of the campaign of places, by people's doing: the library is away, another or empty, the catalogue
is lost, somebody else is at work. See places_acts.py; run nothing here by itself."""
import contextlib
import hashlib
import os
import random
import shutil
import time

import checker
import house as houses
from places_acts import act, drop, put, start
from places_keeper import Place, Violation


# --- the library changes ---

def everybody_waits(world):
    """While the library is away all of it may come twice; and where nothing was filed yet, whatever lies there is the library."""
    world.settle()
    world.found = world.standing()
    if not world.recorded_photos():
        world.was_changed = True
    for digest in world.held_now():
        world.ledger[digest].may_double = True


@act(4)
def library_moved(world, rng):
    """Renames the library's directory, and possibly creates an empty one in its place."""
    if world.undo_away or not world.leads_to_library() or world.library_path in world.mount_points():
        return None
    away = world.library_path + ".away"
    if os.path.exists(away):
        return None
    everybody_waits(world)
    os.rename(world.library_path, away)
    path, place = world.library_path, world.library
    world.library = Place(place.disk, place.relative + ".away")
    is_replaced = rng.random() < 0.6
    if is_replaced:
        os.mkdir(path)

    def back():
        if os.path.isdir(path):
            leave_empty(world, path)
        os.rename(away, path)
        world.library = place
        return f"rename {away} to {path} again"
    world.undo_away = back
    return f"rename {path} to {away}" + (", and make an empty directory there" if is_replaced else "")


def leave_empty(world, path):
    """Removes a directory; files in it are moved to a known place."""
    try:
        os.rmdir(path)
    except OSError:
        world.number += 1
        os.rename(path, f"{path}.strange{world.number}")


def taken_down(world, disk):
    """Unmounts a disk, with what is mounted on it. Where the daemon has something open there, it is stopped first: what was done
    besides, None if it cannot be unmounted even so."""
    everybody_waits(world)
    for words in ("", "stop the daemon, "):
        if words:
            world.keepers["one"].stop()
        try:
            for target in list(world.inner.mounts) if world.inner else ():
                world.inner.unmount(target)
            for alias in world.aliases:
                if alias not in disk.mounts:
                    world.unbind(alias)
            for target in reversed(list(disk.mounts)):
                disk.unmount(target)
            return words
        except OSError:
            continue
    return None


def started(world, words):
    """Restarts the daemon if it was stopped; that in words."""
    if not words:
        return ""
    said = start(world)
    return ", and start it" + (f", which refuses: {said[:100]}" if said else "")


def is_there(world, disk):
    return not world.undo_away and disk is not world.base and disk.mounts


@act(5, mounts=True)
def library_unmounted(world, rng):
    disk = world.library.disk
    if not is_there(world, disk):
        return None
    targets = list(disk.mounts)

    def back():
        for target in targets:
            if target not in disk.mounts:
                disk.mount(target)
        world.bind_again()
        return f"mount {disk.name} again"
    world.undo_away = back
    words = taken_down(world, disk)
    if words is None:
        return None
    return f"{words}unmount {disk.name}, on which the library is" + started(world, words)


@act(5, mounts=True)
def disks_swapped(world, rng):
    """Replaces the library's disk by another, with the same device and mount point."""
    disk = world.library.disk
    if not is_there(world, disk) or not world.spares:
        return None
    other, targets = world.spares[0], list(disk.mounts)

    def back():
        words = ""
        if other.mounts:
            try:
                other.take_out(world.listed)
            except OSError:
                words = "stop the daemon, "
                world.keepers["one"].stop()
                other.take_out(world.listed)
        for target in targets:
            if target not in disk.mounts:
                disk.mount(target)
        world.bind_again()
        return f"{words}put {disk.name} in again"
    world.undo_away = back
    words = taken_down(world, disk)
    if words is None:
        return None
    disk.take_out(world.listed)
    other.loops = disk.loops
    other.mount(targets[0])
    with contextlib.suppress(OSError):
        os.makedirs(world.library_path, exist_ok=True)
    return f"{words}put {other.name}, another {disk.kind}, where {disk.name} with the library was" + started(world, words)


@act(2, mounts=True)
def inner_unmounted(world, rng):
    """Unmounts only the disk inside the library."""
    if world.undo_away or not world.inner or not world.inner.mounts or world.library != world.places["library"][1]:
        return None
    target = world.inner.mounts[0]
    everybody_waits(world)
    try:
        world.inner.unmount(target)
    except OSError:
        return None

    def back():
        world.bind_again()
        return f"mount {world.inner.name} again"
    world.undo_away = back
    return f"unmount {world.inner.name}, which was mounted within the library at {target}"


@act(4, mounts=True)
def place_unmounted(world, rng):
    """Unmounts the disk of another place."""
    if world.undo_away or world.is_nested:
        return None
    disks = {place.disk: role for role, (_, place) in sorted(world.places.items())
             if place.disk not in (world.base, world.library.disk) and place.disk.mounts and role != "state"}
    if not disks:
        return None
    disk = rng.choice(sorted(disks, key=lambda disk: disk.name))
    target = disk.mounts[0]
    try:
        disk.unmount(target)
    except OSError:
        return None
    if rng.random() < 0.6 and disks[disk] != "inbox":
        # New files would be written there.
        drop(world, rng)

    def back():
        disk.mount(target)
        return f"mount {disk.name} again"
    world.undo_away = back
    return f"unmount {disk.name}, on which {disks[disk]} is, and drop photos"


@act(2)
def library_emptied(world, rng):
    """Deletes some or all photos of the library."""
    if not world.leads_to_library():
        return None
    world.settle()
    world.found = world.standing()
    files = []
    for below, _, names in os.walk(world.library_path):
        files += [os.path.join(below, name) for name in names]
    files.sort()
    if not files:
        return None
    chosen = files if rng.random() < 0.4 else rng.sample(files, max(1, len(files) // 3))
    for file in chosen:
        try:
            os.unlink(file)
        except OSError:
            return None
    world.settle_destroyed()
    return f"delete {len(chosen)} of the library's {len(files)} files"


@act(2)
def library_copied(world, rng):
    """Copies the library as a backup."""
    if not world.leads_to_library() or world.undo_away:
        return None
    world.number += 1
    copy = os.path.join(world.top, "b", f"backup{world.number}")
    world.settle()
    shutil.copytree(world.library_path, copy, ignore=shutil.ignore_patterns(".photo-inbox-*"))
    world.copies.append(copy)
    return f"copy the library to {copy}"


@act(3)
def library_restored(world, rng):
    """Renames the library and puts a backup in its place."""
    if not world.copies or world.undo_away or not world.leads_to_library() or world.library_path in world.mount_points():
        return None
    if world.inner:
        return None  # It would be renamed, too.
    copy = rng.choice(world.copies)
    away = f"{world.library_path}.before{world.number}"
    world.number += 1
    world.settle()
    everybody_waits(world)
    os.rename(world.library_path, away)
    shutil.copytree(copy, world.library_path)
    world.excused |= set(world.ledger)
    world.was_changed = True
    # Half of the last filed photos satisfy the guard; otherwise the owner confirms the library.
    world.recorded, keeper, words = set(), world.keepers["one"], ""
    if any(problem["code"] == "PI-406" for problem in keeper.problems()):
        world.accept()
        words = ", and say that this is the library"
    return f"rename {world.library_path} to {away}, and copy {copy} there{words}"


@act(2, mounts=True)
def read_only(world, rng):
    disk = world.library.disk
    if world.undo_away or disk is world.base or not disk.mounts or disk.is_fuse:
        return None
    target = disk.mounts[0]
    disk.set_read_only(target, True)

    def back():
        disk.set_read_only(target, False)
        return f"make {target} writable again"
    world.undo_away = back
    return f"make {target} read-only"


@act(8)
def mend(world, rng):
    """Restores what is missing."""
    if world.undo_away is None and world.keepers["one"].runs:
        return None
    words = []
    if world.undo_away:
        back, world.undo_away = world.undo_away, None
        words.append(back())
    if not world.keepers["one"].runs:
        words.append("start the daemon")
        if start(world) and world.ills():
            words.append(f"rebuild (status {world.command('rebuild')[0]}), and start it")
            start(world)
    heal(world)
    world.settle()
    return ", ".join(words)


def heal(world):
    """Where nothing is wrong any more but that the catalogue was lost, filing goes on by itself, and all is recorded again."""
    keeper = world.keepers["one"]
    waiting = houses.Waiting("healed daemon", 30, first=0.02)
    while keeper.runs and not world.is_nested:
        stopped = [problem for problem in keeper.problems() if problem["severity"] == "stopped"]
        ills = world.ills()
        if any(rule != "catalogue-gone" for rule, _ in ills) or not stopped and not ills:
            return
        if stopped and stopped[0]["code"] == "PI-406" and (world.was_changed or not world.held_now()):
            # Too many of the last filed photos were deleted, or the catalogue was lost and there is nothing to recognise
            # the library by.
            world.accept()
            world.was_changed = False
        if waiting.left <= 0:
            said = f"filing stays stopped: {stopped[0]['code']} {world.shown(stopped[0]['what'])}" if stopped else ills[0][1]
            raise Violation("heals", f"nothing is away any more, and {said}")
        waiting.once()


def finish(world):
    """The end of every world: all is restored, and then every whole photo must be filed."""
    mend(world, random.Random(0))
    heal(world)
    keeper = world.keepers["one"]
    if not keeper.runs or world.is_nested or world.has_copied or keeper.problems() or world.ills():
        return
    waiting = houses.Waiting("filed photos", 75 if world.places["inbox"][1].disk.is_fuse else 25, first=0.05)
    while True:
        left = world.whole(world.waiting_files(keeper))
        if not left or keeper.problems():
            return
        if waiting.left <= 0:
            file = sorted(left)[0]
            raise Violation("stuck", f"{world.shown(file)} ({world.ledger[checker.file_hash(file)].words}) is not filed: "
                            f"{[one['what'] for one in keeper.state()['inHand']][:2]}")
        keeper.ask("rescan", all=True)
        keeper.ask("retry", all=True)
        waiting.once()


# --- the catalogue changes ---

@act(1)
def catalogue_copied(world, rng):
    keeper = world.keepers["one"]
    if not os.path.exists(keeper.catalogue):
        return None
    keeper.stop()
    world.number += 1
    copy = os.path.join(world.own, f"catalogue{world.number}")
    shutil.copyfile(keeper.catalogue, copy)
    world.old_catalogue = copy
    start(world)
    return "stop the daemon, copy the catalogue, start it"


@act(4)
def catalogue_lost(world, rng):
    """The catalogue is removed, or another put in its place: an empty one, or yesterday's; under the daemon or while it rests."""
    keeper = world.keepers["one"]
    if world.pending_catalogue is not None or not os.path.exists(keeper.catalogue) or world.is_nested:
        return None
    world.settle()
    world.found = world.standing()
    records = world.recorded_photos()
    held = world.held(records)
    how = rng.choice(["removed", "removed", "emptied"] + (["old"] if world.old_catalogue else []))
    is_running = keeper.runs and rng.random() < 0.6
    if keeper.runs and not is_running:
        keeper.stop()
    for digest in world.ledger if world.has_copied else held:
        world.ledger[digest].may_double = True
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(keeper.catalogue + ending)
    if how == "emptied":
        open(keeper.catalogue, "wb").close()
    elif how == "old":
        shutil.copyfile(world.old_catalogue, keeper.catalogue)
    if is_running or how != "old":
        world.pending_catalogue = held
    world.has_forgotten = world.has_forgotten or world.undo_away is not None
    if not world.leads_to_library() and world.whole(found.path for found in checker.walk(os.fsencode(world.library_path))
                                                    if found.is_regular):
        # Nothing records any more that these photos are not the library's.
        world.recorded, world.was_changed, world.pending_catalogue = set(), True, None
        world.settle_doubles()
    words = {"removed": "remove the catalogue", "emptied": "put an empty file in the catalogue's place",
             "old": "put an old copy in the catalogue's place"}[how]
    if not is_running:
        start(world)
    return f"{words}, {'under the daemon' if is_running else 'while it is stopped, and start it'}"


# --- concurrent changes by others ---

@act(2, mounts=True)
def saved_meanwhile(world, rng):
    """Another machine saves a photo again, by its name, in the moment before the daemon removes it. Where renames know no flags."""
    keeper = world.keepers["one"]
    place = world.places["inbox"][1]
    disk = place.disk
    if disk.kind not in ("no-flags", "bare") or not keeper.runs or keeper.settings["mode"] != "move" or not disk.mounts:
        return None
    first, second = world.new_photo(rng), world.new_photo(rng)
    path = os.path.join(keeper.inboxes["a"], f"SAVED{rng.randrange(10_000)}.JPG")
    put(world, path, first, "new, dropped as")
    keeper.ask("rescan", all=True)
    # On FUSE a complete file must be unchanged for half a minute before it is filed.
    digest, end, name = hashlib.sha256(first).hexdigest(), time.monotonic() + 45, None
    while name is None and time.monotonic() < end:
        name = disk.caught("unlink", end - time.monotonic())
        if name is not None and not any(one.disk is not disk for one in world.standing()[digest]):
            disk.release()
            name = None
    if name is not None:
        behind = os.path.join(disk.place, place.relative, os.path.basename(path))
        is_there = os.path.exists(behind)
        world.expect(second, f"saved over {world.shown(path)} while it was removed")
        with open(behind, "wb") as file:
            file.write(second)
    disk.release()
    world.settle()
    return None if name is None else f"another machine saves {path} again just before it is removed" + ("" if is_there else ", as a new file")


@act(2, mounts=True)
def named_meanwhile(world, rng):
    """Another machine uses the name that the daemon is about to use, on a server without exclusive renames."""
    keeper = world.keepers["one"]
    disk = world.library.disk
    if disk.kind not in ("liar",) or not keeper.runs or not world.leads_to_library():
        return None
    content, other = world.new_photo(rng), world.new_photo(rng)
    path = os.path.join(keeper.inboxes["a"], f"RACE{rng.randrange(10_000)}.JPG")
    put(world, path, content, "new, dropped as")
    name = disk.caught("rename", 5)
    if name is not None:
        world.expect(other, f"put as {name} on {disk.name} by another machine")
        with open(os.path.join(disk.place, name), "xb") as file:
            file.write(other)
    disk.release()
    world.settle()
    return None if name is None else f"another machine makes {name} on {disk.name} while the daemon gives this name"
