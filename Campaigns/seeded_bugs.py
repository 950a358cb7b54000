#!/usr/bin/python3
"""Puts faults into a copy of the source, one at a time, and sees whether the campaigns catch each.

usage: Campaigns/seeded_bugs.py [--bug NAME]... [--list] [--tree DIRECTORY] [--build COMMAND] [--programs DIRECTORY]
                                [--build-only] [--power]

  --bug         only these
  --list        prints the table and checks that each can still be put in
  --tree        the copy (.build/campaigns/seeded; made if it is missing, and built anew for each fault)
  --build       what builds photoinboxd in it (swift build --product photoinboxd), run there without a shell
  --programs    a directory in which the built programs are kept, and found again by a later run (none)
  --build-only  keeps them, and tries none yet
  --power       those, too, that only a power cut shows (needs root, loop devices and Campaigns/power.py)

Prints a row for each: the fault, what caught it and in how many seconds. Exits with 1 if one was not caught, or could
not be put in any more because the code has changed: then this table wants a look.
"""
import argparse
import dataclasses
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCES = ("Sources", "Tests", "Examples", "Package.swift", "Package.resolved")


@dataclasses.dataclass
class Bug:
    name: str
    words: str
    edits: list  # (file below Sources, what is there once, what comes in its place)
    catch: tuple  # command lines below Campaigns, tried in order
    needs_power: bool = False


def kill(*names):
    return "kill_at_every_syscall.py --no-recovery --first --patience 20 " + " ".join(f"--scenario {name}" for name in names)


def errno(names, *scenarios, faults=40):
    words = " ".join(f"--errno {name}" for name in names.split())
    return (f"each_errno.py --first --faults {faults} --patience 30 --jobs 8 --seed 1 {words} "
            + " ".join(f"--scenario {name}" for name in scenarios))


def life(*names):
    """A life and a second one, with no fault at all but at a call that is never reached."""
    return kill(*names) + " --at 1000000"


POWER = "power.py --cycles 150 --seed 1"
FILING = "Inbox/Pipeline/InboxWorker+Filing.swift"
MOVES = "Inbox/Pipeline/InboxWorker+SettingAside.swift"
RECOVERY = "Filing/Recovery.swift"

BUGS = [
    Bug("no-copy-sync", "the copy is not synced",
        [("Filing/StagedFile.swift", "{ () throws(SystemCallError) in try content.sync() }",
          "{ () throws(SystemCallError) in }")], (POWER,), True),
    Bug("no-directory-sync", "the library's directory is not synced after the copy has its name",
        [("Filing/StagedFile+Naming.swift",
          "try filing(.syncDestination, .destination, plan.path) { () throws(SystemCallError) in try directory.sync() }",
          "")], (POWER,), True),
    Bug("no-catalogue-sync", "the catalogue commits without waiting for the disk",
        [("Catalogue/Catalogue.swift", 'PRAGMA synchronous = FULL")', 'PRAGMA synchronous = OFF")'),
         ("Catalogue/Catalogue.swift", "== 2 else", "== 0 else")], (POWER,), True),
    # Between copy and row it would do no harm: the intent says where the copy is, and the copy is synced.
    Bug("early-unlink", "the source is removed before there is a copy",
        [(FILING, "        let placed: [PlacedFile]\n", "        _ = remove(members, work)\n"
          "        let placed: [PlacedFile]\n")], (kill("lone"),)),
    Bug("replacing-rename", "a rename replaces what has the name",
        [("CLinux/files.c", "new_name, RENAME_NOREPLACE)", "new_name, 0)")], (life("names"),)),
    Bug("unequal-adopted", "a name that is taken counts as the same photo",
        [("Filing/StagedFile+Naming.swift",
          "guard try holds(name, in: directory, hash: plan.hash, size: size, work, .nameCopy) else { continue }",
          "_ = size")], (life("collision"),)),
    Bug("no-verify", "the copy is not compared with the source",
        [("Filing/StagedFile.swift", "guard read == HashedContent(hash: plan.hash, size: source.identity.size) else {",
          "guard read.size <= source.identity.size else {")], (errno("LIE", "lone", "across", faults=12),)),
    Bug("no-reread", "a duplicate is set aside without a look at the library's copy",
        [("Inbox/Pipeline/InboxWorker+Sets.swift", "if stored.photo.library == places.library,", "if true {\n"
          "                        known.append((hashed, stored))\n                        continue\n"
          "                    }\n                    if stored.photo.library == places.library,")], (life("gone"),)),
    Bug("writer-ignored", "a file that somebody writes to is taken",
        [("Filing/WriterProbe.swift", "case .refusedForWriter: .writerOpen", "case .refusedForWriter: .noWriter"),
         ("DirectoryWatch/Work/WriterGuess.swift", "return file.askForReadLease() == .refusedForWriter",
          "return false")],
        (life("unfinished"),)),
    Bug("no-recovery", "an earlier life's filings are not looked for",
        [("Catalogue/Catalogue+Filing.swift", "ORDER BY id\").map { try StoredIntent($0) }",
          "ORDER BY id\").map { try StoredIntent($0) }.filter { _ in false }")], (kill("lone"),)),
    Bug("no-move-recovery", "an earlier life's moves are not looked for",
        [("Catalogue/Catalogue+Moves.swift", ".map { StoredMove(id: try $0.value(\"id\"), move: try MoveRecord($0)) }",
          ".map { StoredMove(id: try $0.value(\"id\"), move: try MoveRecord($0)) }.filter { _ in false }")],
        (kill("duplicate"),)),
    Bug("aside-forgotten", "recovery does not give a source its name back",
        [(RECOVERY, "        try restore(aside, to: source.name, in: directory, .recover, source)\n",
          "        if aside != aside { try restore(aside, to: source.name, in: directory, .recover, source) }\n")],
        (kill("lone"),)),
    Bug("temporary-forgotten", "recovery leaves a named temporary",
        [(RECOVERY, "do { try directory.remove(FileNames.temporary(token)) } catch {",
          "do { if path.isEmpty { try directory.remove(FileNames.temporary(token)) } } catch {")], (kill("names"),)),
    Bug("recovery-deletes", "recovery takes the source of an unfinished filing away",
        [(RECOVERY, "guard let path = try findCopy(of: pending, in: library, work) else { return .undone }",
          "guard let path = try findCopy(of: pending, in: library, work) else {\n"
          "                if let parent = try openParent(of: pending.source, in: inbox, .source) {\n"
          "                    try? parent.remove(pending.source.name)\n                }\n"
          "                return .undone\n            }")], (kill("lone"),)),
    Bug("intent-stays", "an intent is not closed",
        [("Catalogue/Catalogue+Filing.swift", "for id in ids { try db.execute(sql: \"DELETE FROM intent WHERE id = ?\","
          " arguments: [id]) }", "_ = ids")], (life("lone"),)),
    Bug("copy-mode-moves", "mode = copy removes the source",
        [(FILING, "            spec.removesSources\n            ? remove(members, work)",
          "            !spec.name.isEmpty\n            ? remove(members, work)")], (life("copy"),)),
    Bug("kept-forgotten", "a source that stays is not remembered",
        [("Catalogue/Catalogue+Filing.swift", "            try remember(source, db)\n", "")], (kill("copy"), kill("kept"))),
    Bug("row-missing", "a duplicate's outcome is not recorded",
        [("Catalogue/Catalogue+Moves.swift", "let operation = try outcome.map { try insert($0.columns, into: \"outcome\","
          " db) }", "let operation: Int64? = outcome.flatMap { _ in nil }")], (life("duplicate"),)),
    Bug("wrong-path", "the catalogue has the planned path, not the real one",
        [("Inbox/Pipeline/CatalogueWriter.swift", "photo.libraryPath = filing.path\n            return FilingCommit(\n"
          "                intent: filing.intent.id, photo: photo, filedAt: now, reason: filing.reason",
          "photo.libraryPath = filing.intent.planned.photo.libraryPath\n            return FilingCommit(\n"
          "                intent: filing.intent.id, photo: photo, filedAt: now, reason: filing.reason")], (life("collision"),)),
    Bug("descriptor-leak", "each source leaves a descriptor open",
        [("Filing/SourceFile.swift", "        if status.links == 0 {", "        _ = dup(content.raw)\n"
          "        if status.links == 0 {"),
         ("Filing/SourceFile.swift", "package import FileValues\n", "package import FileValues\nimport Glibc\n")],
        # What a life holds is looked at in the one that recovers.
        (kill("lone"),)),
    Bug("error-is-gone", "a source that cannot be opened just now counts as gone",
        [("Filing/SourceFile.swift", "case .noSuchFileOrDirectory, .notDirectory: self.init(.gone, path)",
          "case .noSuchFileOrDirectory, .notDirectory, .ioError, .tooManyOpenFiles, .noMemory: self.init(.gone, path)")],
        (errno("EIO EMFILE ENOMEM", "lone", "collision", faults=150),)),
    Bug("never-again", "what was deferred is not tried again",
        [("Inbox/Pipeline/Pipeline.swift", "        wakeTimer.reschedule(", "        if next.monotonic < 0 { return }\n"
          "        if wakeSet != nil { return }\n        wakeTimer.reschedule(")],
        (errno("ENOSPC EACCES", "lone", faults=60),)),
    Bug("owed-forgotten", "what recovery could not finish is not tried again",
        [("Inbox/Pipeline/OwedRecovery.swift", "isLeft && !isTrying && now.monotonic >= next",
          "isLeft && !isTrying && now.monotonic < next")],
        (errno("EIO ENOSPC", "lone", "collision", faults=150),)),
    Bug("damaged-by-error", "a catalogue that cannot be read just now is set aside as damaged",
        [("Catalogue/CatalogueError.swift", "case .SQLITE_IOERR: .inputOutput", "case .SQLITE_IOERR: .corrupt")],
        (errno("EIO", "history", faults=250),)),
    Bug("half-written-stays", "what a crash left half-written in the state directory stays there",
        [("Inbox/Daemon/RuntimeFile.swift", "try? parent.remove(entry.name) }", "_ = entry }")], (kill("lone"),)),
    Bug("look-given-up", "a name that could not be looked at is never looked at again",
        [("DirectoryWatch/Core/TreeCore+Looks.swift", "roots[Int(table[directory].root)].failed.insert(directory)",
          "break")], (errno("ESTALE", "lone", "burst", faults=300) + " --once",)),
    Bug("outside", "duplicates are written beside their directory",
        [(MOVES, "let subdirectory = BytePath(spec.name)", "let subdirectory = BytePath(\"elsewhere\")"),
         (MOVES, "let root = try root(place)\n", "let root = try root(place.parent)\n")],
        (life("duplicate"),)),
    Bug("kept-as-opened", "what cannot be moved away is remembered as it was before its name was given back",
        [(MOVES, "kept = try source.identityWhenKept()", "kept = source.identity")],
        (errno("EROFS", "across", faults=100) + " --once",)),
]


def seed(bug, tree):
    """Puts a fault into the tree; why it cannot, or None."""
    for file, old, new in bug.edits:
        path = tree / "Sources" / file
        text = path.read_text()
        if text.count(old) != 1:
            return f"{file} has {text.count(old)} times: {old.strip().splitlines()[0]}"
        path.write_text(text.replace(old, new))
    return None


def restore(tree):
    """Makes the tree's sources those of this one again, touching only what differs."""
    for name in SOURCES:
        source = ROOT / name
        if not source.exists():
            continue
        files = [source] if source.is_file() else [file for file in source.rglob("*") if file.is_file()]
        for file in files:
            copy = tree / file.relative_to(ROOT)
            if not copy.exists() or copy.read_bytes() != file.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


def run(command, log, seconds):
    with open(log, "wb") as out:
        try:
            return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            return None


def try_bug(bug, options, tree, logs):
    """(what caught it or why not, whether it is caught)"""
    program = options.programs / bug.name if options.programs else tree / ".build/debug/photoinboxd"
    if not options.programs or not program.exists():
        restore(tree)
        if reason := seed(bug, tree):
            return f"cannot be put in: {reason}", False
        build = subprocess.run(options.build, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if build.returncode:
            (logs / f"{bug.name}.build").write_bytes(build.stdout)
            errors = re.findall(r"error: .*", build.stdout.decode(errors="replace"))
            return f"does not build: {errors[0] if errors else 'see the log'}", False
        if options.programs:
            shutil.copy(tree / ".build/debug/photoinboxd", program)
    if options.build_only:
        return "built", True
    for line in bug.catch:
        words = line.split()
        began = time.monotonic()
        flag = "--program" if words[0] == "power.py" else "--daemon"
        status = run([sys.executable, str(HERE / words[0]), *words[1:], flag, str(program)],
                     logs / f"{bug.name}.log", 1200)
        text = (logs / f"{bug.name}.log").read_text(errors="replace")
        if status == 1 and "Traceback" not in text:
            name = {"kill_at_every_syscall.py": "every kill", "each_errno.py": "errno", "power.py": "power cut"}[words[0]]
            if "--at 1000000" in line:
                name = "the checker alone"
            said = re.search(r"^VIOLATION .*\n +(.*)", text, re.MULTILINE)
            if said and re.match(r"no .* within", said[1]):
                return f"NOT CAUGHT: {name} only says {said[1]}", False
            return f"{name}, {time.monotonic() - began:.0f} s: {said[1][:160] if said else ''}", True
    return "NOT CAUGHT", False


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bug", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / ".build/campaigns/seeded")
    parser.add_argument("--build", type=shlex.split, default=["swift", "build", "--product", "photoinboxd"])
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    chosen = [bug for bug in BUGS if not options.bug or bug.name in options.bug]
    if options.list:
        wrong = 0
        for bug in chosen:
            counts = [(ROOT / "Sources" / file).read_text().count(old) for file, old, _ in bug.edits]
            fits = all(count == 1 for count in counts)
            wrong += not fits
            print(f"{bug.name:22} {bug.words}{'' if fits else ': CANNOT BE PUT IN ANY MORE'}")
        return 1 if wrong else 0
    tree = options.tree.resolve()
    tree.mkdir(parents=True, exist_ok=True)
    logs = ROOT / ".build/campaigns/seeded-logs"
    logs.mkdir(parents=True, exist_ok=True)
    if options.programs:
        options.programs.mkdir(parents=True, exist_ok=True)
    caught = missed = 0
    for bug in chosen:
        if bug.needs_power and not options.power:
            print(f"{bug.name:22} {bug.words:70} left out: needs a power cut (--power)", flush=True)
            continue
        verdict, is_caught = try_bug(bug, options, tree, logs)
        caught += is_caught
        missed += not is_caught
        print(f"{bug.name:22} {bug.words:70} {verdict}", flush=True)
    restore(tree)
    print(f"{caught} of {caught + missed} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
