import ControlProtocol
import DaemonSupport
package import FileValues
import Glibc
package import Ingest
import LinuxKernel
import Logging
import QueueActors
import SystemMonitor
import SystemPackage

/// Since when an inbox is paused, and who asked for that.
package struct InboxPause: Hashable, Sendable, Codable {
    private let seconds: Int64
    package let by: Requester

    private enum CodingKeys: String, CodingKey {
        case seconds = "since"
        case by
    }

    /// `since` is kept in whole seconds.
    package init(since: FileTime, by: Requester) { (seconds, self.by) = (since.seconds, by) }

    package var since: FileTime { FileTime(seconds: seconds, nanoseconds: 0) }
}

/// Which inboxes are paused, kept over restarts in a file of the state directory.
///
/// A change is durable before it counts: an inbox that was answered to be paused is so after a power cut, too.
package actor PauseStore {
    private struct Contents: Codable {
        var format = 1
        var inboxes: [String: InboxPause] = [:]
    }

    private nonisolated let executor: QueueExecutor
    private nonisolated let contents = Locked(Contents())
    private let directory: BytePath

    /// The file's name in the state directory.
    private static let name: BytePath = "paused"

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Reads the file of an earlier life; waits for the disk. Throws what makes it unreadable: filing photos that somebody
    /// wanted to be left alone is worse than not starting.
    init(in directory: BytePath, queue: MonitorQueue) throws {
        self.directory = directory
        executor = TaskQueue.executor(on: queue)
        let parent = try openDirectory(directory)
        let bytes: [UInt8]
        do throws(SystemCallError) {
            let file = try parent.openBeneath(Self.name, [.read, .nonBlocking])
            bytes = try file.read(1 << 20)
        } catch {
            if error.code == .noSuchFileOrDirectory { return }
            throw error
        }
        do {
            let read: Contents = try JSONCoding.read(bytes)
            contents.withLock { $0 = read }
        } catch {
            throw SetupError(
                "\(directory.appending(Self.name).escaped) does not say which inboxes are paused; remove it to resume all"
            )
        }
    }

    /// Whether and why an inbox is paused; from any thread.
    package nonisolated func pause(of inbox: String) -> InboxPause? { contents.withLock { $0.inboxes[inbox] } }

    /// Who a user is. On this queue, since a lookup of the name may wait.
    package func requester(_ user: UInt32) -> Requester { Requester(lookingUp: user) }

    /// Pauses or, with nil, resumes; returns when that is durable.
    package func set(_ inbox: String, _ pause: InboxPause?) throws {
        var next = contents.withLock { $0 }
        next.inboxes[inbox] = pause
        try write(try JSONCoding.write(next) + [0x0A])
        contents.withLock { $0 = next }
    }

    private func write(_ bytes: [UInt8]) throws(SystemCallError) {
        try openDirectory(directory).put(bytes, as: Self.name, durably: true)
    }
}
