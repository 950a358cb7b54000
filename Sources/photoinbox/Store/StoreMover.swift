import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Filing
import QueueActors
import Reporting
import Storing
import SystemMonitor

/// Has photoinboxd remove photos from the library that a bucket was seen to have. On a queue of its own, which waits for the
/// answers.
actor StoreMover {
    /// How often a request is made that the daemon is too busy for, a second apart.
    private static let tries = 5

    private nonisolated let executor: QueueExecutor
    private let queue = MonitorQueue(label: "photo-inbox.store.mover")
    private let contact: ControlContact
    private let bucket: BytePath

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ bucket: BytePath, _ contact: ControlContact) {
        executor = TaskQueue.executor(on: queue)
        (self.bucket, self.contact) = (bucket, contact)
    }

    /// With `isDryRun`, only finds out whether the file would be removed.
    func move(_ item: StoreItem, isDryRun: Bool = false) async throws(StoreFailure) {
        let request = ControlRequest(
            .store(photo: item.photo, path: item.path, bucket: bucket, sha256: item.hash.bytes), isDryRun: isDryRun)
        var tries = 0
        while true {
            let answer: ControlAnswer
            do throws(CommandFailure) { answer = try contact.ask(request) } catch {
                throw StoreFailure(.daemon, error.message)
            }
            tries += 1
            switch ExitStatus(reported: answer.status) {
            case .ok: return
            case .permission, .unavailable: throw StoreFailure(.daemon, answer.message)
            // A daemon that reloads its configuration refuses for a moment, which must not tear a set.
            case .busy where tries < Self.tries: await Sleeper("store.mover", queue: queue).rest(seconds: 1)
            default: throw StoreFailure(.object, answer.message)
            }
        }
    }
}
