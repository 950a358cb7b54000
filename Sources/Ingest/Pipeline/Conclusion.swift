package import Catalogue
package import FileValues
import Filing
import PhotoModel

/// The result of the work on an arrival.
package struct Conclusion: Sendable {
    /// Its outcome, or what it waits for.
    let verdict: ArrivalTable.Verdict
    /// For the log and the state; nil while there is no outcome, and for one that was logged in an earlier life.
    var record: EndedArrival?
    /// The file stays in its inbox in this state, and nothing more is to be done with it: it need not be
    /// reported again after a restart.
    var kept: KeptState?
    /// Since when the file has been as it is, where it was examined.
    var quiet: QuietCheck?
    /// Sidecars beside it that were ignored before, since their photo was not there: they are examined again.
    var summoned: [BytePath] = []
    /// What was filed together; given by one of it.
    var pairing: Pairing?
    /// Signs of problems, or of their end.
    var symptoms: [Symptom] = []
    /// What refused it, and will be asked again with it.
    var refusedBy: Storage = []

    init(_ verdict: ArrivalTable.Verdict, _ record: EndedArrival? = nil) {
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
enum KeptState: Hashable, Sendable {
    /// As the watch reported it: its name or its kind decided.
    case asNoticed
    /// As it was when it was opened.
    case opened(FileIdentity)
    /// The same, and its content is of no format that is filed, or of a sidecar without its photo.
    case leftAlone(FileIdentity)
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

    /// The storage that refuses.
    var refusal: Storage {
        switch self {
        case .library(let failure): failure != nil ? .library : []
        case .catalogue(let failure?): failure.isOfOneFileAlone ? [] : failure.isAway ? .server : .catalogue
        case .catalogue(nil): []
        case .sourceKept, .damaged, .inboxUnreadable, .inboxTaken: []
        }
    }

    /// The storage that works again.
    var recovery: Storage {
        switch self {
        case .library(nil): .library
        case .catalogue(nil): .catalogue
        case .library, .catalogue, .sourceKept, .damaged, .inboxUnreadable, .inboxTaken: []
        }
    }
}

extension [Symptom] {
    /// The storage that refuses.
    var refusal: Storage { reduce(into: []) { $0.formUnion($1.refusal) } }
}

/// How the library refuses.
package enum LibraryFailure: Hashable, Sendable {
    case readOnly, inputOutput, missing
    /// So many bytes were needed for a photo, and so many were free right after, as far as both are known.
    case full(needed: UInt64? = nil, free: UInt64? = nil)
    /// Another directory is at its path; how that was seen.
    case replaced(String)
    /// Another daemon works there; which.
    case taken(String)
    /// Its file system cannot give a file a name without risk to another; which call failed.
    case unsuitable(String)
    case other(String)
}
