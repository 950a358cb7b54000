import FileValues
import Filing
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("A source is removed only if it is certainly the one that was filed")
struct RemovalTests {
    private func changed(_ body: () throws -> Removal) throws -> String? {
        do {
            _ = try body()
            return nil
        } catch let error as FilingError {
            guard case .sourceChanged(let what) = error.cause else { throw error }
            return what
        }
    }

    @Test func removalLeavesNoFile() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        #expect(try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe) == .removed)
        #expect(try names(in: stage.inbox).isEmpty)
    }

    @Test("A file that replaced the source is not removed")
    func replaced() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        try stage.drop("b.jpg", [7])
        #expect(rename(stage.path("inbox/b.jpg"), stage.path("inbox/a.jpg")) == 0)
        #expect(
            try changed { try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe) } != nil)
        #expect(try stage.files("inbox") == ["a.jpg": [7]])
    }

    @Test("A source that is written to between the two checks gets its name back")
    func writtenTo() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let writer = try stage.inbox.openBeneath("a.jpg", .write)
        let work = FileWork(willEnter: { if $0 == .checkSourceAgain { try? writer.write([7], at: 10_000) } })
        #expect(
            try changed {
                try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe, work: work)
            } == "it was written to")
        #expect(try stage.files("inbox") == ["a.jpg": someBytes() + [7]])
    }

    @Test("A changed source gets a number if another file has its name by then")
    func arrivedMeanwhile() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let writer = try stage.inbox.openBeneath("a.jpg", .write)
        let work = FileWork(willEnter: { step in
            guard step == .checkSourceAgain else { return }
            try? writer.write([7], at: 10_000)
            try? stage.drop("a.jpg", [8])
        })
        #expect(
            try changed {
                try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe, work: work)
            } != nil)
        #expect(try stage.files("inbox") == ["a.jpg": [8], "a-2.jpg": someBytes() + [7]])
    }

    @Test("A file that arrives under the name during the removal stays")
    func newArrivalDuringRemoval() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let work = FileWork(willEnter: { if $0 == .removeSource { try? stage.drop("a.jpg", [8]) } })
        #expect(
            try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe, work: work) == .removed)
        #expect(try stage.files("inbox") == ["a.jpg": [8]])
    }

    @Test("A write that changed no time is detected where times are unreliable")
    func hiddenWrite() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let hash = try source.hash()
        var writer: OwnedDescriptor? = try stage.inbox.openBeneath("a.jpg", .write)
        let work = FileWork(willEnter: { step in
            guard step == .checkSourceAgain, let file = writer.take() else { return }
            try? file.write([7, 7, 7], at: 100)
            try? file.setModified(source.identity.modified)
        })
        let failed = try changed {
            try source.remove(
                token: "t", hash: hash, seeing: stage.copies(of: source), probe: stage.probe, work: work,
                areTimesReliable: false)
        }
        #expect(failed == "its bytes are others")
        var bytes = someBytes()
        bytes.replaceSubrange(100..<103, with: [7, 7, 7])
        #expect(try stage.files("inbox") == ["a.jpg": bytes])
        // An unchanged source is removed even after it was read again.
        let again = try stage.source("a.jpg")
        #expect(
            try again.remove(
                token: "t", hash: again.hash(), seeing: stage.copies(of: again), probe: stage.probe,
                areTimesReliable: false) == .removed
        )
    }

    @Test(arguments: [
        ("6.1.0-18-amd64", UInt32(0xEF53), false), ("6.12.9", 0xEF53, false), ("6.13.0", 0xEF53, true),
        ("7.0-rc1", 0x0102_1994, true), ("6.18.44", 0xF2F5_2010, false), ("", 0xEF53, false),
    ])
    func timesAreReliableOnlyOnNewKernels(release: String, magic: UInt32, expected: Bool) {
        #expect(ChangeTimes.areReliable(on: FileSystemKind(magic: magic), release: release) == expected)
    }

    @Test("A read-only inbox keeps its source", .enabled(if: isRoot, "skipped: needs root to mount"))
    func readOnlyInbox() throws {
        let mounted = try MountedScratch(size: "4m")
        let stage = try Stage(below: mounted.scratch.path)
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let elsewhere = try Stage()
        let placed = try place(source, by: stage.plan(source), in: elsewhere.library())
        try mounted.remount("ro")
        guard
            case .kept(let reason) = try source.remove(
                token: "t", seeing: elsewhere.copy(placed, of: source), probe: stage.probe)
        else {
            Issue.record("removed from a read-only file system")
            return
        }
        #expect(reason.kind == .readOnly)
        #expect(try elsewhere.files("library") == [placed.path: someBytes()])
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
        guard case .kept = try source.move(to: elsewhere.quarantine(), probe: stage.probe) else {
            Issue.record("moved from a read-only file system")
            return
        }
        #expect(try elsewhere.files("quarantine").isEmpty)
    }

    @Test("An inbox without permission keeps its source", .enabled(if: !isRoot, "skipped: needs an ordinary user"))
    func noPermission() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        #expect(chmod(stage.path("inbox"), 0o555) == 0)
        let source = try stage.source("a.jpg")
        guard
            case .kept(let reason) = try source.remove(token: "t", seeing: stage.copies(of: source), probe: stage.probe)
        else {
            Issue.record("removed without permission")
            return
        }
        #expect(reason.kind == .permission)
        guard case .kept = try source.move(to: stage.quarantine(), probe: stage.probe) else {
            Issue.record("moved without permission")
            return
        }
        #expect(try stage.files("quarantine").isEmpty)
        #expect(chmod(stage.path("inbox"), 0o755) == 0)
    }
}

@Suite("A file is removed only if its bytes are verified in another file")
struct OtherCopyTests {
    private func refusal(_ body: () throws -> Removal) throws -> CopyDoubt? {
        do {
            guard case .kept(let error) = try body(), case .noOtherCopy(let reason) = error.cause else { return nil }
            return reason
        } catch let error as FilingError {
            guard case .noOtherCopy(let reason) = error.cause else { throw error }
            return reason
        }
    }

    /// A photo in the inbox, and the record of a copy of it in the library.
    private func photo(_ stage: Stage, copy: [UInt8]?) throws -> (SourceFile, [OtherCopy]) {
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        if let copy {
            try openDirectory(BytePath(stage.path("library"))).openBeneath("a.jpg", [.write, .createNew], mode: 0o640)
                .write(copy, at: 0)
        }
        let (root, hash) = (BytePath(stage.path("library")), try source.hash())
        return (source, [.recorded(RecordedCopy(root: root, path: "a.jpg", hash: hash, size: source.identity.size))])
    }

    @Test("A copy that is missing, cut short or damaged keeps the source", arguments: [nil, 9_999, 10_000])
    func badCopy(size: Int?) throws {
        let stage = try Stage()
        let (source, copies) = try photo(stage, copy: size.map { someBytes($0, seed: 2) })
        let expected: CopyDoubt = size == 10_000 ? .differs("a.jpg") : .missing("a.jpg")
        #expect(try refusal { try source.remove(token: "t", seeing: copies, probe: stage.probe) } == expected)
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A source without a recorded copy stays")
    func unrecorded() throws {
        let stage = try Stage()
        let (source, _) = try photo(stage, copy: someBytes())
        #expect(try refusal { try source.remove(token: "t", seeing: [], probe: stage.probe) } == .unrecorded)
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A source stays if one of two copies is missing")
    func oneOfTwo() throws {
        let stage = try Stage()
        let (source, copies) = try photo(stage, copy: nil)
        let both = try stage.copies(of: source) + copies
        #expect(try refusal { try source.remove(token: "t", seeing: both, probe: stage.probe) } == .missing("a.jpg"))
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A source whose copy disappears after the source is set aside stays")
    func copyVanishes() throws {
        let stage = try Stage()
        let (source, copies) = try photo(stage, copy: someBytes())
        let work = FileWork(willEnter: { if $0 == .seeCopy { _ = unlink(stage.path("library/a.jpg")) } })
        #expect(
            try refusal { try source.remove(token: "t", seeing: copies, probe: stage.probe, work: work) }
                == .missing("a.jpg"))
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A file of the library is not removed as its own duplicate", arguments: [true, false])
    func itself(inPlace: Bool) throws {
        let stage = try Stage()
        let (_, copies) = try photo(stage, copy: someBytes())
        // The inbox is the library, by the same path or by a link.
        if !inPlace { #expect(symlink(stage.path("library"), stage.path("alias")) == 0) }
        let root = try openDirectory(BytePath(stage.path(inPlace ? "library" : "alias")))
        let source = try SourceFile("a.jpg", beneath: root)
        let kept = try refusal { try source.remove(token: "t", seeing: copies, probe: stage.probe) }
        #expect(kept == .sameFile("a.jpg"))
        #expect(throws: Never.self) {
            let again = try SourceFile("a.jpg", beneath: root)
            let moved = try again.move(to: stage.quarantine(), token: "t2", seeing: copies, probe: stage.probe)
            guard case .kept = moved else {
                Issue.record("a file counted as its own duplicate: \(moved)")
                return
            }
        }
        #expect(try stage.files("library") == ["a.jpg": someBytes()])
        #expect(try stage.files("quarantine").isEmpty)
    }

    @Test(
        "A file of the library is not removed as its own duplicate through an overlay",
        .enabled(if: isRoot, "skipped: needs root to mount"))
    func itselfThroughAnOverlay() throws {
        let mounted = try MountedScratch(size: "8m")
        let stage = try Stage(below: mounted.scratch.path)
        let (_, copies) = try photo(stage, copy: someBytes())
        for name in ["lower", "work", "merged"] { #expect(mkdir(stage.path(name), 0o755) == 0) }
        let options = "lowerdir=\(stage.path("lower")),upperdir=\(stage.path("library")),workdir=\(stage.path("work"))"
        try runProgram(["/bin/mount", "-t", "overlay", "-o", options, "overlay", stage.path("merged")])
        defer { try? runProgram(["/bin/umount", "-l", stage.path("merged")]) }
        let source = try SourceFile("a.jpg", beneath: openDirectory(BytePath(stage.path("merged"))))
        let there = try FileStatus(at: BytePath(stage.path("library/a.jpg")))
        #expect(there.device != source.status.device)
        let kept = try refusal { try source.remove(token: "t", seeing: copies, probe: stage.probe) }
        #expect(kept == .sameFile("a.jpg"))
        #expect(try stage.files("library") == ["a.jpg": someBytes()])
    }

    @Test("A copy in another place than recorded does not count")
    func otherPlace() throws {
        struct Other: Error, CustomStringConvertible { let description = "another disk" }
        let stage = try Stage()
        let (source, _) = try photo(stage, copy: someBytes())
        let copy = RecordedCopy(
            root: BytePath(stage.path("library")), path: "a.jpg", hash: try source.hash(), size: source.identity.size
        ) { _ in throw Other() }
        let kept = try refusal { try source.remove(token: "t", seeing: [.recorded(copy)], probe: stage.probe) }
        #expect(kept == .otherPlace("another disk"))
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A copy that was written to since it was verified is read again")
    func writtenToSince() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let placed = try place(source, by: stage.plan(source), in: stage.library())
        try openDirectory(BytePath(stage.path("library/2026/11"))).openBeneath("a.jpg", .write).write([7], at: 50)
        let copies = try stage.copy(placed, of: source)
        let kept = try refusal { try source.remove(token: "t", seeing: copies, probe: stage.probe) }
        #expect(kept == .differs("2026/11/a.jpg"))
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test("A file under the wanted name does not count as the copy if it is the source")
    func notAdopted() throws {
        let stage = try Stage()
        let library = try stage.library()
        try library.openDirectory("2026/11").openBeneath("a.jpg", [.write, .createNew]).write(someBytes(), at: 0)
        let source = try SourceFile("2026/11/a.jpg", beneath: library.descriptor)
        #expect(throws: FilingError.self) { try place(source, by: stage.plan(source), in: library) }
        #expect(try stage.files("library") == ["2026/11/a.jpg": someBytes()])
    }

    @Test("A discard order removes a file without a copy")
    func discarded() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        #expect(try source.remove(token: "t", by: DiscardOrder(request: 1), probe: stage.probe) == .removed)
        #expect(try stage.files("inbox").isEmpty)
    }
}

@Suite("Moves to quarantine and duplicates")
struct RelocationTests {
    @Test func movedFilesGetNumbersAndReasonFiles() throws {
        let stage = try Stage()
        let quarantine = try stage.quarantine()
        for (seed, expected): (UInt8, BytePath) in [(1, "card/a.jpg"), (2, "card/a-2.jpg")] {
            try stage.drop("a.jpg", someBytes(seed: seed))
            let source = try stage.source("a.jpg")
            #expect(try source.move(to: quarantine, subdirectory: "card", probe: stage.probe) == .moved(expected))
            let note = QuarantineNote(
                what: "the JPEG is cut short", why: "1,048,576 bytes,\nno end marker",
                when: FileTime(seconds: 1_795_269_787, nanoseconds: 5), origin: BytePath("DCIM/a\n.jpg"),
                advice: "copy it again from the camera")
            let reason = try writeReason(note, besides: expected, in: quarantine)
            #expect(reason == expected.addingSuffix(".reason.txt"))
            let text = try content(of: quarantine.descriptor.openBeneath(reason, .read))
            #expect(
                String(decoding: text, as: UTF8.self) == """
                    what  the JPEG is cut short
                     why  1,048,576 bytes,\\nno end marker
                    when  2026-11-21 14:03:07 UTC
                    from  DCIM/a\\n.jpg
                      do  copy it again from the camera

                    """)
        }
        #expect(try stage.files("inbox").isEmpty)
        #expect(try stage.files("quarantine").count == 4)
        #expect(try stage.files("quarantine")["card/a-2.jpg"] == someBytes(seed: 2))
    }

    @Test("Where a rename may replace a file, a move is a verified copy and a removal")
    func withoutRename() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let root = try DestinationRoot(
            BytePath(stage.path("quarantine")), means: .all.subtracting([.renameNoReplace, .anonymousTemporary]))
        let source = try stage.source("a.jpg")
        let copies = try stage.copies(of: source)
        var steps: [FilingStep] = []
        let work = FileWork(willEnter: { steps.append($0) })
        #expect(try source.move(to: root, seeing: copies, probe: stage.probe, work: work) == .moved("a.jpg"))
        #expect(steps.contains(.copy))
        #expect(try stage.files("inbox").isEmpty)
        #expect(try stage.files("quarantine") == ["a.jpg": someBytes()])
    }

    @Test(
        "A move to another file system is a verified copy and a removal",
        .enabled(if: access("/dev/shm", W_OK) == 0, "skipped: no /dev/shm")
    )
    func otherFileSystem() throws {
        let stage = try Stage()
        let shared = try ScratchDirectory(below: "/dev/shm")
        try stage.drop(hostileName, someBytes())
        let root = try DestinationRoot(shared.bytePath)
        #expect(try stage.source(hostileName).move(to: root, probe: stage.probe) == .moved(hostileName))
        #expect(try stage.files("inbox").isEmpty)
        #expect(try names(in: root.descriptor) == [hostileName])
        #expect(try content(of: root.descriptor.openBeneath(hostileName, .read)) == someBytes())
    }

    @Test("A file that replaced the source is not moved")
    func swapped() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        try stage.drop("b.jpg", [7])
        #expect(rename(stage.path("inbox/b.jpg"), stage.path("inbox/a.jpg")) == 0)
        #expect(throws: FilingError.self) { _ = try source.move(to: stage.quarantine(), probe: stage.probe) }
        #expect(try stage.files("inbox") == ["a.jpg": [7]])
        #expect(try stage.files("quarantine").isEmpty)
    }

    @Test func reasonFileThatCannotBeWrittenIsAnError() throws {
        let stage = try Stage()
        #expect(symlink("/nowhere", stage.path("quarantine/card")) == 0)
        let note = QuarantineNote(
            what: "", why: "", when: FileTime(seconds: 0, nanoseconds: 0), origin: "a", advice: "")
        #expect(throws: FilingError.self) { _ = try writeReason(note, besides: "card/a", in: stage.quarantine()) }
    }
}
