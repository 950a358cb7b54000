package import FileValues
import Filing

extension StoreAddress {
    /// The address by which whoever has it may get the object of a file of the library, from `now` for so many seconds: browsers keep
    /// it under `name`. See "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)".
    package func link(
        to path: BytePath, named name: BytePath, by credentials: StoreCredentials, now: FileTime, seconds: Int
    ) -> String {
        // Of 2026-11-29T15:27:00.000Z.
        let digits = FileTime(seconds: now.seconds, nanoseconds: 0).rfc3339.filter(\.isNumber)
        let moment = "\(digits.prefix(8))T\(digits.dropFirst(8).prefix(6))Z"
        let scope = "\(moment.prefix(8))/\(credentials.region ?? region)/s3/aws4_request"
        let disposition = "attachment; filename*=UTF-8''\(percentEncoded(name.bytes))"
        var fields = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(credentials.name)/\(scope)"),
            ("X-Amz-Date", moment), ("X-Amz-Expires", "\(seconds)"),
        ]
        if let token = credentials.token { fields.append(("X-Amz-Security-Token", token)) }
        fields += [("X-Amz-SignedHeaders", "host"), ("response-content-disposition", disposition)]
        let query = fields.map { "\($0)=\(percentEncoded($1.utf8))" }.joined(separator: "&")
        let (object, host) = (
            address(of: key(of: path)), server[(server.firstRange(of: "://")?.upperBound ?? server.startIndex)...]
        )
        let request = "GET\n\(object.dropFirst(server.count))\n\(query)\nhost:\(host)\n\nhost\nUNSIGNED-PAYLOAD"
        let text = "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n\(hexadecimal(sha256(Array(request.utf8))))"
        var key = Array("AWS4\(credentials.secret)".utf8)
        for part in scope.split(separator: "/") { key = authenticationCode(of: Array(part.utf8), by: key) }
        return "\(object)?\(query)&X-Amz-Signature=\(hexadecimal(authenticationCode(of: Array(text.utf8), by: key)))"
    }
}

private func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var hasher = ContentHasher()
    bytes.withUnsafeBytes { hasher.update($0) }
    return hasher.hash().bytes
}

/// HMAC with SHA-256; see RFC 2104.
private func authenticationCode(of message: [UInt8], by key: [UInt8]) -> [UInt8] {
    let short = key.count > 64 ? sha256(key) : key
    let block = short + [UInt8](repeating: 0, count: 64 - short.count)
    return sha256(block.map { $0 ^ 0x5C } + sha256(block.map { $0 ^ 0x36 } + message))
}
