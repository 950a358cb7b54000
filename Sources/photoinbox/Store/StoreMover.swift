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
    private nonisolated let executor: QueueExecutor
    private let contact: ControlContact
    private let bucket: BytePath

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ bucket: BytePath, _ contact: ControlContact) {
        executor = TaskQueue.executor(on: MonitorQueue(label: "photo-inbox.store.mover"))
        (self.bucket, self.contact) = (bucket, contact)
    }

    func move(_ item: StoreItem) throws(StoreFailure) {
        let request = ControlRequest(
            .store(photo: item.photo, path: item.path, bucket: bucket, sha256: item.hash.bytes))
        let answer: ControlAnswer
        do throws(CommandFailure) { answer = try contact.ask(request) } catch {
            throw StoreFailure(.daemon, error.message)
        }
        switch ExitStatus(reported: answer.status) {
        case .ok: return
        case .permission, .unavailable: throw StoreFailure(.daemon, answer.message)
        default: throw StoreFailure(.object, answer.message)
        }
    }
}
