"""Imports from a card, a loop-mounted ext4 file system, beside `cp`, `sync` and `sha256sum` of the same files."""
import contextlib
import os
import random
import shutil
import subprocess
import tempfile
import time

from daemon import Daemon
from figures import at_least, ratio, spread

SIZE = 4_000_000
NAME, PEER = "photoinbox import", "cp, sync, sha256sum"


def measure(session, release, photos, scratch, count=2000):
    """Throughput in bytes a second, alternating, each from a newly mounted card with cold caches."""
    program = release / "photoinbox"
    os.makedirs(scratch, exist_ok=True)
    wall = {NAME: [], PEER: []}
    with contextlib.ExitStack() as stack:
        root = os.path.realpath(tempfile.mkdtemp(prefix="import-", dir=scratch))
        stack.callback(shutil.rmtree, root, True)
        card = os.path.join(root, "card")
        os.mkdir(card)
        session.note(f"import: a card with {count:,} photographs of {SIZE / 1e6:g} MB")
        fill(root, card, photos, count)
        stack.callback(subprocess.run, ["umount", "-q", card], check=False)
        for turn in range(session.runs):
            for name, once in ((NAME, imported), (PEER, copied)):
                session.note(f"import: {name}, run {turn + 1} of {session.runs}")
                target = os.path.join(root, f"run-{turn}")
                fresh(root, card)
                try:
                    wall[name].append(once(release, program, card, target))
                finally:
                    shutil.rmtree(target, ignore_errors=True)
    whole = count * SIZE
    rates = {name: spread([whole * 1e9 / sample for sample in samples]) for name, samples in wall.items()}
    targets = [at_least("× throughput of cp, sync and sha256sum", ratio(rates, NAME, PEER), 0.9)]
    return {"photos": count, "bytes": whole, "runs": session.runs, "rates": rates,
            "targets": list(filter(None, targets))}


def fill(root, card, photos, count):
    """Creates the card: each photograph is a real one with a different incompressible end."""
    image = os.path.join(root, "card.img")
    with open(image, "wb") as file:
        file.truncate(int(count * SIZE * 1.05) + (64 << 20))
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-N", str(count + 1000), image], check=True)
    subprocess.run(["mount", "-o", "loop", image, card], check=True)
    models = [open(photo, "rb").read()[:SIZE - 64] for photo in photos[:10]]  # pylint: disable=consider-using-with
    noise = random.Random(7)
    for number in range(count):
        directory = os.path.join(card, "DCIM", f"{100 + number // 1000}CANON")
        os.makedirs(directory, exist_ok=True)
        model = models[number % len(models)]
        with open(os.path.join(directory, f"IMG_{number:05}.JPG"), "wb") as file:
            file.write(model + noise.randbytes(SIZE - len(model)))


def fresh(root, card):
    """Mounts the card anew and drops the page cache."""
    subprocess.run(["umount", card], check=True)
    os.sync()
    subprocess.run(["mount", "-o", "loop,ro", os.path.join(root, "card.img"), card], check=True)
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")


def imported(release, program, card, target):
    """Imports into the inbox of a daemon that created its catalogue and ended: filing is measured elsewhere."""
    os.mkdir(target)
    daemon = Daemon(release / "photoinboxd", target)
    daemon.stop()
    configuration = os.path.join(target, "photoinbox.toml")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(f'library = "{daemon.library}"\nstate = "{daemon.state}"\nruntime = "{daemon.runtime}"\n'
                   f'[inbox.card]\npath = "{daemon.inbox}"\n')
    begun = time.monotonic_ns()
    subprocess.run([program, "import", "--config", configuration, card], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic_ns() - begun


def copied(_, __, card, target):
    """Copies by the three programs, one after the other."""
    os.mkdir(target)
    begun = time.monotonic_ns()
    subprocess.run(["cp", "-r", os.path.join(card, "DCIM"), target], check=True)
    subprocess.run(["sync"], check=True)
    files = [os.path.join(directory, name) for directory, _, names in os.walk(target) for name in names]
    subprocess.run(["xargs", "-0", "sha256sum"], check=True, stdout=subprocess.DEVNULL,
                   input="\0".join(sorted(files)).encode())
    return time.monotonic_ns() - begun
