"""The cost of a photograph late and early in one daemon's life: all are filed without a pause, on tmpfs."""
import io
import os
import tempfile
import time

from PIL import Image

import processes
from daemon import Daemon, file_system_of, remove
from figures import target

BLOCK, AT_ONCE, MEBIBYTE = 10_000, 100, 1 << 20
DATE = b"2001:01:01 00:00:00"


def pattern():
    """A small photograph with a date: its bytes before and after the place of a unique part."""
    exif = Image.Exif()
    exif[0x0132] = DATE.decode()
    exif[0x8769] = {0x9003: DATE.decode()}
    image = io.BytesIO()
    Image.effect_noise((64, 48), 60).save(image, "JPEG", exif=exif)
    content = image.getvalue()
    tables = content.index(b"\xff\xdb")
    return content[:tables], content[tables:]


def photograph(before, after, number):
    """A unique photograph; a thousand a day."""
    day = number // 1000
    taken = b"%04d:%02d:%02d 12:%02d:%02d" % (
        1990 + day // 336, 1 + day // 28 % 12, 1 + day % 28, number // 60 % 60, number % 60)
    comment = b"%019d" % number
    return before.replace(DATE, taken) + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + after


def measure(session, release, directory, count):
    root = os.path.realpath(tempfile.mkdtemp(prefix="photo-inbox-life-", dir=directory))
    blocks = []
    before, after = pattern()
    begun = time.monotonic()
    try:
        daemon = Daemon(release / "photoinboxd", root)
        try:
            for first in range(0, count, BLOCK):
                blocks.append(block(daemon, before, after, range(first, min(first + BLOCK, count))))
                told = blocks[-1]
                session.note(f"life: {told['photos']:,} filed; {told['wall']:.1f} s, {told['processor'] / 1e6:.2f} ms of "
                             f"processor time each, {told['resident'] / MEBIBYTE:.1f} MB resident, at most "
                             f"{told['peak'] / MEBIBYTE:.1f}")
            recorded = daemon.recorded()
        finally:
            status = daemon.stop()
        if recorded != count or status:
            raise RuntimeError(f"{recorded} of {count} are recorded, exit status {status}")
    finally:
        kind, _ = file_system_of(root)
        remove(root)
    # The first ones fill the caches of the allocator and SQLite.
    early = blocks[min(1, len(blocks) - 1)]
    return {"photos": count, "seconds": time.monotonic() - begun, "file_system": kind, "blocks": blocks, "targets": [
        target("× processor time of the second block", blocks[-1]["processor"] / early["processor"], 1.1),
        target("MB resident at any time", max(one["peak"] for one in blocks) / MEBIBYTE, 64),
        target("MB more than after the second block", (blocks[-1]["resident"] - early["resident"]) / MEBIBYTE, 8)]}


def block(daemon, before, after, numbers):
    """Files some, a hundred at a time."""
    pid = daemon.process.pid
    staging = os.path.join(os.path.dirname(daemon.inbox), "staging")
    os.makedirs(staging, exist_ok=True)
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")
    processor, begun = processes.processor_ns(pid), time.monotonic()
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        names = [f"IMG_{number:07d}.JPG" for number in range(first, min(first + AT_ONCE, numbers.stop))]
        for number, name in enumerate(names, first):
            with open(os.path.join(staging, name), "wb") as file:
                file.write(photograph(before, after, number))
        for name in names:
            os.rename(os.path.join(staging, name), os.path.join(daemon.inbox, name))
        daemon.await_empty()
    used = processes.processor_ns(pid) - processor
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return {"photos": numbers.stop, "wall": time.monotonic() - begun, "processor": used / len(numbers),
            "resident": processes.memory(pid)["rss"], "peak": peak * 1024}
