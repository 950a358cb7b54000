package import FileValues
package import LinuxKernel
import SystemPackage

extension OwnedDescriptor {
    /// Moves the file `entry` of this directory to `name` of `destination`, on the same mount, without replacing a
    /// file: EEXIST if the name is taken.
    ///
    /// A local file system is tried with RENAME_NOREPLACE first. A network file system or FUSE may ignore that flag or
    /// check it only in its cache, so link(2), which the server checks, comes first there. If neither works, an empty
    /// file reserves the name and is replaced.
    borrowing func moveExclusively(
        _ entry: BytePath, to destination: borrowing OwnedDescriptor, as name: BytePath
    ) throws(SystemCallError) {
        let isLocal = try FileSystemStatus(of: self).kind.events == .all
        if !isLocal, try moveByLink(entry, to: destination, as: name) { return }
        do {
            try rename(entry, to: destination, as: name)
            return
        } catch { guard error.isRefusal else { throw error } }
        if isLocal, try moveByLink(entry, to: destination, as: name) { return }
        try replaceEmptyFile(name, in: destination, by: entry)
    }

    /// Moves `entry` to `name` of `destination`, or to a name with a number if that is taken; with
    /// `attempt` 1, always to one with a number. Returns the name; nil if other programs took each free one first.
    package borrowing func moveToFreeName(
        _ entry: BytePath, in destination: borrowing OwnedDescriptor, like name: BytePath, attempt first: Int = 0
    ) throws(SystemCallError) -> BytePath? {
        try FileNames.withFreeNumber { number throws(SystemCallError) -> BytePath? in
            let candidate = FileNames.candidate(name, attempt: first + number)
            return try nilIfExists { () throws(SystemCallError) in
                try moveExclusively(entry, to: destination, as: candidate)
                return candidate
            }
        } isFree: { number throws(SystemCallError) in
            try destination.isFree(FileNames.candidate(name, attempt: first + number))
        }
    }

    /// Renames `entry` within this directory without replacing a file.
    package borrowing func renameExclusively(_ entry: BytePath, as name: BytePath) throws(SystemCallError) {
        try moveExclusively(entry, to: self, as: name)
    }

    /// Moves `entry` by link(2) and unlink(2). Returns false if the file system has no links. If the second call fails,
    /// the file keeps both names, and a retry removes the first.
    borrowing func moveByLink(
        _ entry: BytePath, to destination: borrowing OwnedDescriptor, as name: BytePath
    ) throws(SystemCallError) -> Bool {
        do { try link(entry, in: destination, as: name) } catch {
            if error.isRefusal || error.code == .notPermitted { return false }
            guard error.code == .fileExists, try isOneFile(entry, name, in: destination) else { throw error }
        }
        try unlink(entry)
        return true
    }

    /// Returns whether both are names of the same file.
    private borrowing func isOneFile(
        _ entry: BytePath, _ name: BytePath, in destination: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> Bool {
        let (first, second) = (try FileStatus(of: entry, in: self), try FileStatus(of: name, in: destination))
        return first.links > 1 && first.device == second.device && first.identity.inode == second.identity.inode
    }

    private borrowing func replaceEmptyFile(
        _ name: BytePath, in destination: borrowing OwnedDescriptor, by entry: BytePath
    ) throws(SystemCallError) {
        let placeholder = try FileStatus(of: destination.openBeneath(name, [.write, .createNew], mode: 0o600))
        do { try rename(entry, to: destination, replacing: name) } catch {
            if let there = try? FileStatus(of: name, in: destination), there.identity.size == 0,
                there.identity.inode == placeholder.identity.inode
            {
                try? destination.unlink(name)
            }
            throw error
        }
    }
}

extension SystemCallError {
    /// Whether the file system does not support the call.
    var isRefusal: Bool { [.invalidArgument, .noFunction, .notSupported].contains(code) }
}
