package import Ingest
import LinuxKernel

/// The last outcomes, for the state dump. Any thread.
package final class RecentOutcomes: Sendable {
    private static let capacity = 50
    private let ends = Locked<[EndedArrival]>([])

    package init() {}

    /// Adds one, and forgets the oldest if there are too many.
    package func add(_ ended: EndedArrival) {
        ends.withLock {
            $0.append(ended)
            if $0.count > Self.capacity { $0.removeFirst($0.count - Self.capacity) }
        }
    }

    /// Oldest first.
    package var all: [EndedArrival] { ends.withLock { $0 } }
}
