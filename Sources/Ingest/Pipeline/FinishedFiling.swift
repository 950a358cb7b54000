import FileValues
import Filing
import LinuxKernel

/// A filing whose commit was not answered, and that recovery has found to be recorded, or has recorded. Its arrival waits still,
/// and ends as filed once the source, which recovery removes, is gone.
struct FinishedFiling: Sendable {
    let source: FileIdentity
    /// In the library.
    let destination: BytePath
    let hash: ContentHash

    /// Whether it is of this arrival, and not of another file that has come to its name.
    fileprivate func isOf(_ arrival: Arrival) -> Bool { arrival.noticed?.hasSameContent(as: source) == true }

    fileprivate func end(of arrival: Arrival) -> EndedArrival {
        var ended = EndedArrival(
            key: arrival.key, outcome: .filed, reason: "recorded, though the catalogue had not answered", ended: .now,
            firstSeen: arrival.firstSeen)
        ended.destination = destination
        ended.sha256 = "\(hash)"
        ended.bytes = source.size
        return ended
    }
}

/// By the paths of their sources.
typealias FinishedFilings = Locked<[BytePath: FinishedFiling]>

extension [BytePath: FinishedFiling] {
    private static var most: Int { 1_000 }

    mutating func add(_ filing: FinishedFiling, of path: BytePath) {
        // Of arrivals that have ended in another way.
        if count >= Self.most { removeAll() }
        self[path] = filing
    }

    /// The end of this arrival, whose file is gone; nil if its filing is not finished.
    mutating func take(of arrival: Arrival) -> EndedArrival? {
        guard let filing = self[arrival.key.path], filing.isOf(arrival) else { return nil }
        self[arrival.key.path] = nil
        return filing.end(of: arrival)
    }
}
