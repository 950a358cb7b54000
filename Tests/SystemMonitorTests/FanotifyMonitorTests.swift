import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Fanotify monitors give what happens on a file system", .timeLimit(.minutes(60)))
struct FanotifyMonitorTests {
    private static let mask: FanotifyMask = [.created, .deleted, .deletedSelf, .isDirectory]
    private let queue = MonitorQueue(label: "test.fanotify")

    /// Why a file system can't be marked here.
    static let refusal: String? = {
        do {
            let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
            try FanotifyGroup().mark(fileSystemOf: try openDirectory(scratch.bytePath), mask)
            return nil
        } catch {
            return "needs root: \(error)"
        }
    }()

    @Test(
        "More than one read holds is read on, in order, each with the process that did it",
        .enabled(if: refusal == nil, "skipped: \(refusal ?? "")"))
    func manyRecords() async throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        let monitor = try FanotifyMonitor(label: "scratch", queue: queue)
        let directory = try openDirectory(scratch.bytePath)
        let handle = try DirectoryHandle(of: directory)
        try monitor.group.mark(fileSystemOf: directory, Self.mask)
        let seen = QueueBound<[BytePath]>([], queue: queue)
        let names = (0..<3_000).map { BytePath("directory-with-a-longer-name-\($0)") }
        await withCheckedContinuation { continuation in
            queue.async {
                monitor.setEventHandler { events in
                    var isLast = false
                    events.forEach { record in
                        guard let entry = record.entry, entry.directory == handle, record.mask.contains(.created)
                        else { return }
                        #expect(record.process == getpid())
                        seen.onQueue { $0.append(entry.copiedName) }
                        if entry.copiedName == names.last { isLast = true }
                    }
                    if isLast { monitor.invalidate { continuation.resume() } }
                }
                monitor.activate {
                    for name in names { _ = scratch.bytePath.appending(name).withCString { mkdir($0, 0o755) } }
                }
            }
        }
        #expect(queue.sync { seen.onQueue { $0 } } == names)
        #expect(monitor.describe().state == .invalidated)
        #expect(monitor.describe().kind == "FanotifyMonitor")
        #expect(throws: SystemCallError("fanotify_mark", .badFileDescriptor)) {
            try monitor.group.mark(fileSystemOf: directory, Self.mask)
        }
    }

    @Test(
        "An abandoned one, never activated, leaves no descriptor in use",
        .enabled(if: refusal == nil, "skipped: \(refusal ?? "")"))
    func abandoned() async throws {
        let monitor = try FanotifyMonitor(label: "abandoned", queue: queue)
        await withCheckedContinuation { continuation in
            queue.async { monitor.invalidate { continuation.resume() } }
        }
        #expect(throws: SystemCallError("fanotify_mark", .badFileDescriptor)) {
            try monitor.group.mark(fileSystemOf: try openDirectory("/tmp"), Self.mask)
        }
    }
}
