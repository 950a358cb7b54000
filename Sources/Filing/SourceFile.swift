package import FileValues
package import LinuxKernel
import SystemPackage

/// The reason why a directory entry of an inbox cannot be filed.
package enum SourceRefusal: Hashable, Sendable, CustomStringConvertible {
    case symbolicLink
    /// The number of its names. Another name may be anywhere, so a person must decide.
    case hardLinks(UInt64)
    case fifo
    case socket
    case device
    case directory
    /// The name does not exist, or its path has a component that is not a plain directory.
    case gone
    /// Another program holds a write lease on it, such as a file server's oplock.
    case leased

    /// One clause for people.
    package var description: String {
        switch self {
        case .symbolicLink: "it is a symbolic link"
        case .hardLinks(let count): "it has \(count) names (hard links)"
        case .fifo: "it is a FIFO"
        case .socket: "it is a socket"
        case .device: "it is a device"
        case .directory: "it is a directory"
        case .gone: "it is gone"
        case .leased: "another program holds a lease on it"
        }
    }

    init?(_ kind: FileKind) {
        switch kind {
        case .regular: return nil
        case .directory: self = .directory
        case .symbolicLink: self = .symbolicLink
        case .fifo: self = .fifo
        case .socket: self = .socket
        case .characterDevice, .blockDevice, .unknown: self = .device
        }
    }
}

/// One regular file of an inbox, open for reading, with the directory of its name.
///
/// Immutable and safe on any thread, but its calls may wait for the disk and belong on the inbox's file queue. Opened
/// without following links or waiting for a FIFO or a lease.
package final class SourceFile: Sendable {
    /// Relative to the inbox.
    package let path: BytePath
    /// The directory that contains ``name``.
    package let directory: OwnedDescriptor
    /// The file, open for reading only, as leases require.
    package let content: OwnedDescriptor
    /// Its status when it was opened.
    package let status: FileStatus

    /// Its name in ``directory``.
    package var name: BytePath { path.name }
    /// Its identity when it was opened.
    package var identity: FileIdentity { status.identity }

    /// Opens `path` beneath `root`. Throws ``FilingError/Cause/refused(_:)`` unless it is a regular file with one name, or, to
    /// be read alone, with several.
    package convenience init(
        _ path: BytePath, beneath root: borrowing OwnedDescriptor, mayHaveLinks: Bool = false
    ) throws(FilingError) {
        let parent: OwnedDescriptor
        do { parent = try root.openDirectoryBeneath(path.parent) } catch { throw FilingError(opening: path, error) }
        try self.init(path, in: parent, mayHaveLinks: mayHaveLinks)
    }

    /// Opens the name of `path` in `parent`.
    private init(
        _ path: BytePath, in parent: consuming OwnedDescriptor, mayHaveLinks: Bool = false
    ) throws(FilingError) {
        self.path = path
        directory = parent
        let opened = try Self.open(path, in: directory)
        status = opened.status
        content = opened.content
        if status.links == 0 { throw FilingError(.gone, path) }
        if status.links > 1, !mayHaveLinks { throw FilingError(.hardLinks(status.links), path) }
    }

    private struct Opened: ~Copyable {
        let content: OwnedDescriptor
        let status: FileStatus
    }

    /// Checks the file by name before it opens it, since opening a device can have side effects, and then compares the
    /// two. The number of links is not sufficient: it is also one if this name was just removed and the file has
    /// another one. But adding and removing names changes the change time.
    private static func open(
        _ path: BytePath, in directory: borrowing OwnedDescriptor
    ) throws(FilingError) -> Opened {
        // Repeated, since an active writer changes times as well.
        for _ in 0..<8 {
            let seen: FileStatus
            do { seen = try FileStatus(of: path.name, in: directory) } catch { throw FilingError(opening: path, error) }
            if let refusal = SourceRefusal(seen.kind) { throw FilingError(refusal, path) }
            do {
                let content = try directory.openBeneath(path.name, [.read, .nonBlocking])
                let status = try FileStatus(of: content)
                if status.device == seen.device, status.links == seen.links,
                    status.identity.inode == seen.identity.inode, status.identity.changed == seen.identity.changed
                {
                    return Opened(content: content, status: status)
                }
            } catch { throw FilingError(opening: path, error) }
        }
        throw FilingError(.openSource, .source, .sourceChanged("while it was opened"), path: path)
    }

    /// Opens the same file again by its name, with its present status. Throws ``FilingError/Cause/sourceChanged(_:)``
    /// if its content changed.
    func reopened() throws(FilingError) -> SourceFile {
        let parent: OwnedDescriptor
        do { parent = try directory.openDirectoryBeneath("") } catch { throw FilingError(opening: path, error) }
        let again = try SourceFile(path, in: parent)
        guard again.status.device == status.device, again.identity.hasSameContent(as: identity) else {
            throw FilingError(.checkSourceAgain, .source, .sourceChanged("it was written to"), path: path)
        }
        return again
    }

    /// Throws ``FilingError/Cause/sourceChanged(_:)`` unless the name still belongs to this file and nothing of it has
    /// changed since it was opened.
    package func requireUnchanged(_ step: FilingStep) throws(FilingError) {
        let now = try filing(step, .source, path) { () throws(SystemCallError) in try FileStatus(of: content) }
        try require(now, step)
        let named: FileStatus
        do { named = try FileStatus(of: name, in: directory) } catch {
            guard error.code == .noSuchFileOrDirectory else {
                throw FilingError(step, .source, .system(error), path: path)
            }
            throw FilingError(step, .source, .sourceChanged("its name is gone"), path: path)
        }
        guard named.identity.inode == identity.inode, named.device == status.device else {
            throw FilingError(step, .source, .sourceChanged("its name leads to another file"), path: path)
        }
    }

    /// Returns the present identity of a file that could not be removed, by which it is recognized later. It differs
    /// from ``identity``, since restoring its name changed its change time. Throws
    /// ``FilingError/Cause/sourceChanged(_:)`` if its content changed, so that it is a new arrival.
    package func identityWhenKept() throws(FilingError) -> FileIdentity {
        let now = try filing(.checkSourceAgain, .source, path) { () throws(SystemCallError) in
            try FileStatus(of: content).identity
        }
        guard now.hasSameContent(as: identity) else {
            throw FilingError(.checkSourceAgain, .source, .sourceChanged("it was written to"), path: path)
        }
        return now
    }

    private func require(_ now: FileStatus, _ step: FilingStep) throws(FilingError) {
        let difference: String? =
            if now.identity.size != identity.size {
                "\(identity.size) bytes, then \(now.identity.size)"
            } else if now.identity.modified != identity.modified {
                "it was written to"
            } else if now.links != status.links {
                "it has \(now.links) names now"
            } else if now.identity.changed != identity.changed {
                "its attributes were changed"
            } else {
                nil
            }
        if let difference { throw FilingError(step, .source, .sourceChanged(difference), path: path) }
    }
}

extension FilingError {
    fileprivate init(_ refusal: SourceRefusal, _ path: BytePath) {
        self.init(.openSource, .source, .refused(refusal), path: path)
    }

    fileprivate init(opening path: BytePath, _ error: SystemCallError) {
        switch error.code {
        case .noSuchFileOrDirectory, .notDirectory: self.init(.gone, path)
        case .tooManySymbolicLinkLevels: self.init(.symbolicLink, path)
        case .noSuchAddressOrDevice: self.init(.socket, path)
        case .resourceTemporarilyUnavailable: self.init(.leased, path)
        default: self.init(.openSource, .source, .system(error), path: path)
        }
    }
}
