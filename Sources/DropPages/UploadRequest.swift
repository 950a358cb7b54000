package import DropStore
package import FileValues
package import Filing
package import HTTPValues

/// The ways in which uploads are spoken of. They differ in words only: one store, one set of rules.
package enum UploadDialect: String, Hashable, Sendable, CaseIterable {
    /// tus 1.0 with creation, creation-with-upload, creation-defer-length, termination, expiration and checksum.
    case tus
    /// draft-ietf-httpbis-resumable-upload, interop version 8.
    case draft
    /// PUT of a whole file.
    case put
    /// POST alone, for proxies that let nothing else through.
    case post
}

/// What a client asks for.
package enum UploadRequest: Hashable, Sendable {
    /// A new upload, as far as the head says it.
    package struct Creation: Hashable, Sendable {
        /// With folders before its last slash.
        package var path: [UInt8]
        package var length: UInt64?
        package var modified: FileTime?
        package var digest: ContentHash?
        package var set: DropSet?
        /// Whether bytes follow, and how.
        package var bytes: Bytes?

        init(path: [UInt8]) { self.path = path }
    }

    /// The body of a request.
    package struct Bytes: Hashable, Sendable {
        package var offset: UInt64 = 0
        /// Of this body.
        package var digest: ContentHash?
        /// Whether they are the last; nil if the length of the upload says it.
        package var isLast: Bool?
        /// The length of the upload, where it is said only now.
        package var length: UInt64?
        /// Whether they count without the end of the body: not those of a whole file in one request.
        package var isResumable = true
    }

    /// What the server can do.
    case options
    case create(Creation)
    case append(UploadID, Bytes)
    /// Where it continues.
    case ask(UploadID)
    case end(UploadID)
}

/// Why a head is no request for an upload.
package struct UploadMistake: Error, Hashable, Sendable {
    package let status: HTTPStatus
    package let message: String

    init(_ message: String, _ status: HTTPStatus = .badRequest) { (self.status, self.message) = (status, message) }
}

/// A request for an upload, in its dialect. A value of its head alone.
///
/// Addresses are relative to the place of uploads: nothing for new ones, the number of an upload, or, of a PUT, the name of a file.
package struct UploadHead: Hashable, Sendable {
    package let dialect: UploadDialect
    package let request: UploadRequest

    /// Throws for what is malformed, or belongs to no dialect. `segments` are those behind the place of uploads.
    package init(_ head: RequestHead, _ segments: ArraySlice<String>) throws(UploadMistake) {
        dialect = try Self.dialect(of: head)
        try Self.checkContent(of: head)
        switch dialect {
        case .tus: request = try Self.tus(head, segments)
        case .draft: request = try Self.draft(head, segments)
        case .put: request = .create(try Self.put(head, segments))
        case .post: request = try Self.post(head, segments)
        }
    }

    /// Refuses bodies that are not the bytes of a file as they are: a part of one, or compressed.
    static func checkContent(of head: RequestHead) throws(UploadMistake) {
        guard head.fields.values(of: "content-encoding").allSatisfy({ $0.lowercased() == "identity" }) else {
            throw UploadMistake("send the file as it is, without Content-Encoding", .unsupportedMediaType)
        }
        for range in head.fields.values(of: "content-range") {
            // `bytes 0-9/10` is all of it, as curl says it.
            let parts = range.split(omittingEmptySubsequences: false) { " -/".contains($0) }
            guard parts.count == 4, parts[0] == "bytes", parts[1] == "0", let last = Int(parts[2]),
                let all = Int(parts[3]), all > 0, last == all - 1, head.body == .length(all)
            else {
                throw UploadMistake(
                    "a part of a file is continued by tus, by the draft or by POST, not by Content-Range")
            }
        }
    }

    private static func dialect(of head: RequestHead) throws(UploadMistake) -> UploadDialect {
        let tus = head.fields.values(of: "tus-resumable")
        var draft = head.fields.values(of: interopVersion)
        // URLSession of iOS speaks other versions on its own, where an app has asked for no more than a POST or PUT.
        if draft != [interop], isWhole(head) { draft = [] }
        guard tus.isEmpty || draft.isEmpty else { throw UploadMistake("the request is of tus and of the draft") }
        if !draft.isEmpty {
            guard draft == [interop] else { throw UploadMistake("the only interop version is \(interop)") }
            return .draft
        }
        if !tus.isEmpty {
            guard tus == [tusVersion] else {
                throw UploadMistake("the only version of tus is \(tusVersion)", .preconditionFailed)
            }
            return .tus
        }
        switch head.method {
        // Of tus alone, which asks without its version.
        case .options: return .tus
        case .put: return .put
        case .post: return .post
        case .propfind, .proppatch, .mkcol, .copy, .move, .lock, .unlock:
            throw UploadMistake("WebDAV is at dav/", .methodNotAllowed)
        case .head, .patch, .delete, .get:
            throw UploadMistake("Tus-Resumable or Upload-Draft-Interop-Version is missing", .preconditionFailed)
        }
    }

    /// Whether a request needs no draft to be understood: its body is the whole file.
    private static func isWhole(_ head: RequestHead) -> Bool {
        guard head.method == .post || head.method == .put, head.fields.values(of: "upload-offset").isEmpty else {
            return false
        }
        // Of version 3 and earlier ones, and of later ones.
        return [[], ["?0"]].contains(head.fields.values(of: "upload-incomplete"))
            && [[], ["?1"]].contains(head.fields.values(of: "upload-complete"))
    }

    package static let tusVersion = "1.0.0"
    package static let interop = "8"
    private static let interopVersion = "upload-draft-interop-version"

    // MARK: - tus

    private static func tus(_ head: RequestHead, _ segments: ArraySlice<String>) throws(UploadMistake) -> UploadRequest
    {
        if head.method == .options { return .options }
        // For proxies that let no other method through.
        let method = head.method == .post ? try overridden(head) : head.method
        if method == .post, segments.isEmpty { return .create(try tusCreation(head)) }
        let id = try upload(segments)
        switch method {
        case .head: return .ask(id)
        case .delete: return .end(id)
        case .patch:
            guard var bytes = try tusBytes(head) else {
                throw UploadMistake("the body is no application/offset+octet-stream", .unsupportedMediaType)
            }
            guard let offset = try number("upload-offset", head) else {
                throw UploadMistake("Upload-Offset is missing")
            }
            bytes.offset = offset
            bytes.length = try number("upload-length", head)
            return .append(id, bytes)
        default: throw UploadMistake("tus has no \(method.rawValue) here", .methodNotAllowed)
        }
    }

    private static func overridden(_ head: RequestHead) throws(UploadMistake) -> HTTPMethod {
        let words = head.fields.values(of: "x-http-method-override")
        if words.isEmpty { return .post }
        guard words.count == 1, let method = HTTPMethod(rawValue: words[0]), method == .patch || method == .delete
        else {
            throw UploadMistake("X-HTTP-Method-Override is neither PATCH nor DELETE")
        }
        return method
    }

    private static func tusCreation(_ head: RequestHead) throws(UploadMistake) -> UploadRequest.Creation {
        let metadata = try tusMetadata(head)
        // Uppy sends the folders so.
        let path = [metadata["relativePath"], metadata["filename"], metadata["name"]].compactMap(\.self)
            .first { !$0.isEmpty && $0 != Array("null".utf8) }
        guard let path else { throw UploadMistake("Upload-Metadata has no filename") }
        var creation = UploadRequest.Creation(path: path)
        creation.length = try number("upload-length", head)
        let deferred = head.fields.values(of: "upload-defer-length")
        guard deferred == (creation.length == nil ? ["1"] : []) else {
            throw UploadMistake("there must be one of Upload-Length and Upload-Defer-Length: 1")
        }
        func text(_ name: String) -> String? { metadata[name].map { String(decoding: $0, as: UTF8.self) } }
        creation.modified = try (text("lastModified") ?? text("modified")).map(milliseconds)
        creation.digest = try text("sha256").map(hexadecimalDigest)
        // No set: tus has no answer that says that a file waits for others.
        creation.bytes = try tusBytes(head)
        if creation.bytes == nil, head.body != .none {
            throw UploadMistake("the body is no application/offset+octet-stream", .unsupportedMediaType)
        }
        return creation
    }

    /// Nil where no bytes follow.
    private static func tusBytes(_ head: RequestHead) throws(UploadMistake) -> UploadRequest.Bytes? {
        guard head.fields["content-type"]?.lowercased() == "application/offset+octet-stream" else { return nil }
        var bytes = UploadRequest.Bytes()
        let sums = head.fields.values(of: "upload-checksum")
        if let sum = sums.first {
            let parts = sum.split(separator: " ")
            guard sums.count == 1, parts.count == 2, parts[0] == "sha256",
                let digest = base64Decoded(parts[1]).flatMap({ ContentHash($0) })
            else { throw UploadMistake("Upload-Checksum is not one of sha256") }
            bytes.digest = digest
        }
        return bytes
    }

    /// `filename d29ybGQ=,is_private`: words and values.
    private static func tusMetadata(_ head: RequestHead) throws(UploadMistake) -> [String: [UInt8]] {
        var metadata: [String: [UInt8]] = [:]
        for pair in (head.fields["upload-metadata"] ?? "").split(separator: ",") {
            let parts = pair.split(separator: " ")
            guard (1...2).contains(parts.count), let value = base64Decoded(parts.count > 1 ? parts[1] : ""),
                metadata.updateValue(value, forKey: String(parts[0])) == nil
            else { throw UploadMistake("Upload-Metadata is malformed") }
        }
        return metadata
    }

    // MARK: - The draft

    private static func draft(
        _ head: RequestHead, _ segments: ArraySlice<String>
    ) throws(UploadMistake) -> UploadRequest {
        switch head.method {
        case .options: return .options
        case .head, .get: return .ask(try upload(segments))
        case .delete: return .end(try upload(segments))
        case .patch:
            let id = try upload(segments)
            guard head.fields["content-type"]?.lowercased() == "application/partial-upload" else {
                throw UploadMistake("the body is no application/partial-upload", .unsupportedMediaType)
            }
            guard let offset = try number("upload-offset", head), let isLast = try isComplete(head) else {
                throw UploadMistake("Upload-Offset or Upload-Complete is missing")
            }
            var bytes = UploadRequest.Bytes(offset: offset, isLast: isLast)
            bytes.length = try number("upload-length", head)
            bytes.digest = try digest("content-digest", head)
            return .append(id, bytes)
        case .post, .put:
            guard let isLast = try isComplete(head) else { throw UploadMistake("Upload-Complete is missing") }
            var creation = UploadRequest.Creation(path: try name(head, segments))
            creation.length = try number("upload-length", head)
            // The body is all there is.
            if isLast, case .length(let length) = head.body {
                guard creation.length ?? UInt64(length) == UInt64(length) else {
                    throw UploadMistake("Upload-Length and Content-Length differ")
                }
                creation.length = UInt64(length)
            }
            try complete(&creation, head)
            creation.bytes = UploadRequest.Bytes(digest: try digest("content-digest", head), isLast: isLast)
            return .create(creation)
        default: throw UploadMistake("the draft has no \(head.method.rawValue) here", .methodNotAllowed)
        }
    }

    private static func isComplete(_ head: RequestHead) throws(UploadMistake) -> Bool? {
        let values = head.fields.values(of: "upload-complete")
        switch values {
        case []: return nil
        case ["?0"]: return false
        case ["?1"]: return true
        default: throw UploadMistake("Upload-Complete is neither ?0 nor ?1")
        }
    }

    // MARK: - PUT, and POST alone

    private static func put(
        _ head: RequestHead, _ segments: ArraySlice<String>
    ) throws(UploadMistake) -> UploadRequest.Creation {
        var creation = UploadRequest.Creation(path: try name(head, segments))
        if case .length(let length) = head.body { creation.length = UInt64(length) }
        if head.body == .none { creation.length = 0 }
        try complete(&creation, head)
        let sent = try digest("content-digest", head)
        creation.digest = creation.digest ?? sent
        creation.bytes = UploadRequest.Bytes(isLast: true, isResumable: false)
        return creation
    }

    private static func post(_ head: RequestHead, _ segments: ArraySlice<String>) throws(UploadMistake) -> UploadRequest
    {
        if segments.isEmpty {
            var creation = UploadRequest.Creation(path: try name(head, segments))
            guard let length = try parameter("length", head) else { throw UploadMistake("the length is missing") }
            creation.length = length
            try complete(&creation, head)
            if head.body != .none {
                creation.bytes = UploadRequest.Bytes(digest: try digest("content-digest", head))
            }
            return .create(creation)
        }
        let id = try upload(segments)
        if let offset = try parameter("at", head) {
            return .append(id, UploadRequest.Bytes(offset: offset, digest: try digest("content-digest", head)))
        }
        guard head.body == .none else { throw UploadMistake("where the bytes belong is missing: at") }
        if head.target["end"] == "1" { return .end(id) }
        return .ask(id)
    }

    // MARK: - What dialects share

    private static func upload(_ segments: ArraySlice<String>) throws(UploadMistake) -> UploadID {
        guard segments.count == 1, let first = segments.first, let id = UploadID(first) else {
            throw UploadMistake("there is no such upload", .notFound)
        }
        return id
    }

    /// By the address, a parameter, or a field that browsers send for downloads.
    private static func name(_ head: RequestHead, _ segments: ArraySlice<String>) throws(UploadMistake) -> [UInt8] {
        if !segments.isEmpty { return Array(segments.joined(separator: "/").utf8) }
        if let name = head.target["name"], !name.isEmpty { return Array(name.utf8) }
        if let field = head.fields["content-disposition"], let mark = field.firstRange(of: "filename=\"") {
            let name = field[mark.upperBound...].prefix { $0 != "\"" }
            if !name.isEmpty { return Array(name.utf8) }
        }
        throw UploadMistake("the name is missing")
    }

    private static func complete(
        _ creation: inout UploadRequest.Creation, _ head: RequestHead
    ) throws(UploadMistake) {
        creation.digest = try digest("repr-digest", head)
        if let text = head.target["modified"] { creation.modified = try milliseconds(text) }
        if let seconds = modified(head) { creation.modified = FileTime(seconds: seconds, nanoseconds: 0) }
        creation.set = try set(head.target["set"].map { Array($0.utf8) }, head.target["of"])
    }

    /// The time that ownCloud's clients send, in seconds since 1970.
    static func modified(_ head: RequestHead) -> Int64? {
        head.fields["x-oc-mtime"].flatMap { Int64($0) }.flatMap { (0...maximumTime).contains($0) ? $0 : nil }
    }

    private static func set(_ token: [UInt8]?, _ count: String?) throws(UploadMistake) -> DropSet? {
        guard token != nil || count != nil else { return nil }
        guard let token, let count = count.flatMap({ Int($0) }), let set = DropSet(token: token, count: count) else {
            throw UploadMistake("a set has a token of 64 bytes at most, and 2 to \(DropSet.limit) files")
        }
        return set
    }

    /// Of a field that occurs once, in decimal digits.
    private static func number(_ name: String, _ head: RequestHead) throws(UploadMistake) -> UInt64? {
        let values = head.fields.values(of: name)
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw UploadMistake("\(name) occurs twice") }
        return try number(value, name)
    }

    private static func parameter(_ name: String, _ head: RequestHead) throws(UploadMistake) -> UInt64? {
        guard let value = head.target[name] else { return nil }
        return try number(value, name)
    }

    /// At most 15 digits, as structured fields have them.
    private static func number(_ value: String, _ name: String) throws(UploadMistake) -> UInt64 {
        guard (1...15).contains(value.utf8.count), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt64(value)
        else { throw UploadMistake("\(name) is no number") }
        return number
    }

    /// The year 9999.
    private static let maximumTime: Int64 = 253_402_300_799

    private static func milliseconds(_ text: String) throws(UploadMistake) -> FileTime {
        guard let number = Int64(exactly: try number(text, "the modification time")) else {
            throw UploadMistake("the modification time is no number")
        }
        return FileTime(seconds: min(number / 1_000, maximumTime), nanoseconds: UInt32(number % 1_000) * 1_000_000)
    }

    private static func hexadecimalDigest(_ text: String) throws(UploadMistake) -> ContentHash {
        guard let digest = bytes(ofHexadecimal: text.utf8).flatMap({ ContentHash($0) }) else {
            throw UploadMistake("the digest is no SHA-256")
        }
        return digest
    }

    /// `sha-256=:d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk=:` of a list; other algorithms are ignored. See RFC 9530.
    private static func digest(_ name: String, _ head: RequestHead) throws(UploadMistake) -> ContentHash? {
        let members = head.fields.values(of: name).flatMap { $0.split(separator: ",") }
        for member in members {
            let parts = member.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].drop(while: { $0 == " " }).lowercased() == "sha-256" else { continue }
            let value = parts[1].drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
            guard value.count > 2, value.first == ":", value.last == ":",
                let digest = base64Decoded(String(value.dropFirst().dropLast())).flatMap({ ContentHash($0) })
            else { throw UploadMistake("\(name) is malformed") }
            return digest
        }
        return nil
    }
}
