"""From a heap of photographs to all of them filed, recorded and with thumbnails: the daemon beside a script as one would
write it by hand, and beside the least that has to be computed, hashes and pixels, spread over the processors."""
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import processes
from daemon import Daemon, remove
from figures import at_least, ratio, spread, target

PHOTOS = 100
OURS, BOTH, SCRIPT, FLOOR = "photoinboxd", "photoinboxd, 2,048 and 512", "script", "floor"
TOOLS = {"inotifywait": "inotify-tools", "exiftool": "libimage-exiftool-perl", "vipsthumbnail": "libvips-tools",
         "sqlite3": "sqlite3", "sha256sum": "coreutils"}

# Without syncing the photographs, checking their completeness, or copying: the inbox and the
# library are of one file system.
BY_HAND = r"""
cd "$1" && left=$2
sqlite3 catalogue.sqlite 'CREATE TABLE photo (sha256 TEXT UNIQUE, name TEXT, taken TEXT, camera TEXT)'
while read -r name; do
    sum=$(sha256sum < "inbox/$name") && sum=${sum%% *}
    { read -r taken; read -r camera; } < <(exiftool -s3 -DateTimeOriginal -Model "inbox/$name")
    vipsthumbnail --size 512 -o "$PWD/thumbnails/$sum.jpg" "inbox/$name"
    mv -n "inbox/$name" "library/$name"
    sqlite3 catalogue.sqlite "INSERT INTO photo VALUES ('$sum', '${name//\'/}', '$taken', '$camera')"
    left=$((left - 1)) && [ $left -gt 0 ] || exit 0
done < <(exec inotifywait -m -q -e close_write,moved_to --format %f inbox)
"""

# One process of sh for ten photographs; djpeg at a quarter gives the 1,000 pixels that a thumbnail of 512 needs.
LEAST = r'''for photo; do djpeg -scale 1/4 "$photo" > /dev/null; sha256sum "$photo" > /dev/null; done'''


def measure(session, release, photos, scratch):
    """Wall and processor time of each in turn, in nanoseconds a photograph."""
    os.makedirs(scratch, exist_ok=True)
    photos = photos[:PHOTOS]
    programs = {OURS: lambda root: ours(release, photos, root, "0"),
                BOTH: lambda root: ours(release, photos, root, "2048")}
    if missing := [f"{tool} (Debian: {package})" for tool, package in TOOLS.items() if not shutil.which(tool)]:
        session.leave_out(f"the script in pipeline: no {', '.join(missing)}")
    else:
        programs[SCRIPT] = lambda root: by_hand(photos, root)
    if shutil.which("djpeg"):
        programs[FLOOR] = lambda root: least(photos)
    else:
        session.leave_out("the floor in pipeline: no djpeg (Debian: libjpeg-turbo-progs)")
    wall, processor = {name: [] for name in programs}, {name: [] for name in programs}
    for turn in range(session.runs):
        for name, program in programs.items():
            session.note(f"pipeline: {name}, run {turn + 1} of {session.runs}")
            root = os.path.realpath(tempfile.mkdtemp(prefix="pipeline-", dir=scratch))
            try:
                before = processes.children_ns()
                wall[name].append(program(root) / len(photos))
                processor[name].append((processes.children_ns() - before) / len(photos))
            finally:
                remove(root)
    spreads = {name: spread(samples) for name, samples in wall.items()}
    targets = [at_least("photos a second, × script", ratio(spreads, SCRIPT, OURS), 3.5),
               target("× floor", ratio(spreads, OURS, FLOOR), 1.3)]
    return {"photos": len(photos), "bytes": sum(map(os.path.getsize, photos)), "processors": os.cpu_count(),
            "wall": spreads, "processor": {name: spread(samples) for name, samples in processor.items()},
            "targets": list(filter(None, targets))}


def ours(release, photos, root, preview):
    daemon = Daemon(release / "photoinboxd", os.path.join(root, "daemon"),
                    ["--set", "pictures.enabled=yes", "--set", f"pictures.preview={preview}"])
    try:
        begun = daemon.drop(photos)
        daemon.await_filed(len(photos))
        daemon.await_thumbnails(len(photos))
        return time.monotonic_ns() - begun
    finally:
        daemon.stop()


def by_hand(photos, root):
    for directory in ("inbox", "library", "thumbnails", "staging"):
        os.makedirs(os.path.join(root, directory))
    staged = [shutil.copy(photo, os.path.join(root, "staging")) for photo in photos]
    os.sync()
    with subprocess.Popen(["bash", "-c", BY_HAND, "script", root, str(len(photos))], start_new_session=True) as script:
        try:
            await_watch(root)
            begun = time.monotonic_ns()
            for photo in staged:
                os.rename(photo, os.path.join(root, "inbox", os.path.basename(photo)))
            status = script.wait(600)
            ended = time.monotonic_ns()
        finally:
            # inotifywait would continue.
            os.killpg(script.pid, signal.SIGTERM)
    with sqlite3.connect(os.path.join(root, "catalogue.sqlite")) as database:
        rows = database.execute("SELECT count(*) FROM photo").fetchone()[0]
    made = len(os.listdir(os.path.join(root, "thumbnails")))
    if status or rows != len(photos) or made != len(photos):
        raise RuntimeError(f"the script has recorded {rows}, and made {made} thumbnails (status {status})")
    return ended - begun


def await_watch(root):
    """Waits until inotifywait watches the inbox, by the kernel's list of its watches."""
    inode, end = f"ino:{os.stat(os.path.join(root, 'inbox')).st_ino:x} ", time.monotonic() + 30
    while time.monotonic() < end:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as name:
                    if name.read() != "inotifywait\n":
                        continue
                for number in os.listdir(f"/proc/{pid}/fdinfo"):
                    with open(f"/proc/{pid}/fdinfo/{number}", encoding="utf-8") as lines:
                        if inode in lines.read():
                            return
            except OSError:
                continue
        time.sleep(0.05)
    raise RuntimeError("inotifywait does not watch")


def least(photos):
    begun = time.monotonic_ns()
    names = b"\0".join(os.fsencode(photo) for photo in photos)
    subprocess.run(["xargs", "-0", "-n", "5", "-P", str(os.cpu_count()), "sh", "-c", LEAST, "floor"], input=names,
                   check=True)
    return time.monotonic_ns() - begun
