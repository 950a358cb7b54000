package import Catalogue
package import FileValues
import Filing
import PhotoModel

/// What came of the work on an arrival.
package struct Conclusion: Sendable {
    /// Where it goes in the book.
    let verdict: ArrivalBook.Verdict
    /// What is told and recorded; nil while there is no outcome, and for what was told in an earlier life.
    var record: EndedArrival?
    /// The file stays in its inbox in this state, and nothing more is to be done with it: it need not be told again
    /// after a restart.
    var settled: SettledState?
    /// Since when the file has been as it is, where it was looked at.
    var quiet: QuietCheck?
    /// Sidecars that lie beside it and were let go before, since their photo was not there: they are taken on again.
    var summoned: [BytePath] = []
    /// What was filed together, told by one of it.
    var pairing: Pairing?
    /// Signs of problems, or of their end.
    var symptoms: [Symptom] = []
    /// What refused it, and will be asked again with it.
    var refusedBy: Storage = []

    init(_ verdict: ArrivalBook.Verdict, _ record: EndedArrival? = nil) {
        self.verdict = verdict
        self.record = record
    }
}

/// What was filed as one, and beside what.
struct Pairing: Hashable, Sendable {
    let roles: [SetRole]
    let beside: [SetRole]
}

/// In which state a file that stays in its inbox had its outcome.
enum SettledState: Hashable, Sendable {
    /// As the watch told it: its name or its kind decided.
    case asNoticed
    /// As it was when it was opened.
    case opened(FileIdentity)
}

/// A sign of a problem, or of its absence, that work on files has shown. The daemon turns signs into rows of the problem
/// table; nothing here knows its codes.
package enum Symptom: Hashable, Sendable {
    /// Filing into the library fails, or works again (nil).
    case library(failure: LibraryFailure?)
    /// The catalogue refuses, or works again (nil).
    case catalogue(failure: CatalogueError?)
    /// A filed source stays in its inbox, because it cannot be removed from its directory there.
    case sourceKept(inbox: String, directory: BytePath, reason: String)
    /// A file in the library is not what was filed.
    case damaged(BytePath, reason: String)
    /// The inbox's directory cannot be opened, or can again (nil).
    case inboxUnreadable(inbox: String, reason: String?)
    /// Another daemon works in the inbox.
    case inboxTaken(inbox: String, reason: String)

    /// Of what it says that it refuses.
    var refusal: Storage {
        switch self {
        case .library(let failure): failure != nil ? .library : []
        case .catalogue(let failure): failure != nil ? .catalogue : []
        case .sourceKept, .damaged, .inboxUnreadable, .inboxTaken: []
        }
    }

    /// Of what it says that it is well again.
    var recovery: Storage {
        switch self {
        case .library(nil): .library
        case .catalogue(nil): .catalogue
        case .library, .catalogue, .sourceKept, .damaged, .inboxUnreadable, .inboxTaken: []
        }
    }
}

extension [Symptom] {
    /// Of what they say that it refuses.
    var refusal: Storage { reduce(into: []) { $0.formUnion($1.refusal) } }
}

/// How the library refuses.
package enum LibraryFailure: Hashable, Sendable {
    case readOnly, inputOutput, missing
    /// So many bytes were needed for a photo, and so many were free right after, as far as both are known.
    case full(needed: UInt64? = nil, free: UInt64? = nil)
    /// Another directory lies at its path; says how that was seen.
    case replaced(String)
    /// Another daemon works there; says which.
    case taken(String)
    /// Its file system cannot give a file a name without risk to another; says which call failed.
    case unsuitable(String)
    case other(String)
}
