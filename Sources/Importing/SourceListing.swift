import FileValues
import LinuxKernel
import PhotoModel
import SystemPackage

/// A directory of the source, open while its files are processed.
final class OpenDirectory: Sendable {
    let descriptor: OwnedDescriptor
    /// Relative to the source.
    let path: BytePath

    init(_ path: BytePath, beneath root: borrowing OwnedDescriptor) throws(SystemCallError) {
        self.path = path
        descriptor = try root.openDirectoryBeneath(path)
    }

    /// Returns its files in sets, in byte order of their keys; in each set the photos come before the sidecars. Only
    /// one directory's names are in memory at a time.
    func sets() throws(SystemCallError) -> [[SourceEntry]] {
        var entries: [SourceEntry] = []
        try DirectoryReader().read(descriptor) { entry in
            guard entry.kind != .directory else { return }
            let name = SetName(path.appending(entry.name))
            entries.append(
                SourceEntry(
                    name: entry.name, key: name.key.bytes, hasPhotoName: name.role != nil,
                    isSidecar: name.role?.isSidecar ?? false))
        }
        entries.sort { left, right in
            if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) }
            if left.isSidecar != right.isSidecar { return right.isSidecar }
            return left.name < right.name
        }
        var sets: [[SourceEntry]] = []
        for entry in entries {
            if let last = sets.last?.last, last.key == entry.key {
                sets[sets.count - 1].append(entry)
            } else {
                sets.append([entry])
            }
        }
        return sets
    }
}

/// One name of a directory of the source.
struct SourceEntry: Hashable, Sendable {
    let name: BytePath
    /// The key of its set; see ``SetKey``.
    let key: [UInt8]
    let hasPhotoName: Bool
    let isSidecar: Bool
}

/// An open file of the source, and its state when it was opened.
final class OpenSource: Sendable {
    let directory: OpenDirectory
    let name: BytePath
    let content: OwnedDescriptor
    let status: FileStatus

    /// Relative to the source.
    var path: BytePath { directory.path.appending(name) }
    var size: UInt64 { status.identity.size }

    /// Throws unless it is a regular file. Check its kind before, since opening a device can have side effects.
    init(_ name: BytePath, in directory: OpenDirectory) throws(SystemCallError) {
        (self.directory, self.name) = (directory, name)
        content = try directory.descriptor.openBeneath(name, [.read, .nonBlocking])
        status = try FileStatus(of: content)
        guard status.kind == .regular else { throw SystemCallError("open", .invalidArgument, path: name) }
    }

    /// Returns how it changed since it was opened; nil if it did not.
    func change() throws(SystemCallError) -> String? {
        let now = try FileStatus(of: content)
        if now.identity.size != size { return "\(size) bytes, then \(now.identity.size)" }
        if now.identity.modified != status.identity.modified { return "it was written to" }
        if now.identity.changed != status.identity.changed { return "its attributes were changed" }
        return nil
    }
}
