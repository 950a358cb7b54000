import ControlProtocol
import DirectoryWatch
import FileValues
import Filing
import Foundation
import Glibc
import LinuxKernel
import QueueActors
import SystemMonitor
import TestSupport
import Testing

@testable import Catalogue
@testable import DaemonHost
@testable import DaemonSupport
@testable import Ingest

/// A file system of four megabytes, gone with this.
private final class SmallDisk: Sendable {
    let path: String

    init(_ path: String) throws {
        self.path = path
        try runProgram(["/bin/mkdir", "-p", path])
        try runProgram(["/bin/mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path])
    }

    deinit { try? runProgram(["/bin/umount", "-l", path]) }
}

/// A worker's house with its pipeline and the problem desk, as the daemon puts them together.
private struct TroubledHouse {
    let house: WorkerHouse
    let log = KeptLog()
    let problems: StorageProblems
    let pipeline: Pipeline
    private let small: SmallDisk

    /// `name`, a directory of the house, is a small file system of its own.
    init(_ root: String, small name: String) throws {
        small = try SmallDisk("\(root)/\(name)")
        house = try WorkerHouse(root)
        let problems = StorageProblems(ProblemReporter(log: log.daemonLog))
        self.problems = problems
        pipeline = try Pipeline(
            workers: [house.worker],
            subsystem: Subsystem(name: "pipeline", queue: MonitorQueue(label: "test.pipeline"), isVital: true),
            arrivals: ArrivalTable(),
            listener: Pipeline.Listener(
                ended: { _ in }, deferred: { _, _, _, _ in }, symptom: { problems.symptom($0) }, activity: { _ in }))
    }

    /// Takes all room that is left, but for so many bytes.
    func fill(leaving rest: Int = 0) throws {
        let file = open("\(small.path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let block = [UInt8](repeating: 0xAA, count: 4096)
        while write(file, block, block.count) > 0 {}
        var status = stat()
        fstat(file, &status)
        ftruncate(file, max(0, status.st_size - rest))
    }

    func free() { unlink("\(small.path)/filler") }

    /// Ticks as the watchdog does until this is logged.
    func tick(until line: String) async throws {
        _ = try await poll({
            pipeline.tick(failing: problems.failing); return log.lines
        }) { lines in
            lines.contains { $0.contains(line) }
        }
    }

    func end() async {
        _ = await pipeline.stop(hurrying: false)
        house.catalogue.close()
        withExtendedLifetime(small) {}
    }
}

@Suite("Trouble with a disk ends when the disk is well, whoever is left to see it", .serialized)
struct StorageTroubleTests {
    static let canMount =
        geteuid() == 0
        && (try? runProgram(["/usr/bin/unshare", "-m", "/bin/mount", "-t", "tmpfs", "tmpfs", "/mnt"])) != nil
    static let withoutMounts: Comment = "skipped: needs root, to mount a small file system"

    @Test(
        "The last photo is filed and its row cannot be closed: once recovery has, the problem ends",
        .enabled(if: canMount, withoutMounts), .timeLimit(.minutes(60)))
    func finishedByRecovery() async throws {
        let scratch = try ScratchDirectory()
        let troubled = try TroubledHouse(scratch.path, small: "state")
        await troubled.pipeline.start { _, _, _ in }
        try troubled.house.drop(["a.jpg": "exif.jpg"])
        let conclusions = await troubled.house.file(["a.jpg"]) { step in
            if step == FilingStep.removeSource.words { try? troubled.fill() }
        }
        #expect(conclusions.map(\.verdict) == [.ended(.filed)])
        // Closing was not waited for: recovery finds that it failed, and fails as well.
        await troubled.house.writer.flush()
        #expect(troubled.house.worker.recovery.withLock(\.refusedBy) == .catalogue)
        troubled.pipeline.tick(failing: [])
        _ = await troubled.log.line(holding: "PI-501")
        // As long as the disk is full, a trial says so, too.
        let symptoms = await troubled.house.worker.tryStorage(.catalogue)
        #expect(symptoms.map(\.refusal) == [.catalogue])
        troubled.free()
        try await troubled.tick(until: "PI-501 is over")
        #expect(try troubled.house.catalogue.pendingIntents().isEmpty)
        #expect(troubled.problems.failing.isEmpty && troubled.problems.reporter.rows(now: .now).isEmpty)
        await troubled.end()
        withExtendedLifetime(scratch) {}
    }

    /// A photo with so many bytes of comments.
    private func largePhoto(_ size: Int) throws -> [UInt8] {
        let photo = try WorkerHouse.content("exif.jpg")
        let comment: [UInt8] = [0xFF, 0xFE, 0xFF, 0xFF] + [UInt8](repeating: 0x55, count: 65_533)
        return Array(photo[..<2] + Array(repeating: comment, count: size / 65_536).joined() + photo[2...])
    }

    @Test(
        "A photo that waits for room shows itself when there is some; once it is gone, a trial does",
        .enabled(if: canMount, withoutMounts), .timeLimit(.minutes(60)))
    func takenAway() async throws {
        let scratch = try ScratchDirectory()
        let troubled = try TroubledHouse(scratch.path, small: "library")
        await troubled.pipeline.start { _, _, _ in }
        // Room for a trial, and not for the photo.
        try troubled.fill(leaving: 5 << 18)
        let photo = try largePhoto(3 << 19)
        let path = "\(scratch.path)/inbox/a.jpg"
        try Data(photo).write(to: URL(filePath: path))
        let key = ArrivalKey(inbox: "card", path: "a.jpg")
        await troubled.pipeline.examine(key, as: nil)
        _ = await troubled.log.line(holding: "PI-402")
        await troubled.pipeline.tryStorage(troubled.problems.failing)
        #expect(troubled.problems.reporter.rows(now: .now).map(\.code) == ["PI-402"])
        unlink(path)
        await troubled.pipeline.examine(key, as: nil)
        troubled.pipeline.receive([WatchNotice(root: "card", path: "a.jpg", kind: .vanished)])
        try await poll({ troubled.pipeline.arrivals.withLock { $0.arrivals[key] } }, until: { $0 == nil })
        #expect(
            troubled.problems.reporter.rows(now: .now).map(\.code) == ["PI-402"],
            "so far nobody has seen that it is over")
        await troubled.pipeline.tryStorage(troubled.problems.failing)
        #expect(troubled.problems.reporter.rows(now: .now).isEmpty)
        #expect(troubled.log.lines.filter { $0 == "PI-402 is over" }.count == 1)
        await troubled.end()
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "A small photo that finds room does not end what a larger one still waits for",
        .enabled(if: canMount, withoutMounts), .timeLimit(.minutes(60)))
    func smallerOne() async throws {
        let scratch = try ScratchDirectory()
        let troubled = try TroubledHouse(scratch.path, small: "library")
        await troubled.pipeline.start { _, _, _ in }
        try troubled.fill(leaving: 1 << 18)
        let large = ArrivalKey(inbox: "card", path: "large.jpg")
        let photo = try largePhoto(1 << 20)
        try Data(photo).write(to: URL(filePath: "\(scratch.path)/inbox/large.jpg"))
        await troubled.pipeline.examine(large, as: nil)
        _ = await troubled.log.line(holding: "PI-402")
        try troubled.house.drop(["small.jpg": "plain.jpg"])
        let small = ArrivalKey(inbox: "card", path: "small.jpg")
        await troubled.pipeline.examine(small, as: nil)
        try await poll({ troubled.pipeline.arrivals.withLock { $0.arrivals[small] } }, until: { $0 == nil })
        #expect(troubled.house.files("library").keys.contains { $0.hasSuffix("small.jpg") })
        #expect(troubled.problems.reporter.rows(now: .now).map(\.code) == ["PI-402"])
        troubled.free()
        await troubled.pipeline.retryAll()
        try await troubled.tick(until: "PI-402 is over")
        #expect(troubled.house.files("library").keys.contains { $0.hasSuffix("large.jpg") })
        await troubled.end()
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "Who is tried again while an earlier try cannot be taken back says what keeps it from that",
        .enabled(if: canMount, withoutMounts), .timeLimit(.minutes(60)))
    func cause() async throws {
        let scratch = try ScratchDirectory()
        let troubled = try TroubledHouse(scratch.path, small: "library")
        // With the library in use, a failure comes after the intent.
        try troubled.house.drop(["first.jpg": "plain.jpg"])
        #expect(await troubled.house.file(["first.jpg"]).map(\.verdict) == [.ended(.filed)])
        try troubled.house.drop(["a.jpg": "exif.jpg"])
        try runProgram(["/bin/mount", "-o", "remount,ro", "\(scratch.path)/library"])
        for _ in 1...3 {
            let conclusion = try #require(await troubled.house.file(["a.jpg"]).first)
            guard case .defer(let reason) = conclusion.verdict else {
                Issue.record("\(conclusion.verdict)")
                return
            }
            #expect(reason.contains("Read-only file system"))
            #expect(conclusion.refusedBy == .library)
        }
        #expect(try troubled.house.catalogue.pendingIntents().count == 1)
        try runProgram(["/bin/mount", "-o", "remount,rw", "\(scratch.path)/library"])
        #expect(await troubled.house.worker.recover().isEmpty)
        let last = await troubled.house.file(["a.jpg"])
        #expect(last.map(\.verdict) == [.ended(.filed)])
        await troubled.end()
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "Not while the disk is full, nor for a catalogue whose pages are damaged", .enabled(if: canMount, withoutMounts)
    )
    func stays() async throws {
        let scratch = try ScratchDirectory()
        let troubled = try TroubledHouse(scratch.path, small: "library")
        await troubled.pipeline.start { _, _, _ in }
        try troubled.fill()
        troubled.problems.symptom(.library(failure: .full()))
        await troubled.pipeline.tryStorage(troubled.problems.failing)
        #expect(troubled.problems.reporter.rows(now: .now).map(\.code) == ["PI-402"])
        troubled.problems.symptom(.library(failure: nil))
        troubled.problems.symptom(.catalogue(failure: CatalogueError(.corrupt, "reading", "malformed")))
        #expect(troubled.problems.failing.isEmpty)
        // Nor does one who could not get at it say anything of it.
        troubled.problems.symptom(.catalogue(failure: .beingReturned))
        #expect(troubled.problems.reporter.rows(now: .now).map(\.code) == ["PI-502"])
        await troubled.end()
        withExtendedLifetime(scratch) {}
    }
}
