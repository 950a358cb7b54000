package import FileValues

/// The object of a command.
package enum ControlSubject: Hashable, Sendable {
    case everything
    /// By its name in the configuration.
    case inbox(String)
    /// A file of an inbox, by its path there.
    case file(inbox: String, BytePath)
}

/// A request to the daemon.
package enum ControlCommand: Hashable, Sendable {
    /// The daemon's name and version.
    case hello
    /// The whole state, as in the state dump.
    case state
    /// The metrics, as OpenMetrics text.
    case metrics
    /// Reloads the configuration, like SIGHUP; the answer comes when it is in force or refused.
    case reload
    /// Pauses an inbox: new files are counted, and wait.
    case pause(inbox: String)
    case resume(inbox: String)
    /// Scans inboxes for missed changes; treats a file as if it had just arrived.
    case rescan(ControlSubject)
    case retry(ControlSubject)
    /// Verifies photos that a command found damaged or sound, by their identifiers: at most ``verifyLimit`` of them.
    /// `isComplete`: the whole library was read.
    case verify(photos: [Int64], isComplete: Bool)
    /// Returns a quarantined file to its inbox; `asIs` files it without checks.
    case release(operation: Int64, asIs: Bool)
    /// Moves a quarantined file or duplicate to the trash.
    case discard(operation: Int64)
    /// Removes a filed photo from the library, with all of its set unless `alone`.
    case undo(operation: Int64, alone: Bool = false)
    /// Removes a photo from the library, by its identifier and its path there, since the bucket of this address has been seen to
    /// have its bytes under this path; it is recorded there.
    case store(photo: Int64, path: BytePath, bucket: BytePath, sha256: [UInt8])

    /// Whether the library has photos of these contents, by their SHA-256: at most ``knownLimit``.
    case known([[UInt8]])
    /// What has become of files of an inbox: of these, at most ``outcomesLimit``, and of those with outcomes after `after`.
    case outcomes(inbox: String, of: [BytePath], after: Int64? = nil)

    package static let verifyLimit = 1_000
    package static let knownLimit = 500
    package static let outcomesLimit = 200

    /// Its word in a request.
    package var verb: String {
        switch self {
        case .hello: "hello"
        case .state: "state"
        case .metrics: "metrics"
        case .reload: "reload"
        case .pause: "pause"
        case .resume: "resume"
        case .rescan: "rescan"
        case .retry: "retry"
        case .verify: "verify"
        case .release: "release"
        case .discard: "discard"
        case .undo: "undo"
        case .store: "store"
        case .known: "known"
        case .outcomes: "outcomes"
        }
    }

    /// Whether it changes nothing: whoever may connect may request it.
    package var onlyReads: Bool {
        switch self {
        case .hello, .state, .metrics: true
        case .reload, .pause, .resume, .rescan, .retry, .verify, .release, .discard, .undo, .store, .known, .outcomes:
            false
        }
    }

    /// Whether only root and the daemon's own user may request it: they might remove the file as well.
    package var isForOwner: Bool { if case .store = self { true } else { false } }

    /// Whether it is for the program that receives uploads: others learn nothing of what the library has.
    package var isForDrop: Bool {
        switch self {
        case .known, .outcomes: true
        default: false
        }
    }

    /// Whether the pages may request it for a person.
    package var isForPages: Bool {
        switch self {
        case .pause, .resume, .rescan, .retry, .release, .discard, .undo: true
        case .hello, .state, .metrics, .reload, .verify, .store, .known, .outcomes: false
        }
    }

    /// Whether a daemon must run for it; the rest `photoinboxd --answer` carries out while none does.
    package var needsRunningDaemon: Bool {
        switch self {
        case .hello, .state, .metrics, .reload, .rescan, .retry, .store, .known, .outcomes: true
        case .pause, .resume, .verify, .release, .discard, .undo: false
        }
    }
}

package struct ControlRequest: Hashable, Sendable {
    /// The protocol version of this program.
    package static let version = 1
    /// The longest request, in bytes.
    package static let limit = 64 << 10

    /// The answer repeats it.
    package var id: Int64
    package var command: ControlCommand
    /// Whether only to report what would be done.
    package var isDryRun: Bool
    /// For whom the pages request it; nil for the requester's own request.
    package var person: String?
    /// ``ControlAnswer/Item/identity`` of each file that a dry run has shown: if one is another now, nothing is done. Nil for
    /// whatever is there.
    package var expected: [String]?

    package static let expectedLimit = 100

    package init(
        id: Int64 = 1, _ command: ControlCommand, isDryRun: Bool = false, person: String? = nil,
        expected: [String]? = nil
    ) {
        (self.id, self.command, self.isDryRun) = (id, command, isDryRun)
        (self.person, self.expected) = (person, expected)
    }
}

/// Why bytes are not a request.
package struct RequestMistake: Error, Hashable, Sendable {
    /// What is wrong, in one clause.
    package let message: String
    /// The request's number, if it could be read; else 0.
    package let id: Int64
}
