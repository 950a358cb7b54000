import FileValues
import Filing
import Glibc
import LinuxKernel
import Testing

@Suite("Recovery of interrupted filings")
struct RecoveryTests {
    private func pending(
        _ source: SourceFile, hash: ContentHash, recorded: Bool, destination: BytePath = "2026/11/a.jpg"
    ) -> PendingFiling {
        PendingFiling(
            token: "t", source: source.path, identity: source.identity, hash: hash, destination: destination,
            isRecorded: recorded)
    }

    /// A stage on which `a.jpg` was filed up to the commit.
    private func filed() throws -> (Stage, DestinationRoot, PendingFiling) {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let library = try stage.library()
        let plan = try stage.plan(source)
        _ = try place(source, by: plan, in: library)
        return (stage, library, pending(source, hash: plan.hash, recorded: true))
    }

    private func recover(_ pending: PendingFiling, _ stage: Stage, _ library: DestinationRoot) throws -> Recovered {
        try Recovery(probe: stage.probe).recover(pending, inbox: stage.inbox, library: library)
    }

    @Test func recordedFilingIsFinishedOnce() throws {
        let (stage, library, pending) = try filed()
        for _ in 0..<2 {
            #expect(try recover(pending, stage, library) == .finished)
            #expect(try stage.files("inbox").isEmpty)
            #expect(try stage.files("library") == ["2026/11/a.jpg": someBytes()])
        }
    }

    @Test("A source that was replaced or written to since stays", arguments: [true, false])
    func replaced(byRename: Bool) throws {
        let (stage, library, pending) = try filed()
        if byRename {
            try stage.drop("b.jpg", [7])
            #expect(rename(stage.path("inbox/b.jpg"), stage.path("inbox/a.jpg")) == 0)
        } else {
            try stage.inbox.openBeneath("a.jpg", .write).write([7], at: 0)
        }
        let before = try stage.files("inbox")
        #expect(try recover(pending, stage, library) == .sourceReplaced)
        #expect(try stage.files("inbox") == before)
    }

    @Test("A damaged or missing copy keeps the source", arguments: ["damaged", "missing", "no directory"])
    func damaged(how: String) throws {
        let (stage, library, pending) = try filed()
        switch how {
        case "damaged": try library.descriptor.openBeneath("2026/11/a.jpg", .write).write([7, 7], at: 5)
        case "missing": #expect(unlink(stage.path("library/2026/11/a.jpg")) == 0)
        default: #expect(rename(stage.path("library/2026"), stage.path("quarantine/2026")) == 0)
        }
        #expect(try recover(pending, stage, library) == .copyDamaged)
        #expect(try stage.files("inbox") == ["a.jpg": someBytes()])
    }

    @Test func copyWithANumberIsFoundAlthoughLowerNumbersAreFree() throws {
        let stage = try Stage()
        let library = try stage.library()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let plan = try stage.plan(source)
        let directory = try library.openDirectory("2026/11")
        try directory.openBeneath("a.jpg", [.write, .createNew]).write([7], at: 0)
        #expect(try place(source, by: plan, in: library).path == "2026/11/a-2.jpg")
        try directory.unlink("a.jpg")
        let found = try recover(pending(source, hash: plan.hash, recorded: false), stage, library)
        #expect(found == .placed("2026/11/a-2.jpg"))
        #expect(try stage.files("inbox").count == 1)
    }

    @Test func filingWithoutACopyIsUndone() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let pending = pending(source, hash: try source.hash(), recorded: false)
        let library = try stage.library()
        #expect(try recover(pending, stage, library) == .undone)
        // A file of the same size with other bytes under the planned name is not the copy.
        let directory = try library.openDirectory("2026/11")
        try directory.openBeneath("a.jpg", [.write, .createNew]).write(someBytes(seed: 9), at: 0)
        #expect(try recover(pending, stage, library) == .undone)
        #expect(try stage.files("library").count == 1)
    }

    @Test("A source that a crash left set aside gets a number if its name is taken")
    func leftAside() throws {
        let (stage, library, pending) = try filed()
        #expect(rename(stage.path("inbox/a.jpg"), stage.path("inbox/.photo-inbox-t.aside.part")) == 0)
        try stage.drop("a.jpg", [7])
        #expect(try recover(pending, stage, library) == .sourceReplaced)
        #expect(try stage.files("inbox") == ["a.jpg": [7], "a-2.jpg": someBytes()])
    }
}
