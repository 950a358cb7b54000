import FileValues

/// A name and a password, as `Authorization: Basic` has them; see RFC 7617.
package struct BasicCredentials: Hashable, Sendable {
    package let user: String
    package let password: String

    /// Nil unless the field occurs once and has both.
    package init?(_ fields: HeaderFields) {
        guard let parts = fields["authorization"]?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "basic", let bytes = base64Decoded(parts[1].drop { $0 == " " }),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        (user, password) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
