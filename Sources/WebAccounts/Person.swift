/// What a person may do on the pages.
package enum Role: String, Hashable, Sendable, CaseIterable, Comparable {
    /// See.
    case viewer
    /// Also send photos.
    case sender
    /// Also retry, release, discard, undo, pause and resume.
    case `operator`

    package static func < (one: Role, other: Role) -> Bool { one.rank < other.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Somebody who may use the pages: a line of web.users.
package struct Person: Hashable, Sendable {
    /// The link by which a password is set, once.
    package struct Invitation: Hashable, Sendable {
        package let link: SecretHash
        /// Seconds since 1970.
        package let end: Int64

        package init(link: SecretHash, end: Int64) { (self.link, self.end) = (link, end) }
    }

    package let name: String
    package let role: Role
    package let invitation: Invitation

    package init(name: String, role: Role, invitation: Invitation) {
        (self.name, self.role, self.invitation) = (name, role, invitation)
    }

    /// Whether it can be a name: at most 64 letters, digits, and `.`, `_`, `-`, `@`; as proxies give them, too.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "-")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._-@".utf8.contains(byte)
                }
            }
    }
}

/// The file web.users: who may use the pages, in which role. It is the administrator's, and the server only reads it.
///
///     # name:role:hash of the link that sets the password:its end
///     ana:operator:5e88…:1796275200
package struct People: Hashable, Sendable {
    /// In the order of the file.
    package private(set) var all: [Person] = []

    package init() {}

    /// Throws for the first line that is wrong: whoever it was meant for must not be left out silently.
    package init(_ text: String) throws(WrongLine) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.allSatisfy({ $0 == " " || $0 == "\t" }) || line.first == "#" { continue }
            guard let person = Self.person(line), self[person.name] == nil else {
                throw WrongLine(number: index + 1)
            }
            all.append(person)
        }
    }

    package struct WrongLine: Error, Hashable, Sendable, CustomStringConvertible {
        package let number: Int

        package var description: String { "line \(number) is not NAME:ROLE:LINK:END, or names somebody twice" }
    }

    package subscript(name: String) -> Person? { all.first { $0.name == name } }

    /// Adds a person, or replaces the one of that name.
    package mutating func put(_ person: Person) {
        if let index = all.firstIndex(where: { $0.name == person.name }) {
            all[index] = person
        } else {
            all.append(person)
        }
    }

    /// Whether there was one of that name.
    package mutating func remove(_ name: String) -> Bool {
        let count = all.count
        all.removeAll { $0.name == name }
        return all.count < count
    }

    package var text: String {
        "# Who may use the pages: name, role, hash and end of the link that sets the password. Written by: photoinbox web user\n"
            + all.map { "\($0.name):\($0.role.rawValue):\($0.invitation.link):\($0.invitation.end)\n" }.joined()
    }

    private static func person(_ line: Substring) -> Person? {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, Person.isName(String(parts[0])), let role = Role(rawValue: String(parts[1])),
            let link = SecretHash(parts[2]), let end = Int64(parts[3]), end >= 0
        else { return nil }
        return Person(name: String(parts[0]), role: role, invitation: Person.Invitation(link: link, end: end))
    }
}
