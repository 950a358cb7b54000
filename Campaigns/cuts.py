"""Pictures that were cut, or of which a part was never written, through the proof of filing itself, and some of them through
the whole daemon: none may be filed before patience that lost pixels, pages or trailers, and no whole one may be refused. For
the campaign of writers.
"""
import collections
import hashlib
import os
import pathlib
import random
import subprocess
import tempfile
import time

import checker
import pictures
from storm import PATIENCE, House, Violation, find_program, judge, scratch

# The probe's answer: completeness, the decision at each of these moments, and the reason.
AT_ONCE, AFTER_QUIET, WITHIN_PATIENCE, AFTER_PATIENCE = 1, 2, 3, 4


class Probe:
    """The program of the filing tests that examines files as the daemon does, and decides by a given time."""

    def __init__(self, program, directory):
        self.directory = directory
        self.process = subprocess.Popen([program, "examine", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if len(answer) != 6:
            raise Violation(f"the probe ended at {name}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def examine(drawn, count, seed, program, directory):
    """Every picture whole, then cut `count` times in all, by descending lengths. The decisions and the errors."""
    probe, rng = Probe(program, directory), random.Random(f"cuts {seed}")
    wrong, decided, blind, done = [], collections.Counter(), collections.Counter(), 0
    for number, picture in enumerate(drawn):
        name = f"picture-{number}.{picture.ending}"
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(picture.content)
        answer = probe.ask(name)
        decided["whole", picture.kind, moment_of(answer)] += 1
        if answer[AFTER_PATIENCE] != "complete":
            wrong.append(f"{name} ({picture.kind}) is whole and refused: {', '.join(answer)}")
        for is_hole in (True, False):
            gap = gap_in(picture, rng)
            if not gap:
                continue
            write_with_gap(path, picture.content, gap, is_hole)
            answer = probe.ask(name)
            moment = moment_of(answer)
            decided["with a hole" if is_hole else "with zeros", picture.kind, moment] += 1
            # Blocks of zeros may be real pixels; unwritten ones must not be filed so early.
            if moment == "at once" or is_hole and moment == "after quiet":
                wrong.append(f"{name} ({picture.kind}) with {'a hole' if is_hole else 'zeros'} at {gap} is filed {moment}: "
                             f"{', '.join(answer)}")
        with open(path, "wb") as file:
            file.write(picture.content)
        # Cuts for which a small picture has too few lengths are added to the next.
        wanted = (count - done) // (len(drawn) - number)
        for length in pictures.cuts(picture, wanted, rng):
            os.truncate(path, length)
            answer, done = probe.ask(name), done + 1
            moment = moment_of(answer)
            if length >= picture.enough:
                decided["loses nothing", picture.kind, moment] += 1
            elif moment in ("at once", "after quiet"):
                why = picture.why_blind(length)
                if why:
                    blind[picture.kind, why, moment] += 1
                else:
                    wrong.append(f"{name} ({picture.kind}), cut at {length} of {len(picture.content)}, is filed {moment}: "
                                 f"{', '.join(answer)}")
                decided["cut, and nothing tells", picture.kind, moment] += 1
            else:
                decided["cut", picture.kind, moment] += 1
        os.unlink(path)
    probe.close()
    return Result(done, decided, blind, wrong)


def gap_in(picture, rng):
    """Some blocks that are not zeros yet; None for a small picture."""
    blocks = [block for block in range(1, len(picture.content) // 4096 - 1)
              if any(picture.content[block * 4096:(block + 1) * 4096])]
    if not blocks:
        return None
    start = rng.choice(blocks)
    return start * 4096, min(start + rng.choice((1, 2, 8)), len(picture.content) // 4096) * 4096


def write_with_gap(path, content, gap, is_hole):
    pathlib.Path(path).unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.write(content[:gap[0]])
        file.seek(gap[1]) if is_hole else file.write(bytes(gap[1] - gap[0]))
        file.write(content[gap[1]:])


def moment_of(answer):
    if answer[AT_ONCE] == "complete":
        return "at once"
    if answer[AFTER_QUIET] == "complete" or answer[WITHIN_PATIENCE] == "complete":
        return "after quiet"
    return "after patience" if answer[AFTER_PATIENCE] == "complete" else "never"


class Result:
    def __init__(self, count, decided, blind, wrong):
        self.count, self.decided, self.blind, self.wrong = count, decided, blind, wrong

    def total(self, what):
        totals = collections.Counter()
        for (this, _, moment), count in self.decided.items():
            if this == what:
                totals[moment] += count
        return ", ".join(f"{count} {moment}" for moment, count in sorted(totals.items())) or "none"

    def print(self, is_detailed):
        for what in ("whole", "cut", "with a hole", "with zeros", "loses nothing", "cut, and nothing tells"):
            print(f"  {what}: {self.total(what)}")
        for (kind, why, moment), count in sorted(self.blind.items()):
            print(f"    {kind}: {why}: {count} filed {moment}")
        if is_detailed:
            for what in ("whole", "cut"):
                print(f"  {what}, by kind:")
                kinds = sorted({kind for this, kind, _ in self.decided if this == what})
                for kind in kinds:
                    moments = {moment: count for (this, of, moment), count in self.decided.items() if (this, of) == (what, kind)}
                    print(f"    {kind}: {', '.join(f'{count} {moment}' for moment, count in sorted(moments.items()))}")


def through_daemon(drawn, count, seed, program):
    """Some of them, whole and cut, dropped into a running daemon: what may be filed is, what was cut is not; and when
    patience is over, everything has an outcome."""
    rng = random.Random(f"daemon {seed}")
    with scratch("/var/tmp") as directory:
        settings = ["inbox.inbox.quiet=1s", "inbox.inbox.patience=1d"]
        house = House(directory, program, settings, around=[])
        house.build()
        manifest, whole, cut = checker.Manifest(), {}, {}
        for number, picture in enumerate(drawn):
            # A run of zeros waits for half a minute, independent of the window.
            if bytes(3_584) in picture.content:
                continue
            whole[hashlib.sha256(picture.content).hexdigest()] = picture
            for length in pictures.cuts(picture, count // len(drawn) + 1, rng):
                if 16 < length < picture.enough and not picture.why_blind(length):
                    content = picture.content[:length]
                    cut[hashlib.sha256(content).hexdigest()] = (picture, content, (length, length))
            # Some unwritten blocks of a scan; elsewhere they also wait for half a minute.
            if picture.kind == "JPEG" and (gap := gap_in(picture, rng)):
                content = picture.content[:gap[0]] + bytes(gap[1] - gap[0]) + picture.content[gap[1]:]
                cut[hashlib.sha256(content).hexdigest()] = (picture, content, gap)
        cut = {digest: each for digest, each in cut.items() if digest not in whole}
        drops = [(picture.ending, picture.content, (0, 0)) for picture in whole.values()]
        drops += [(picture.ending, content, gap) for picture, content, gap in cut.values()]
        for number, (ending, content, gap) in enumerate(drops):
            manifest.add(content)
            write_with_gap(os.path.join(house.path["inbox"], f"drop-{number:05d}.{ending}"), content, gap, True)
        house.start().ready()
        try:
            # A file that is not deferred is decided.
            end = time.monotonic() + PATIENCE
            while True:
                counts = house.daemon.state()["inboxes"][0]["counts"]
                if counts["inHand"] == 0 and counts["deferred"] + counts["filed"] >= len(whole) + len(cut):
                    break
                if time.monotonic() > end:
                    raise Violation(f"not all were decided within {PATIENCE} s: {counts}")
                time.sleep(0.1)
            house.daemon.stop()
            filed = {checker.file_hash(file.path) for file in checker.walk(house.places.library)}
            taken = [f"{cut[digest][0].kind}, {len(cut[digest][1])} of {len(cut[digest][0].content)} bytes"
                     for digest in filed if digest in cut]
            if taken:
                raise Violation("filed before patience, and cut:\n  " + "\n  ".join(taken))
            early = len(filed)
            # Now patience is over.
            house.settings[1] = "inbox.inbox.patience=0s"
            house.start().ready()
            house.wait_until_empty()
            house.daemon.stop()
            judge(house.places, manifest)
            refused = [picture.kind for digest, picture in whole.items()
                       if digest not in {checker.file_hash(file.path) for file in checker.walk(house.places.library)}]
            if refused:
                raise Violation(f"whole, and not filed: {', '.join(refused)}")
        finally:
            house.daemon.process.kill()
            house.daemon.process.wait()
        return len(whole), len(cut), early


def run(count, picture_count, seed, daemon, is_detailed=True):
    """The whole of it; raises what is wrong."""
    begin = time.monotonic()
    beside = pathlib.Path(daemon).with_name("filing-probe")
    probe = str(beside) if beside.exists() else find_program(None, "filing-probe")
    with tempfile.TemporaryDirectory(prefix="photo-inbox-cuts-") as directory:
        drawn = pictures.draw(seed, picture_count, directory)
    with tempfile.TemporaryDirectory(prefix="photo-inbox-cuts-") as directory:
        result = examine(drawn, count, seed, probe, directory)
    print(f"cuts: {len(drawn)} pictures of {len({picture.kind for picture in drawn})} kinds, {result.count} cuts, seed {seed}, "
          f"{time.monotonic() - begin:.0f} s")
    result.print(is_detailed)
    if result.wrong:
        raise Violation("\n  ".join([f"{len(result.wrong)} decisions are wrong:", *result.wrong[:40]]))
    some = random.Random(seed).sample(drawn, min(len(drawn), max(20, count // 300)))
    whole, cut, early = through_daemon(some, max(40, count // 100), seed, daemon)
    print(f"cuts through the daemon: {whole} whole, {early} of them filed before patience and the others after it; "
          f"{cut} cut or with holes, 0 filed before patience, {time.monotonic() - begin:.0f} s")
