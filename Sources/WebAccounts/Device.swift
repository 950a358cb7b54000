import Crypto
package import FileValues
import Glibc
import LinuxKernel

/// A program of a person's that has a password of its own: a line of web.devices.
///
///     # person:device:birth:hash of the password
///     ana:phone:1796275200000000000:5e88…
package struct Device: AccountLine {
    package static let file: BytePath = "web.devices"
    package static let form = "PERSON:DEVICE:BIRTH:PASSWORD"
    package static let title =
        "Devices: person, device, time of its birth, hash of the password. Written by: photoinbox web device"

    package let person: String
    /// Also the name of the directory in the inbox.
    package let name: String
    /// Tells it from one that had its name before: nanoseconds since 1970 when it was added. A new password changes nothing.
    package let birth: UInt64
    package let password: SecretHash

    package init(person: String, name: String, birth: UInt64 = Self.now, password: SecretHash) {
        (self.person, self.name, self.birth, self.password) = (person, name, birth, password)
    }

    package static var now: UInt64 { nanoseconds(of: CLOCK_REALTIME) }

    package init?(fields: [String]) {
        guard fields.count == 4, Person.isName(fields[0]), Self.isName(fields[1]), let birth = UInt64(fields[2]),
            let password = SecretHash(fields[3])
        else { return nil }
        self.init(person: fields[0], name: fields[1], birth: birth, password: password)
    }

    package var key: String { Self.key(of: name, person) }
    package var fields: [String] { [person, name, "\(birth)", "\(password)"] }

    package static func key(of name: String, _ person: String) -> String { "\(person):\(name)" }

    /// As names of people are, with a letter first: the directories of what a person sends begin with a digit.
    package static func isName(_ text: String) -> Bool {
        Person.isName(text) && text.first.map { $0.isASCII && $0.isLetter } == true
    }
}

/// 140 random bits that stand for a device, in a form that a person can type. Only its hash is kept.
package struct DevicePassword: Hashable, Sendable {
    /// 28 digits and letters in groups: `k3v9-8pq2-…`.
    package let text: String

    /// Those of Crockford: none is taken for another.
    private static let letters = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private static let count = 28
    private static let group = 4

    /// A new one, from the kernel.
    package init() {
        var random = SystemRandomNumberGenerator()
        let letters = (0..<Self.count).map { _ in
            Self.letters[Int(UInt8.random(in: 0..<32, using: &random))]
        }
        text = Self.grouped(letters)
    }

    /// One that was received, with any hyphens and blanks, in either case; nil if it is malformed.
    package init?(_ text: String) {
        guard text.utf8.count <= 3 * Self.count else { return nil }
        let letters = text.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
            .map { byte in
                switch byte {
                case UInt8(ascii: "o"): UInt8(ascii: "0")
                case UInt8(ascii: "i"), UInt8(ascii: "l"): UInt8(ascii: "1")
                default: byte
                }
            }
        guard letters.count == Self.count, letters.allSatisfy(Self.letters.contains) else { return nil }
        self.text = Self.grouped(letters)
    }

    private static func grouped(_ letters: [UInt8]) -> String {
        stride(from: 0, to: letters.count, by: group).map {
            String(decoding: letters[$0..<min($0 + group, letters.count)], as: UTF8.self)
        }.joined(separator: "-")
    }

    package var hash: SecretHash { SecretHash(digest: Array(SHA256.hash(data: Array(text.utf8)))) }
}
