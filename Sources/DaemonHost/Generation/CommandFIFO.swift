import FileValues
import Glibc
import LinuxKernel
import Settings
import SystemMonitor
import SystemPackage

/// A FIFO whose lines are commands; see `[[descriptor]]` in photoinbox.toml(5).
///
/// Whoever may write to it may give commands: it is made for its owner alone. Held open for writing too, so that it
/// never reports an end when the last writer goes.
final class CommandFIFO: Sendable {
    /// A command is a word or two; what is longer is not one.
    private static let longestLine = 1024

    private struct Contents {
        var pending: [UInt8] = []
        var isOverlong = false
    }

    private let monitor: DescriptorMonitor
    private let contents: QueueBound<Contents>
    private let onLine: @Sendable (Result<Action, Action.Mistake>, String) -> Void

    /// Opens the FIFO, making it if it is absent. `onLine` is called on `queue` with each line.
    init(
        _ settings: DescriptorSettings, queue: MonitorQueue,
        onLine: @escaping @Sendable (Result<Action, Action.Mistake>, String) -> Void
    ) throws {
        let path = settings.fifo
        if path.withCString({ mkfifo($0, 0o600) }) != 0, errno != EEXIST {
            throw SystemCallError("mkfifo", Errno(rawValue: errno), path: path)
        }
        let descriptor = try descriptorCall("open", path: path) {
            path.withCString { Glibc.open($0, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW) }
        }
        guard try FileStatus(of: descriptor).kind == .fifo else {
            throw SystemCallError("open", .invalidArgument, path: path)
        }
        self.onLine = onLine
        contents = QueueBound(Contents(), queue: queue)
        monitor = try DescriptorMonitor(owning: descriptor, for: .read, label: settings.name, queue: queue)
    }

    /// On its queue.
    func activate() {
        monitor.setEventHandler { [weak self] _ in self?.read() }
        monitor.activate()
    }

    /// On its queue.
    func invalidate(completion: @escaping @Sendable () -> Void) { monitor.invalidate(completion: completion) }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = monitor.withDescriptor { Glibc.read($0, &buffer, buffer.count) } ?? 0
        guard count > 0 else { return }
        for byte in buffer[..<count] { add(byte) }
    }

    private func add(_ byte: UInt8) {
        let ended: Contents? = contents.onQueue { contents in
            guard byte == 0x0A else {
                if contents.pending.count < Self.longestLine {
                    contents.pending.append(byte)
                } else {
                    contents.isOverlong = true
                }
                return nil
            }
            defer { contents = Contents() }
            return contents
        }
        guard let ended, !ended.pending.isEmpty else { return }
        let line = escapeForDisplay(ended.pending)
        do throws(Action.Mistake) {
            // Its beginning alone may well be a command, but not the one that was meant.
            if ended.isOverlong { throw Action.Mistake("longer than \(Self.longestLine) bytes, dropped") }
            onLine(.success(try Action(String(decoding: ended.pending, as: UTF8.self), asker: .command)), line)
        } catch {
            onLine(.failure(error), line)
        }
    }
}
