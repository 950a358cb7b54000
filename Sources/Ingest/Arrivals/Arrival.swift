package import FileValues
package import Filing
package import LinuxKernel
package import PhotoModel

/// Which file an arrival is: its inbox and its path below that inbox.
package struct ArrivalKey: Hashable, Sendable, CustomStringConvertible {
    /// The inbox's name in the configuration.
    package let inbox: String
    /// The path below the inbox.
    package let path: BytePath

    package init(inbox: String, path: BytePath) {
        self.inbox = inbox
        self.path = path
    }

    /// `card/DCIM/IMG_1.JPG`, safe to print.
    package var description: String { "\(inbox)/\(path.escaped)" }
}

/// How an arrival ended; DESIGN.md's words.
package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case filed, duplicate, quarantined, ignored, withdrawn
}

/// What an arrival waits for, or what is being done with it.
package enum ArrivalStage: Hashable, Sendable {
    /// Waits for its turn.
    case queued
    /// In work; `step` is what is being done, for people.
    case working(step: String)
    /// Quiet is being waited for, because no writer could be seen or the structure proves nothing.
    case settling(reason: String, until: Moment)
    /// Proven; the rest of its set is waited for.
    case gathering(set: Int, until: Moment)
    /// Will be tried again: not an outcome.
    case deferred(reason: String, attempt: Int, until: Moment)

    /// What the state dump and the metrics call it; one of ``names``.
    package var name: String {
        switch self {
        case .queued: "queued"
        case .working: "working"
        case .settling: "settling"
        case .gathering: "gathering"
        case .deferred: "deferred"
        }
    }

    /// What there is.
    package static let names = ["queued", "working", "settling", "gathering", "deferred"]
}

/// One file seen in an inbox, from first sight to its outcome.
package struct Arrival: Sendable {
    /// A report of the watch that comes while the arrival is in work.
    package enum Meanwhile: Hashable, Sendable { case seen, gone }

    /// Which file.
    package let key: ArrivalKey
    /// When it was first seen.
    package let firstSeen: Moment
    /// What it is doing.
    package internal(set) var stage: ArrivalStage
    /// Since when it has been in this stage.
    package internal(set) var since: Moment
    /// How many times it was deferred.
    package internal(set) var attempts: Int
    /// The identity at the last examination, and since when it has been so: quiet and patience are counted from the last
    /// change.
    package internal(set) var quiet: QuietCheck?
    /// The identity with which the watch last reported it; nil for what is no regular file.
    package internal(set) var noticed: FileIdentity?
    /// What refused it at the last try, if the library or the catalogue did.
    package internal(set) var refusedBy: Storage = []
    /// What the watch reported last while it was in work. Seen again, it is examined once more.
    package internal(set) var meanwhile: Meanwhile?
    /// Since when its examinations have not found it as the watch reported it.
    package internal(set) var missedSince: Moment?
    /// It was deferred, and not reported since: others go before it.
    package internal(set) var isRetry = false
    /// Under what others of its set are found.
    package let setKeys: [SetKey]
}
