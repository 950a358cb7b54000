"""A world for the campaign of places: its file systems, places and daemons, and the ledger of
every content that was ever put there. Run nothing here by itself."""
import collections
import hashlib
import os
import random
import re
import stat
import subprocess
import time
import types

import checker
import house as houses
from places_disks import Disk, bind
from places_keeper import SLACK, Entry, Violation
from places_layouts import Layouts
from storm import jpeg, unmount

TOLD_WITHIN = 12  # seconds; the promise is 10
TAKES_A_WORD = {"list": 0, "verify": 0, "status": 0, "dump": 0, "thumbs": 0, "reload": 0, "rebuild": 0, "rescan": 0,
                "explain": 1, "show": 1, "resume": 1, "retry": 1, "adopt": 1, "log": 1}
PROPOSED = re.compile(r"\bphotoinbox ((?:" + "|".join(TAKES_A_WORD) + r")\b[^\n\"]*)")


Standing = collections.namedtuple("Standing", "disk path inode")


class World(Layouts):
    """The environment of a trial, below `top`, described by `spec`."""

    def __init__(self, spec, top, options, can_mount):
        self.spec, self.top, self.options, self.can_mount = spec, top, options, can_mount
        self.program, self.tool = options.daemon, options.tool
        self.own = os.path.join(top, "own")
        self.ledger, self.forgotten = {}, {}
        self.sizes = collections.Counter()
        self.disks, self.spares, self.formers, self.aliases = [], [], [], []
        self.bare = {}  # mount points on the base disk: path → expected disk
        self.excused, self.recorded, self.pending_catalogue = set(), set(), None
        self.damage = set()  # photos reported missing by verify
        self.inner = None  # a disk mounted inside the library
        self.known_duplicates, self.seen_hashes = set(), {}
        self.number = 0
        self.undo_away = None  # restores the library
        self.copies = []  # of the library: (place, digests)
        self.old_catalogue = None
        self.is_nested = self.has_copied = self.was_changed = False
        self.has_forgotten = False  # whether the catalogue was lost while a place's disk was missing
        self.keepers = {}
        self.proposals, self.tried = [], set()
        self.said = []
        for name in ("own", "own/disks", "own/traps", "run", "b", "m", "media", "alias"):
            os.makedirs(os.path.join(top, name))
        self.base = Disk(self.own, "base", "base")
        self.base.adopt_base(top, can_mount)
        self.disks.append(self.base)

    def begin(self):
        """Builds the rest and starts the daemon."""
        self.build(random.Random(self.spec["seed"]))

    # --- the ledger ---

    def expect(self, content, words, is_whole=True):
        """From now on this content must exist."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self.ledger:
            self.ledger[digest] = Entry(content, words, is_whole)
            self.ledger[digest].may_double = digest in self.forgotten
            self.sizes[len(content)] += 1
        return digest

    def forget(self, digest):
        """A person deliberately destroyed what may be the last copy."""
        if entry := self.ledger.pop(digest, None):
            self.sizes[len(entry.content)] -= 1
            self.forgotten[digest] = entry

    def new_photo(self, rng, size=None):
        return jpeg(rng, size or rng.choice((800, 2_000, 6_000, 20_000)), comment=rng.randbytes(16))

    def standing(self):
        """digest → every real file with it, each once, independent of mounts and links."""
        found = collections.defaultdict(list)
        for disk in self.disks:
            if disk.view is not None:
                disk.listing = self.listed(disk)
            for (inode, digest), path in disk.listing.items():
                found[digest].append(Standing(disk, path, inode))
        return found

    def listed(self, disk):
        """(inode, digest) → path, of one disk."""
        root, listing, todo = disk.view, {}, [""]
        while todo:
            below = todo.pop()
            try:
                entries = list(os.scandir(os.path.join(root, below)))
            except OSError:
                continue
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if disk.kind == "base" and path in ("own", "run"):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        # Without a private mount the base includes all that is mounted in it.
                        todo.append(path)
                    elif stat.S_ISREG(status.st_mode) and self.sizes[status.st_size] > 0:
                        digest = self.hash_of(disk, os.path.join(root, path), status)
                        if digest in self.ledger:
                            listing.setdefault((status.st_ino, digest), path)
                except OSError:
                    continue
        return listing

    def hash_of(self, disk, path, status):
        key = (disk.name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if key not in self.seen_hashes:
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            if time.time_ns() - status.st_ctime_ns < 50_000_000:
                return digest
            self.seen_hashes[key] = digest
        return self.seen_hashes[key]

    # --- the catalogue ---

    def rows(self, keeper=None, path=None):
        """Live photos and outcomes of a catalogue; None if it does not exist."""
        path = path or (keeper or self.keepers["one"]).catalogue
        for _ in range(5):
            if not os.path.exists(path):
                return None
            try:
                with checker.catalogue_copy(types.SimpleNamespace(catalogue=os.fsencode(path))) as catalogue:
                    tables = {row[0] for row in catalogue.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                    if "photo" not in tables:
                        return types.SimpleNamespace(photos=[], outcomes=[])
                    return types.SimpleNamespace(
                        photos=[dict(row) for row in catalogue.execute("SELECT * FROM photo WHERE superseded_at IS NULL")],
                        outcomes=[dict(row) for row in catalogue.execute("SELECT * FROM outcome")])
            except (checker.sqlite3.DatabaseError, OSError):
                time.sleep(0.02)
        return types.SimpleNamespace(photos=[], outcomes=[])

    def recorded_photos(self, rows=None):
        """digest → path in the library, of live records of the configured library."""
        rows = rows or self.rows()
        return {} if rows is None else {
            row["sha256"].hex(): os.fsdecode(row["library_path"]) for row in rows.photos
            if os.fsdecode(row["library"]) == self.library_path}

    def held(self, records):
        """The records whose files exist in the real library, mounted or not."""
        return {digest for digest in records if digest in self.ledger and self.ledger[digest].is_whole and any(
            self.in_library(disk, self.below(disk, inode, digest)) for disk, _, inode in self.found.get(digest, ()))}

    @staticmethod
    def below(disk, inode, digest):
        return disk.listing.get((inode, digest), "")

    def in_library(self, disk, path):
        """Whether a file is in the real library: on its disk, or on the one inside it."""
        return self.library.holds(disk, path) or (disk is self.inner and self.library == self.places["library"][1])

    # --- the rules ---

    def leads_to_library(self):
        """Whether the directory at the library's path is the library."""
        return self.leads(self.library_path, self.library)

    @staticmethod
    def leads(path, place):
        """Whether the directory at a path is that place."""
        view = place.view()
        try:
            if place.disk.is_fuse:
                # Its numbers are those of the directory behind it.
                return bool(place.disk.mounts) and os.stat(path).st_ino == os.stat(view).st_ino
            here, there = os.stat(path), os.stat(view)
            return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
        except (OSError, TypeError):
            return False

    def ills(self):
        """The problems of this world that status must report: (rule, words)."""
        ills = []
        if self.recorded and not self.leads_to_library():
            ills.append(("library-gone", f"the library is not at {self.shown(self.library_path)}"))
        if self.pending_catalogue is not None:
            lacking = self.pending_catalogue & self.held_now() - set(self.recorded_photos())
            if lacking:
                ills.append(("catalogue-gone", f"the catalogue lacks {len(lacking)} photos that stand in the library"))
            else:
                self.pending_catalogue = None
        self.damage = self.damage & set(self.recorded_photos()) - self.held_now() if self.damage else set()
        if self.damage and self.leads_to_library():
            ills.append(("damage-told", f"verify has found {len(self.damage)} photos missing in the library"))
        return [ill for ill in ills if ill[0] not in self.options.without]

    def held_now(self):
        return {digest for digest, some in self.found.items()
                if self.ledger[digest].is_whole and any(self.in_library(one.disk, one.path) for one in some)}

    def check(self, after):
        """Raises violations. `after` is the line of the last act."""
        for keeper in self.keepers.values():
            keeper.check_alive()
        self.check_standing(after)
        self.check_duplicates()
        self.check_bare()
        if self.pending_catalogue is None and self.leads_to_library():
            self.recorded = set(self.recorded_photos())
        self.check_told()

    def check_standing(self, after):
        for turn in range(8):
            self.found = self.standing()
            lost = [digest for digest in self.ledger if not self.found.get(digest)]
            if not lost:
                break
            # Files may move during the check.
            time.sleep(0.03 * turn)
        else:
            raise Violation("lost", "; ".join(f"{digest[:12]} ({self.ledger[digest].words})" for digest in lost[:5])
                            + f": no whole copy of {len(lost)} stands anywhere after: {after}")
        for digest, some in self.found.items():
            if self.ledger[digest].may_double or self.is_nested:
                continue
            inside = [one for one in some if self.in_library(one.disk, one.path)
                      and not checker.TEMPORARY.search(os.fsencode(os.path.basename(one.path)))]
            if len(inside) > 1:
                names = " and ".join(one.path for one in inside)
                raise Violation("twice", f"{digest[:12]} ({self.ledger[digest].words}) was filed twice, as {names}")

    def check_duplicates(self):
        place = self.places.get("duplicates", (None, None))[1]
        if place == self.places["library"][1]:
            return  # Files put there by people are not duplicates, and the daemon refuses it.
        for digest, some in self.found.items():
            for one in some:
                if place is None or not place.holds(one.disk, one.path) or (one.disk.name, one.inode) in self.known_duplicates:
                    continue
                self.known_duplicates.add((one.disk.name, one.inode))
                others = [other for other in some if (other.disk, other.inode) != (one.disk, one.inode)
                          and not place.holds(other.disk, other.path)]
                if not others and digest not in self.excused:
                    raise Violation("no-original", f"{one.path} is called a duplicate, and no other copy of it stands "
                                    f"({self.ledger[digest].words})")

    def check_bare(self):
        """Nothing may be written below a bare mount point."""
        if not self.can_mount or self.has_forgotten:
            return
        points = {os.path.join(self.base.view, os.path.relpath(point, self.top)): disk for point, disk in self.bare.items()}
        if self.inner and self.library == self.places["library"][1] and self.library.view():
            points[os.path.join(self.library.view(), "2024")] = self.inner
        for below, disk in points.items():
            written = [os.path.join(above, name) for above, _, names in os.walk(below) for name in names]
            directories = [name for name in os.listdir(below)] if os.path.isdir(below) else []
            if written or directories:
                what = os.path.relpath((written or [os.path.join(below, directories[0])])[0], os.path.dirname(below))
                raise Violation("below", f"{what} was made below the mount point of {disk.name}, which was away")

    def check_told(self):
        keeper = self.keepers["one"]
        ills = self.ills()
        if not keeper.runs or self.is_nested:
            return
        if not ills:
            return
        waiting = houses.Waiting("telling", TOLD_WITHIN, first=0.05)
        while waiting.left > 0:
            if any(problem["severity"] != "notice" for problem in keeper.problems()):
                break
            waiting.once()
            keeper.check_alive()
            if not (ills := self.ills()):
                return
        status, text = self.command("status")
        if status == 0 and (ills := self.ills()):
            rule, words = ills[0]
            raise Violation(rule, f"{words}, and status says: {text.splitlines()[0] if text else ''}")

    # --- actions of people and the daemon ---

    def command(self, *words, keeper="one", seconds=SLACK):
        """Runs a command of photoinbox: its status and output. Proposed commands are recorded."""
        line = [self.tool, *words, "--config", self.keepers[keeper].file]
        run = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                             timeout=seconds * 3, env=houses.plain_environment())
        text = run.stdout.decode(errors="backslashreplace")
        if run.returncode < 0 or "Fatal error" in text:
            raise Violation("died", f"photoinbox {' '.join(words)} ended with {run.returncode}: {text[-300:]}")
        if keeper == "one":
            self.propose(text)
        self.said.append(f"photoinbox {' '.join(map(self.shown, words))} → {run.returncode}: "
                         + self.shown(" / ".join(text.strip().splitlines()[-3:])))
        return run.returncode, text

    def propose(self, text):
        for words in PROPOSED.findall(text):
            self.proposals.append(words)

    def proposed(self):
        """The proposed commands that were not run yet, as words."""
        keeper = self.keepers["one"]
        for problem in keeper.problems() if keeper.runs else ():
            self.propose(problem["action"])
        lines = []
        for text in self.proposals:
            words = text.split()
            line, rest = [words[0].rstrip(".,;:)")], words[1:]
            left = TAKES_A_WORD[line[0]]
            while rest:
                word = rest.pop(0)
                if word == "--help":
                    break
                if word == "--config":
                    # The option that every command gets anyway.
                    named = rest.pop(0).rstrip(",;:)") if rest else "nothing"
                    if named not in {each.file for each in self.keepers.values()}:
                        raise Violation("proposed", f"{named} is no daemon's configuration: photoinbox {text}")
                elif word.startswith("--"):
                    line.append(word.rstrip(".,;:)"))
                    if line[-1] == "--outcome" and rest:
                        line.append(rest.pop(0).rstrip(".,;:)"))
                elif left > 0:
                    line.append(word.rstrip(",;:)"))
                    left -= 1
                else:
                    break
            if "--help" not in words and left == 0 and line not in lines:
                lines.append(line)
        self.proposals = []
        return lines

    def settle(self, seconds=SLACK):
        """Waits until the daemon has nothing in hand but what waits, and says so. Whatever lies in an inbox after that for no
        reason is told as a violation."""
        keeper = self.keepers["one"]
        if not keeper.runs:
            return
        waiting, quiet = houses.Waiting("settled daemon", seconds, first=0.01), 0
        is_asked = False
        while True:
            keeper.check_alive()
            left = self.waiting_files(keeper)
            if not left:
                return
            if waiting.left < seconds - 0.15:
                if not is_asked:
                    is_asked = True
                    keeper.ask("rescan", all=True)
                state = keeper.state()
                if state is None:
                    continue
                busy = [one for one in state["inHand"] if one["stage"] in ("queued", "working")]
                if any(problem["severity"] == "stopped" for problem in state["problems"]):
                    return
                if not busy:
                    quiet += 1
                    if quiet > (2 if state["inHand"] or self.explained(keeper, state) else 30):
                        if state["inHand"] or self.explained(keeper, state) or self.is_nested:
                            return
                        status, text = self.command("status")
                        if status == 0 and (left := self.whole(self.waiting_files(keeper))) and not (keeper.state() or {"inHand": [1]})["inHand"]:
                            raise Violation("unseen", f"{self.shown(left[0])} waits, and status says {text.splitlines()[0]}")
                        return
            waiting.once(why=lambda: f"it does not come to rest: {[one['what'] for one in state['inHand']][:3]}")

    def explained(self, keeper, state):
        return self.has_copied or any(inbox["verdict"] == "gone" or inbox.get("paused") or
                                                       inbox["counts"]["deferred"] for inbox in state["inboxes"]) or \
            any(problem["code"] in ("PI-203", "PI-204", "PI-205", "PI-207") for problem in state["problems"])

    def whole(self, files):
        """The whole photos among them: a sidecar waits for its photo."""
        return [file for file in files if (entry := self.ledger.get(checker.file_hash(file))) and entry.is_whole]

    def waiting_files(self, keeper):
        """The files in the inboxes that may be photos."""
        files = []
        for path in keeper.inboxes.values():
            for found in checker.walk(os.fsencode(path)):
                if found.is_regular and not os.path.basename(found.path).startswith(b"."):
                    files.append(os.fsdecode(found.path))
        return files

    def accept(self):
        """The owner accepts the directory at the library's path."""
        keeper = self.keepers["one"]
        keeper.stop()
        subprocess.run([self.program, "--accept-library", "--config", keeper.file], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=3 * SLACK)
        keeper.start()

    def everything_there(self):
        return self.undo_away is None and all(os.path.isdir(path) for path in self.keepers["one"].at.values())

    def mount_points(self):
        return {target for disk in self.disks for target in disk.mounts}

    def unbind(self, alias):
        if os.path.ismount(alias):
            unmount(alias, patience=1)

    def bind_again(self):
        """Mounts the aliases and the disk inside the library again."""
        if self.inner and not self.inner.mounts:
            self.inner.mount(os.path.join(self.places["library"][0], "2024"))
        for alias in self.aliases:
            if not os.path.ismount(alias):
                bind(self.places["library"][0], alias)

    def settle_destroyed(self):
        """A person has destroyed some: what stands nowhere any more is given up, and what stands only elsewhere is not."""
        self.found = self.standing()
        for digest in [digest for digest in self.ledger if not self.found.get(digest)]:
            self.forget(digest)
        self.excused |= set(self.ledger)
        self.was_changed = True
        self.settle_doubles()

    def settle_doubles(self):
        """Photos so far may become duplicated in the library."""
        for entry in self.ledger.values():
            entry.may_double = True

    def shown(self, text):
        return text.replace(self.top + "/", "")

    def close(self):
        for keeper in self.keepers.values():
            if keeper.daemon:
                keeper.daemon.abandon()
                keeper.daemon = None
        for disk in self.disks:
            for server in disk.servers.values():
                server.kill()
            if disk.tree is not None:
                os.close(disk.tree)
                disk.tree = None
