import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@Suite("Copies are placed complete, durable and without replacing a file")
struct PlacementTests {
    static let everyMeans: [PlacementMeans] = [
        .all, PlacementMeans.all.subtracting(.clone), [.anonymousTemporary, .link], [.renameNoReplace, .copyRange],
        [.link], [.renameNoReplace],
    ]

    @Test("With every set of system calls the copy is equal and no other file is left", arguments: everyMeans)
    func places(means: PlacementMeans) throws {
        let stage = try Stage()
        let bytes = someBytes(3_000_000)
        try stage.drop("a.jpg", bytes)
        let source = try stage.source("a.jpg")
        let library = try stage.library(means, FiledAttributes(mode: 0o444, directoryMode: 0o711))
        let placed = try place(source, by: stage.plan(source), in: library)
        #expect(placed.path == "2026/11/a.jpg")
        #expect(!placed.wasThere)
        #expect(try stage.files("library") == ["2026/11/a.jpg": bytes])
        let status = try FileStatus(of: library.descriptor.openBeneath("2026/11/a.jpg", .read))
        #expect(status.mode == 0o444)
        #expect(status.links == 1)
        #expect(status.identity.modified == source.identity.modified)
        #expect(try FileStatus(of: library.descriptor.openDirectoryBeneath("2026/11")).mode == 0o711)
        try source.requireUnchanged(.checkSource)
    }

    @Test("New directories of a library that is for a group keep the set-group-ID bit that they got from it")
    func groups() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes(10))
        let source = try stage.source("a.jpg")
        for (bit, name) in [(0o2000, "shared"), (0, "own")] as [(UInt32, BytePath)] {
            let library = try stage.library(.all, FiledAttributes(directoryMode: 0o750))
            try library.descriptor.setMode(0o755 | bit)
            let directory = name.appending("11")
            _ = try place(source, by: stage.plan(source, directory: directory), in: library)
            for path in [name, directory] {
                let made = try library.descriptor.openDirectoryBeneath(path)
                #expect(try FileStatus(of: made).mode == 0o750 | bit, "\(path)")
            }
        }
    }

    @Test func largeFileIsCopiedInPieces() throws {
        let stage = try Stage()
        let bytes = someBytes(9_000_001)
        for means in [PlacementMeans.all, [.link]] {
            try? stage.drop("a.jpg", bytes)
            let source = try stage.source("a.jpg")
            _ = try place(
                source, by: stage.plan(source, directory: BytePath("\(means.rawValue)")), in: stage.library(means))
        }
        #expect(try stage.files("library").values.allSatisfy { $0 == bytes })
    }

    @Test("A copy whose name is taken gets a number, unless that file is equal", arguments: everyMeans)
    func collisions(means: PlacementMeans) throws {
        let stage = try Stage()
        let library = try stage.library(means)
        var taken: [BytePath: [UInt8]] = [:]
        for seed in UInt8(1)...3 {
            try stage.drop("a.jpg", someBytes(seed: seed))
            let source = try stage.source("a.jpg")
            let placed = try place(source, by: stage.plan(source), in: library)
            taken[placed.path] = someBytes(seed: seed)
            // The same content again finds its copy under the first name. Copies with numbers are known to the
            // catalogue only.
            if seed == 1 { #expect(try place(source, by: stage.plan(source), in: library).wasThere) }
            #expect(
                try source.remove(token: "t", seeing: stage.copy(placed, of: source), probe: stage.probe) == .removed)
        }
        #expect(Set(taken.keys) == ["2026/11/a.jpg", "2026/11/a-2.jpg", "2026/11/a-3.jpg"])
        #expect(try stage.files("library") == taken)
        #expect(try stage.files("inbox").isEmpty)
    }

    @Test(
        "A second file with a name of 255 bytes that is not text gets a number",
        arguments: [PlacementMeans.all, [.renameNoReplace]])
    func hostileNames(means: PlacementMeans) throws {
        let stage = try Stage()
        let library = try stage.library(means)
        for seed in UInt8(1)...2 {
            try stage.drop(hostileName, someBytes(seed: seed))
            let source = try stage.source(hostileName)
            let placed = try place(source, by: stage.plan(source), in: library)
            #expect(
                try source.remove(token: "t", seeing: stage.copy(placed, of: source), probe: stage.probe) == .removed)
        }
        let placed = try stage.files("library")
        #expect(Set(placed.values) == [someBytes(seed: 1), someBytes(seed: 2)])
        #expect(placed.keys.allSatisfy { $0.name.bytes.count <= 255 && $0.lowercasedExtension == Array("jpg".utf8) })
    }

    @Test("An entry of another kind under the name is left alone", arguments: ["directory", "link", "fifo"])
    func otherKinds(kind: String) throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        try stage.drop("canary", [7])
        let taken = stage.path("library/a.jpg")
        switch kind {
        case "directory": #expect(mkdir(taken, 0o755) == 0)
        case "link": #expect(symlink(stage.path("inbox/canary"), taken) == 0)
        default: #expect(mkfifo(taken, 0o600) == 0)
        }
        let source = try stage.source("a.jpg")
        let library = try stage.library()
        #expect(try place(source, by: stage.plan(source, directory: ""), in: library).path == "a-2.jpg")
        #expect(try stage.files("inbox")["canary"] == [7])
    }

    @Test("A source that changes at any step is not filed", arguments: [PlacementMeans.all, [.renameNoReplace]])
    func changingSource(means: PlacementMeans) throws {
        let steps: [FilingStep] = [
            .openDestination, .makeTemporary, .copy, .setAttributes, .syncCopy, .verifyCopy, .checkSource,
        ]
        for step in steps {
            let stage = try Stage()
            try stage.drop("a.jpg", someBytes())
            let source = try stage.source("a.jpg")
            let plan = try stage.plan(source)
            let writer = try stage.inbox.openBeneath("a.jpg", .write)
            let work = FileWork(willEnter: { if $0 == step { try? writer.write([1, 2, 3], at: 9_999) } })
            do {
                _ = try place(source, by: plan, in: stage.library(means), work: work)
                Issue.record("filed although it changed at \(step)")
            } catch let error as FilingError {
                #expect(error.kind == .sourceChanged)
                #expect(error.isTransient)
            }
            #expect(try stage.files("library").isEmpty)
            #expect(try stage.files("inbox").count == 1)
        }
    }

    @Test("A source whose name is replaced by a link is not filed")
    func swappedSource() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let plan = try stage.plan(source)
        #expect(unlink(stage.path("inbox/a.jpg")) == 0)
        #expect(symlink("/etc/passwd", stage.path("inbox/a.jpg")) == 0)
        #expect(throws: FilingError.self) { _ = try place(source, by: plan, in: stage.library()) }
        #expect(try stage.files("library").isEmpty)
    }

    @Test("A link in the library's tree is not followed")
    func linkedDestination() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        #expect(symlink(stage.path("quarantine"), stage.path("library/2026")) == 0)
        let source = try stage.source("a.jpg")
        do {
            _ = try place(source, by: stage.plan(source), in: stage.library())
            Issue.record("went through the link")
        } catch let error as FilingError {
            #expect(error.step == .openDestination)
            #expect(error.side == .destination)
        }
        #expect(try stage.files("quarantine").isEmpty)
    }

    @Test func stoppedPlacementLeavesNoFile() throws {
        for means in [PlacementMeans.all, [.link]] {
            let stage = try Stage()
            try stage.drop("a.jpg", someBytes(5_000_000))
            let source = try stage.source("a.jpg")
            let plan = try stage.plan(source)
            do {
                _ = try place(source, by: plan, in: stage.library(means), work: FileWork(shouldStop: { true }))
                Issue.record("did not stop")
            } catch let error as FilingError {
                #expect(error.cause == .stopped)
            }
            #expect(try stage.files("library").isEmpty)
        }
    }

    @Test func fileSystemWithoutSafeNamingIsRefused() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        do {
            _ = try place(source, by: stage.plan(source), in: stage.library([]))
            Issue.record("named without any system call")
        } catch let error as FilingError {
            #expect(error.kind == .unsuitableFileSystem)
            #expect(!error.isTransient)
        }
        #expect(try stage.files("library").isEmpty)
    }

    @Test("A placed copy can be removed, unless it existed before, was replaced, or has no source")
    func takingBack() throws {
        let stage = try Stage()
        let library = try stage.library()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let placed = try place(source, by: stage.plan(source), in: library)
        let hash = try source.hash()
        func takeBack(_ placed: PlacedFile) throws -> Bool {
            try library.takeBack(placed, token: "t", hash: hash, seeing: source, probe: stage.probe)
        }
        #expect(try takeBack(try place(source, by: stage.plan(source), in: library)))
        #expect(try stage.files("library").count == 1)
        let directory = try library.openDirectory("2026/11")
        try directory.rename("a.jpg", to: directory, as: "b.jpg")
        try directory.openBeneath("a.jpg", [.write, .createNew]).write([7], at: 0)
        #expect(try takeBack(placed))
        #expect(try stage.files("library").count == 2)
        try directory.unlink("a.jpg")
        try directory.rename("b.jpg", to: directory, as: "a.jpg")
        try stage.inbox.rename("a.jpg", to: stage.inbox, as: "moved.jpg")
        #expect(try !takeBack(placed), "without its source it is the only copy")
        #expect(try stage.files("library") == ["2026/11/a.jpg": someBytes()])
        try stage.inbox.rename("moved.jpg", to: stage.inbox, as: "a.jpg")
        #expect(try takeBack(placed))
        #expect(try stage.files("library").isEmpty)
    }

    @Test("Staged files of a set are invisible until they are named")
    func sets() throws {
        let stage = try Stage()
        let library = try stage.library()
        var staged: [StagedFile] = []
        for name: BytePath in ["a.jpg", "a.cr3"] {
            try stage.drop(name, someBytes(seed: UInt8(name.bytes.count)))
            let source = try stage.source(name)
            staged.append(try StagedFile.stage(stage.plan(source), from: source, in: library))
        }
        #expect(try stage.files("library").isEmpty)
        for file in staged { _ = try file.assignName() }
        try staged[0].syncDirectory()
        #expect(try stage.files("library").count == 2)
    }

    @Test func namesWithNumbersAndOfReasonFilesHaveAtMost255Bytes() {
        #expect(FileNames.candidate("IMG.tar.jpg", attempt: 0) == "IMG.tar.jpg")
        #expect(FileNames.candidate("IMG.tar.jpg", attempt: 1) == "IMG.tar-2.jpg")
        #expect(FileNames.candidate("none", attempt: 2) == "none-3")
        #expect(FileNames.candidate(".hidden", attempt: 1) == ".hidden-2")
        let long = BytePath(String(repeating: "é", count: 125) + ".jpeg")
        for attempt in 1...999 {
            let name = FileNames.candidate(long, attempt: attempt)
            #expect(name.bytes.count <= 255)
            #expect(String(validating: name.bytes, as: UTF8.self) != nil)
        }
        #expect(FileNames.reason(for: long, attempt: 0).bytes.count <= 255)
        #expect(FileNames.reason(for: "a.jpg", attempt: 0) == "a.jpg.reason.txt")
        #expect(FileNames.candidate(BytePath("a." + String(repeating: "x", count: 253)), attempt: 1).bytes.count <= 255)
        #expect(FileNames.isOurs(FileNames.temporary(FileNames.makeToken())))
        #expect(FileNames.isToken(FileNames.makeToken()))
        #expect(!FileNames.isToken("a/b"))
    }
}
