package import FileValues

/// A link by which whoever has it sends photos, without a name: a line of web.links.
///
///     # label:hash of the token:its end:bytes or -
///     oma:5e88…:1796275200:10737418240
package struct GuestLink: AccountLine {
    package static let file: BytePath = "web.links"
    package static let form = "LABEL:TOKEN:END:BYTES"
    package static let title =
        "Links of guests: label, hash of the token, end, bytes in all. Written by: photoinbox web link"

    /// Also the name of the directory in the inbox.
    package let label: String
    package let token: SecretHash
    /// Seconds since 1970.
    package let end: Int64
    /// Of all files together, in bytes; nil for no limit.
    package let quota: UInt64?

    package init(label: String, token: SecretHash, end: Int64, quota: UInt64?) {
        (self.label, self.token, self.end, self.quota) = (label, token, end, quota)
    }

    package init?(fields: [String]) {
        guard fields.count == 4, Self.isLabel(fields[0]), let token = SecretHash(fields[1]),
            let end = Int64(fields[2]), end >= 0, fields[3] == "-" || UInt64(fields[3]) != nil
        else { return nil }
        self.init(label: fields[0], token: token, end: end, quota: UInt64(fields[3]))
    }

    package var key: String { label }
    package var fields: [String] { [label, "\(token)", "\(end)", quota.map { "\($0)" } ?? "-"] }

    /// As names of people are, and no hidden one.
    package static func isLabel(_ text: String) -> Bool { Person.isName(text) && text.first != "." }
}
