import CPasswords

/// The hash of a password by yescrypt, in the form of crypt(5). Making and comparing take a tenth of a second, and memory.
package struct PasswordHash: Hashable, Sendable {
    /// `$y$j9T$…`, without a colon or blank.
    package let text: String

    /// Of another kind than yescrypt, or malformed: nil.
    package init?(text: String) {
        guard text.hasPrefix("$y$"), text.utf8.count < Int(CPASSWORDS_SIZE),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") })
        else { return nil }
        self.text = text
    }

    /// Of a new password; nil without libcrypt.
    package init?(of password: String) {
        var setting = [CChar](repeating: 0, count: Int(CPASSWORDS_SIZE))
        guard cpasswords_setting(&setting) == 0 else { return nil }
        guard let text = Self.hash(password, by: setting) else { return nil }
        self.init(text: text)
    }

    package func matches(_ password: String) -> Bool {
        guard let other = Self.hash(password, by: text.utf8CString.map { $0 }) else { return false }
        // The time must not depend on where they differ.
        let pairs = zip(other.utf8, text.utf8)
        return other.utf8.count == text.utf8.count && pairs.reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func hash(_ password: String, by setting: [CChar]) -> String? {
        // crypt(3) would ignore what follows a NUL.
        guard !password.utf8.contains(0) else { return nil }
        var hash = [CChar](repeating: 0, count: Int(CPASSWORDS_SIZE))
        guard cpasswords_hash(password, setting, &hash) == 0 else { return nil }
        return String(decoding: hash.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
