import FileValues
import Filing
import LinuxKernel
import Storing
import SystemPackage

/// The inbox into which photos are brought back.
final class StoreTarget: Sendable {
    /// Whether a daemon files them.
    let isFiled: Bool
    private let inbox: ImportInbox
    private let run = Locked<(name: BytePath, hold: HeldDescriptor)?>(nil)

    init(_ path: BytePath, minFree: UInt64, isFiled: Bool) throws(SystemCallError) {
        inbox = try ImportInbox(path, minFree: minFree)
        self.isFiled = isFiled
    }

    func close() {
        run.withLock { $0 = nil }
        inbox.close()
    }

    /// Brings `item` back, durably; false if `store` does not have it as it was recorded.
    func fetch(_ item: StoreItem, from store: ObjectStore) async throws(StoreFailure) -> Bool {
        do {
            guard try inbox.room() > item.size else {
                throw SystemCallError("write", .noSpace)
            }
            let (name, content) = try inbox.makeCopy()
            do {
                guard try await store.get(item, into: content) else {
                    inbox.discard(name)
                    return false
                }
                try inbox.setAttributes(of: content.descriptor, isDirectory: false)
                try content.descriptor.sync()
                // Each directory of the library is one here: names repeat, and files of one name beside each other are one set.
                let directory = try inbox.openDirectory(try currentRun().appending(item.path.parent))
                _ = try inbox.place(name, in: directory, as: item.path.name)
                try directory.syncDirectory()
                return true
            } catch {
                inbox.discard(name)
                throw error
            }
        } catch let failure as StoreFailure { throw failure } catch {
            throw StoreFailure(.all, "the inbox: \(error)")
        }
    }

    private func currentRun() throws(SystemCallError) -> BytePath {
        try run.withLock { run throws(SystemCallError) -> BytePath in
            if let run { return run.name }
            let made = try inbox.makeRun(.fetch, date: LocalClock.today())
            run = made
            return made.name
        }
    }
}
