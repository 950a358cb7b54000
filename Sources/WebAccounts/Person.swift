package import FileValues

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
///
///     # name:role:hash of the link that sets the password:its end
///     ana:operator:5e88…:1796275200
package struct Person: AccountLine {
    package static let file: BytePath = "web.users"
    package static let isFollowed = true
    package static let form = "NAME:ROLE:LINK:END"
    package static let title =
        "Who may use the pages: name, role, hash and end of the link that sets the password. Written by: photoinbox web user"

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

    package init?(fields: [String]) {
        guard fields.count == 4, Self.isName(fields[0]), let role = Role(rawValue: fields[1]),
            let link = SecretHash(fields[2]), let end = Int64(fields[3]), end >= 0
        else { return nil }
        self.init(name: fields[0], role: role, invitation: Invitation(link: link, end: end))
    }

    package var key: String { name }
    package var fields: [String] { [name, role.rawValue, "\(invitation.link)", "\(invitation.end)"] }

    /// Whether it can be a name: at most 64 letters, digits, and `.`, `_`, `-`, `@`; as proxies give them, too.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "-")
            && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "._-@".utf8.contains($0) }
    }
}
