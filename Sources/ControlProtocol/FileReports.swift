package import FileValues

/// What has become of files of one inbox; see ``ControlCommand/outcomes(inbox:of:after:)``.
package struct FileReports: Hashable, Sendable, Codable {
    /// Where a file is on its way.
    package enum Step: String, Hashable, Sendable, Codable {
        /// The daemon has not seen it, or has forgotten it.
        case unseen
        case inHand = "in hand"
        case deferred, filed, duplicate, quarantined, ignored, withdrawn
        /// Its photo was taken back out of the library by a person.
        case undone
        /// It was quarantined, and discarded by a person.
        case discarded
        /// Its photo is missing or damaged in the library.
        case lost
    }

    package struct Report: Hashable, Sendable, Codable {
        private let file: String
        private let fileBase64: String?
        package private(set) var step: Step
        /// The identifier of the outcome.
        package var operation: Int64?
        package var reason: String?
        /// Of the photo that was filed, or that was there already: its path in the library, escaped.
        package var place: String?
        /// The hash of that photo, which was read again after it was written, and is durable with its record; nil where that
        /// cannot be said.
        package var durable: String?

        enum CodingKeys: String, CodingKey {
            case file, step, operation, reason, place, durable
            case fileBase64 = "file_base64"
        }

        package init(_ path: BytePath, _ step: Step) {
            (file, fileBase64) = PathText.fields(path)
            self.step = step
        }

        /// Its photo turned out to be missing.
        package mutating func lose() { (step, place, durable) = (.lost, nil, nil) }

        /// Its path in the inbox.
        package var path: BytePath { PathText.path(file, fileBase64) ?? "" }
    }

    /// Of each file that was asked about, in that order, and of those with new outcomes, oldest first.
    package var files: [Report] = []
    /// The newest outcome that was looked at: where the next request goes on.
    package var through: Int64
    /// Why the inbox is paused.
    package var paused: String?

    package init(through: Int64) { self.through = through }
}
