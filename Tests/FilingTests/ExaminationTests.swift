import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoModel
import SystemPackage
import Testing

private let start = ContinuousClock.now
private let identity = FileIdentity(
    inode: 1, size: 100, modified: FileTime(seconds: 1, nanoseconds: 0), changed: FileTime(seconds: 1, nanoseconds: 0))

private func examined(
    _ writer: WriterVerdict, _ completeness: Completeness, holes: Bool = false
) -> Examination {
    Examination(
        identity: identity, writer: writer, report: PhotoReport(format: .jpeg, completeness: completeness),
        hasHoles: holes)
}

private let whole = Completeness.whole(evidence: "ends with its end marker")
private let weak = Completeness.weak(reason: "its offsets are the only end")
private let blind = WriterVerdict.cannotTell(.otherOwner)

@Suite("Complete is no writer and whole structure; quiet only where one is weak")
struct ExaminationTests {
    private func decide(_ examination: Examination, after quiet: Duration) -> Proof {
        examination.decide(QuietCheck(identity, at: start), windows: QuietWindows(), at: start + quiet)
    }

    @Test func aCleanLocalFileIsProvenAtOnce() {
        #expect(
            decide(examined(.noWriter, whole), after: .zero)
                == .complete(evidence: "no writer left (lease), ends with its end marker"))
    }

    @Test("An open writer is waited for, however whole the file looks", arguments: [whole, weak, .empty])
    func writer(completeness: Completeness) {
        let proof = decide(examined(.writerOpen, completeness), after: .seconds(1_000))
        #expect(proof == .wait(reason: "a program still has it open for writing", wait: .seconds(60)))
    }

    @Test(
        "Each weakness asks for quiet, and quiet ends it",
        arguments: [
            examined(blind, whole), examined(.noWriter, weak), examined(blind, weak),
            examined(.noWriter, whole, holes: true),
        ])
    func quiet(examination: Examination) {
        guard case .wait(_, .seconds(2)) = decide(examination, after: .seconds(3)) else {
            Issue.record("did not wait for the rest of five seconds")
            return
        }
        guard case .complete(let evidence) = decide(examination, after: .seconds(5)) else {
            Issue.record("not complete after its window")
            return
        }
        #expect(evidence.hasSuffix("unchanged for 5.0 seconds"))
    }

    @Test func networkMountsWaitLonger() {
        let examination = examined(.cannotTell(.fileSystem(FileSystemKind(magic: 0x6969))), whole)
        guard case .wait(_, .seconds(10)) = decide(examination, after: .seconds(20)) else {
            Issue.record("did not wait for thirty seconds")
            return
        }
    }

    @Test func aQuietCheckOfAnotherStateCountsForNothing() {
        var check = QuietCheck(identity, at: start)
        let grown = FileIdentity(inode: 1, size: 101, modified: identity.modified, changed: identity.changed)
        check.observe(grown, at: start + .seconds(4))
        #expect(check.quiet(at: start + .seconds(6)) == .seconds(2))
        #expect(check.quiet(at: start) == .zero)
        guard case .wait = examined(blind, whole).decide(check, windows: QuietWindows(), at: start + .seconds(60))
        else {
            Issue.record("decided on another state's quiet")
            return
        }
    }

    @Test func brokenFilesAreToldApart() {
        #expect(
            decide(examined(.noWriter, .cutShort(reason: "no end marker")), after: .zero)
                == .incomplete(reason: "no end marker"))
        #expect(decide(examined(.noWriter, .empty), after: .zero) == .incomplete(reason: "0 bytes"))
        #expect(decide(examined(.noWriter, .malformed(reason: "x")), after: .zero) == .damaged(reason: "x"))
        #expect(decide(examined(.noWriter, .notAPhoto(reason: "text")), after: .zero) == .notAPhoto(reason: "text"))
        // Where nobody can say whether it is still being written, even that waits.
        guard case .wait = decide(examined(blind, .notAPhoto(reason: "text")), after: .zero) else {
            Issue.record("decided at once")
            return
        }
    }

    @Test func realFilesAreRead() throws {
        // The smallest GIF: one pixel, with its trailer; then the same cut short.
        let gif: [UInt8] =
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0]
            + [2, 2, 0x44, 1, 0, 0x3B]
        let stage = try Stage()
        try stage.drop("a.gif", gif)
        try stage.drop("b.gif", gif.dropLast(3))
        let first = try Examination(of: stage.source("a.gif"), probe: stage.probe)
        #expect(first.report.format == .gif)
        #expect(first.report.width == 1)
        #expect(first.report.completeness.code == "whole")
        #expect(try Examination(of: stage.source("b.gif"), probe: stage.probe).report.completeness.code == "cut-short")
    }

    @Test func preallocatedPartsAreHoles() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes(100_000))
        let file = try stage.inbox.openBeneath("a.jpg", .readWrite)
        #expect(try !file.hasHoles(size: 100_000))
        #expect(ftruncate(file.raw, 1_000_000) == 0)
        #expect(try file.hasHoles(size: 1_000_000))
        #expect(try Examination(of: stage.source("a.jpg"), probe: stage.probe).hasHoles)
    }
}
