package import Catalogue
package import FileValues
import Filing
package import LinuxKernel
package import Settings

/// Tells the library from whatever else lies at its path: a bare mount point, a disk that was mixed up, a directory that
/// somebody made. What is filed into one of those is hidden when the library comes back, and lost with the disk.
///
/// A directory is the library if it is the very one that was filed into before, by file system and inode; or if nothing
/// was filed yet; or if it holds most of what was filed last, since then it was moved or restored by somebody.
///
/// Any thread; reads the catalogue only when the directory is not the one that was accepted last.
package final class LibraryGuard: Sendable {
    /// What lies there is not the library.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// Why, for people.
        package let description: String
    }

    /// How many photos are looked for.
    private static let marks = 8

    private let catalogue: Catalogue
    private let accepted = Locked<[BytePath: RootIdentity]>([:])

    package init(_ catalogue: Catalogue) { self.catalogue = catalogue }

    /// Throws ``Refusal`` unless `root`, open, is the library at `path`. Gives back its identity if that is to be
    /// remembered. Waits for the catalogue and the library.
    @discardableResult
    package func check(_ root: borrowing OwnedDescriptor, at path: BytePath) throws -> KnownLibrary? {
        let identity = try RootIdentity(of: root)
        if accepted.withLock({ $0[path] }) == identity { return nil }
        let found = KnownLibrary(identity, path)
        let isKnown = try catalogue.library(at: path) == found
        if !isKnown { try requireMarks(in: root, at: path) }
        accepted.withLock { $0[path] = identity }
        return isKnown ? nil : found
    }

    private func requireMarks(in root: borrowing OwnedDescriptor, at path: BytePath) throws {
        let last = try catalogue.lastFiled(into: path, limit: Self.marks)
        var held = 0
        for stored in last {
            let status = try? FileStatus(of: stored.photo.libraryPath, beneath: root)
            if status?.kind == .regular, status?.identity.size == stored.photo.size { held += 1 }
        }
        guard held * 2 >= last.count else {
            throw Refusal(
                path: path,
                description:
                    "another directory lies there, with \(held) of the \(last.count) photos that were filed last")
        }
    }
}

extension KnownLibrary {
    init(_ identity: RootIdentity, _ path: BytePath) {
        self.init(
            path: path, fileSystemType: identity.fileSystem.type, fileSystem: identity.fileSystem.identifier,
            inode: identity.inode)
    }

    /// The directory that lies at `path` now, whatever it is: for whoever says that it is the library.
    package init(lyingAt path: BytePath) throws(SystemCallError) {
        self.init(try RootIdentity(of: try openDirectory(path)), path)
    }
}

/// Records that what lies at the library's path is the library, on somebody's word; its path, nil if none is configured.
/// Throws ``StateLock/Taken`` while a daemon runs.
package func acceptLibrary(of settings: Settings) throws -> BytePath? {
    guard let path = settings.library?.path else { return nil }
    let lock = try StateLock(settings.state)
    defer { withExtendedLifetime(lock) {} }
    let now = Moment.now.wall
    let catalogue = try Catalogue.openForWriting(String(decoding: settings.catalogue.bytes, as: UTF8.self), now: now)
    try catalogue.remember(try KnownLibrary(lyingAt: path), at: now)
    try catalogue.close()
    return path
}
