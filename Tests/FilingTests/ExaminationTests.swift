import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoFormats
import SystemPackage
import Testing

private let start = ContinuousClock.now
private let identity = FileIdentity(
    inode: 1, size: 100, modified: FileTime(seconds: 1, nanoseconds: 0), changed: FileTime(seconds: 1, nanoseconds: 0))

private func examined(
    _ writer: WriterVerdict, _ completeness: Completeness, holes: Bool = false, zeros: Bool = false,
    unwritten: Range<UInt64>? = nil
) -> Examination {
    Examination(
        identity: identity, writer: writer, report: PhotoReport(format: .jpeg, completeness: completeness),
        hasHoles: holes, hasEmptyBlocks: zeros, unwritten: unwritten)
}

private let whole = Completeness.whole(evidence: "ends with its end marker")
private let weak = Completeness.weak(reason: "its offsets are the only end")
private let lacking = Completeness.lacking(reason: "its film is not there")
private let uncertain = WriterVerdict.unknown(.otherOwner)

@Suite("A file is complete without a writer and with a whole structure; quiet counts only where one is weak")
struct ExaminationTests {
    private func decide(_ examination: Examination, after quiet: Duration) -> Proof {
        examination.decide(QuietCheck(identity, at: start), windows: QuietWindows(), at: start + quiet)
    }

    @Test func wholeFileWithoutWriterIsCompleteAtOnce() {
        #expect(
            decide(examined(.noWriter, whole), after: .zero)
                == .complete(evidence: "no writer left (lease), ends with its end marker"))
    }

    @Test("A file with a writer waits, whatever its structure", arguments: [whole, weak, .empty])
    func writer(completeness: Completeness) {
        let proof = decide(examined(.writerOpen, completeness), after: .seconds(1_000))
        #expect(proof == .wait(reason: "a program still has it open for writing", wait: .seconds(60)))
    }

    @Test(
        "Each weak kind of evidence requires the quiet window, after which the file is complete",
        arguments: [
            examined(uncertain, whole), examined(.noWriter, weak), examined(uncertain, weak),
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

    @Test(
        "Network mounts, exported directories, and blocks of zeros require the longer window",
        arguments: [
            examined(.unknown(.fileSystem(FileSystemKind(magic: 0x6969))), whole),
            examined(.unknown(.exported("/srv/photos")), whole), examined(.noWriter, whole, zeros: true),
        ])
    func longerQuiet(examination: Examination) {
        guard case .wait(_, .seconds(10)) = decide(examination, after: .seconds(20)) else {
            Issue.record("did not wait for thirty seconds")
            return
        }
        guard case .complete = decide(examination, after: .seconds(30)) else {
            Issue.record("not complete after its window")
            return
        }
    }

    @Test(
        "A file with missing or perhaps unwritten parts is complete after patience, and not before",
        arguments: [
            examined(.noWriter, lacking), examined(uncertain, lacking), examined(.noWriter, whole, holes: true),
        ])
    func patience(examination: Examination) {
        guard case .lacking(let reason) = decide(examination, after: .seconds(599)) else {
            Issue.record("\(decide(examination, after: .seconds(599)))")
            return
        }
        #expect(reason.hasSuffix("it is filed once it was unchanged for 600.0 seconds"))
        guard case .complete(let evidence) = decide(examination, after: .seconds(600)) else {
            Issue.record("not complete after patience")
            return
        }
        #expect(evidence.hasSuffix("unchanged for 600.0 seconds"))
    }

    @Test(
        "A file with missing parts needs no patience if its times were set a minute or more after the last write",
        arguments: [(59, false), (60, true), (Int64.max, true)])
    func timesWereSet(later: Int64, isFiled: Bool) {
        let (changed, _) = Int64(1).addingReportingOverflow(later)
        let identity = FileIdentity(
            inode: 1, size: 100, modified: FileTime(seconds: 1, nanoseconds: 0),
            changed: FileTime(seconds: later == .max ? .max : changed, nanoseconds: 0))
        let examination = Examination(
            identity: identity, writer: .noWriter, report: PhotoReport(format: .jpeg, completeness: lacking))
        func proof(_ quiet: Duration) -> Proof {
            examination.decide(QuietCheck(identity, at: start), windows: QuietWindows(), at: start + quiet)
        }
        guard case .wait = proof(.seconds(4)) else {
            Issue.record("no quiet time was required: \(proof(.seconds(4)))")
            return
        }
        if case .complete = proof(.seconds(5)) { #expect(isFiled) } else { #expect(!isFiled) }
    }

    @Test("A file with unwritten pixels is never complete")
    func unwritten() {
        for examination in [
            examined(.noWriter, whole, holes: true, unwritten: 4_096..<8_192),
            examined(.noWriter, weak, zeros: true, unwritten: 4_096..<8_192),
        ] {
            #expect(
                decide(examination, after: .seconds(10_000))
                    == .incomplete(
                        reason: "nothing was written to its bytes 4,096 to 8,191, where pixels should be"))
        }
    }

    @Test func quietTimeOfAnotherIdentityDoesNotCount() {
        var check = QuietCheck(identity, at: start)
        let grown = FileIdentity(inode: 1, size: 101, modified: identity.modified, changed: identity.changed)
        check.observe(grown, at: start + .seconds(4))
        #expect(check.quiet(at: start + .seconds(6)) == .seconds(2))
        #expect(check.quiet(at: start) == .zero)
        guard case .wait = examined(uncertain, whole).decide(check, windows: QuietWindows(), at: start + .seconds(60))
        else {
            Issue.record("decided on another state's quiet")
            return
        }
    }

    @Test func kindsOfBrokenFilesHaveDifferentDecisions() {
        #expect(
            decide(examined(.noWriter, .cutShort(reason: "no end marker")), after: .zero)
                == .incomplete(reason: "no end marker"))
        #expect(decide(examined(.noWriter, .empty), after: .zero) == .incomplete(reason: "0 bytes"))
        #expect(decide(examined(.noWriter, .malformed(reason: "x")), after: .zero) == .damaged(reason: "x"))
        #expect(decide(examined(.noWriter, .notAPhoto(reason: "text")), after: .zero) == .notAPhoto(reason: "text"))
        // If writers are unknown, even that waits.
        guard case .wait = decide(examined(uncertain, .notAPhoto(reason: "text")), after: .zero) else {
            Issue.record("decided at once")
            return
        }
    }

    @Test func fileOnDiskIsExamined() throws {
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
        #expect(try file.holes(size: 100_000).isEmpty)
        #expect(ftruncate(file.raw, 1_000_000) == 0)
        #expect(try file.holes(size: 1_000_000) == [102_400..<1_000_000])
        try file.write([1], at: 600_000)
        #expect(try file.holes(size: 1_000_000).count == 2)
        #expect(try Examination(of: stage.source("a.jpg"), probe: stage.probe).hasHoles)
    }
}

@Suite("The quiet window adapts to the pauses of an inbox's writers")
struct QuietPaceTests {
    private func written(_ seconds: Int64, inode: UInt64 = 1) -> FileIdentity {
        let time = FileTime(seconds: seconds, nanoseconds: 500_000_000)
        return FileIdentity(inode: inode, size: UInt64(seconds), modified: time, changed: time)
    }

    @Test func windowWithoutPausesIsTheConfiguredOne() {
        #expect(QuietPace().window(.seconds(5)) == .seconds(5))
        var pace = QuietPace()
        pace.changed(from: written(1), to: written(2))
        #expect(pace.window(.seconds(5)) == .seconds(5))
    }

    @Test func windowIsTwiceTheLongestPause() {
        var pace = QuietPace()
        pace.changed(from: written(1), to: written(21))
        #expect(pace.window(.seconds(5)) == .seconds(40))
        #expect(QuietWindows().adapted(to: pace).remote == .seconds(40))
        #expect(QuietWindows(remote: .seconds(50)).adapted(to: pace).remote == .seconds(50))
    }

    @Test func windowIsBoundedAndOldPausesExpire() {
        var pace = QuietPace()
        pace.changed(from: written(1), to: written(101))
        #expect(pace.window(.seconds(5)) == .seconds(120))
        for _ in 0..<64 { pace.changed(from: written(1), to: written(2)) }
        #expect(pace.window(.seconds(5)) == .seconds(5))
    }

    @Test("Other files, times set back, and very long gaps are not pauses")
    func strangeTimes() {
        var pace = QuietPace()
        pace.changed(from: written(1), to: written(61, inode: 2))
        pace.changed(from: written(100), to: written(1))
        pace.changed(from: written(1), to: written(500))
        #expect(pace.window(.seconds(5)) == .seconds(5))
    }
}

@Suite("Blocks of zeros")
struct EmptyBlockTests {
    @Test(
        "A whole block of zeros is found at any offset",
        // At page boundaries, between pieces written in any order, and across two reads.
        arguments: [0, 5001, (1 << 20) - 2047, 1 << 20, (1 << 20) + 4096 * 3, (2 << 20) - 4096])
    func zeros(place: Int) throws {
        let stage = try Stage()
        var bytes = someBytes(2 << 20)
        bytes.replaceSubrange(place..<(place + 4096), with: Array(repeating: 0, count: 4096))
        try stage.drop("a.jpg", bytes)
        let blocks = try stage.source("a.jpg").read().emptyBlocks
        #expect(blocks.count == 1)
        let found = try #require(blocks.first)
        // In whole pieces of 512 bytes; adjacent bytes may be zero, too.
        #expect(found.lowerBound + 512 > place && found.upperBound < place + 4096 + 512 && found.count >= 7 * 512)
        bytes[place + 2048] = 1
        try stage.drop("b.jpg", bytes)
        let content = try stage.source("b.jpg").read()
        #expect(content.emptyBlocks.isEmpty)
        #expect(try content.hash == stage.source("b.jpg").hash())
    }

    @Test func blockOfZerosRequiresQuiet() {
        let examination = examined(.noWriter, whole, zeros: true)
        let check = QuietCheck(identity, at: start)
        guard case .wait(let reason, _) = examination.decide(check, windows: QuietWindows(), at: start) else {
            Issue.record("it did not wait")
            return
        }
        #expect(reason.hasPrefix("whole blocks of it are zeros"))
        guard
            case .complete(let evidence) = examination.decide(
                check, windows: QuietWindows(), at: start + .seconds(30))
        else {
            Issue.record("it waited for ever")
            return
        }
        #expect(evidence.contains("with blocks of zeros, unchanged for"))
    }
}

/// The two ways in which a part of a photo is zeros.
enum Zeros: CaseIterable { case hole, written }
