import Importing
import LinuxKernel

/// What each card is doing, for the state dump: filled by those who import, copied by any thread.
package final class CardBoard: Sendable {
    struct Entry: Sendable {
        let mount: CardMount
        let inbox: String
        var isMounted = true
        /// As ``DaemonState/Card/phase`` has it.
        var phase = "importing"
        var since = Moment.now
        var progress = ImportProgress()
        var counts = CardCounts()
        var result: String?
        var seconds: Double?
    }

    private let entries = Locked<[Int: Entry]>([:])

    package init() {}

    func put(_ number: Int, _ entry: Entry) { entries.withLock { $0[number] = entry } }
    func remove(_ number: Int) { entries.withLock { $0[number] = nil } }

    func change(_ number: Int, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard var entry = entries[number] else { return }
            body(&entry)
            entries[number] = entry
        }
    }

    /// The oldest first.
    var all: [Entry] { entries.withLock { $0.sorted { $0.key < $1.key }.map(\.value) } }
}
