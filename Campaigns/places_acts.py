"""What people do in a world of the campaign of places. Each act draws what it needs from numbers of its own, so that it is
the same act when others before it are left out; it says in a line what it did, or None where there was nothing to do.
Run nothing here by itself."""
import contextlib
import os
import random
import shutil
import time

import checker
import house as houses
from places_disks import Disk
from places_keeper import SLACK, Keeper, Violation

ACTS = {}


def act(weight, mounts=False):
    def add(function):
        ACTS[function.__name__.replace("_", "-")] = (function, weight, mounts)
        return function
    return add


def draw(rng, count, options):
    """`count` acts, as (name, seed)."""
    names = [name for name, (_, _, mounts) in ACTS.items()
             if (options.can_mount or not mounts) and name in (options.only_act or ACTS)]
    # A world without a photo tests nothing.
    chosen = ["drop"] + rng.choices(names, [ACTS[name][1] for name in names], k=count - 1)
    return [(name, rng.randrange(1 << 32)) for name in chosen]


def perform(world, name, seed):
    """Performs one act and the checks after it; its line, None if there was nothing to do."""
    line = None
    try:
        line = ACTS[name][0](world, random.Random(seed))
        if line is None:
            return None
        line = world.shown(line)
        world.check(line)
        if not world.is_nested and "proposed" not in world.options.without:
            follow(world, line)
    except Violation as violation:
        violation.line = line
        if violation.rule not in world.options.without:
            raise
        line = line or name
    return line


def follow(world, after):
    """Runs every proposed command, which must work and do no harm."""
    for words in world.proposed():
        key = (tuple(words), tuple(rule for rule, _ in world.ills()))
        if key in world.tried:
            continue
        world.tried.add(key)
        if words[0] == "rebuild" and world.keepers["one"].runs:
            continue  # The message says to stop the daemon first.
        line = f"{after}; then as proposed: photoinbox {' '.join(words)}"
        status, text = guarded(world, line, *words)
        if status == 64 and not any(word.isupper() for word in words):
            raise Violation("proposed", f"photoinbox {' '.join(words)} was proposed, and says: {text.strip()[-200:]}")
        world.check(line)


def guarded(world, what, *words):
    """A command that must not remove the record of a photo that exists at its recorded path, mounted or not."""
    keeper = world.keepers["one"]
    before = world.recorded_photos() if os.path.exists(keeper.catalogue) else {}
    world.found = world.standing()
    held = world.held(before)
    status, text = world.command(*words)
    after = world.recorded_photos()
    struck = held - set(after)
    if struck:
        first = sorted(struck)[0]
        raise Violation("struck", f"{len(struck)} records are gone of photos that stand in the library, as of {before[first]} "
                        f"({world.ledger[first].words}): {what} (status {status})")
    return status, text


# --- photos come ---

def put(world, path, content, words, is_whole=True):
    """Creates a file under its name only when it is complete, and enters it in the ledger; its hash."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        raise FileExistsError(path)
    aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.part")
    with open(aside, "wb") as file:
        file.write(content)
    digest = world.expect(content, f"{words} {world.shown(path)}", is_whole)
    os.rename(aside, path)
    return digest


def some_content(world, rng, known=0.3):
    """A photo, new or used before, possibly destroyed since."""
    entries = world.forgotten if rng.random() < 0.3 else world.ledger
    some = sorted(digest for digest, entry in entries.items() if entry.is_whole and entry.content.startswith(b"\xff\xd8"))
    if some and rng.random() < known:
        return entries[rng.choice(some)].content, "again"
    return world.new_photo(rng), "new"


def name_of(rng):
    return rng.choice(("IMG_0001.JPG", "IMG_0002.JPG", "img_0001.jpg", f"IMG_{rng.randrange(10_000):04}.JPG"))


@act(12)
def drop(world, rng):
    keeper = world.keepers["one"]
    name = rng.choice(sorted(keeper.inboxes))
    inbox, place = keeper.inboxes[name], world.places.get("inbox" if name == "a" else "inbox-b", (None, None))[1]
    if place and not world.leads(inbox, place):
        return None
    said = []
    try:
        for number in range(rng.choice((1, 1, 2, 4))):
            folder = rng.choice(("", "", "d1", "d2"))
            target = os.path.join(inbox, folder, name_of(rng))
            content, words = some_content(world, rng)
            kind = rng.random()
            if kind < 0.1:
                stem, members = os.path.splitext(target)[0], houses.raw_and_jpeg(rng.random())
                if any(os.path.exists(stem + ending) for ending in members):
                    continue
                for ending, part in members.items():
                    put(world, stem + ending, part, "of a set, dropped as", is_whole=ending != ".xmp")
                said.append(f"{world.shown(stem)} as RAW, JPEG and sidecar")
                continue
            if kind < 0.2:
                content, words = content[:-20], "cut"
            if os.path.exists(target):
                continue
            put(world, target, content, f"{words}, dropped as", is_whole=words != "cut")
            said.append(f"{world.shown(target)} ({words})")
    except OSError:
        if not said:
            return None  # The inbox is unmounted.
    # Some acts happen while the daemon works.
    if rng.random() < 0.8:
        world.settle()
    return f"drop {', '.join(said)}" if said else None


def fill(world, rng, directory):
    """Photos on a card or in an archive; their digests."""
    digests = []
    for number in range(rng.choice((1, 2, 4))):
        content, words = some_content(world, rng, known=0.4)
        path = os.path.join(directory, f"IMG_{number:04}.JPG")
        digests.append(put(world, path, content, f"{words}, put on"))
    return digests


def bring(world, rng, directory, moves):
    return world.command("import", directory, "--inbox", "a", *(["--move"] if moves else []))[0]


@act(6)
def import_card(world, rng):
    """Imports a card, which is erased if all was imported."""
    world.number += 1
    card = os.path.join(world.top, "b", f"card{world.number}")
    fill(world, rng, os.path.join(card, "DCIM"))
    moves = rng.random() < 0.4
    status = bring(world, rng, card, moves)
    erased = status == 0 and rng.random() < 0.7
    if erased:
        shutil.rmtree(card)
    world.settle()
    return (f"import {'--move ' if moves else ''}{card} (status {status})"
            + (", and it is erased, since all of it was imported" if erased else ""))


@act(3, mounts=True)
def card(world, rng):
    """A card that the daemon imports automatically; erased if it reports that all was imported."""
    keeper = world.keepers["one"]
    if not keeper.runs:
        return None
    disk = Disk(world.own, f"card{len(world.disks)}", "tmpfs")
    world.disks.append(disk)
    aside, place = os.path.join(world.top, "own", disk.name), os.path.join(world.top, "media", disk.name)
    disk.mount(aside)
    fill(world, rng, os.path.join(aside, "DCIM"))
    disk.unmount(aside)
    disk.mount(place)
    waiting, phase, seen = houses.Waiting("imported card", SLACK, first=0.05), None, None
    while waiting.left > 0 and phase not in ("imported", "incomplete", "stopped"):
        waiting.once()
        keeper.check_alive()
        state = keeper.state() or {}
        seen = next((card for card in state.get("cards", ()) if card["place"] == place), seen)
        phase = seen and seen["phase"]
        if any(problem["severity"] == "stopped" for problem in state.get("problems", ())) and waiting.left < SLACK - 3:
            break
    done = phase == "imported" and not seen["failed"] and not seen["leftOut"]
    if done:
        for target in list(disk.mounts):
            disk.unmount(target)
        disk.take_out(world.listed)
        disk.listing = {}
    else:
        with contextlib.suppress(OSError):
            disk.unmount(place)
    world.settle()
    return f"mount {place} ({phase}{', ' + seen.get('result', '') if seen else ''})" + (", and erase it" if done else "")


@act(4)
def import_former(world, rng):
    """Imports a former library into the current one."""
    formers = [(path, place) for path, place in world.formers if place != world.library and os.path.isdir(path)]
    if not formers:
        return None
    path, _ = rng.choice(formers)
    moves = rng.random() < 0.6
    status = bring(world, rng, path, moves)
    erased = status == 0 and not moves and rng.random() < 0.5
    if erased:
        # Except files that an import ignores: a sidecar without its photo.
        whole = {digest for digest, entry in world.ledger.items() if entry.is_whole}
        for found in checker.walk(os.fsencode(path)):
            with contextlib.suppress(OSError):
                if checker.file_hash(found.path) in whole:
                    os.unlink(found.path)
    world.settle()
    return f"import {'--move ' if moves else ''}{path} (status {status}), once the library" + (", and erase it" if erased else "")


@act(3)
def import_alias(world, rng):
    """Imports the library through another mount, or a directory above the places."""
    if not world.aliases:
        return None
    path = rng.choice(world.aliases)
    if not os.path.isdir(path):
        return None
    moves = rng.random() < 0.7
    status = bring(world, rng, path, moves)
    world.settle()
    return f"import {'--move ' if moves else ''}{path} (status {status}), where the library is mounted, too"


@act(2)
def by_hand(world, rng):
    """Photos are copied into the library by hand, and adopted."""
    if not world.leads_to_library():
        return None
    directory = os.path.join(world.library_path, rng.choice(("2019", "old/albums")))
    try:
        os.makedirs(directory, exist_ok=True)
        for _ in range(rng.choice((1, 2))):
            content, words = some_content(world, rng)
            path = os.path.join(directory, f"h{rng.randrange(10_000)}.jpg")
            digest = put(world, path, content, f"{words}, copied by hand to")
            world.ledger[digest].may_double = True
    except OSError:
        return None
    status, _ = guarded(world, "adopt", "adopt", rng.choice((world.library_path, directory)))
    return f"copy photos to {directory}, and adopt (status {status})"


# --- the commands of care ---

@act(2)
def adopt(world, rng):
    status, _ = guarded(world, "adopt", "adopt", world.library_path)
    return f"adopt {world.library_path} (status {status})"


@act(2)
def rebuild(world, rng):
    keeper = world.keepers["one"]
    keeper.stop()
    if world.has_copied:
        # Kept sources in an inbox are filed again: only the old catalogue knew them.
        world.settle_doubles()
    status, _ = guarded(world, "rebuild", "rebuild")
    start(world)
    return f"rebuild (status {status}), and start the daemon"


@act(2)
def verify(world, rng):
    status, text = world.command("verify", *(["--restart"] if rng.random() < 0.5 else []))
    world.found = world.standing()
    records = world.recorded_photos()
    gone = {digest for digest in records if digest in world.ledger and world.ledger[digest].is_whole} - world.held(records)
    if status == 0 and gone and world.leads_to_library() and not world.is_nested:
        raise Violation("verify", f"{len(gone)} photos are missing in the library, and verify is content: {text[-200:]}")
    if status == 3 and world.leads_to_library():
        world.damage |= gone
    return f"verify (status {status})"


@act(3)
def repair(world, rng):
    status, _ = guarded(world, "verify --repair", "verify", "--repair")
    if status == 64:
        status, _ = guarded(world, "verify --repair --yes", "verify", "--repair", "--yes")
    return f"verify --repair (status {status})"


@act(4)
def undo(world, rng):
    rows = world.rows()
    live = [] if rows is None else [row["id"] for row in rows.outcomes if row["outcome"] == "filed" and row["photo_id"] in
                                    {photo["id"] for photo in rows.photos}]
    if not live:
        return None
    number = rng.choice(live)
    status, _ = world.command("undo", str(number))
    # An undone photo is filed again when it arrives again.
    return f"undo {number} (status {status})"


def set_aside(world, *kinds):
    rows = world.rows()
    return [] if rows is None else [row for row in rows.outcomes if row["outcome"] in kinds and row["sha256"]]


@act(3)
def release(world, rng):
    some = set_aside(world, "quarantined")
    if not some:
        return None
    row = rng.choice(some)
    status, _ = world.command("release", str(row["id"]), *(["--as-is"] if rng.random() < 0.5 else []))
    world.settle()
    return f"release {row['id']} (status {status})"


@act(4)
def discard(world, rng):
    """Discards a file that was set aside, and waits until the trash is emptied. A quarantined file is lost by that, a duplicate
    is not: its photo is in the library."""
    some = set_aside(world, "quarantined", "duplicate")
    if not some:
        return None
    row = rng.choice(some)
    if row["outcome"] == "quarantined":
        world.forget(row["sha256"].hex())
    status, text = world.command("discard", str(row["id"]), "--yes")
    if status == 0 and world.keepers["one"].settings["trash"] == "1s" and rng.random() < 0.8:
        time.sleep(1.5)
    return f"discard {row['id']}, {row['outcome']} (status {status}), and wait until it has expired"


@act(1)
def retry(world, rng):
    status, _ = world.command("retry", "--all")
    world.settle()
    return f"retry --all (status {status})"


# --- the daemon ---

def start(world):
    """Starts the daemon. It may refuse only if there is a problem."""
    keeper = world.keepers["one"]
    if keeper.runs:
        return None
    said = keeper.start()
    if said and not world.ills() and not world.is_nested and world.everything_there():
        raise Violation("refused", f"the daemon refuses a world in good order: {said}")
    return said


@act(2)
def restart(world, rng):
    world.keepers["one"].stop()
    said = start(world)
    world.settle()
    return "restart the daemon" + (f", which refuses: {said[:100]}" if said else "")


@act(3)
def kill(world, rng):
    keeper = world.keepers["one"]
    if not keeper.runs:
        return None
    keeper.kill()
    said = start(world)
    world.settle()
    return "kill -9 the daemon, and start it" + (f", which refuses: {said[:100]}" if said else "")


@act(2)
def mode(world, rng):
    keeper = world.keepers["one"]
    now = "copy" if keeper.settings["mode"] == "move" else "move"
    keeper.settings["mode"] = now
    world.has_copied = True
    keeper.write()
    status, _ = world.command("reload")
    world.settle()
    return f'mode = "{now}", and reload (status {status})'


@act(3)
def another_library(world, rng):
    """Configures another library: a former one or a new one."""
    if world.is_nested or world.undo_away or not world.leads_to_library():
        return None
    keeper = world.keepers["one"]
    formers = [(path, place) for path, place in world.formers if place != world.library and os.path.isdir(path)]
    if formers and rng.random() < 0.4:
        path, place = rng.choice(formers)
    else:
        world.number += 1
        disk = world.some_disk(rng) if world.spec["kind"] == "disks" else world.base
        path, place = world.directory(disk, f"lib{world.number}")
    if not world.leads_to_library() or keeper.at["quarantine"].startswith(path):
        return None
    world.formers.append((world.library_path, world.library))
    keeper.at["library"], world.library_path, world.library = path, path, place
    world.copies, world.recorded, world.aliases, world.spares = [], set(), [], []
    world.pending_catalogue, world.damage = None, set()
    if rng.random() < 0.5 and keeper.runs:
        keeper.write()
        how = f"reload (status {world.command('reload')[0]})"
        if "status 0" not in how:
            keeper.stop()
            start(world)
            how += ", restart"
    else:
        keeper.stop()
        start(world)
        how = "restart"
    world.settle()
    return f"library = {path}, and {how}"


@act(2)
def second_daemon(world, rng):
    """A second daemon on the same inbox and library, with its own state."""
    keeper = world.keepers["one"]
    if "two" in world.keepers or not keeper.runs or world.is_nested or keeper.problems():
        return None
    two = Keeper(world, "two")
    two.at = dict(keeper.at, state=os.path.join(world.top, "b", "state-two"))
    two.inboxes, two.settings = dict(keeper.inboxes), dict(keeper.settings)
    os.makedirs(two.at["state"], exist_ok=True)
    if world.aliases and rng.random() < 0.5:
        alias = rng.choice(world.aliases)
        # After a swap of disks it is another directory.
        two.at["library"] = alias if world.leads(alias, world.library) else world.library_path
    refused = two.start()
    if refused:
        return f"start a second daemon, which refuses: {refused[-150:]}"
    world.keepers["two"] = two
    try:
        photos = [world.new_photo(rng) for _ in range(rng.choice((2, 6)))]
        for content in photos:
            path = os.path.join(two.inboxes["a"], f"two{rng.randrange(100_000)}.jpg")
            put(world, path, content, "new, for two daemons dropped as")
        world.settle()
        waiting = houses.Waiting("word of two daemons", 12, first=0.05)
        while "two-daemons" not in world.options.without:
            both = [world.command("status", keeper=name)[0] for name in ("one", "two")]
            if any(both):
                break
            if waiting.left <= 0:
                raise Violation("two-daemons", "two daemons have one library and one inbox, and both call it well")
            waiting.once()
    finally:
        del world.keepers["two"]
        two.stop()
    return "start a second daemon on the same library and inbox, drop photos, and stop it"
