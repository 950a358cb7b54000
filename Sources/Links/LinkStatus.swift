import ControlProtocol
import FileValues
import Ingest
import LinuxKernel

/// The files of links and how far they are, for the state dump. Any thread.
final class LinkStatus: Sendable {
    struct Contents: Sendable {
        /// Those that are not over.
        var open: [DaemonState.LinkFile] = []
        /// Oldest first.
        var past: [DaemonState.LinkFile] = []
    }

    /// Nil while links are not enabled.
    private let contents = Locked<Contents?>(nil)

    var all: Contents? { contents.withLock { $0 } }

    func show(_ ledger: LinkLedger?) {
        contents.withLock { contents in
            guard let ledger else { return contents = nil }
            let known = Dictionary((contents?.open ?? []).map { ($0.operation, $0) }) { first, _ in first }
            contents = Contents(
                open: ledger.open.map { known[$0.operation] ?? DaemonState.LinkFile(waiting: $0) },
                past: ledger.past.map { DaemonState.LinkFile($0) })
        }
    }

    func change(_ operation: Int64, _ body: (inout DaemonState.LinkFile) -> Void) {
        contents.withLock { contents in
            guard let index = contents?.open.firstIndex(where: { $0.operation == operation }) else { return }
            if var entry = contents?.open[index] {
                let phase = entry.phase
                body(&entry)
                if entry.phase != phase { entry.since = FileTime.now.rfc3339 }
                contents?.open[index] = entry
            }
        }
    }
}

extension DaemonState.LinkFile {
    fileprivate init(waiting item: LinkItem) {
        self.init()
        (operation, inbox, file) = (item.operation, item.inbox, item.key.path.escaped)
        (phase, since, what) = ("waiting", FileTime.now.rfc3339, "waits for its turn")
    }

    fileprivate init(_ result: LinkResult) {
        self.init()
        (operation, inbox, file) = (result.item.operation, result.item.inbox, result.item.key.path.escaped)
        (phase, since) = (result.what.rawValue, FileTime(seconds: result.at, nanoseconds: 0).rfc3339)
        (addresses, arrived, failed, what) = (result.addresses, result.arrived, result.failed, result.words)
    }
}
