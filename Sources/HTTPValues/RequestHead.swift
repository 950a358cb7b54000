/// Why a request is refused before a handler sees it.
package struct HeadRefusal: Error, Hashable, Sendable {
    package let status: HTTPStatus
    /// In one clause, for whoever debugs a client.
    package let message: String

    package init(_ status: HTTPStatus, _ message: String) { (self.status, self.message) = (status, message) }
}

/// How the length of a request's body is known.
package enum BodyFraming: Hashable, Sendable {
    case none
    case length(Int)
    case chunked
}

/// The head of a request, within the limits and without what two programs in a row could read differently.
///
/// A parser has cut it into parts; what is refused here would pass some parsers: two lengths, a length beside a coding, a
/// coding other than `chunked`, a body of GET, targets that are not paths. See RFC 9112 6.
package struct RequestHead: Hashable, Sendable {
    package struct Version: Hashable, Sendable {
        package let major: Int
        package let minor: Int

        package init(major: Int, minor: Int) { (self.major, self.minor) = (major, minor) }

        package static let http10 = Version(major: 1, minor: 0)
        package static let http11 = Version(major: 1, minor: 1)
    }

    /// The most bytes of a head, in parts.
    package static let limit = 16 << 10

    package let method: HTTPMethod
    package let target: RequestTarget
    package let version: Version
    package let fields: HeaderFields
    package let body: BodyFraming
    /// Whether the client sends the body only when it is asked to; see RFC 9110 10.1.1.
    package let expectsContinue: Bool

    package init(
        method: String, target: String, version: Version, fields: [(name: String, value: String)]
    ) throws(HeadRefusal) {
        let size = fields.reduce(method.utf8.count + target.utf8.count) { sum, field in
            sum + field.name.utf8.count + field.value.utf8.count + 4
        }
        guard target.utf8.count <= RequestTarget.limit else {
            throw HeadRefusal(.targetTooLong, "the target has more than \(RequestTarget.limit) bytes")
        }
        guard size <= Self.limit, fields.count <= HeaderFields.limit else {
            throw HeadRefusal(
                .fieldsTooLarge, "the head has more than \(Self.limit) bytes or \(HeaderFields.limit) fields")
        }
        guard version == .http11 || version == .http10 else {
            throw HeadRefusal(.versionNotSupported, "only HTTP/1.1 and HTTP/1.0 are supported")
        }
        guard let method = HTTPMethod(rawValue: method) else {
            throw HeadRefusal(.notImplemented, "the method is unknown")
        }
        guard let target = RequestTarget(target) else { throw HeadRefusal(.badRequest, "the target is not a path") }
        guard let fields = HeaderFields(fields) else { throw HeadRefusal(.badRequest, "a field is malformed") }
        try Self.checkHost(fields.values(of: "host"), version)
        let expectations = fields.values(of: "expect")
        guard expectations.isEmpty || expectations.map({ $0.lowercased() }) == ["100-continue"] else {
            throw HeadRefusal(.expectationFailed, "the only expectation that is supported is 100-continue")
        }
        body = try Self.framing(fields, version)
        // One of HTTP/1.0 is ignored, and without a body there is nothing to ask for.
        expectsContinue = !expectations.isEmpty && version == .http11 && body != .none
        if body != .none, method == .get || method == .head {
            throw HeadRefusal(.badRequest, "\(method.rawValue) has a body")
        }
        (self.method, self.target, self.version, self.fields) = (method, target, version, fields)
    }

    private static func checkHost(_ hosts: [String], _ version: Version) throws(HeadRefusal) {
        guard hosts.count == 1 || hosts.isEmpty && version == .http10,
            hosts.allSatisfy({ host in
                host.utf8.allSatisfy { byte in (0x21...0x7E).contains(byte) && !"/\\@?#,\"<>".utf8.contains(byte) }
            })
        else { throw HeadRefusal(.badRequest, "there must be one Host") }
    }

    private static func framing(_ fields: HeaderFields, _ version: Version) throws(HeadRefusal) -> BodyFraming {
        let lengths = fields.values(of: "content-length")
        let codings = fields.values(of: "transfer-encoding")
        guard lengths.count + codings.count <= 1 else {
            throw HeadRefusal(.badRequest, "the length of the body is given twice")
        }
        if let length = lengths.first {
            // Fifteen digits are no overflow; a sign, a blank or a list is no length.
            guard (1...15).contains(length.utf8.count), length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(length)
            else { throw HeadRefusal(.badRequest, "Content-Length is not a number") }
            return number == 0 ? .none : .length(number)
        }
        guard let coding = codings.first else { return .none }
        guard version == .http11, coding.lowercased() == "chunked" else {
            throw HeadRefusal(.notImplemented, "the only transfer coding is chunked, in HTTP/1.1")
        }
        return .chunked
    }
}
