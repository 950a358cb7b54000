"""The scenarios of the campaigns: ways of photos into the library, and the judgement of the result."""
import dataclasses
import os
import threading
import time
import typing

import checker
from house import Fault, House, cut_jpeg, jpeg, live_photo, other_file_system, raw_and_jpeg


@dataclasses.dataclass
class Scenario:
    """`earlier` puts in what an earlier life files in peace; `drops` what the life that is struck finds, or, if `live`,
    gets while it runs."""
    name: str
    words: str
    drops: typing.Callable
    earlier: typing.Callable = None
    live: bool = False
    begins: bool = True  # whether an earlier life created the catalogue and the directories
    house: dict = dataclasses.field(default_factory=dict)
    needs: typing.Callable = lambda: None  # why it cannot be run on this machine; None if it can

    def build(self, daemon, **more):
        house = House(daemon, **{**{key: value() if callable(value) else value for key, value in self.house.items()},
                                 **more})
        try:
            if self.begins:
                if self.earlier:
                    self.earlier(house)
                live(house)
            return house
        except BaseException:
            house.remove()
            raise


def live(house, look=True):
    """One undisturbed life in which all files get their outcomes; the process's resources at its end."""
    daemon = house.start()
    try:
        if not daemon.wait_ready() or not house.settle(daemon) or not house.wait_idle(daemon):
            raise RuntimeError("it ended by itself")
        held = checker.steady_resources(daemon.own_pid, house.places) if look else None
        daemon.stop()
        return held
    finally:
        daemon.abandon()


def recover(house):
    """The violations after a crash: in a life that recovers, and in another, which must change nothing."""
    return unchanged(house, live(house))


def unchanged(house, held):
    """The violations now, and after one life more, which must change nothing and hold no less than the last did, `held`."""
    wrong = house.violations()
    before = checker.snapshot(house.places)
    daemon = house.start()
    try:
        if not daemon.wait_ready() or not house.wait_idle(daemon):
            return wrong + ["it ended by itself"]
        base = checker.steady_resources(daemon.own_pid, house.places)
        daemon.stop()
    finally:
        daemon.abandon()
    wrong += checker.compare(before, checker.snapshot(house.places))
    return wrong + checker.check_resources(house.places, held, base)


# --- the scenarios ---

def one(house):
    house.drop("IMG_0001.JPG", jpeg("one", 20_000), ends=["library"])


def five(house):
    for number in range(5):
        house.drop(f"IMG_100{number}.JPG", jpeg(f"five {number}"), ends=["library"])


def known(house):
    house.drop("KNOWN.JPG", jpeg("known"), ends=["library"])


def known_and_one(house):
    known(house)
    one(house)


def known_again(house):
    house.drop("AGAIN.JPG", jpeg("known"), ends=["library", "duplicates"])


def broken(house):
    house.drop("BROKEN.JPG", cut_jpeg("broken"), ends=["quarantine"])


def same_names(house):
    house.drop("a/IMG_0001.JPG", jpeg("same a"), ends=["library"])
    house.drop("b/IMG_0001.JPG", jpeg("same b"), ends=["library"])


def staying(house):
    for number in range(2):
        house.drop(f"IMG_200{number}.JPG", jpeg(f"staying {number}"), stays="must", ends=["library"])


def locked(house):
    staying(house)
    os.chmod(house.path("inbox"), 0o555)


def mixed(house):
    one(house)
    known_again(house)
    broken(house)


def past(house):
    """Outcomes that the library does not show: a photo that arrived twice, and a broken one."""
    known(house)
    known_again(house)
    broken(house)


def no_other_file_system():
    return None if other_file_system() else "there is no second file system to write to"


def gone(house):
    """One of two filed photos is taken out of the library behind the daemon's back, and comes once more. The other stays: where
    there is no UUID the library is known by it."""
    for file in list(checker.walk(house.places.library)):
        if file.relative.endswith(b"KNOWN.JPG"):
            house.manifest.photos.pop(checker.file_hash(file.path))
            os.unlink(file.path)
    # Its first outcome remains in the catalogue.
    house.manifest.stands_still = False
    house.drop("AGAIN.JPG", jpeg("known"), ends=["library"])


def unfinished(house):
    """A whole JPEG to which its writer appends data a second after the daemon could file it."""
    start, more = jpeg("unfinished"), b"and more" * 100
    path = house.path("inbox/OPEN.JPG")
    file = open(path, "wb")
    file.write(start)
    file.flush()
    house.manifest.add(start + more, ends=["library"])

    earlier = house.daemon

    def finish():
        while not house.is_removed and (house.daemon is earlier or not house.daemon.is_ready):
            time.sleep(0.01)
        time.sleep(1)
        file.write(more)
        file.close()

    threading.Thread(target=finish, daemon=True).start()


def found_again(house):
    one(house)
    same_names(house)
    for folder in "ab":
        house.drop(f"{folder}/BROKEN.JPG", cut_jpeg(folder), ends=["quarantine"])


def sets(house):
    """A RAW with its JPEG and a sidecar, and a Live Photo with the phone's edits."""
    house.drop_set("DSC_0001", raw_and_jpeg("set"))
    house.drop_set("IMG_0001", live_photo("set"))


def begun_sets(house):
    house.drop_set("DSC_0001", raw_and_jpeg("set"), [".JPG"])
    house.drop_set("IMG_0001", live_photo("set"), [".JPG"])


def late_members(house):
    """Late members of filed photos."""
    house.drop_set("DSC_0001", raw_and_jpeg("set"), [".xmp", ".NEF"])
    house.drop_set("IMG_0001", live_photo("set"), [".AAE", ".MOV"])


AT_ONCE = ("--quiet", "0s")
IMPATIENT = ("--patience", "1ms")

ALL = [
    Scenario("first", "the first start of all, one photo waiting", one, begins=False),
    Scenario("lone", "one photo", one, live=True),
    Scenario("burst", "five photos at once", five, live=True),
    Scenario("duplicate", "a photo that is in the library", known_again, known),
    Scenario("quarantine", "a photo that lacks its end", broken, house={"arguments": IMPATIENT}),
    Scenario("collision", "three photos of one name and day", same_names, one),
    Scenario("copy", "mode = copy: sources stay", staying, house={"arguments": ("--mode", "copy")}),
    Scenario("kept", "sources that cannot be removed", locked, house={"ordinary": True}),
    Scenario("across", "library on another file system: photo, duplicate, broken one", mixed, known,
             house={"library_base": other_file_system, "arguments": IMPATIENT}, needs=no_other_file_system),
    Scenario("named", "a file system without O_TMPFILE", five, house={"fault": Fault(refuse=("tmpfile",))}),
    Scenario("names", "photos and broken ones of one name, without O_TMPFILE", found_again,
             house={"fault": Fault(refuse=("tmpfile",)), "arguments": IMPATIENT}),
    Scenario("history", "a photo comes to a catalogue that tells of a duplicate and a broken one", one, past, live=True,
             house={"arguments": IMPATIENT}),
    Scenario("gone", "a photo comes again whose copy is gone from the library", gone, known_and_one),
    Scenario("sets", "RAW, JPEG and sidecar; a Live Photo with its edits", sets, house={"arguments": AT_ONCE}),
    Scenario("named-sets", "the same without O_TMPFILE", sets,
             house={"arguments": AT_ONCE, "fault": Fault(refuse=("tmpfile",))}),
    Scenario("late", "RAW, film and sidecars of photos that are filed already", late_members, begun_sets,
             house={"arguments": AT_ONCE + ("--set", "sets.wait=50ms")}),
    Scenario("plain", "across file systems, one without O_TMPFILE, clones and RENAME_NOREPLACE", mixed, known,
             house={"library_base": other_file_system, "arguments": IMPATIENT,
                    "fault": Fault(refuse=("tmpfile", "clone", "copy_file_range", "renameat2"))},
             needs=no_other_file_system),
]

# Timing-dependent, so that a killed life may end before.
TIMED = [
    Scenario("unfinished", "a photo whose writer is not done when the daemon starts", unfinished),
]
