"""Processor time for the thumbnails of photographs, beside vipsthumbnail, which makes them in one process too."""
import os
import shutil
import tempfile

import processes
from daemon import Daemon, remove
from figures import ratio, spread, target

PHOTOS = 20
OURS, BOTH, PEER, PEER_BOTH = "photoinbox", "photoinbox, 2,048 and 512", "vipsthumbnail", "vipsthumbnail, 2,048"


def measure(session, release, photos, scratch):
    """Thumbnails of the same photographs by each alternately, in nanoseconds of processor time a photograph."""
    os.makedirs(scratch, exist_ok=True)
    root = os.path.realpath(tempfile.mkdtemp(prefix="thumbnails-", dir=scratch))
    try:
        return in_turn(session, release, photos[:PHOTOS], root)
    finally:
        remove(root)


def in_turn(session, release, photos, root):
    filed = os.path.join(root, "filed")
    file(release, photos, filed)
    programs = {OURS: ours(release, filed, "0"), BOTH: ours(release, filed, "2048")}
    if peer := shutil.which("vipsthumbnail"):
        programs[PEER] = theirs(peer, photos, root, "512")
        programs[PEER_BOTH] = theirs(peer, photos, root, "2048")
    else:
        session.leave_out("vipsthumbnail is not installed (Debian: libvips-tools)")
    times = {name: [] for name in programs}
    for turn in range(session.runs):
        for name, words in programs.items():
            session.note(f"thumbnails: {name}, run {turn + 1} of {session.runs}")
            times[name].append(processes.run(words) / len(photos))
    spreads = {name: spread(samples) for name, samples in times.items()}
    targets = [target("× vipsthumbnail", ratio(spreads, OURS, PEER), 0.9)]
    return {"photos": len(photos), "bytes": sum(map(os.path.getsize, photos)), "processor": spreads,
            "targets": list(filter(None, targets))}


def file(release, photos, root):
    """Files them without thumbnails."""
    daemon = Daemon(release / "photoinboxd", root)
    try:
        daemon.drop(photos)
        daemon.await_filed(len(photos))
    finally:
        daemon.stop()


def ours(release, filed, preview):
    """Makes all of them again by one decoder, including its start, its confinement, the catalogue and the writes."""
    configuration = os.path.join(filed, f"preview-{preview}.toml")
    with open(configuration, "w", encoding="utf-8") as text:
        text.write(f'library = "{filed}/library"\nstate = "{filed}/state"\n[inbox.inbox]\npath = "{filed}/inbox"\n'
                   f'[pictures]\npreview = "{preview}"\ndecoders = "1"\n')
    return [release / "photoinbox", "thumbs", "--rebuild", "--config", configuration]


def theirs(program, photos, root, size):
    made = os.path.join(root, f"made-{size}")
    os.makedirs(made)
    return [program, "--size", size, "-o", os.path.join(made, "%s.jpg"), *photos]
