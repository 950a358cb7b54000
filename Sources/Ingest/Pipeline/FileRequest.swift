package import Catalogue
package import ControlProtocol
package import FileValues
package import Filing
import LinuxKernel
package import Reporting

/// A request that moves a file of an inbox that has its outcome.
package struct FileRequest: Sendable {
    package enum What: Hashable, Sendable {
        /// Back to the inbox; as it is, without proof.
        case release(asIs: Bool)
        /// Into the trash.
        case discard
        /// Out of the library; all of its set with it, unless it is meant alone.
        case undo(alone: Bool)
        /// Out of the library, since the bucket of this address has this content under this path.
        case store(BytePath, at: BytePath, ContentHash)
    }

    let what: What
    let requester: Requester
    var isDryRun: Bool
    /// See ``ControlRequest/expected``.
    let expected: [String]?

    package init(what: What, requester: Requester, isDryRun: Bool, expected: [String]? = nil) {
        (self.what, self.requester, self.isDryRun, self.expected) = (what, requester, isDryRun, expected)
    }
}

/// The result of a request.
package struct RequestResult: Sendable {
    package var answer: ControlAnswer
    /// A file in its inbox that is to be examined.
    package var lookAt: ArrivalKey?
}

extension ControlAnswer {
    /// One answer for what belongs together; the last part may be a refusal.
    package init(_ parts: [RequestResult]) {
        let answers = parts.map(\.answer)
        self = answers.first ?? ControlAnswer("nothing to do")
        // Of a dry run: "would be taken back: A, B".
        let verb = answers.first.map { answer in answer.message.prefix { $0 != ":" } + ": " } ?? ""
        if verb.hasPrefix("would be "), answers.allSatisfy({ $0.message.hasPrefix(verb) }) {
            message = verb + answers.map { $0.message.dropFirst(verb.count) }.joined(separator: ", ")
        } else {
            message = answers.map(\.message).joined(separator: "; ")
        }
        items = answers.flatMap(\.items)
        if let last = answers.last, answers.count > 1, last.status != 0 {
            status = ExitStatus.someLeft.rawValue
            action = last.action ?? "Repeat it with --alone for what is left, by its own number: photoinbox explain"
        }
    }
}

/// Why a request is not carried out, and what to do.
package struct RequestRefusal: Error {
    let status: ExitStatus
    let message: String
    var action: String?

    package init(_ status: ExitStatus, _ message: String, action: String? = nil) {
        self.status = status
        self.message = message
        self.action = action
    }
}

extension FileRequest.What {
    package var kind: RequestKind {
        switch self {
        case .release: .release
        case .discard: .discard
        case .undo: .undo
        case .store: .store
        }
    }

    var verb: String { kind.rawValue }
    var participle: String { kind.participle }
}

extension RequestKind {
    /// What has been done.
    var participle: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .rescan: "rescanned"
        case .retry: "retried"
        case .release: "released"
        case .discard: "discarded"
        case .undo: "taken back"
        case .store: "moved to a bucket"
        }
    }
}

extension ControlAnswer {
    package init(_ refusal: RequestRefusal) {
        self.init(status: refusal.status.rawValue, refusal.message, action: refusal.action)
    }
}
