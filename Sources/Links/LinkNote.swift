import Fetching
import FileValues
import Filing
import Glibc
import HTTPValues
import LinuxKernel
import SystemPackage

/// What stands beside a file of links of which something could not be fetched, in `NAME.failed`: itself a list of links,
/// so that a new name is all that another try needs. Pure.
struct LinkNote: Hashable, Sendable {
    let text: String

    private static let mark = "# photo-inbox: "

    /// Nothing of the file `name` was fetched.
    init(refusing name: BytePath, _ reason: String, _ refusals: [LinkOrder.Refusal] = []) {
        text =
            """
            \(Self.mark)nothing of \(name.escaped) was fetched: \(reason).
            # Correct that file, and it is read again; or delete it, and this note with it.

            """ + Self.lines(refusals)
    }

    /// Some of its addresses have failed, or some of its lines are none.
    init(_ name: BytePath, failed: [(address: WebAddress, reason: String)], _ refusals: [LinkOrder.Refusal]) {
        let count = failed.count + refusals.count
        text =
            """
            \(Self.mark)\(count == 1 ? "1 line" : "\(count) lines") of \(name.escaped) could not be fetched.
            # To try again, give this file a name that ends in .links. Lines that begin with # are passed over.

            """ + Self.lines(refusals) + failed.map { "# \($0.reason)\n\($0.address)\n" }.joined()
    }

    private static func lines(_ refusals: [LinkOrder.Refusal]) -> String {
        refusals.map { "# line \($0.line): \($0.reason)\n" }.joined()
    }
}

/// What is done in an inbox about a file of links that is over.
enum LinkEnd {
    /// Where such files go, in the inbox: hidden directories are not watched.
    static let directory: BytePath = ".fetched"
    private static let attempts = 1_000

    /// Writes `note` beside the file `path` of `inbox`, durably; its path. One of the same words is left as it is.
    static func write(
        _ note: LinkNote, besides path: BytePath, in inbox: BytePath
    ) throws(SystemCallError) -> BytePath {
        let directory = try openDirectory(inbox).openDirectoryBeneath(path.parent)
        let bytes = Array(note.text.utf8)
        // The ending is added to a name that may be as long as names can be.
        let ending = String(decoding: path.name.lowercasedExtension, as: UTF8.self)
        let name = path.name.bytes.count <= 240 ? path.name : BytePath("long-name.\(ending)")
        for attempt in 0..<attempts {
            let candidate = FileNames.candidate(name, attempt: attempt).addingSuffix(".failed")
            let file: OwnedDescriptor
            do { file = try directory.openBeneath(candidate, [.write, .createNew]) } catch {
                guard error.code == .fileExists else { throw error }
                // A crash came between writing it and writing down that it is over.
                if isThere(bytes, candidate, in: directory) { return path.parent.appending(candidate) }
                continue
            }
            do throws(SystemCallError) {
                try dress(file, as: directory, isDirectory: false)
                try file.write(bytes, at: 0)
                try file.sync()
                try directory.syncDirectory()
            } catch {
                try? directory.unlink(candidate)
                throw error
            }
            return path.parent.appending(candidate)
        }
        throw SystemCallError("openat", .fileExists, path: name)
    }

    /// Moves the file `path` of `inbox` to where it is not seen any more, unless it is not what it was; its new path.
    static func setAside(
        _ path: BytePath, as identity: FileIdentity, in inbox: BytePath
    ) throws(SystemCallError) -> BytePath? {
        let root = try openDirectory(inbox)
        let parent = try root.openDirectoryBeneath(path.parent)
        guard try FileStatus(of: path.name, in: parent).identity == identity else { return nil }
        do throws(SystemCallError) {
            try root.makeDirectory(directory, mode: 0o700)
            try dress(try root.openDirectoryBeneath(directory), as: root, isDirectory: true)
            try root.syncDirectory()
        } catch { if error.code != .fileExists { throw error } }
        let place = try root.openDirectoryBeneath(directory)
        guard let name = try parent.moveToFreeName(path.name, in: place, like: path.name) else {
            throw SystemCallError("renameat2", .fileExists, path: path.name)
        }
        try place.syncDirectory()
        try parent.syncDirectory()
        return directory.appending(name)
    }

    private static func isThere(
        _ bytes: [UInt8], _ name: BytePath, in directory: borrowing OwnedDescriptor
    ) -> Bool {
        guard let file = try? directory.openBeneath(name, [.read, .nonBlocking]),
            let status = try? FileStatus(of: file), status.kind == .regular, status.identity.size == bytes.count
        else { return false }
        return (try? file.read(bytes.count)) == bytes
    }

    /// Whoever may work in the directory may work with what is made in it.
    private static func dress(
        _ file: borrowing OwnedDescriptor, as directory: borrowing OwnedDescriptor, isDirectory: Bool
    ) throws(SystemCallError) {
        let status = try FileStatus(of: directory)
        try? file.setOwner(user: geteuid() == 0 ? status.user : nil, group: status.group)
        try file.setModeOrLess(isDirectory ? status.mode | 0o700 : 0o600 | (status.mode & 0o066))
    }
}
