#!/usr/bin/python3
"""Mutants of real pictures, through the real decoder and through the whole daemon. Whatever they hold, the decoder answers
or ends within the deadline and within its memory, and the daemon goes on, with every mutant filed or quarantined and the
reason kept where no picture could be made of it.

usage: Campaigns/mutants.py [--mutants N] [--through-daemon N] [--pictures DIR] [--jobs N] [--seed N] [--patience SECONDS]
                            [--daemon FILE]

  --mutants         so many for decoders (100,000), spread over all pictures
  --through-daemon  so many for the daemon besides (a fiftieth of them)
  --pictures        a directory of pictures; $PHOTOINBOX_PHOTOS, else those of the tests
  --jobs            decoders at once; as many as processors
"""
import collections
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import time

import commandline
import house as houses

# The defaults of [pictures]; see DecoderClient.
ADDRESS_SPACE = 2 << 30
DEADLINE = 60
PROCESSOR_SECONDS = 30
RECYCLE_AFTER = 500
MEMORY_MARK = 512 << 20
LONGEST_PART = 32 << 20
VERSION = 4
KINDS = {".dng": 2, ".nef": 2, ".raf": 2, ".cr2": 2, ".cr3": 2, ".arw": 2,
         ".mp4": 6, ".mov": 6, ".mkv": 6, ".avi": 6, ".mts": 6}
PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".heic", ".avif", ".avifs", ".gif", ".jxl", ".jp2",
            ".psd"} | set(KINDS)
TASTY = [0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 32767, 32768, 65535, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]


# --- mutants ---

def mutate(content, rng, others):
    """`content` with one to eight mutations."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        # Headers control a decoder.
        area = len(data) if rng.random() < 0.5 else min(len(data), 2048)
        at = rng.randrange(max(1, area))
        length = min(rng.choice((1, 2, 4, 16, 256, 4096)), len(data) - at)
        match rng.randrange(10):
            case 0:
                data[at:at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if data else b""
            case 1:
                data[at:at + 1] = bytes([rng.choice(TASTY) & 255])
            case 2:
                size = rng.choice((2, 4))
                order = rng.choice(("little", "big"))
                data[at:at + size] = (rng.choice(TASTY) & (1 << 8 * size) - 1).to_bytes(size, order)
            case 3:
                data[at:at + length] = rng.randbytes(length)
            case 4:
                del data[at:at + length]
            case 5:
                data[at:at] = data[at:at + length]
            case 6:
                del data[at + 1:]
            case 7:
                data[at:at + length] = bytes(length)
            case 8:
                source = rng.choice(others)
                other = rng.randrange(max(1, len(source)))
                data[at:at + length] = source[other:other + length]
            case 9:
                other = rng.randrange(max(1, len(data)))
                data[at:at + length], data[other:other + length] = data[other:other + length], data[at:at + length]
    return bytes(data) or b"\0"


def read_pictures(directory):
    """The pictures of a directory, by name."""
    found = {path.name: path.read_bytes() for path in sorted(pathlib.Path(directory).rglob("*"))
             if path.suffix.lower() in PICTURES and path.is_file()}
    if not found:
        raise SystemExit(f"there are no pictures in {directory}")
    return found


# --- the decoder ---

class Lost(Exception):
    """The decoder ended or was killed; the reason in words."""


class Decoder:
    """One decoder, run as by the daemon's client: the same program, limits, messages and descriptors."""

    def __init__(self, program):
        self.program, self.process, self.socket = program, None, None
        self.number = self.started = self.made = self.peak = 0

    def start(self):
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            self.process = subprocess.Popen(
                [self.program, "--films", "--address-space", str(ADDRESS_SPACE)], stdin=far, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env={}, cwd="/")
        self.socket, self.made = near, 0
        self.started += 1
        near.settimeout(DEADLINE)
        kind, fields = self.receive()
        if kind != 2 or fields != b"\0\0":
            raise SystemExit(f"skipped: the decoder cannot be confined here: {fields[2:].decode(errors='replace')}")

    def receive(self):
        """A message's kind and content; raises if the decoder ended."""
        try:
            message = self.socket.recv(8192)
        except TimeoutError:
            raise Lost("overdue") from None
        except OSError:
            message = b""
        if not message:
            self.socket.close()
            self.process.wait(DEADLINE)
            status = self.process.returncode
            self.process = None
            raise Lost(signal.Signals(-status).name if status < 0 else f"exit {status}")
        length, version, kind = struct.unpack_from("<IHB", message)
        if length != len(message) - 4 or version != VERSION:
            raise Lost("nonsense")
        return kind, message[7:]

    def measure(self):
        """Its peak resident memory; see proc(5)."""
        with contextlib.suppress(OSError, ValueError):
            for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peak = max(self.peak, int(line.split()[1]) << 10)

    def ask(self, content, kind):
        """`made`, `refused`, or raises Lost."""
        if not self.process:
            self.start()
        self.number += 1
        picture, answer = os.memfd_create("picture"), os.memfd_create("answer")
        try:
            with open(picture, "wb", closefd=False) as file:
                file.write(content)
            readable = os.open(f"/proc/self/fd/{picture}", os.O_RDONLY)
            try:
                request = struct.pack("<HBQBQQIIIIBBII", VERSION, 1, self.number, kind, 1 << 30, 268_000_000, 65_535, 100,
                                      PROCESSOR_SECONDS, DEADLINE, 80, 2, 1024, 256)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(self.socket, [struct.pack("<I", len(request)) + request], [readable, answer])
            finally:
                os.close(readable)
            what, fields = self.receive()
            if what == 4:
                return "refused"
            if what != 3:
                raise Lost("nonsense")
            self.check(fields, answer)
            self.made += 1
            memory = struct.unpack_from("<Q", fields, 17)[0]
            if self.made % 50 == 0:
                self.measure()
            if self.made >= RECYCLE_AFTER or memory >= MEMORY_MARK:
                self.end()
            return "made"
        finally:
            os.close(picture)
            os.close(answer)

    def check(self, fields, answer):
        """Checks an answer as the daemon does."""
        number, size = struct.unpack_from("<Q", fields)[0], os.fstat(answer).st_size
        count = fields[35]
        if number != self.number or count != 2:
            raise Lost("nonsense")
        for part in range(count):
            side, width, height, offset, length = struct.unpack_from("<IIIQQ", fields, 36 + 28 * part)
            if not (0 < width <= side and 0 < height <= side and 0 < length <= LONGEST_PART and offset + length <= size):
                raise Lost("nonsense")
            if os.pread(answer, 3, offset) != b"\xff\xd8\xff":
                raise Lost("nonsense")

    def end(self):
        if self.process:
            self.measure()
            self.process.kill()
            self.process.wait()
            self.socket.close()
            self.process = None


def decode_some(program, pictures, seed, numbers):
    """Decodes the mutants with these numbers in order: the outcomes and the errors."""
    decoder = Decoder(program)
    results, wrong = collections.Counter(), []
    names, others = list(pictures), list(pictures.values())
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        name = names[number % len(names)]
        content = mutate(pictures[name], rng, others)
        began = time.monotonic()
        try:
            results[decoder.ask(content, KINDS.get(pathlib.Path(name).suffix.lower(), 1))] += 1
        except Lost as lost:
            results[f"lost: {lost}"] += 1
            decoder.end()
            # A mutant may crash a decoder, but not make it hang or answer something that the daemon would reject.
            if str(lost) in ("overdue", "nonsense"):
                wrong.append(f"mutant {number} of {name}: {lost} after {time.monotonic() - began:.1f} s")
    decoder.end()
    if decoder.peak > ADDRESS_SPACE:
        wrong.append(f"a decoder had {decoder.peak >> 20} MiB")
    return results, wrong, decoder.started, decoder.peak


def through_decoders(options, pictures, program):
    """All mutants, through one decoder per job."""
    results, wrong, started, peak, done = collections.Counter(), [], 0, 0, 0
    began = time.monotonic()
    size = 250
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(decode_some, program, pictures, options.seed, range(start, min(start + size, options.mutants)))
                   for start in range(0, options.mutants, size)]
        for future in concurrent.futures.as_completed(waiting):
            part, mistakes, count, memory = future.result()
            results += part
            wrong += mistakes
            started, peak, done = started + count, max(peak, memory), done + part.total()
            if sys.stdout.isatty() or done % 10_000 < size:
                print(f"{done:,} of {options.mutants:,}, {done / (time.monotonic() - began):.0f} a second, "
                      f"{len(wrong)} violations", flush=True)
    seconds = time.monotonic() - began
    print(f"{results.total():,} mutants through decoders in {seconds:.0f} s: "
          + ", ".join(f"{count:,} {what}" for what, count in sorted(results.items()))
          + f"; {started:,} decoders, at most {peak >> 20} MiB resident")
    return wrong


# --- the daemon ---

class MutantHouse(houses.House):
    """A house whose daemon makes renditions, by its configuration."""

    def start(self, fault=None, arguments=()):
        configuration = pathlib.Path(self.path("own/photoinbox.toml"))
        configuration.write_text(
            f'library = "{self.library}"\nstate = "{self.path("st")}"\n[inbox.inbox]\npath = "{self.path("inbox")}"\n'
            'quiet = "0s"\npatience = "1s"\nrenditions = ["thumbnail", "hash"]\n'
            '[sets]\nenabled = "no"\n[pictures]\nenabled = "yes"\npreview = "0"\nthumbnail = "256"\n')
        self.daemon = houses.Daemon(self, [self.program, "--config", str(configuration), "--log", "console"], fault)
        return self.daemon


def through_daemon(options, pictures, count):
    """Files `count` mutants with one daemon, which must survive, and checks the outcome of each."""
    house = MutantHouse(options.daemon)
    wrong, began = [], time.monotonic()
    try:
        daemon = house.start()
        if not daemon.wait_ready():
            return [f"the daemon did not start:\n{house.tail()}"]
        names, others = list(pictures), list(pictures.values())
        mutants = {}
        for number in range(count):
            name = names[number % len(names)]
            content = mutate(pictures[name], random.Random(f"daemon {options.seed} {number}"), others)
            digest = hashlib.sha256(content).hexdigest()
            if digest in mutants:
                continue
            mutants[digest] = f"{number}{pathlib.Path(name).suffix}"
            aside = pathlib.Path(house.path("outside"), str(number))
            aside.write_bytes(content)
            aside.rename(pathlib.Path(house.path("inbox"), mutants[digest]))
        if not wait_for_outcomes(house, daemon, mutants):
            wrong.append(f"the daemon ended:\n{house.tail()}")
        else:
            daemon.stop()
        wrong += places_of(house, mutants)
    except houses.Failed as failed:
        wrong.append(f"{failed}\n{house.tail()}")
    finally:
        if house.daemon:
            house.daemon.abandon()
        house.remove()
    print(f"{count:,} mutants through the daemon in {time.monotonic() - began:.0f} s, {len(wrong)} violations", flush=True)
    return wrong


def wait_for_outcomes(house, daemon, mutants):
    """Waits until the inbox is empty and every filed mutant has a rendition or a reason; False if the daemon ended."""
    waiting = houses.Waiting("end of all", max(houses.PATIENCE, len(mutants) * 0.5))
    while True:
        if daemon.has_ended():
            return False
        if not any(os.scandir(house.path("inbox"))) and not unsettled(house):
            return True
        waiting.once(why=lambda: f"{len(os.listdir(house.path('inbox')))} lie in the inbox, "
                     f"{len(unsettled(house))} have neither picture nor reason")


def digests(directory):
    """SHA-256 → path of all files below."""
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path
            for path in pathlib.Path(directory).rglob("*") if path.is_file()}


def unsettled(house):
    """Library files that may have a rendition, but have neither one nor a reason."""
    made = {path.name[:64] for path in pathlib.Path(house.path("st/thumbnails")).rglob("*") if path.stat().st_size > 0}
    return [path for digest, path in digests(house.library).items() if digest not in made]


def places_of(house, mutants):
    """Checks that each mutant is in the library, or in quarantine with its reason."""
    filed = digests(house.library)
    aside = digests(house.path("quarantine")) if os.path.isdir(house.path("quarantine")) else {}
    wrong = []
    for digest, name in mutants.items():
        if digest in filed:
            continue
        path = aside.get(digest)
        if not path:
            wrong.append(f"{name} is neither filed nor quarantined")
        elif not any(other != path and other.name.startswith(path.name) for other in path.parent.iterdir()):
            wrong.append(f"{name} is quarantined without a reason")
    print(f"{len(filed):,} filed, {sum(digest in aside for digest in mutants):,} quarantined", flush=True)
    return wrong


def main():
    arguments = commandline.parser(__doc__.split("usage: ")[1], jobs=os.cpu_count())
    arguments.add_argument("--mutants", type=int, default=100_000)
    arguments.add_argument("--through-daemon", type=int)
    arguments.add_argument("--pictures", default=os.environ.get("PHOTOINBOX_PHOTOS", pathlib.Path(houses.FIXTURES).parent))
    options = commandline.begin(arguments, "mutants")
    pictures = read_pictures(options.pictures)
    program = houses.program("photoinbox-decoder")
    count = options.mutants // 50 if options.through_daemon is None else options.through_daemon
    print(f"{len(pictures)} pictures, {sum(map(len, pictures.values())) >> 10} KiB; {program}", flush=True)
    wrong = through_decoders(options, pictures, program) if options.mutants else []
    if count:
        wrong += through_daemon(options, pictures, count)
    for line in wrong[:50]:
        print(f"violation: {line}")
    print(f"{options.mutants + count:,} mutants, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
