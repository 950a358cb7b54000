import Dispatch
import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Directory monitors", .timeLimit(.minutes(60)))
struct DirectoryMonitorTests {
    private struct Seen: Sendable, Equatable {
        let watch: Int32
        let mask: InotifyMask
        let name: BytePath
    }

    /// Runs `body` under a monitor of a scratch directory until a record with the mask `last` is reported.
    private func watch(
        _ mask: InotifyMask, until last: InotifyMask, _ body: @escaping @Sendable (DirectoryMonitor, String) -> Void
    ) async throws -> ([Seen], MonitorDescription) {
        let scratch = try ScratchDirectory()
        let queue = MonitorQueue(label: "test.directory")
        let monitor = try DirectoryMonitor(label: "scratch", queue: queue)
        let seen = QueueBound<[Seen]>([], queue: queue)
        await withCheckedContinuation { continuation in
            queue.async {
                monitor.setEventHandler { events in
                    var isLast = false
                    events.forEach { record in
                        seen.onQueue {
                            $0.append(Seen(watch: record.watch, mask: record.mask, name: record.copiedName))
                        }
                        if record.mask.contains(last) { isLast = true }
                    }
                    if isLast { monitor.invalidate { continuation.resume() } }
                }
                monitor.activate {
                    do { _ = try monitor.watches.addWatch(scratch.bytePath, mask) } catch { Issue.record(error) }
                    body(monitor, scratch.path)
                }
            }
        }
        #expect(throws: SystemCallError.self) { try monitor.watches.addWatch(scratch.bytePath, mask) }
        return (queue.sync { seen.onQueue { $0 } }, monitor.describe())
    }

    @Test("Records are in order, with their names, and after invalidation the instance is closed")
    func records() async throws {
        let (seen, description) = try await watch([.created, .closedAfterWriting, .deletedSelf], until: .ignored) {
            let file = creat("\($1)/a.jpg", 0o644)
            close(file)
            unlink("\($1)/a.jpg")
            rmdir($1)
        }
        #expect(
            seen == [
                Seen(watch: 1, mask: .created, name: "a.jpg"), Seen(watch: 1, mask: .closedAfterWriting, name: "a.jpg"),
                Seen(watch: 1, mask: .deletedSelf, name: ""), Seen(watch: 1, mask: .ignored, name: ""),
            ])
        #expect(description.state == .invalidated)
        #expect(description.kind == "DirectoryMonitor")
    }

    @Test("More records than fit in one read are reported in order")
    func manyRecords() async throws {
        let (seen, _) = try await watch([.created, .deletedSelf], until: .deletedSelf) {
            for number in 0..<3_000 { mkdir("\($1)/directory-with-a-longer-name-\(number)", 0o755) }
            for number in 0..<3_000 { rmdir("\($1)/directory-with-a-longer-name-\(number)") }
            rmdir($1)
        }
        #expect(
            seen.dropLast(2)
                == (0..<3_000).map {
                    Seen(
                        watch: 1, mask: [.created, .isDirectory],
                        name: BytePath("directory-with-a-longer-name-\($0)"))
                })
    }

    @Test("A released monitor that was never activated leaves no descriptor open")
    func abandoned() async throws {
        let queue = MonitorQueue(label: "test.directory")
        let monitor = try DirectoryMonitor(label: "abandoned", queue: queue)
        await withCheckedContinuation { continuation in
            queue.async { monitor.invalidate { continuation.resume() } }
        }
        #expect(throws: SystemCallError.self) { try monitor.watches.addWatch("/", .created) }
    }

}
