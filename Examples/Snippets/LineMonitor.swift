import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

/// Reports each line that other programs write into a FIFO.
final class LineMonitor: Monitor {
    var handle: MonitorHandle<String> { core.handle }
    private let core: MonitorCore<String>

    /// Opens the FIFO at `path`. Throws what open(2) or epoll_ctl(2) reports. From any thread.
    init(
        path: String, label: String, queue: MonitorQueue, file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        // Opened for writing too: otherwise it is at its end whenever no other program has it open.
        let fifo = try descriptorCall("open") { open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) }
        let watcher = try epollWatcher(of: fifo, [.read])
        let lines = QueueBound(LineBuffer(), queue: queue)
        core = MonitorCore(
            kind: "LineMonitor", label: label, queue: queue, descriptor: fifo, watcher: watcher,
            drain: { fifo, outlet in Self.drain(fifo, lines, outlet) }, file: file, line: line)
    }

    private static func drain(_ fifo: Int32, _ lines: QueueBound<LineBuffer>, _ outlet: EventOutlet<String>) {
        while outlet.isOpen {
            var block = [UInt8](repeating: 0, count: 4_096)
            do throws(SystemCallError) {
                let count = try systemCall("read") { read(fifo, &block, block.count) }
                let (whole, dropped) = lines.onQueue { $0.append(block.prefix(count)) }
                whole.forEach(outlet.deliver)
                outlet.countDropped(dropped)
            } catch {
                // EAGAIN: everything was read.
                if error.code != .resourceTemporarilyUnavailable { outlet.fail(error) }
                return
            }
        }
    }
}

/// Bytes of a line whose end has not been read.
struct LineBuffer {
    static let limit = 65_536
    private var bytes: [UInt8] = []

    /// The lines that `block` completes, and how many were dropped because they are too long.
    mutating func append(_ block: ArraySlice<UInt8>) -> (lines: [String], dropped: UInt64) {
        bytes += block
        var lines: [String] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeSubrange(...end)
        }
        guard bytes.count > Self.limit else { return (lines, 0) }
        bytes.removeAll()
        return (lines, 1)
    }
}
