import Crypto
import FileValues

/// 256 random bits that stand for a person: a session, or a link that is used once. Only its hash is kept.
package struct Secret: Hashable, Sendable {
    /// 64 hexadecimal digits.
    package let text: String

    /// A new one, from the kernel.
    package init() { text = randomHexadecimal(bytes: 32) }

    /// One that was received; nil if it is malformed.
    package init?(_ text: String) {
        guard text.utf8.count == 64, let bytes = bytes(ofHexadecimal: text.utf8) else { return nil }
        self.text = hexadecimal(bytes)
    }

    package var hash: SecretHash { SecretHash(digest: Array(SHA256.hash(data: Array(text.utf8)))) }
}

/// The SHA-256 of a secret, which is too long to be guessed: it needs no slower hash, and files with it no secrecy.
package struct SecretHash: Hashable, Sendable, CustomStringConvertible {
    /// 64 hexadecimal digits.
    package let description: String

    init(digest: [UInt8]) { description = hexadecimal(digest) }

    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 64, let bytes = bytes(ofHexadecimal: text.utf8) else { return nil }
        description = hexadecimal(bytes)
    }
}
