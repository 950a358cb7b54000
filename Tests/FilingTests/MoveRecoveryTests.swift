import FileValues
import Filing
import Glibc
import LinuxKernel
import Testing

@Suite("Recovery of an interrupted move to quarantine leaves one file in one place")
struct MoveRecoveryTests {
    private let bytes = someBytes()

    private func pending(_ source: SourceFile, as name: BytePath = "card/a.jpg") throws -> PendingMove {
        PendingMove(
            token: "t", source: source.path, identity: source.identity, hash: try source.hash(), destination: name)
    }

    /// Recovers twice: the second time must change nothing.
    private func recover(_ move: PendingMove, _ stage: Stage) throws -> RecoveredMove {
        let recovery = Recovery(probe: stage.probe)
        let first = try recovery.recover(move, inbox: stage.inbox, root: stage.quarantine())
        let files = try (stage.files("inbox"), stage.files("quarantine"))
        #expect(try recovery.recover(move, inbox: stage.inbox, root: stage.quarantine()) == first)
        #expect(try (stage.files("inbox"), stage.files("quarantine")) == files)
        return first
    }

    private func staged() throws -> (Stage, PendingMove) {
        let stage = try Stage()
        #expect(mkdir(stage.path("quarantine/card"), 0o755) == 0)
        try stage.drop("a.jpg", bytes)
        return (stage, try pending(stage.source("a.jpg")))
    }

    @Test func moveThatDidNotBeginIsUndone() throws {
        let (stage, move) = try staged()
        #expect(try recover(move, stage) == .undone)
        #expect(try stage.files("inbox") == ["a.jpg": bytes])
        #expect(try stage.files("quarantine").isEmpty)
    }

    @Test func completedMoveIsRecorded() throws {
        let (stage, move) = try staged()
        #expect(
            try stage.source("a.jpg").move(
                to: stage.quarantine(), subdirectory: "card", only: "a.jpg", token: "t", probe: stage.probe)
                == .moved("card/a.jpg"))
        #expect(try recover(move, stage) == .moved)
        #expect(try stage.files("inbox").isEmpty)
        #expect(try stage.files("quarantine") == ["card/a.jpg": bytes])
    }

    @Test("A copy, complete or not, is removed while the source is there", arguments: [true, false])
    func copied(whole: Bool) throws {
        let (stage, move) = try staged()
        let name = whole ? "a.jpg" : ".photo-inbox-t.part"
        let copy = try openDirectory(BytePath(stage.path("quarantine/card")))
            .openBeneath(BytePath(name), [.write, .createNew], mode: 0o600)
        try copy.write(whole ? bytes : [1, 2], at: 0)
        #expect(try recover(move, stage) == .undone)
        #expect(try stage.files("inbox") == ["a.jpg": bytes])
        #expect(try stage.files("quarantine").isEmpty)
    }

    @Test func sourceThatIsSetAsideGetsItsNameBack() throws {
        let (stage, move) = try staged()
        #expect(rename(stage.path("inbox/a.jpg"), stage.path("inbox/.photo-inbox-t.aside.part")) == 0)
        #expect(try recover(move, stage) == .undone)
        #expect(try stage.files("inbox") == ["a.jpg": bytes])
    }

    @Test("A source that was removed or replaced is left alone")
    func vanished() throws {
        let (stage, move) = try staged()
        #expect(unlink(stage.path("inbox/a.jpg")) == 0)
        try stage.drop("a.jpg", [7])
        #expect(try recover(move, stage) == .vanished)
        #expect(try stage.files("inbox") == ["a.jpg": [7]])
    }

    @Test("A move to an exact name fails if that name is taken")
    func exactName() throws {
        let (stage, _) = try staged()
        let root = try stage.quarantine()
        #expect(try root.freeName(like: "a.jpg", in: "card", butNot: ["a.jpg"]) == "a-2.jpg")
        let card = try openDirectory(BytePath(stage.path("quarantine/card")))
        _ = try card.openBeneath("a.jpg", [.write, .createNew], mode: 0o600)
        _ = try card.openBeneath("a-2.jpg.reason.txt", [.write, .createNew], mode: 0o600)
        #expect(try root.freeName(like: "a.jpg", in: "card", butNot: []) == "a-3.jpg")
        #expect {
            _ = try stage.source("a.jpg").move(to: root, subdirectory: "card", only: "a.jpg", probe: stage.probe)
        } throws: { error in
            (error as? FilingError)?.cause == .noFreeName
        }
        #expect(try stage.files("inbox") == ["a.jpg": bytes])
    }
}
