#!/usr/bin/python3
"""Reports whether a photo was lost, duplicated, damaged or left incomplete. Independent of photo-inbox: it knows the
put in from a manifest of SHA-256s that was made before, walks the directories, and reads a copy of the catalogue.

usage: checker.py manifest PLACES [--stays | --may-stay]        prints a manifest of what lies in the inboxes now
       checker.py check PLACES MANIFEST [--crashed]             prints violations; status 1 if there is one
       checker.py snapshot PLACES                               prints the whole state, to be compared
       checker.py compare SNAPSHOT SNAPSHOT                     prints what differs; status 1 if anything does

PLACES is a JSON file:
  {"inboxes": {"card": "/a/card"}, "library": "/a/library", "duplicates": "/a/duplicates", "quarantine": "/a/quarantine",
   "state": "/a/st", "catalogue": "/a/st/catalogue.sqlite", "around": ["/a"]}
`catalogue` may be left out, or be a database of PostgreSQL in libpq's words, "host=… …". What lies in the trees of `around`, outside the places, is the canary.

MANIFEST is a JSON file:
  {"photos": {SHA256: {"size": N, "count": N, "stays": "no" | "may" | "must", "ends": ["library", ...]}},
   "sets": [[SHA256, ...], ...], "around": {PATH: [...]}}
`count` files of that content were put in. `stays` says whether a filed one stays in its inbox: by policy ("must"), or
where it cannot be removed ("may"). `ends`, if given, are the only places where it may come to rest. Members of a set
are filed all or not at all, in one directory, under one stem.

As a module: check(places, manifest) -> [violation], Places, Manifest, snapshot, compare, resources.
"""
import argparse
import collections
import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

import postgres

# Names that photo-inbox gives for a moment: in the places, and in its state directory.
TEMPORARY = re.compile(rb"^\.photo-inbox-")
# A trial of a file system that was killed leaves files of at most two bytes, which the next trial there removes.
TRIAL = re.compile(rb"(^|/)\.photo-inbox-trial-[0-9a-f]+/")
HALF_WRITTEN = re.compile(rb"\.part$")
REASON = re.compile(rb"\.reason(-[0-9]+)?\.txt$")


class Places:
    """The paths of all places, as bytes."""

    def __init__(self, inboxes, library, duplicates, quarantine, state, catalogue=None, around=()):
        self.inboxes = {name: os.fsencode(path) for name, path in inboxes.items()}
        self.library = os.fsencode(library)
        self.duplicates = os.fsencode(duplicates)
        self.quarantine = os.fsencode(quarantine)
        self.state = os.fsencode(state)
        self.catalogue = os.fsencode(catalogue) if catalogue else os.path.join(self.state, b"catalogue.sqlite")
        self.around = [os.fsencode(path) for path in around]
        # Whether each start makes a file in a root for a moment, to find out whether two of them are one.
        self.are_probed = False

    @classmethod
    def load(cls, file):
        with open(file, encoding="utf-8") as text:
            return cls(**json.load(text))

    def save(self, file):
        text = {name: os.fsdecode(getattr(self, name))
                for name in ("library", "duplicates", "quarantine", "state", "catalogue")}
        text["inboxes"] = {name: os.fsdecode(path) for name, path in self.inboxes.items()}
        text["around"] = [os.fsdecode(path) for path in self.around]
        with open(file, "w", encoding="utf-8") as out:
            json.dump(text, out, indent=1)

    @property
    def are_served(self):
        """Whether the catalogue is in PostgreSQL."""
        return self.catalogue.startswith(b"host=")

    @property
    def roots(self):
        """(kind, path) of every place that photos may be in."""
        return [("inbox", path) for path in self.inboxes.values()] + [
            ("library", self.library), ("duplicates", self.duplicates), ("quarantine", self.quarantine)]

    def is_inside(self, path):
        return any(path == root or path.startswith(root + b"/")
                   for root in [path for _, path in self.roots] + [self.state])


class Manifest:
    """The files put in and their surroundings. Made before the trial; `add` while files are put in."""

    def __init__(self, photos=None, sets=None, around=None):
        self.photos = photos or {}
        self.sets = sets or []
        self.around = around or {}
        # Only the daemon moves files that were put in, so that each has one outcome.
        self.stands_still = True

    @classmethod
    def load(cls, file):
        with open(file, encoding="utf-8") as text:
            value = json.load(text)
        return cls(value["photos"], value.get("sets"), value.get("around"))

    def save(self, file):
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.text())

    def text(self):
        return json.dumps({"photos": self.photos, "sets": self.sets, "around": self.around}, indent=1)

    def add(self, content, stays="no", ends=None):
        """One more file of this content; its hash."""
        digest = hashlib.sha256(content).hexdigest()
        entry = self.photos.setdefault(digest, {"size": len(content), "count": 0, "stays": stays})
        entry["count"] += 1
        if ends:
            entry["ends"] = list(ends)
        return digest

    @classmethod
    def of_inboxes(cls, places, stays="no"):
        manifest = cls(around=canary(places))
        for path in places.inboxes.values():
            for file in walk(path):
                if file.is_regular:
                    with open(file.path, "rb") as content:
                        manifest.add(content.read(), stays)
        return manifest


Found = collections.namedtuple("Found", "path relative status is_regular")


def walk(root):
    """All files below a directory, none if it does not exist. Does not follow links."""
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(status.st_mode):
            for below in walk(entry.path):
                yield below._replace(relative=entry.name + b"/" + below.relative)
        else:
            yield Found(entry.path, entry.name, status, stat.S_ISREG(status.st_mode))


# Hashes of files that were unchanged for a while when they were read: a change also sets the change time, which
# programs cannot set.
known_hashes = {}
REST = 1_000_000_000  # nanoseconds, far more than a file system's clock is coarse


def file_hash(path):
    """SHA-256 of a file, in hexadecimal; None if it does not exist."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(file)
        key = (status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size)
        if key in known_hashes:
            return known_hashes[key]
        digest = hashlib.sha256()
        while block := os.read(file, 1 << 20):
            digest.update(block)
        if time.time_ns() - status.st_ctime_ns > REST:
            if len(known_hashes) > 100_000:
                known_hashes.clear()
            known_hashes[key] = digest.hexdigest()
        return digest.hexdigest()
    finally:
        os.close(file)


def canary(places):
    """The surroundings of the places: path → [mode, size, modification time, content]."""
    listing = {}
    todo = list(places.around)
    while todo:
        directory = todo.pop()
        for entry in os.scandir(directory):
            if places.is_inside(entry.path):
                continue
            status = entry.stat(follow_symlinks=False)
            kind = stat.S_IFMT(status.st_mode)
            if kind == stat.S_IFDIR:
                # Its time changes when roots are created in it; its entries are compared.
                todo.append(entry.path)
                listing[os.fsdecode(entry.path)] = [oct(status.st_mode), 0, 0, ""]
                continue
            content = ""
            if kind == stat.S_IFREG:
                content = file_hash(entry.path)
            elif kind == stat.S_IFLNK:
                content = os.fsdecode(os.readlink(entry.path))
            listing[os.fsdecode(entry.path)] = [oct(status.st_mode), status.st_size, status.st_mtime_ns, content]
    return listing


@contextlib.contextmanager
def catalogue_copy(places):
    """A connection to a copy of the catalogue with its log; the original is not locked."""
    directory = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        copy = os.path.join(os.fsencode(directory), b"copy.sqlite")
        shutil.copyfile(places.catalogue, copy)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(places.catalogue + b"-wal", copy + b"-wal")
        connection = sqlite3.connect(os.fsdecode(copy))
        connection.row_factory = sqlite3.Row
        try:
            yield connection
        finally:
            connection.close()
    finally:
        shutil.rmtree(directory)


# Tables, and the attributes of Rows.
TABLES = {"photo": "photos", "intent": "intents", "outcome": "outcomes", "kept_source": "kept", "move": "moves"}


class Rows:
    """The required rows of the catalogue."""

    def __init__(self, places):
        self.photos, self.intents, self.outcomes, self.kept, self.faults = [], [], [], [], []
        self.moves = []
        if places.are_served:
            self.load(places.catalogue)
            return
        if not os.path.exists(places.catalogue):
            return
        with catalogue_copy(places) as catalogue:
            try:
                verdict = [row[0] for row in catalogue.execute("PRAGMA integrity_check")]
                tables = {row[0] for row in catalogue.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if verdict != ["ok"]:
                    self.faults.append(f"the catalogue is damaged: {'; '.join(verdict)}")
                if list(catalogue.execute("PRAGMA foreign_key_check")):
                    self.faults.append("the catalogue has rows that lead nowhere")
                for name, attribute in TABLES.items():
                    if name in tables:
                        setattr(self, attribute, [dict(row) for row in catalogue.execute(f"SELECT * FROM {name}")])
            except sqlite3.DatabaseError as error:
                self.faults.append(f"the catalogue cannot be read: {error}")

    def load(self, words):
        """From PostgreSQL, which refuses rows that lead nowhere; in one statement, so that all are of one moment."""
        query = " UNION ALL ".join(f"SELECT '{name}', row_to_json(t) FROM photoinbox.{name} t" for name in TABLES)
        run = subprocess.run([postgres.PSQL, "-XAtq", os.fsdecode(words), "-c", query], capture_output=True, check=False)
        if run.returncode and b'ERROR:  relation "photoinbox.photo" does not exist' not in run.stderr:
            self.faults.append(f"the catalogue cannot be read: {shown(run.stderr)}")
        for name, row in (line.split(b"|", 1) for line in run.stdout.splitlines()):
            getattr(self, TABLES[name.decode()]).append({
                key: bytes.fromhex(value[2:]) if isinstance(value, str) and value.startswith("\\x") else value
                for key, value in json.loads(row).items()})


def shown(path):
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode()


def check(places, manifest, crashed=False, rows=None):
    """The violations, as sentences; empty if there are none.

    With `crashed` the state is one in the middle of something: then only what must hold at every instant is asked, that
    of each photo there is a whole copy somewhere, nothing partial stands under a final name, and nothing lies outside.
    """
    wrong = []
    found = collections.defaultdict(lambda: collections.defaultdict(list))  # hash → kind of place → files
    for kind, root in places.roots:
        for file in walk(root):
            name = file.relative.rsplit(b"/", 1)[-1]
            where = f"{kind}: {shown(file.relative)}"
            if TRIAL.search(file.relative) and file.status.st_size <= 2:
                continue
            if not file.is_regular:
                wrong.append(f"{where} is no regular file")
                continue
            is_temporary = bool(TEMPORARY.search(name))
            if is_temporary and not crashed:
                wrong.append(f"a temporary is left in {where}")
            digest = file_hash(file.path)
            if digest in manifest.photos:
                found[digest][kind].append(file)
                continue
            if is_temporary and crashed:
                continue
            if kind == "quarantine" and REASON.search(name):
                continue
            if digest is not None:
                wrong.append(f"{where} has bytes that nobody put in ({file.status.st_size} of them)")
    wrong += [f"outside the roots: {difference}" for difference in differences(manifest.around, canary(places))]
    rows = rows or Rows(places)
    for digest, photo in manifest.photos.items():
        if not found[digest]:
            wrong.append(f"LOST: {digest[:12]}, {photo['size']} bytes: no whole copy of it exists anywhere")
    if crashed:
        return wrong + rows.faults
    wrong += rows.faults
    wrong += check_places(places, manifest, found, rows)
    wrong += check_rows(places, rows, found)
    wrong += check_staying(manifest, rows)
    wrong += check_sets(manifest, found, rows)
    wrong += check_state(places)
    return wrong


def check_places(places, manifest, found, rows):
    """Each photo is in exactly one place, except filed ones that stay."""
    wrong = []
    kept = {(row["inbox"], bytes(row["path"])) for row in rows.kept}
    past = {os.path.join(bytes(row["library"]), bytes(row["library_path"]))
            for row in rows.photos if row["superseded_at"] is not None}
    past -= {os.path.join(bytes(row["library"]), bytes(row["library_path"]))
             for row in rows.photos if row["superseded_at"] is None}
    names = {path: name for name, path in places.inboxes.items()}
    for digest, photo in manifest.photos.items():
        files = {kind: list(some) for kind, some in found[digest].items()}
        if not files:
            continue
        counts = {kind: len(some) for kind, some in files.items()}
        what = f"{digest[:12]} ({photo['count']} put in; " + ", ".join(
            f"{kind}: {' '.join(shown(file.relative) for file in some)}" for kind, some in sorted(files.items())) + ")"
        # A damaged copy stays when the photo is filed again.
        superseded = sum(file.path in past for file in files.get("library", []))
        in_library = counts.get("library", 0)
        if in_library > superseded:
            in_library -= superseded
            counts["library"] = in_library
        if in_library > 1:
            wrong.append(f"filed {in_library} times: {what}")
        # Of a photo that people have taken back its duplicates stay.
        if counts.get("duplicates") and not in_library and not counts.get("returned"):
            wrong.append(f"a duplicate of nothing: {what}")
        staying = 0
        for file in files.get("inbox", []):
            root = file.path[:len(file.path) - len(file.relative) - 1]
            if (names.get(root), file.relative) in kept:
                staying += 1
        stays = photo.get("stays", "no")
        if staying and stays == "no":
            wrong.append(f"its source was kept: {what}")
        total = sum(counts.values())
        if stays == "must":
            if counts.get("inbox", 0) != photo["count"]:
                wrong.append(f"not all of it stayed: {what}")
            if total - counts.get("inbox", 0) > 1:
                wrong.append(f"in too many places: {what}")
        elif stays == "may":
            # A kept source is allowed only beside the library's copy.
            if not photo["count"] <= total <= photo["count"] + (1 if staying and in_library else 0):
                wrong.append(f"in {total} places: {what}")
        elif total != photo["count"]:
            wrong.append(f"in {total} places: {what}")
        for kind in photo.get("ends") and counts or ():
            may_stay = stays == "must" or stays == "may" and staying == counts[kind]
            if kind not in photo["ends"] and not (kind == "inbox" and may_stay):
                wrong.append(f"came to rest in {kind}, not in {' or '.join(photo['ends'])}: {what}")
        if photo.get("ends") == ["library"] and not in_library:
            wrong.append(f"not filed: {what}")
    return wrong


def check_rows(places, rows, found):
    """Rows and files one to one, with equal hashes; no intent left."""
    wrong = [f"an intent is left open: {row['step']}, {shown(row['source_path'])}" for row in rows.intents]
    wrong += [f"a move is left open: {shown(row['path'])}" for row in rows.moves]
    files = {}
    for digest, kinds in found.items():
        for kind in ("library", "duplicates", "quarantine"):
            for file in kinds.get(kind, []):
                files[file.path] = (digest, kind, file.status.st_size)
    recorded, past = {}, set()
    for row in rows.photos:
        path = os.path.join(bytes(row["library"]), bytes(row["library_path"]))
        if row["superseded_at"] is not None:
            past.add(path)
            continue
        if path in recorded:
            wrong.append(f"two rows for one file: {shown(path)}")
        recorded[path] = row
        digest, kind, size = files.get(path, (None, None, None))
        if kind != "library":
            wrong.append(f"photo {row['id']} is recorded, its file is missing: {shown(path)}")
        elif digest != bytes(row["sha256"]).hex() or size != row["size"]:
            wrong.append(f"photo {row['id']} is not what its row says: {shown(path)}")
    operations = collections.Counter(row["photo_id"] for row in rows.outcomes if row["outcome"] == "filed")
    for row in rows.photos:
        if operations[row["id"]] != 1:
            wrong.append(f"photo {row['id']} was filed by {operations[row['id']]} operations")
    destinations = collections.Counter()
    for row in rows.outcomes:
        if row["outcome"] in ("duplicate", "quarantined") and row["destination"] is not None:
            destinations[bytes(row["destination"])] += 1
    for path, (digest, kind, _) in files.items():
        if kind == "library" and path not in recorded and path not in past:
            wrong.append(f"not recorded: {kind}: {shown(path)}")
        if kind != "library" and destinations[path] != 1:
            wrong.append(f"{destinations[path]} rows for {kind}: {shown(path)}")
    for path in destinations:
        if path not in files:
            wrong.append(f"a row says that a file went to {shown(path)}, where it is not")
    return wrong


def check_staying(manifest, rows):
    """Each photo has one outcome. What has one and stays in its inbox, for that is how it should be or because it could
    not be removed, does not come back as if it were new."""
    wrong = []
    told = collections.defaultdict(list)
    for row in rows.outcomes:
        if row["sha256"] is not None:
            told[bytes(row["sha256"]).hex()].append(row["outcome"])
    for digest, photo in manifest.photos.items():
        is_once = manifest.stands_still or photo.get("stays") == "must"
        if is_once and len(told[digest]) > photo["count"]:
            wrong.append(f"came back: {digest[:12]} had {len(told[digest])} outcomes ({', '.join(told[digest])}), and "
                         f"was put in {photo['count']} times")
    return wrong


def check_sets(manifest, found, rows):
    wrong, numbers = [], collections.defaultdict(set)
    for row in rows.photos:
        if row["superseded_at"] is None:
            numbers[bytes(row["sha256"]).hex()].add(row["set_id"])
    for members in manifest.sets:
        homes = [found[member].get("library", []) for member in members]
        filed = [home for home in homes if home]
        if filed and len(filed) != len(homes):
            wrong.append(f"a set is torn apart: {len(filed)} of {len(homes)} are filed ({members[0][:12]} …)")
        elif filed:
            places = {(os.path.dirname(home[0].path), os.path.basename(home[0].path).split(b".")[0]) for home in filed}
            if len(places) != 1:
                wrong.append(f"a set has {len(places)} names: {sorted(shown(b'/'.join(place)) for place in places)}")
            elif not set.intersection(*(numbers[member] for member in members)) - {None}:
                wrong.append(f"a set is recorded apart: {shown(filed[0][0].path)}")
    return wrong


def check_state(places):
    """No partial file in the state directory."""
    wrong = []
    for file in walk(places.state):
        name = file.relative.rsplit(b"/", 1)[-1]
        if HALF_WRITTEN.search(name) and file.is_regular:
            wrong.append(f"a temporary is left in the state directory: {shown(file.relative)}")
    return wrong


def differences(before, after):
    """The differences of two mappings, as sentences."""
    wrong = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            wrong.append(f"{name!r} was {before.get(name)}, is {after.get(name)}")
    return wrong


def snapshot(places):
    """All that a second recovery must not change: trees with times and hashes, and the catalogue's rows."""
    tree = {}
    for kind, root in places.roots:
        if not os.path.isdir(root):
            continue
        for directory, _, _ in os.walk(root):
            status = os.stat(directory)
            is_probed = places.are_probed and directory == root
            tree[f"{kind}:{shown(directory)}"] = [oct(status.st_mode), 0 if is_probed else status.st_mtime_ns]
        for file in walk(root):
            tree[f"{kind}:{shown(file.path)}"] = [
                oct(file.status.st_mode), file.status.st_ino, file.status.st_nlink, file.status.st_size,
                file.status.st_mtime_ns, file_hash(file.path) if file.is_regular else ""]
    rows = Rows(places)
    for name, some in (("photo", rows.photos), ("intent", rows.intents), ("outcome", rows.outcomes),
                       ("kept_source", rows.kept), ("move", rows.moves)):
        for row in some:
            tree[f"row:{name}:{row['id']}"] = {
                key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}
    return tree


def compare(before, after):
    """What a second recovery changed."""
    return [f"a second recovery changed something: {difference}" for difference in differences(before, after)]


def sockets(pid):
    """The kind of Unix socket of each inode in the process's network namespace; see proc_pid_net(5)."""
    kinds = {}
    with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as lines:
        for words in (line.split() for line in lines if line[:1] != "N"):
            kind = {"0001": "stream", "0002": "datagram", "0005": "message"}.get(words[4], "other")
            # __SO_ACCEPTCON of linux/net.h.
            kinds[words[6]] = "listening socket" if int(words[3], 16) & 0x10000 else f"{kind} socket"
    return kinds


def resources(pid):
    """A process's resources: descriptors by target, watched inodes, number of children."""
    descriptors, watches = collections.Counter(), []
    kinds = sockets(pid)
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{number}").replace(f"/proc/{pid}/", "/proc/self/")
            target = re.sub(r"socket:\[([0-9]+)\]", lambda found: kinds.get(found[1], "socket"), target)
            descriptors[re.sub(r"pipe:\[[0-9]+\]", "pipe", target)] += 1
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as info:
                watches += [int(line.split("ino:")[1].split()[0], 16) for line in info if line.startswith("inotify ")]
    children = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as some:
            children += len(some.read().split())
    return {"descriptors": dict(descriptors), "watches": watches, "children": children}


def is_passing(target, places):
    """Whether what a descriptor leads to is open for a moment only. A notice to the service manager has a socket of its
    own, and is read by us before its sender has come to close it: on a busy machine long before."""
    lasting = ("listening socket", "stream socket") if places.are_served else ("listening socket",)
    return (target.startswith("/proc/self/task") or "/run/" in target or target.endswith("/run")
            or target.endswith("socket") and target not in lasting)


def held_roots(places):
    """How many descriptors of each root a daemon may keep open."""
    return {os.fsdecode(os.path.realpath(path)): 2 if kind == "library" else 1 for kind, path in places.roots}


def steady_resources(pid, places, looks=1_000):
    """The same without what is open for a moment only: looked at until nothing of that kind is, and twice the same. What
    stays for seconds is held. A directory of an inbox is open while it is compared, and the library while it is looked after,
    which on a busy machine is longer than from one look to the next."""
    inboxes = tuple(os.fsdecode(os.path.realpath(path)) + "/" for path in places.inboxes.values())
    held = held_roots(places)
    last = None
    for _ in range(looks):
        now = resources(pid)
        passing = any(
            is_passing(target, places) or target.startswith(inboxes) or count > held.get(target, count)
            for target, count in now["descriptors"].items())
        if now == last and not passing:
            break
        last = now
        time.sleep(0.01)
    return now


def check_resources(places, now, base):
    """Whether a process holds no more than at another time, both as `resources` told: a root that it keeps open is no
    leak, what lies in one is."""
    roots = held_roots(places)
    wrong = []
    # A user has few inotify instances; a daemon without one polls its inboxes.
    has_none = not now["watches"] or not base["watches"]
    if has_none:
        base = {**base, "descriptors": {**base["descriptors"], "anon_inode:inotify": 2}}
    # Those on the paths to the roots change with mounts anywhere.
    inboxes = {os.stat(directory).st_ino for root in places.inboxes.values() for directory, _, _ in os.walk(root)}
    before, after = (sum(inode in inboxes for inode in look["watches"]) for look in (base, now))
    if before != after and not has_none:
        wrong.append(f"{after} watches in the inboxes, not {before}")
    for target, count in now["descriptors"].items():
        # The library's lock has its own descriptor.
        allowed = max(base["descriptors"].get(target, 0), roots.get(target, 0))
        if count > allowed:
            wrong.append(f"{count} descriptors for {target}, not {allowed}")
    if now["children"] != base["children"]:
        wrong.append(f"{now['children']} children, not {base['children']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("do", choices=("manifest", "check", "snapshot", "compare"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--stays", action="store_true")
    parser.add_argument("--may-stay", action="store_true")
    parser.add_argument("--crashed", action="store_true")
    options = parser.parse_args()
    if options.do == "compare":
        before, after = (json.load(open(file, encoding="utf-8")) for file in options.files)
        wrong = compare(before, after)
    else:
        places = Places.load(options.files[0])
        if options.do == "manifest":
            print(Manifest.of_inboxes(places, "must" if options.stays else "may" if options.may_stay else "no").text())
            return 0
        if options.do == "snapshot":
            print(json.dumps(snapshot(places), indent=1))
            return 0
        wrong = check(places, Manifest.load(options.files[1]), options.crashed)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
