import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Epoll watchers of descriptors that can hang up", .timeLimit(.minutes(60)))
struct WatcherTests {
    private let queue = MonitorQueue(label: "test.watchers")

    /// Both ends of a pipe, the reading one not blocking.
    private func makePipe() throws -> (reader: Int32, writer: Int32) {
        let ends = try TestSupport.makePipe()
        #expect(fcntl(ends.reading, F_SETFL, O_NONBLOCK) == 0)
        return (ends.reading, ends.writing)
    }

    @Test("Bytes are read, then the end is reported, and the descriptor is closed once")
    func hangUp() async throws {
        let (reader, writer) = try makePipe()
        let monitor = try ReaderMonitor(OwnedDescriptor(taking: reader), queue: queue)
        let text = await queue.run { done in
            let text = Locked("")
            monitor.setEventHandler { part in
                if let part { return text.withLock { $0 += part } }
                let whole = text.withLock { $0 }
                monitor.invalidate { done(whole) }
            }
            monitor.activate {
                _ = write(writer, "hello", 5)
                close(writer)
            }
        }
        #expect(text == "hello")
        #expect(monitor.describe().state == .invalidated)
    }

    @Test("An end during suspension is reported after resume")
    func suspended() async throws {
        let (reader, writer) = try makePipe()
        let monitor = try ReaderMonitor(OwnedDescriptor(taking: reader), queue: queue)
        await monitor.queue.run { done in
            monitor.setEventHandler { part in
                #expect(monitor.describe().state == .active)
                if part == nil { monitor.invalidate { done(()) } }
            }
            monitor.activate {
                monitor.suspend()
                close(writer)
                queue.async { queue.async { monitor.resume() } }
            }
        }
        #expect(monitor.describe().delivered == 1)
    }

    @Test("Regular files and directories are refused", arguments: ["file", ""])
    func refused(name: String) throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        _ = try root.openBeneath("file", [.write, .createNew])
        let descriptor =
            name.isEmpty ? try root.openDirectoryBeneath("") : try root.openBeneath(BytePath(name), .read)
        #expect(throws: SystemCallError("epoll_ctl", .notPermitted)) {
            _ = try epollWatcher(of: descriptor, .read)
        }
    }

    @Test("The descriptor is free in the completion, so its number can be watched again at once")
    func numbersAreFree() async throws {
        for _ in 0..<50 {
            let (reader, writer) = try makePipe()
            let monitor = try ReaderMonitor(OwnedDescriptor(taking: reader), queue: queue)
            await queue.run { done in
                monitor.setEventHandler { part in
                    if part == "x" { monitor.invalidate { done(()) } }
                }
                monitor.activate { _ = write(writer, "x", 1) }
            }
            close(writer)
        }
    }
}

/// Reports the text of a descriptor, and nil at its end.
private final class ReaderMonitor: Monitor {
    var handle: MonitorHandle<String?> { core.handle }
    let core: MonitorCore<String?>

    init(_ descriptor: consuming OwnedDescriptor, queue: MonitorQueue) throws {
        let watcher = try epollWatcher(of: descriptor, .read)
        core = MonitorCore(
            kind: "ReaderMonitor", label: "reader", queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { descriptor, outlet in
                var bytes = [UInt8](repeating: 0, count: 64)
                let count = read(descriptor, &bytes, bytes.count)
                if count >= 0 { outlet.deliver(count == 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)) }
            })
    }
}
