package import FileValues
import Glibc
import HTTPValues
import LinuxKernel

/// Why an address, or credentials, cannot be used; a clause for people, and what to do.
package struct StoreRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package let action: String?

    init(_ description: String, action: String? = nil) { (self.description, self.action) = (description, action) }
}

/// Where photos are kept at a server that speaks S3: a bucket, and what all keys in it begin with. A value.
package struct StoreAddress: Hashable, Sendable {
    /// The scheme, the host, and the port if there is one.
    let server: String
    let bucket: String
    /// Empty, or with a `/` at its end.
    let prefix: [UInt8]
    package let region: String

    /// Reads `https://HOST[:PORT]/BUCKET[/PREFIX]`. Without a `region`, the one in the name of a host of AWS, or us-east-1.
    package init(_ text: String, region: String? = nil) throws(StoreRefusal) {
        let address: WebAddress
        do throws(AddressRefusal) { address = try WebAddress(text) } catch { throw StoreRefusal(error.description) }
        guard let slashes = address.text.firstRange(of: "://"),
            !text.utf8.contains(where: { [UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) })
        else { throw StoreRefusal("a bucket's address has no ? and no #") }
        let scheme = address.text[..<slashes.upperBound]
        server = scheme + address.host
        let path = address.text[slashes.upperBound...].dropFirst(address.host.count)
        let parts = path.split(separator: "/").map { percentDecoded($0) }
        guard let first = parts.first, let bucket = first, Self.isBucket(bucket) else {
            throw StoreRefusal("it names no bucket: write https://HOST/BUCKET, or https://HOST/BUCKET/PREFIX")
        }
        self.bucket = bucket
        var prefix: [UInt8] = []
        for part in parts.dropFirst() {
            guard let part, ![".", ".."].contains(part) else { throw StoreRefusal("its path is invalid") }
            prefix += Array(part.utf8) + [UInt8(ascii: "/")]
        }
        self.prefix = prefix
        let wanted = region ?? Self.region(ofHost: address.host) ?? "us-east-1"
        guard !wanted.isEmpty, wanted.utf8.allSatisfy({ Self.isName($0) }) else {
            throw StoreRefusal("the region is invalid")
        }
        self.region = wanted
    }

    /// The key of a file of the library: its path in it. S3's keys are UTF-8, so in a name that is not, bytes above ASCII and
    /// `%` are written as `%FF`.
    package func key(of path: BytePath) -> [UInt8] {
        if String(validating: path.bytes, as: UTF8.self) != nil { return prefix + path.bytes }
        return prefix
            + path.bytes.flatMap { byte in
                byte < 0x80 && byte != UInt8(ascii: "%") ? [byte] : Array(percentEncoded([byte]).utf8)
            }
    }

    /// The address of an object, as it is signed: escaped but for what RFC 3986 2.3 has as unreserved, and `/`.
    func address(of key: [UInt8]) -> String {
        "\(server)/\(bucket)/"
            + key.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { percentEncoded($0) }
            .joined(separator: "/")
    }

    /// The address as a library of the catalogue.
    package var library: BytePath {
        BytePath(prefix.isEmpty ? "\(server)/\(bucket)" : address(of: Array(prefix.dropLast())))
    }

    private static func isName(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._".utf8.contains(byte)
    }

    private static func isBucket(_ text: String) -> Bool {
        (3...255).contains(text.utf8.count) && text.utf8.allSatisfy(isName) && text.utf8.first != UInt8(ascii: ".")
    }

    private static func region(ofHost host: String) -> String? {
        let parts = host.split(separator: ".")
        guard parts.count == 4, parts[0] == "s3", parts[2] == "amazonaws", parts[3] == "com" else { return nil }
        return String(parts[1])
    }
}

/// What requests are signed with.
package struct StoreCredentials: Hashable, Sendable {
    let name: String
    let secret: String
    /// Of credentials that end: X-Amz-Security-Token.
    let token: String?
    /// Of a file that names one.
    let region: String?

    /// - Parameter absence: the reason if one of both is missing.
    private init(
        name: String?, secret: String?, token: String?, region: String? = nil, of place: String, absence: String
    ) throws(StoreRefusal) {
        guard let name, let secret, !name.isEmpty, !secret.isEmpty else {
            throw StoreRefusal(absence)
        }
        let all = name + secret + (token ?? "")
        // libcurl cuts the text of both at the first colon.
        guard !name.utf8.contains(UInt8(ascii: ":")), all.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw StoreRefusal("\(place) has credentials with characters that none have")
        }
        (self.name, self.secret, self.token, self.region) = (name, secret, token, region)
    }

    /// From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
    package init(environment: (String) -> String?) throws(StoreRefusal) {
        try self.init(
            name: environment("AWS_ACCESS_KEY_ID"), secret: environment("AWS_SECRET_ACCESS_KEY"),
            token: environment("AWS_SESSION_TOKEN").flatMap { $0.isEmpty ? nil : $0 }, of: "the environment",
            absence:
                "no credentials: give --credentials FILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
        )
    }

    /// From a file; see ``init(file:named:)``. Links are followed: secrets are often given by one. Throws ``SystemCallError`` and
    /// ``StoreRefusal``, also for a file that everybody can read.
    package init(at path: BytePath) throws {
        let file = try openFile(path)
        let status = try FileStatus(of: file)
        guard status.kind == .regular else {
            throw StoreRefusal("\(path) is not a file", action: "Give the file with the credentials.")
        }
        if status.mode & 0o004 != 0 {
            throw StoreRefusal("everybody can read the credentials in \(path)", action: "chmod o-r \(path)")
        }
        try self.init(file: try file.read(64 << 10), named: "\(path)")
    }

    /// From the section `[default]`, or the lines before any, of a file as AWS's own programs have it.
    package init(file bytes: [UInt8], named name: String) throws(StoreRefusal) {
        var section = "default"
        var values: [String: String] = [:]
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = trimmedBlanks(Array(line))
            if line.first == UInt8(ascii: "[") {
                section = String(
                    decoding: trimmedBlanks(Array(line.dropFirst().prefix { $0 != UInt8(ascii: "]") })), as: UTF8.self)
            } else if section == "default", let equals = line.firstIndex(of: UInt8(ascii: "=")) {
                let key = String(decoding: trimmedBlanks(Array(line[..<equals])), as: UTF8.self)
                values[key] = String(decoding: trimmedBlanks(Array(line[(equals + 1)...])), as: UTF8.self)
            }
        }
        try self.init(
            name: values["aws_access_key_id"], secret: values["aws_secret_access_key"],
            token: values["aws_session_token"], region: values["region"], of: name,
            absence: "\(name) has no aws_access_key_id and aws_secret_access_key")
    }
}
