import FileValues
import LinuxKernel

/// What is done about files of links, for the state dump: filled by the desk, copied by any thread.
package final class LinkBoard: Sendable {
    /// One that is not over.
    struct Entry: Sendable {
        let item: LinkItem
        /// `waiting` or `fetching`.
        var phase = "waiting"
        /// What it waits for.
        var words = "waits for its turn"
        var since = Moment.now
        var addresses: Int?
        var arrived = 0
        var failed = 0
    }

    struct Contents: Sendable {
        var open: [Entry] = []
        /// Oldest first.
        var past: [LinkResult] = []
    }

    /// Nil while files of links are not taken up.
    private let contents = Locked<Contents?>(nil)

    package init() {}

    var all: Contents? { contents.withLock { $0 } }

    func show(_ ledger: LinkLedger?) {
        contents.withLock { contents in
            guard let ledger else { return contents = nil }
            let known = Dictionary((contents?.open ?? []).map { ($0.item.operation, $0) }) { first, _ in first }
            contents = Contents(
                open: ledger.open.map { known[$0.operation] ?? Entry(item: $0) }, past: ledger.past)
        }
    }

    func change(_ operation: Int64, _ body: (inout Entry) -> Void) {
        contents.withLock { contents in
            guard let index = contents?.open.firstIndex(where: { $0.item.operation == operation }) else { return }
            if var entry = contents?.open[index] {
                let phase = entry.phase
                body(&entry)
                if entry.phase != phase { entry.since = .now }
                contents?.open[index] = entry
            }
        }
    }
}

extension DaemonState.LinkFile {
    init(_ entry: LinkBoard.Entry) {
        self.init(
            operation: entry.item.operation, inbox: entry.item.inbox, file: entry.item.key.path.escaped,
            phase: entry.phase, since: entry.since.text, addresses: entry.addresses, arrived: entry.arrived,
            failed: entry.failed, what: entry.words)
    }

    init(_ result: LinkResult) {
        self.init(
            operation: result.item.operation, inbox: result.item.inbox, file: result.item.key.path.escaped,
            phase: result.what.rawValue, since: FileTime(seconds: result.at, nanoseconds: 0).rfc3339,
            addresses: result.addresses, arrived: result.arrived, failed: result.failed, what: result.words)
    }
}
