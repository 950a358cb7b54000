package import FileValues

/// What a command is about.
package enum ControlSubject: Hashable, Sendable {
    case everything
    /// By its name in the configuration.
    case inbox(String)
    /// A file of an inbox, by its path there.
    case file(inbox: String, BytePath)
}

/// What somebody wants of the daemon.
package enum ControlCommand: Hashable, Sendable {
    /// Who answers there, in which version.
    case hello
    /// The whole state, as in the state dump.
    case state
    /// Its metrics, as OpenMetrics text.
    case metrics
    /// Reads the configuration again, as SIGHUP has it done; the answer comes when it is in force, or refused.
    case reload
    /// Closes an inbox's admission: what comes is seen, counted, and waits.
    case pause(inbox: String)
    case resume(inbox: String)
    /// Compares inboxes with what is known; takes a file as if it had just come.
    case rescan(ControlSubject)
    /// Tries now what is deferred.
    case retry(ControlSubject)
    /// Reads photos again, by their identifiers, that somebody has found damaged or whole: at most ``verifyLimit`` of them.
    /// `isComplete`: the whole library was read.
    case verify(photos: [Int64], isComplete: Bool)
    /// Lets a quarantined file go back to its inbox; `asIs` files it whatever it looks like.
    case release(operation: Int64, asIs: Bool)
    /// Puts a file that was set aside into the trash.
    case discard(operation: Int64)
    /// Takes a filed photo back out of the library, with all of its set unless it is meant `alone`.
    case undo(operation: Int64, alone: Bool = false)

    /// How many photos one request names at most.
    package static let verifyLimit = 1_000

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
        }
    }

    /// Whether it only looks: whoever may connect may do that.
    package var onlyReads: Bool {
        switch self {
        case .hello, .state, .metrics: true
        case .reload, .pause, .resume, .rescan, .retry, .verify, .release, .discard, .undo: false
        }
    }

    /// Whether a daemon must run for it; the rest `photoinboxd --answer` carries out while none does.
    package var needsRunningDaemon: Bool {
        switch self {
        case .hello, .state, .metrics, .reload, .rescan, .retry: true
        case .pause, .resume, .verify, .release, .discard, .undo: false
        }
    }
}

/// One request.
package struct ControlRequest: Hashable, Sendable {
    /// The protocol's version that this program speaks.
    package static let version = 1
    /// The longest that is taken, in bytes.
    package static let limit = 64 << 10

    /// The answer repeats it.
    package var id: Int64
    package var command: ControlCommand
    /// Nothing is changed; the answer says what would be.
    package var isDryRun: Bool

    package init(id: Int64 = 1, _ command: ControlCommand, isDryRun: Bool = false) {
        self.id = id
        self.command = command
        self.isDryRun = isDryRun
    }
}

/// Why bytes are no request.
package struct RequestMistake: Error, Hashable, Sendable {
    /// What is wrong, in one clause.
    package let message: String
    /// The request's number, where that much could be read.
    package let id: Int64
}
