"""Layouts of the campaign of places: the disks of places and their mounts. Run nothing here by
itself."""
import os

from places_disks import Disk, bind
from places_keeper import ROLES, Keeper, Place, Violation

LOCAL = ("ext4", "xfs", "btrfs", "tmpfs")
WEAK = ("no-flags", "bare", "folding", "liar")


class Layouts:
    """The part of a world that builds it."""

    def disk(self, kind, mounted=True, slot=None):
        """A new disk, mounted at a mount point of its own; by the same loop device as the one in whose slot it goes."""
        name = f"{kind}{len(self.disks)}"
        disk = Disk(self.own, name, kind, slot.loops if slot else range(self.options.loops, self.options.loops + 32))
        self.disks.append(disk)
        if mounted:
            point = os.path.join(self.top, "m", name)
            disk.mount(point)
            self.bare[point] = disk
        return disk

    def some_disk(self, rng):
        kinds = [kind for kind in self.options.kinds_of_disks if kind in LOCAL]
        return self.disk(rng.choice(kinds)) if self.can_mount and kinds and rng.random() < 0.4 else self.base

    def directory(self, disk, name):
        """A new directory on a disk, its root if the name is empty: its path as people see it, and its place."""
        relative = ("b/" + name) if disk is self.base else name
        path = os.path.join(disk.mounts[0], relative).rstrip("/")
        os.makedirs(path, exist_ok=True)
        return path, Place(disk, relative)

    def build(self, rng):
        keeper = self.keepers["one"] = Keeper(self, "one")
        self.places = {}
        getattr(self, "build_" + self.spec["kind"])(rng, keeper)
        for role in ROLES:
            if role not in self.places:
                disk = self.some_disk(rng) if self.spec["kind"] == "disks" else self.base
                self.settle_in(role, *self.directory(disk, {"inbox": "in", "library": "lib"}.get(role, role)))
        keeper.at = {role: path for role, (path, _) in self.places.items()}
        keeper.inboxes = {"a": keeper.at.pop("inbox")}
        if rng.random() < 0.3 and not self.is_nested:
            keeper.inboxes["b"], place = self.directory(self.base, "in-b")
            self.places["inbox-b"] = keeper.inboxes["b"], place
        keeper.settings["mode"] = "copy" if rng.random() < 0.1 else "move"
        self.has_copied = keeper.settings["mode"] == "copy"
        keeper.settings["patience"] = rng.choice(("300ms", "1h"))
        keeper.settings["trash"] = rng.choice(("1s", "1s", "30d"))
        self.library = self.places["library"][1]
        self.library_path = keeper.at["library"]
        self.refused = self.keepers["one"].start()
        if self.refused and not self.is_nested:
            raise Violation("refused", f"a world in good order is refused: {self.refused}")

    def settle_in(self, role, path, place):
        self.places[role] = path, place

    def build_plain(self, rng, keeper):
        pass

    def build_disks(self, rng, keeper):
        """The library on a disk of its own, in a slot into which others go, too; others on other disks, some mounted twice."""
        kinds = [kind for kind in self.options.kinds_of_disks if kind in LOCAL]
        kind = self.spec.get("disk") or rng.choice(kinds + ["xfs"] if "xfs" in kinds else kinds)
        disk = self.disk(kind)
        self.settle_in("library", *self.directory(disk, rng.choice(("", "lib", "photos/lib"))))
        if kind != "tmpfs":
            self.spares.append(self.disk(kind, mounted=False, slot=disk))
        self.make_aliases(rng, disk)
        if rng.random() < 0.3:
            # Another disk inside the library, and one inside the inbox.
            self.inner = self.disk(rng.choice(kinds), mounted=False)
            self.inner.mount(os.path.join(self.places["library"][0], "2024"))

    def make_aliases(self, rng, disk):
        path = self.places["library"][0]
        if rng.random() < 0.6:
            alias = os.path.join(self.top, "alias", "bound")
            os.makedirs(alias)
            bind(path, alias)
            self.aliases.append(alias)
        if rng.random() < 0.4:
            alias = os.path.join(self.top, "alias", "second")
            disk.mount(alias, server=disk.is_fuse)
            self.aliases.append(alias)

    def build_overlay(self, rng, keeper):
        disk = self.disk("overlay")
        self.settle_in(rng.choice(("library", "inbox")), *self.directory(disk, "x"))

    def build_fuse(self, rng, keeper):
        role = self.spec.get("role") or rng.choice(("library", "library", "inbox"))
        # A library requires hard links or a rename that does not replace.
        kinds = ("no-flags", "folding", "liar", "liar") if role == "library" else ("no-flags", "bare", "folding")
        disk = self.disk(self.spec.get("disk") or rng.choice(kinds))
        self.settle_in(role, *self.directory(disk, "x"))
        if role == "library":
            self.make_aliases(rng, disk)

    NESTINGS = ("inbox-is-part", "library-in-inbox", "inbox-in-library", "inboxes-alike", "quarantine-is-inbox",
                "trash-in-inbox", "duplicates-is-library", "spelled-otherwise", "other-server")

    def build_nested(self, rng, keeper):
        """Two places that overlap by mounts."""
        self.is_nested = True
        names = [name for name in self.NESTINGS if name not in ("spelled-otherwise", "other-server") or self.options.has_fuse]
        how = self.spec.get("nesting") or rng.choice(names)
        self.spec["nesting"] = how
        local = [kind for kind in self.options.kinds_of_disks if kind in LOCAL]
        weak = {"spelled-otherwise": "folding", "other-server": "no-flags"}.get(how)
        disk = self.disk(weak or rng.choice(local)) if weak or rng.random() < 0.5 else self.base
        library, place = self.directory(disk, "lib")
        inbox, inbox_place = os.path.join(self.top, "alias", "in"), None
        os.makedirs(inbox)
        self.settle_in("library", library, place)
        if how == "inbox-is-part":
            os.makedirs(os.path.join(library, "2024"))
            bind(os.path.join(library, "2024"), inbox)
            inbox_place = Place(place.disk, place.relative + "/2024")
        elif how == "inbox-in-library":
            # t3: the inbox is a subdirectory of the library, through another mount.
            os.makedirs(os.path.join(library, "drop"))
            bind(os.path.join(library, "drop"), inbox)
            inbox_place = Place(place.disk, place.relative + "/drop")
        elif how == "spelled-otherwise":
            inbox = os.path.join(os.path.dirname(library), "LIB", "drop")
            os.makedirs(inbox)
            inbox_place = Place(place.disk, place.relative + "/drop")
        elif how == "other-server":
            os.makedirs(os.path.join(library, "2024"))
            again = os.path.join(self.top, "alias", "server")
            disk.mount(again, server=True)
            inbox = os.path.join(again, place.relative, "2024")
            inbox_place = Place(place.disk, place.relative + "/2024")
        elif how == "library-in-inbox":
            # t36: the inbox is above the library, through another mount.
            above = os.path.dirname(library)
            bind(above, inbox)
            inbox_place = Place(place.disk, os.path.dirname(place.relative))
        elif how == "inboxes-alike":
            inbox, inbox_place = self.directory(disk, "in")
            again = os.path.join(self.top, "alias", "again")
            os.makedirs(again)
            bind(inbox, again)
            keeper.inboxes = {"b": again}
        else:
            role = how.split("-")[0]
            inbox, inbox_place = self.directory(disk, "in")
            target = os.path.join(self.top, "alias", role)
            os.makedirs(target)
            whole = {"quarantine-is-inbox": inbox, "trash-in-inbox": inbox, "duplicates-is-library": library}[how]
            if how == "trash-in-inbox":
                whole = os.path.join(inbox, "sub")
                os.makedirs(whole)
            bind(whole, target)
            self.settle_in(role, target, Place(disk, os.path.relpath(whole, disk.mounts[0])))
        self.settle_in("inbox", inbox, inbox_place)
