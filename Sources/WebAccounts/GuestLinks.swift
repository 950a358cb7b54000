package import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A link by which whoever has it sends photos, without a name: a line of web.links.
package struct GuestLink: Hashable, Sendable {
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

    /// As names of people are, and no hidden one.
    package static func isLabel(_ text: String) -> Bool { Person.isName(text) && text.first != "." }
}

/// The file web.links. It is the administrator's, as web.users is, and has nothing that can be used.
///
///     # label:hash of the token:its end:bytes or -
///     oma:5e88…:1796275200:10737418240
package struct GuestLinks: Hashable, Sendable {
    /// In the order of the file.
    package private(set) var all: [GuestLink] = []

    /// Its name, beside web.users.
    package static let file: BytePath = "web.links"

    package init() {}

    /// Throws for the first line that is wrong.
    package init(_ text: String) throws(WrongLine) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.allSatisfy({ $0 == " " || $0 == "\t" }) || line.first == "#" { continue }
            guard let link = Self.link(line), self[link.label] == nil else { throw WrongLine(number: index + 1) }
            all.append(link)
        }
    }

    package struct WrongLine: Error, Hashable, Sendable, CustomStringConvertible {
        package let number: Int

        package var description: String { "line \(number) is not LABEL:TOKEN:END:BYTES, or has a label twice" }
    }

    package subscript(label: String) -> GuestLink? { all.first { $0.label == label } }

    /// Adds a link, or replaces the one with that label.
    package mutating func put(_ link: GuestLink) {
        if let index = all.firstIndex(where: { $0.label == link.label }) {
            all[index] = link
        } else {
            all.append(link)
        }
    }

    /// Whether there was one with that label.
    package mutating func remove(_ label: String) -> Bool {
        let count = all.count
        all.removeAll { $0.label == label }
        return all.count < count
    }

    package var text: String {
        "# Links of guests: label, hash of the token, end, bytes in all. Written by: photoinbox web link\n"
            + all.map { "\($0.label):\($0.token):\($0.end):\($0.quota.map { "\($0)" } ?? "-")\n" }.joined()
    }

    private static func link(_ line: Substring) -> GuestLink? {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, GuestLink.isLabel(String(parts[0])), let token = SecretHash(parts[1]),
            let end = Int64(parts[2]), end >= 0, parts[3] == "-" || UInt64(parts[3]) != nil
        else { return nil }
        return GuestLink(label: String(parts[0]), token: token, end: end, quota: UInt64(parts[3]))
    }
}

/// The links that count now: a change of their file counts at the next request. On a queue of its own, where it is read.
package actor GuestLinkFile {
    private let queue = MonitorQueue(label: "photo-inbox.drop.links")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let path: BytePath?
    private var read: (identity: FileIdentity, links: GuestLinks)?
    private var reported: String?
    private let log: @Sendable (String) -> Void

    /// Without a file there are no links.
    package init(_ path: BytePath?, log: @escaping @Sendable (String) -> Void) { (self.path, self.log) = (path, log) }

    /// The link with this token, which may have ended; nil also while the file cannot be read, or has a wrong line.
    package func link(of token: Secret) -> GuestLink? {
        guard let path else { return nil }
        do {
            let file = try openDirectory(path.parent).openBeneath(path.name, [.read, .nonBlocking])
            let identity = try FileStatus(of: file).identity
            if read?.identity != identity {
                read = (identity, try GuestLinks(String(decoding: try file.read(1 << 20), as: UTF8.self)))
                reported = nil
            }
        } catch {
            if (error as? SystemCallError)?.code == .noSuchFileOrDirectory {
                reported = nil
            } else {
                report("\(path) cannot be used: \(error)")
            }
            read = nil
            return nil
        }
        let hash = token.hash
        return read?.links.all.first { $0.token == hash }
    }

    /// Whether the file could not be read at the last request, or has a wrong line.
    package var isUnusable: Bool { reported != nil }

    /// Once, though strangers may ask at any time.
    private func report(_ text: String) {
        if reported != text { log(text) }
        reported = text
    }
}
