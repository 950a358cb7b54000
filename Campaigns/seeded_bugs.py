#!/usr/bin/python3
"""Puts faults into a copy of the source, one at a time, and checks whether the campaigns catch each.

usage: Campaigns/seeded_bugs.py [--bug NAME]... [--list] [--tree DIRECTORY] [--build COMMAND] [--programs DIRECTORY]
                                [--build-only] [--power]

  --bug         only these
  --list        prints the table and checks that each can still be applied
  --tree        the copy (.build/campaigns/seeded; created if missing, and rebuilt for each fault)
  --build       the command that builds a product in it (swift build --product), run without a shell
  --programs    a directory that keeps the built programs for later runs (none)
  --build-only  builds them without running the campaigns
  --power       also faults that only a power cut shows (needs root, loop devices and Campaigns/power.py)

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
    edits: list  # (file below Sources, text that occurs once, its replacement)
    catch: tuple  # command lines below Campaigns, tried in order
    needs_power: bool = False


def kill(*names):
    return "kill_at_every_syscall.py --no-recovery --first --patience 20 " + " ".join(f"--scenario {name}" for name in names)


def errno(names, *scenarios, faults=40):
    words = " ".join(f"--errno {name}" for name in names.split())
    return (f"each_errno.py --first --faults {faults} --patience 30 --jobs 8 --seed 1 {words} "
            + " ".join(f"--scenario {name}" for name in scenarios))


def life(*names):
    """Two lives without a fault, since its call is never reached."""
    return kill(*names) + " --at 1000000"


def failovers(rounds, held=1):
    return f"failover.py --rounds {rounds} --jobs 2 --hosts 2 --held {held} --undisturbed --patience 30 --seed 1 --first"


def messages(kind, *names):
    return (f"each_message.py --no-recovery --first --patience 30 --seed 1 --kind {kind} "
            + " ".join(f"--scenario {name}" for name in names))


def fleet(scenario, then="taken"):
    """One of two hosts stands still before each call."""
    return f"fleet.py --steps --first --patience 60 --seed 1 --struck call --scenario {scenario} --then {then}"


def test(name):
    """A test that fails; for what the files and rows at the end do not show."""
    return f"test {name}"


POWER = "power.py --cycles 150 --seed 1"
CUTS = "writers.py --rounds 0 --cuts 6000 --seed 1"


def places(kinds, acts):
    """Random worlds of these kinds, with only these acts, until the first violation."""
    return ("places.py --worlds 60 --acts 1800 --seed 1 --jobs 4 --shrink-for 0"
            + "".join(f" --only-kind {kind}" for kind in kinds.split()) + "".join(f" --only-act {act}" for act in acts.split()))


REMOVAL = "Filing/Removal/Removal.swift"
GUARD = "LibraryCare/LibraryGuard.swift"
FILING = "Ingest/Pipeline/FilingTransaction.swift"
MOVES = "Ingest/Pipeline/Mover.swift"
RECOVERY = "Filing/Recovery.swift"
RUNNER = "Ingest/Pipeline/RecoveryRunner.swift"
INTENTS = "Catalogue/CatalogueFile+Filing.swift"
USES = "Catalogue/CatalogueFile+Uses.swift"
SCHEMA = "Catalogue/PostgreSQL/PostgreSQLSchema.swift"

BUGS = [
    Bug("no-copy-sync", "the copy is not synced",
        [("Filing/StagedFile.swift", "{ () throws(SystemCallError) in try content.sync() }",
          "{ () throws(SystemCallError) in }")], (POWER,), True),
    Bug("no-directory-sync", "the library's directory is not synced after the copy has its name",
        [("Filing/StagedFile+Naming.swift",
          "            try directory.syncDirectory()\n", "            _ = directory.raw\n")], (POWER,), True),
    Bug("no-catalogue-sync", "the catalogue commits without waiting for the disk",
        [("Catalogue/SQLite/SQLiteEngine.swift", 'PRAGMA synchronous = FULL")', 'PRAGMA synchronous = OFF")'),
         ("Catalogue/SQLite/SQLiteEngine.swift", "== 2 else", "== 0 else")], (POWER,), True),
    # Between copy and row it would be harmless: the intent has the copy's path, and the copy is synced.
    Bug("early-unlink", "the source is removed before there is a copy",
        [(FILING, "        let placed = try placeCopies(intents)\n",
          "        for member in members {\n            let source = member.hashed.member.source\n"
          "            _ = try? source.remove(token: member.plan.token, by: DiscardOrder(request: 0), probe: inbox.probe)\n"
          "        }\n        let placed = try placeCopies(intents)\n")], (kill("lone"),)),
    Bug("replacing-rename", "a rename replaces what has the name",
        [("CLinux/files.c", "new_name, RENAME_NOREPLACE)", "new_name, 0)")], (life("names"),)),
    Bug("unequal-adopted", "a name that is taken counts as the same photo",
        [("Filing/StagedFile+Naming.swift",
          "guard number == 0, !root.isShared, let equal = try equalFile(under: name, work) else { return nil }",
          "guard let equal = try? FileStatus(of: name, in: directory) else { return nil }")], (life("collision"),)),
    Bug("no-verify", "the copy is not compared with the source",
        [("Filing/StagedFile.swift", "guard read == HashedContent(hash: plan.hash, size: source.identity.size) else {",
          "guard read.size <= source.identity.size else {")], (errno("LIE", "lone", "across", faults=12),)),
    Bug("no-reread", "a duplicate is set aside without a look at the library's copy",
        [("Ingest/Pipeline/SetFiler.swift", "        guard stored.photo.library == inbox.places.library else { return nil }\n",
          "        if stored.id != 0 { return try FileStatus(of: library.descriptor) }\n"
          "        guard stored.photo.library == inbox.places.library else { return nil }\n"),
         (MOVES, "duplicateOf: stored.id, seeing: [.recorded(copy)],\n                work)", "duplicateOf: stored.id, work)"),
         (MOVES, "let copy = inbox.directories.libraryCopy(", "_ = inbox.directories.libraryCopy(")], (life("gone"),)),
    Bug("writer-ignored", "a file that somebody writes to is taken",
        [("Filing/WriterProbe.swift", "case .refusedForWriter: .writerOpen", "case .refusedForWriter: .noWriter"),
         ("DirectoryWatch/Work/WriterGuess.swift", "case .refusedForWriter: return .writer",
          "case .refusedForWriter: return .unknown")],
        (life("unfinished"),)),
    Bug("no-recovery", "an earlier life's filings are not looked for",
        [("Catalogue/CatalogueFile+Filing.swift", "ORDER BY id\").map { try StoredIntent($0) }",
          "ORDER BY id\").map { try StoredIntent($0) }.filter { _ in false }")], (kill("lone"),)),
    Bug("no-move-recovery", "an earlier life's moves are not looked for",
        [("Catalogue/CatalogueFile+Moves.swift", ".map { StoredMove(id: try $0.value(\"id\"), move: try MoveRecord($0)) }",
          ".map { StoredMove(id: try $0.value(\"id\"), move: try MoveRecord($0)) }.filter { _ in false }")],
        (kill("duplicate"),)),
    Bug("aside-forgotten", "recovery does not give a source its name back",
        [(RECOVERY, "        try restore(aside, to: path.name, in: directory, .recover, path)\n",
          "        if aside != aside { try restore(aside, to: path.name, in: directory, .recover, path) }\n")],
        (kill("lone"),)),
    Bug("temporary-forgotten", "recovery leaves a named temporary",
        [(RECOVERY, "do { try removeUnfinished(FileNames.temporary(token), in: directory) } catch {",
          "do { if path.isEmpty { try removeUnfinished(FileNames.temporary(token), in: directory) } } catch {")], (kill("names"),)),
    Bug("recovery-deletes", "recovery takes the source of an unfinished filing away",
        [(RECOVERY, "guard let path = try findCopy(of: pending, in: library, work) else { return .undone }",
          "guard let path = try findCopy(of: pending, in: library, work) else {\n"
          "                if let parent = try openParent(of: pending.source, in: inbox, .source) {\n"
          "                    try? parent.unlink(pending.source.name)\n                }\n"
          "                return .undone\n            }")], (kill("lone"),)),
    Bug("intent-stays", "an intent is not closed",
        [("Catalogue/CatalogueFile+Filing.swift", "for id in ids { try db.run(\"DELETE FROM intent WHERE id = ?\","
          " [id]) }", "_ = ids")], (life("lone"),)),
    Bug("copy-mode-moves", "mode = copy removes the source",
        [(FILING, "        guard inbox.spec.removesSources else {", "        guard !inbox.spec.name.isEmpty else {")], (life("copy"),)),
    Bug("kept-forgotten", "a source that stays is not remembered",
        [("Catalogue/CatalogueFile+Filing.swift", "            try remember(source, db)\n", "")], (kill("copy"), kill("kept"))),
    Bug("row-missing", "a duplicate's outcome is not recorded",
        [("Catalogue/CatalogueFile+Moves.swift", "let operation = try outcome.map { try db.insert($0.columns,"
          " into: \"outcome\") }", "let operation: Int64? = outcome.flatMap { _ in nil }")], (life("duplicate"),)),
    Bug("wrong-path", "the catalogue has the planned path, not the real one",
        [(FILING, "photo.libraryPath = placed[index].path", "photo.libraryPath = members[index].plan.path")], (life("collision"),)),
    Bug("commit-failed", "a commit without an answer counts as failed",
        [("PostgreSQL/PostgresWire.swift",
          'return PostgresError(.unknownOutcome, "\\(why); the transaction may have been committed")',
          "return PostgresError(kind, why)")], (messages("cut-before", "lone"),)),
    Bug("not-connected-again", "a connection to PostgreSQL that was lost is not made again",
        [("Catalogue/PostgreSQL/PostgreSQLEngine.swift", "if let connection, connection.isStillOpen(), memory?.admits",
          "if let connection, memory?.admits")], (messages("cut-before", "lone"),)),
    Bug("descriptor-leak", "each source leaves a descriptor open",
        [("Filing/SourceFile.swift", "        if status.links == 0 {", "        _ = dup(content.raw)\n"
          "        if status.links == 0 {"),
         ("Filing/SourceFile.swift", "package import FileValues\n", "package import FileValues\nimport Glibc\n")],
        # Resources are checked in the life that recovers.
        (kill("lone"),)),
    Bug("error-is-gone", "a source that cannot be opened just now counts as gone",
        [("Filing/SourceFile.swift", "case .noSuchFileOrDirectory, .notDirectory: self.init(.gone, path)",
          "case .noSuchFileOrDirectory, .notDirectory, .ioError, .tooManyOpenFiles, .noMemory: self.init(.gone, path)")],
        (errno("EIO EMFILE ENOMEM", "lone", "collision", faults=150),)),
    Bug("never-again", "what was deferred is not tried again",
        [("Ingest/Pipeline/Pipeline.swift", "        wakeTimer.reschedule(", "        if next.monotonic < 0 { return }\n"
          "        if wakeSet != nil { return }\n        wakeTimer.reschedule(")],
        (errno("ENOSPC EACCES", "lone", faults=60),)),
    Bug("owed-forgotten", "what recovery could not finish is not tried again",
        [("Ingest/Pipeline/PendingRecovery.swift", "isLeft && !isTrying && now.monotonic >= next",
          "isLeft && !isTrying && now.monotonic < next")],
        (errno("EIO ENOSPC", "lone", "collision", faults=150),)),
    Bug("damaged-by-error", "a catalogue that cannot be read just now is set aside as damaged",
        [("Catalogue/SQLite/SQLiteWords.swift", "case .SQLITE_IOERR: .inputOutput", "case .SQLITE_IOERR: .corrupt")],
        (errno("EIO", "history", faults=250),)),
    Bug("half-written-stays", "what a crash left half-written in the state directory stays there",
        [("DaemonHost/State/RuntimeFile.swift", "try? parent.unlink(entry.name) }", "_ = entry }")], (kill("lone"),)),
    Bug("look-given-up", "a name whose lookup failed is never looked up again",
        [("WatchCore/Handling/LookupHandling.swift",
          "state.roots[state.tree.root(of: directory)].lookups.addFailed(directory)", "break")], (errno("ESTALE", "lone", "burst", faults=300) + " --once",)),
    Bug("outside", "duplicates are written beside their directory",
        [(MOVES, "let subdirectory = BytePath(inbox.spec.name)", "let subdirectory = BytePath(\"elsewhere\")"),
         (MOVES, "let root = try inbox.directories.root(place)\n", "let root = try inbox.directories.root(place.parent)\n")],
        (life("duplicate"),)),
    Bug("kept-as-opened", "what cannot be moved away is remembered as it was before its name was given back",
        [(MOVES, "kept = try source.identityWhenKept()", "kept = source.identity")],
        (errno("EROFS", "across", faults=100) + " --once",)),
    # Mistaken identities: each critical and high finding of a red team's report, and some more.
    Bug("former-library", "import --move removes photos of a former library unseen",
        [("Importing/ImportKnowledge.swift", "            stored.photo.library == library, let root = try? openDirectory(library),\n"
          "            (try? plan.requireLibrary(root)) != nil,\n",
          "            library != stored.photo.sourcePath, let root = try? openDirectory(stored.photo.library),\n"),
         ("Importing/ImportKnowledge.swift", "                requirePlace: plan.requireLibrary)", "                requirePlace: { _ in })"),
         (REMOVAL, "        for copy in copies {\n            switch copy {", "        for copy in copies.prefix(0) {\n            switch copy {")],
        (places("plain disks", "drop another-library import-former"),)),
    Bug("itself-adopted", "the library's file is taken for a copy of itself, and places may be nested",
        [("Settings/Settings+Check.swift", "        return realOverlaps(probing: false).map(\\.sentence)", "        return []"),
         (REMOVAL, "        for copy in copies {\n            switch copy {", "        for copy in copies.prefix(0) {\n            switch copy {"),
         (MOVES, "if found.device == source.status.device, found.identity.inode", "if found.device != found.device, found.identity.inode"),
         ("Filing/StagedFile+Naming.swift", "if equal.device == source.status.device, equal", "if equal.device != equal.device, equal"),
         ("Settings/Settings+Check.swift", "    private mutating func checkRealPlaces() {", "    private mutating func checkRealPlaces() {\n        if settings.inboxes.count < 1_000 { return }")],
        (places("nested", "drop"),)),
    Bug("known-unlooked", "a record alone counts as filed already",
        [("Importing/ImportKnowledge.swift", "            let status = try? FileStatus(of: stored.photo.libraryPath, beneath: root), status.kind == .regular,\n"
          "            status.identity.size == stored.photo.size\n", "            (try? FileStatus(of: root)) != nil\n")],
        (places("plain", "drop library-emptied import-card card"),)),
    Bug("swapped-disk", "another disk in the library's place is taken for it",
        [(GUARD, "        guard held * 2 >= last.count else {", "        guard held * 2 >= 0 else {")], (places("disks", "drop disks-swapped mend"),)),
    Bug("holes", "what was never written counts as zeros after a moment",
        [("Filing/Examination.swift", "        return hasHoles\n", "        return false\n"),
         ("Filing/Examination.swift", "        (hasHoles, unwritten) = try judge(holes, of: source, areHoles: true)",
          "        _ = try judge(holes, of: source, areHoles: true)")], (CUTS,)),
    Bug("rw2", "it does not matter where Panasonic's sensor data end",
        [("PhotoFormats/Formats/TIFFFile.swift",
          '        if length > 0, !overflow, end <= size {\n            survey.reachPixels(start, length, "sensor data")',
          '        if size > 0 {\n            survey.reachPixels(start, 1, "sensor data")')], (CUTS,)),
    Bug("trailer-whole", "bytes of an unknown kind behind a JPEG are whole",
        [("PhotoFormats/Formats/Trailers.swift", 'case .unknown: .lacking(reason: "\\(evidence), which may be cut short")',
          "case .unknown: .whole(evidence: evidence)")], (CUTS,)),
    Bug("multi-picture", "pictures behind the first are not looked for",
        [("PhotoFormats/Formats/Trailers.swift", "if let lack = try lackOfMultiPicture(walk) { return .lacking(reason: lack) }",
          "_ = try lackOfMultiPicture(walk)")], (CUTS,)),
    Bug("last-in-trash", "a discarded duplicate is deleted without a look at its photo",
        [("Ingest/Pipeline/TrashBin.swift", "if discarded == .quarantined {", "if discarded != .filed {")], (places("plain", "drop library-emptied discard"),)),
    Bug("catalogue-removed", "a catalogue that is not at its path is written to",
        [("Catalogue/CatalogueFile+OpenFile.swift", "        guard let known = openFile.withLock({ $0 }) else { return nil }\n        let found",
          "        guard let known = openFile.withLock({ $0 }), known.log == known.log, path.isEmpty else { return nil }\n        let found")],
        (places("plain", "drop catalogue-lost"),)),
    Bug("empty-catalogue", "a catalogue that is gone at the start begins empty",
        [("Catalogue/CatalogueFile.swift", "if isLost, !isThere { try", "if isLost, isThere { try")], (places("plain", "drop catalogue-lost restart"),)),
    Bug("no-place-lock", "two daemons work in one library",
        [("LibraryCare/PlaceLock.swift", "if flock(file.raw, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 { return 0 }",
          "if flock(file.raw, (shared ? LOCK_SH : LOCK_SH) | LOCK_NB) == 0 { return 0 }")], (places("plain", "drop second-daemon"),)),
    Bug("repair-strikes", "verify --repair strikes all where the library is not there",
        [(GUARD, "        guard held * 2 >= last.count else {", "        guard held * 2 >= 0 else {"),
         ("Explaining/SelectedLibrary.swift", "        guard let catalogue else { return }", "        guard let catalogue, catalogue.path.isEmpty else { return }")],
        (places("plain", "drop library-moved repair rebuild"),)),
    Bug("idle-unseen", "an idle daemon does not look at its library",
        [("DaemonHost/Library/LibraryWatch.swift", "            check(library.path)\n", "            _ = library.path\n")],
        (places("plain", "drop library-moved"),)),
    Bug("places-made", "a directory whose disk is away is made",
        [(GUARD, "            guard identity.isOnFileSystem(of: known) else {", "            guard identity.inode > 0 else {"),
         (GUARD, "            if existing != path, identity", "            if existing != existing, identity")], (places("disks", "drop place-unmounted mend restart kill"),)),
    Bug("inner-mount", "what was mounted within the library is not missed",
        [(GUARD, "if isKnown { throw PlaceAway", "if isKnown, path.isEmpty { throw PlaceAway")], (places("disks", "drop inner-unmounted mend"),)),
    # Several hosts.
    Bug("takeover-deletes", "who takes a filing over deletes its row",
        [(INTENTS, "UPDATE intent SET step = 'lost' WHERE id = ? AND step = 'begun'\", [begun])",
          "DELETE FROM intent WHERE id = ? AND step = 'begun'\", [begun])")], (fleet("lone"),)),
    Bug("takeover-at-once", "a filing is taken over from a host that is not away",
        [(INTENTS, "guard try row.optional(\"is_away\") ?? false else {",
          "guard try row.optional(\"is_away\") ?? false || begun > 0 else {")], (fleet("lone", "held"),)),
    Bug("lost-removes-source", "a filing that was lost removes its source at once",
        [(RUNNER, "joining: anchor) }\n        }\n        try await close(intent)\n",
          "joining: anchor) }\n        }\n"
          "        try? inbox.directories.openInbox().descriptor.unlink(pending.source)\n        try await close(intent)\n")],
        (fleet("lone", "died"),)),
    Bug("lost-leaves-copy", "a filing that was lost leaves its copy in the library",
        [(RUNNER, "        for path in others {\n", "        for path in others.prefix(0) {\n")], (fleet("lone"),)),
    Bug("lost-given-up", "a filing that was lost is not begun again, though nobody has recorded its content",
        [(RUNNER, "            if !copies.isEmpty { return try await recoverAgain(intent, joining: anchor) }\n",
          "            break\n")], (failovers(4),)),
    Bug("other-unread", "a copy is removed since another is recorded, which nobody reads",
        [(RUNNER, "            let status = try library.file(\n"
          "                other.libraryPath, hash: pending.hash, size: pending.identity.size, work: FileWork())\n",
          "            let status = try? FileStatus(of: library.descriptor)\n"),
         (REMOVAL, "        for copy in copies {\n            switch copy {", "        for copy in copies.prefix(0) {\n            switch copy {")],
        (fleet("last"),)),
    Bug("shared-copy-withdrawn", "in a shared library a copy is withdrawn after a refused commit, and equal files are adopted",
        [(FILING, "} catch let error as CatalogueError where inbox.catalogue.file.isShared {",
          "} catch let error as CatalogueError where inbox.catalogue.file.isShared && intents.isEmpty {"),
         ("Filing/StagedFile+Naming.swift", "guard number == 0, !root.isShared, let equal = try equalFile(under: name, work)",
          "guard number == 0, let equal = try equalFile(under: name, work)")], (fleet("lone"),)),
    Bug("waiting-forgotten", "recovery that waits for another host is not tried again",
        [(RUNNER, "            inbox.recovery.withLock { $0.require(because: \"\\(error)\") }\n            return []\n",
          "            return []\n")], (failovers(8),)),
    Bug("set-apart", "recovery records the members of a set apart",
        [(RUNNER, "set: anchor.map { .joining(photo: $0) } ?? .new)", "set: anchor.map { .joining(photo: $0) })"),
         (RUNNER, "set: (intent.joins ?? anchor).map", "set: intent.joins.map")], (failovers(4),)),
    Bug("sidecar-twice", "a lost set files its sidecar beside that of the other host",
        [(RUNNER, "if library.isShared, let anchor {", "if library.isShared, let anchor, found.isEmpty {")], (fleet("sets"),)),
    Bug("library-locked", "a host locks a shared library against the others",
        [(GUARD, "forGood: true, sharing: number)", "forGood: true)")],
        (fleet("lone") + " --at 1000000",)),
    Bug("no-second-look", "a content that another host has recorded since it was looked for is begun again",
        [(INTENTS, "if !intent.photo.part.isSidecar, db.words.own.mayMiss {",
          "if !intent.photo.part.isSidecar, db.words.own.mayMiss, id < 0 {")], (test("HostTests/secondLook"),)),
    Bug("begun-twice", "two hosts may begin the same content at once",
        [(SCHEMA, "CREATE UNIQUE INDEX intent_content", "CREATE INDEX intent_content")], (test("HostTests/begunOnce"),)),
    Bug("loss-unnoticed", "a filing that was lost to another host is recorded all the same",
        [(INTENTS, "guard changed == 1 else {", "guard changed <= 1 else {")], (test("HostTests/takeover"),)),
    Bug("inbox-shared", "an inbox may be that of two hosts",
        [(SCHEMA, "            RAISE EXCEPTION 'the inbox % is", "            RETURN true;\n            RAISE EXCEPTION 'the inbox % is")],
        (test("HostTests/inboxes"),)),
    Bug("undo-amid-duplicate", "a photo is returned while a duplicate of it is set aside",
        [(USES, "if use.mayBegin(beside: other) { continue }",
          "if use.mayBegin(beside: other) || other == .duplicate { continue }")], (test("HostTests/uses"),)),
    Bug("heartbeat-counted", "a heartbeat, for which the server's disk is not waited, counts as a write",
        [("Catalogue/PostgreSQL/PostgreSQLEngine.swift", "isCounted: false) { db in try body(db, life) }",
          "isCounted: true) { db in try body(db, life) }")], (test("HostTests/heartbeat"),)),
    Bug("trash-of-another", "the time of the trash goes on by another host's clock",
        [("Catalogue/CatalogueFile+Requests.swift", "SELECT * FROM trash_clock WHERE id = \\(db.words.own.host)",
          "SELECT * FROM trash_clock ORDER BY id LIMIT 1")], (test("HostTests/trash"),)),
    Bug("undo-amid-filing", "a photo is returned while its source is still to be removed",
        [(USES, "if use.mayBegin(beside: other) { continue }",
          "if use.mayBegin(beside: other) || other == .finishing { continue }")], (fleet("taken-back"),)),
    Bug("undo-amid-refiling", "a photo is returned while it is missing and filed again",
        [(USES, "if use.mayBegin(beside: other) { continue }",
          "if use.mayBegin(beside: other) || other == .supersession { continue }")], (test("HostTests/supersession"),)),
    Bug("sidecar-added-twice", "two hosts may add the same sidecar to a set at once",
        [(INTENTS, "guard isTaken == true else { return }", "guard isTaken == nil else { return }")],
        (test("SetRowsTests/sidecarOfASetOnce"),)),
    Bug("sidecars-last", "of a set that is known, photos are set aside before their sidecars",
        [("Ingest/Pipeline/SetFiler.swift", "for one in sidecars + duplicates.filter({ !$0.hashed.member.role.isSidecar }) {",
          "for one in duplicates.filter({ !$0.hashed.member.role.isSidecar }) + sidecars {")],
        (test("SetFilingTests/duplicateSidecarFails"),)),
    Bug("missing-withdrawn", "what is not found where the watch saw it is withdrawn at once",
        [("Ingest/Arrivals/ArrivalTable.swift", "arrival.meanwhile == .gone ||", "arrival.meanwhile != .seen ||")],
        (test("ArrivalTableTests/missed"),)),
]


# Programs that a campaign runs besides the daemon.
BESIDE = {**dict.fromkeys(("places.py", "each_message.py", "fleet.py", "failover.py"), ("photoinbox",)),
          "writers.py": ("filing-probe",)}


def seed(bug, tree):
    """Applies a fault to the tree; the reason if it cannot, or None."""
    for file, old, new in bug.edits:
        path = tree / "Sources" / file
        text = path.read_text()
        if text.count(old) != 1:
            return f"{file} has {text.count(old)} times: {old.strip().splitlines()[0]}"
        path.write_text(text.replace(old, new))
    return None


def restore(tree):
    """Restores the tree's sources, changing only files that differ."""
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


def run(command, log, seconds, tree=None):
    with open(log, "wb") as out:
        try:
            return subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, timeout=seconds, check=False, cwd=tree).returncode
        except subprocess.TimeoutExpired:
            return None


def build(command, bug, tree, logs):
    """Why it cannot be built, or None."""
    if run(command, log := logs / f"{bug.name}.build", None, tree):
        errors = re.findall(r"error: .*", log.read_text(errors="replace"))
        return f"does not build: {errors[0] if errors else 'see the log'}"
    return None


def try_test(bug, options, tree, logs):
    """The same by tests alone."""
    restore(tree)
    if reason := seed(bug, tree):
        return f"cannot be put in: {reason}", False
    command, began = [word for word in options.build if word != "--product"], time.monotonic()
    if reason := build([*command, "--build-tests"], bug, tree, logs):
        return reason, False
    if options.build_only:
        return "built", True
    for line in bug.catch:
        command = ["swift", "test", "--skip-build", "--filter", line.split()[1], *command[2:]]
        status = run(command, logs / f"{bug.name}.log", 1200, tree)
        said = re.search(r"recorded an issue at (.*)", (logs / f"{bug.name}.log").read_text(errors="replace"))
        if status == 1 and said:
            return f"{line}, {time.monotonic() - began:.0f} s: {said[1][:160]}", True
    return "NOT CAUGHT", False


def try_bug(bug, options, tree, logs):
    """(the catching campaign or the reason, whether it was caught)"""
    if bug.catch[0].startswith("test "):
        return try_test(bug, options, tree, logs)
    built = tree / ".build/debug"
    program = (options.programs / bug.name if options.programs else built) / "photoinboxd"
    products = {"photoinboxd"} | {name for line in bug.catch for name in BESIDE.get(line.split()[0], ())}
    if not options.programs or not program.exists():
        restore(tree)
        if reason := seed(bug, tree):
            return f"cannot be put in: {reason}", False
        for product in sorted(products):
            if reason := build([*options.build, product], bug, tree, logs):
                return reason, False
            if options.programs:
                program.parent.mkdir(exist_ok=True)
                shutil.copy(built / product, program.with_name(product))
    if options.build_only:
        return "built", True
    for line in bug.catch:
        words = line.split()
        began = time.monotonic()
        flag = "--program" if words[0] in ("power.py", "writers.py") else "--daemon"
        status = run([sys.executable, str(HERE / words[0]), *words[1:], flag, str(program)],
                     logs / f"{bug.name}.log", 1200)
        text = (logs / f"{bug.name}.log").read_text(errors="replace")
        if status == 1 and "Traceback" not in text:
            name = {"kill_at_every_syscall.py": "every kill", "each_errno.py": "errno", "power.py": "power cut",
                    "places.py": "places", "writers.py": "cuts", "each_message.py": "every message",
                    "fleet.py": "fleet", "failover.py": "failover"}[words[0]]
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
    parser.add_argument("--build", type=shlex.split, default=["swift", "build", "--product"])
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
