package import FileValues

/// What the daemon answers: {"version":1,"id":7,"status":0,"message":"…","items":[…]}
package struct ControlAnswer: Hashable, Sendable {
    /// One file or inbox that was changed, or would be.
    package struct Item: Hashable, Sendable, Codable {
        /// What was done: `paused`, `released`, `discarded`, `undone`, `retried`, `rescanned` …
        package var did: String
        package var inbox: String?
        private var fileText: String?
        private var fileBase64: String?
        /// The identifier of the outcome.
        package var operation: Int64?
        /// The number of this request in the catalogue.
        package var request: Int64?
        private var fromText: String?
        private var fromBase64: String?
        private var toText: String?
        private var toBase64: String?
        /// The number, if it represents several.
        package var count: Int?
        /// The file that a dry run has seen: another text when it is another one, or was written to.
        package var identity: String?

        enum CodingKeys: String, CodingKey {
            case did, inbox, operation, request, count, identity
            case fileText = "file"
            case fileBase64 = "file_base64"
            case fromText = "from"
            case fromBase64 = "from_base64"
            case toText = "to"
            case toBase64 = "to_base64"
        }

        package init(_ did: String, inbox: String? = nil, file: BytePath? = nil) {
            (self.did, self.inbox) = (did, inbox)
            self.file = file
        }

        /// Its path in the inbox.
        package var file: BytePath? {
            get { PathText.path(fileText, fileBase64) }
            set { (fileText, fileBase64) = PathText.fields(of: newValue) }
        }
        /// Its absolute path before.
        package var from: BytePath? {
            get { PathText.path(fromText, fromBase64) }
            set { (fromText, fromBase64) = PathText.fields(of: newValue) }
        }
        /// Its absolute path after.
        package var to: BytePath? {
            get { PathText.path(toText, toBase64) }
            set { (toText, toBase64) = PathText.fields(of: newValue) }
        }
    }

    /// The longest answer, in bytes.
    package static let limit = 1 << 20

    package var id: Int64 = 0
    /// The exit status of the command; see photoinbox(1). 0 is success.
    package var status: Int32
    /// One sentence or clause for people, without a final stop.
    package var message: String
    /// What to do, if anything can be done.
    package var action: String?
    package var items: [Item]
    /// The metrics, for a request of them; for a reload each mistake or warning, one per line.
    package var text: String?
    /// The state's JSON, for a request of it.
    package var state: [UInt8]?
    /// For each content that was asked about, whether the library has it.
    package var known: [Bool]?
    /// What has become of files, for a request of it.
    package var arrivals: FileReports?

    /// What a request that follows this dry run expects; nil where no files are shown.
    package var identities: [String]? {
        let found = items.compactMap(\.identity)
        return found.isEmpty || found.count < items.count ? nil : found
    }

    package init(status: Int32 = 0, _ message: String, action: String? = nil, items: [Item] = []) {
        (self.status, self.message, self.action, self.items) = (status, message, action, items)
    }
}

private struct Fields: JSONMessage {
    var version: Int
    var id: Int64
    var status: Int32
    var message: String
    var action: String?
    var items: [ControlAnswer.Item]?
    var text: String?
    var known: [Bool]?
    var arrivals: FileReports?

    var isKnown: Bool { version == ControlRequest.version }
}

extension ControlAnswer {
    package func json() -> [UInt8] {
        let bytes = Fields(
            version: ControlRequest.version, id: id, status: status, message: message, action: action,
            items: items.isEmpty ? nil : items, text: text, known: known, arrivals: arrivals
        ).json
        guard let state else { return bytes }
        // The state is JSON already, and large.
        return bytes.dropLast() + Array(",\"state\":".utf8) + state + [UInt8(ascii: "}")]
    }

    /// Reads an answer; nil if the bytes are not an answer of a known version. Does not read ``state``: a caller who wants
    /// it reads the JSON field of that name.
    package init?(json bytes: [UInt8]) {
        guard let fields = Fields(json: bytes) else { return nil }
        self.init(status: fields.status, fields.message, action: fields.action)
        id = fields.id
        items = fields.items ?? []
        (text, known, arrivals) = (fields.text, fields.known, fields.arrivals)
    }
}

extension PathText {
    fileprivate static func fields(of path: BytePath?) -> (text: String?, base64: String?) {
        guard let path else { return (nil, nil) }
        let (text, base64) = fields(path)
        return (text, base64)
    }

    /// Nil where it cannot be read.
    static func path(_ text: String?, _ base64: String?) -> BytePath? { (try? path(text, base64, 0)) ?? nil }
}
