package import DropStore
import FileValues
package import HTTPValues

/// What came of a request for an upload.
package enum UploadResult: Hashable, Sendable {
    /// What the server can do.
    case abilities(largest: UInt64)
    /// Of a request that added bytes, or only created the upload: what is durable, and what is done with it.
    case upload(UploadID, UploadRecord, wasCreated: Bool)
    /// The answer to a question for the offset.
    case state(UploadID, UploadRecord)
    case ended
    case mistake(UploadMistake)
    case unknownSender
    case refusedName(DropName.Refusal)
    /// `id` once there is one.
    case failed(DropError, UploadID?)
}

/// The answer to a request: each dialect's words for each result. A value.
///
/// A status of 200, 201 or 204 for the last bytes says that the file has its name in the inbox, durably; 202 says that its bytes are
/// durable, and that its name waits for others of its set.
package struct UploadAnswer: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var status: HTTPStatus
    package private(set) var fields: [Field] = []
    /// For people; without it there is no body.
    package private(set) var message: String?
    /// Of the message, as RFC 9457 has it, where the draft names one.
    package private(set) var problem: String?

    private let dialect: UploadDialect

    /// `base` is the place of uploads, as a path that ends in a slash. `expiry` is a date of HTTP, of uploads that expire.
    package init(_ result: UploadResult, _ dialect: UploadDialect, base: String, expiry: String?) {
        self.dialect = dialect
        status = .ok
        if dialect == .tus { add("Tus-Resumable", UploadHead.tusVersion) }
        if dialect == .draft { add("Upload-Draft-Interop-Version", UploadHead.interop) }
        switch result {
        case .abilities(let largest): abilities(largest)
        case .upload(let id, let record, let wasCreated): upload(id, record, wasCreated, base, expiry)
        case .state(let id, let record): state(id, record, base, expiry)
        case .ended: status = .noContent
        case .mistake(let mistake): refuse(mistake.status, mistake.message)
        case .unknownSender: refuse(.unauthorized, "sign in first")
        case .refusedName(let refusal): refuse(.unprocessableContent, refusal.message)
        case .failed(let error, let id): failed(error, id, base)
        }
    }

    private mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    private mutating func refuse(_ status: HTTPStatus, _ message: String) {
        (self.status, self.message) = (status, message)
        // Who asks with another version is told which there is.
        if dialect == .tus, status == .preconditionFailed { add("Tus-Version", UploadHead.tusVersion) }
    }

    // MARK: - What was done

    private mutating func abilities(_ largest: UInt64) {
        status = .noContent
        add("Upload-Limit", "max-size=\(largest)")
        guard dialect == .tus else { return }
        add("Tus-Version", UploadHead.tusVersion)
        add("Tus-Max-Size", "\(largest)")
        add("Tus-Extension", "creation,creation-with-upload,creation-defer-length,termination,expiration,checksum")
        add("Tus-Checksum-Algorithm", "sha256")
    }

    private mutating func upload(
        _ id: UploadID, _ record: UploadRecord, _ wasCreated: Bool, _ base: String, _ expiry: String?
    ) {
        let isComplete = record.phase != .receiving
        if wasCreated, dialect != .put { add("Location", "\(base)\(id)") }
        // The name is the inbox's, and a sender may read nothing there.
        if dialect != .put { add("Upload-Offset", "\(record.offset)") }
        if dialect == .draft { add("Upload-Complete", isComplete ? "?1" : "?0") }
        if !isComplete, let expiry, dialect == .tus { add("Upload-Expires", expiry) }
        switch dialect {
        // tus knows these two alone.
        case .tus: status = wasCreated ? .created : .noContent
        case .draft: status = isComplete ? record.isNamed ? .ok : .accepted : wasCreated ? .created : .noContent
        case .put: status = record.isNamed ? .created : .accepted
        case .post: status = isComplete ? record.isNamed ? .ok : .accepted : wasCreated ? .created : .ok
        }
        if status == .accepted { message = "durable; waits for others of its set" }
    }

    private mutating func state(_ id: UploadID, _ record: UploadRecord, _ base: String, _ expiry: String?) {
        if case .ended(let end) = record.phase { return failed(.ended(end), id, base) }
        let isComplete = record.phase != .receiving
        status = dialect == .tus ? .ok : .noContent
        add("Upload-Offset", "\(record.offset)")
        add("Cache-Control", "no-store")
        if let length = record.length {
            add("Upload-Length", "\(length)")
        } else if dialect == .tus {
            add("Upload-Defer-Length", "1")
        }
        switch dialect {
        case .tus:
            add("Upload-Metadata", "filename \(base64Encoded(record.new.name.original.bytes))")
            if !isComplete, let expiry { add("Upload-Expires", expiry) }
        case .draft, .post: add("Upload-Complete", isComplete ? "?1" : "?0")
        case .put: break
        }
    }

    // MARK: - What was not

    private mutating func failed(_ error: DropError, _ id: UploadID?, _ base: String) {
        switch error {
        case .notFound: refuse(.notFound, "there is no such upload")
        case .ended(let end): refuse(.gone, "the upload has ended: \(end.message)")
        case .placed: completed()
        case .superseded: refuse(.conflict, "another request continues this upload")
        case .busy:
            refuse(.unavailable, "its bytes are being read; ask again")
            add("Retry-After", "5")
        case .wrongOffset(let offset):
            refuse(.conflict, "the upload continues at \(offset)")
            add("Upload-Offset", "\(offset)")
            problem = "https://iana.org/assignments/http-problem-types#mismatching-upload-offset"
        case .wrongLength:
            refuse(.badRequest, "another length was announced")
            problem = "https://iana.org/assignments/http-problem-types#inconsistent-upload-length"
        case .tooLong(let limit): refuse(.contentTooLarge, "the file may have \(limit) bytes")
        case .tooManyOpen:
            refuse(.tooManyRequests, "too many uploads are unfinished; finish or end some")
            add("Retry-After", "60")
        case .tooManyHeld: refuse(.insufficientStorage, "too many files wait for their names: rename or remove some")
        case .overTotal: refuse(.insufficientStorage, "what may be sent was sent")
        case .lengthRequired: refuse(.lengthRequired, "say the length of the file at once")
        case .inboxGone: refuse(.unavailable, "the inbox is not there; send it later")
        case .ignoredName(let rule): refuse(.unprocessableContent, DropName.Refusal.ignored(rule: rule).message)
        case .empty: refuse(.unprocessableContent, "an empty file is no photo")
        case .wrongDigest:
            refuse(
                dialect == .tus ? .checksumMismatch : .badRequest,
                "the bytes are not those of their digest; send them again")
        case .noRoom: refuse(.insufficientStorage, "the disk is full; nothing that was acknowledged is lost")
        case .system: refuse(.failed, "the server's disk refused it; its journal has the reason")
        }
        // Of an upload that goes on, where that is.
        if let id, status != .notFound, status != .gone, dialect == .draft { add("Location", "\(base)\(id)") }
    }

    private mutating func completed() {
        refuse(dialect == .draft ? .badRequest : .conflict, "the upload is complete")
        problem = "https://iana.org/assignments/http-problem-types#completed-upload"
    }
}

extension UploadRecord {
    /// Whether it has its name in the inbox, durably.
    var isNamed: Bool { if case .placed = phase { true } else { false } }
}

extension DropName.Refusal {
    var message: String {
        switch self {
        case .malformed: "this is no name of a file"
        case .ignored(let rule): "a file of this name would be ignored: \(rule)"
        case .links: "a list of links is no photo"
        }
    }
}

extension UploadEnd {
    var message: String {
        switch self {
        case .cancelled: "its sender has ended it"
        case .expired: "nobody continued it"
        case .empty: "it had no byte"
        case .wrongDigest: "its bytes were not those of its digest"
        case .failed: "the disk failed"
        case .lost: "its bytes were lost"
        }
    }
}
