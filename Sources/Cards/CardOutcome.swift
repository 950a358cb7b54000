import FileValues
import Importing
import Reporting

/// What an import of a card has brought so far, in files.
struct CardCounts: Hashable, Sendable {
    var copied = 0
    var copiedBytes: UInt64 = 0
    var known = 0
    var waiting = 0
    var decided = 0
    var leftOut = 0
    var failed = 0
    /// The first file that failed, and why.
    var firstFailure: String?

    /// Of this, before another directory was begun.
    mutating func add(_ finding: ImportFinding, in directory: BytePath) {
        switch finding.what {
        case .copied:
            copied += 1
            copiedBytes += finding.size
        case .known: known += 1
        case .waiting: waiting += 1
        case .decided: decided += 1
        case .leftOut: leftOut += 1
        case .failed:
            failed += 1
            if firstFailure == nil {
                firstFailure = "\(directory.appending(finding.path).escaped): \(finding.reason)"
            }
        }
    }

    /// For people: `12 copied (48 MB), 340 filed already`.
    var words: String {
        let some = copied == 0 ? "nothing new" : "\(HumanText.count(copied)) copied (\(HumanText.bytes(copiedBytes)))"
        let rest: [(Int, String)] = [
            (known, "filed already"), (waiting, "in the inbox already"), (decided, "decided on already"),
            (failed, "failed"),
        ]
        return ([some] + rest.filter { $0.0 > 0 }.map { "\(HumanText.count($0.0)) \($0.1)" }).joined(separator: ", ")
    }
}

/// How the import of a card ended.
struct CardOutcome: Hashable, Sendable {
    enum End: Hashable, Sendable {
        /// All that was new is in the inbox.
        case complete
        /// Why not.
        case incomplete(String)
        /// It was stopped.
        case stopped
        /// Somebody else imports from there.
        case busy
    }

    var end = End.complete
    var counts = CardCounts()
    /// Directories of the inbox that photos were put into.
    var directories: [BytePath] = []
    var seconds = 0.0
}

/// What was found at a mount.
enum CardFinding: Hashable, Sendable {
    /// It is no card.
    case noCard
    /// It could not be read.
    case unreadable(String)
    case imported(CardOutcome)
}
