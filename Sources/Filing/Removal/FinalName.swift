package import FileValues
package import LinuxKernel
import SystemPackage

extension OwnedDescriptor {
    /// Moves the file `entry` of this directory to `name` of `destination`, on the same mount, and never over another
    /// file: EEXIST if the name is taken.
    ///
    /// A local file system is asked for RENAME_NOREPLACE first. A network's or FUSE's may ignore that flag, or look for the
    /// name only in its cache, so it is asked for a second name first: link(2) fails on the server. Where neither works, an
    /// empty file takes the name, which nobody else can then make, and is replaced.
    borrowing func giveName(
        _ name: BytePath, in destination: borrowing OwnedDescriptor, to entry: BytePath
    ) throws(SystemCallError) {
        let isLocal = try FileSystemStatus(of: self).kind.events == .all
        if !isLocal, try giveSecondName(name, in: destination, to: entry) { return }
        do {
            try rename(entry, to: destination, as: name)
            return
        } catch { guard error.isRefusal else { throw error } }
        if isLocal, try giveSecondName(name, in: destination, to: entry) { return }
        try replaceEmptyFile(name, in: destination, by: entry)
    }

    /// The same with a number where `name` is taken; the name that it got. Nil if others took each free one first.
    borrowing func giveNumberedName(
        like name: BytePath, in destination: borrowing OwnedDescriptor, to entry: BytePath
    ) throws(SystemCallError) -> BytePath? {
        try FileNames.withFreeNumber { number throws(SystemCallError) -> BytePath? in
            let candidate = FileNames.candidate(name, attempt: number)
            return try unlessTaken { () throws(SystemCallError) in
                try giveName(candidate, in: destination, to: entry)
                return candidate
            }
        } isFree: { number throws(SystemCallError) in
            try destination.isFree(FileNames.candidate(name, attempt: number))
        }
    }

    /// ``giveName(_:in:to:)`` within this directory.
    package borrowing func giveName(_ name: BytePath, to entry: BytePath) throws(SystemCallError) {
        try giveName(name, in: self, to: entry)
    }

    /// The same by link(2) and unlink(2); false where the file system has no links. Where the second call fails the file
    /// keeps both names, and the next try removes the first.
    borrowing func giveSecondName(
        _ name: BytePath, in destination: borrowing OwnedDescriptor, to entry: BytePath
    ) throws(SystemCallError) -> Bool {
        do { try link(entry, in: destination, as: name) } catch {
            if error.isRefusal || error.code == .notPermitted { return false }
            guard error.code == .fileExists, try isOneFile(entry, name, in: destination) else { throw error }
        }
        try unlink(entry)
        return true
    }

    /// Whether both are names of one file that has several.
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
    /// Whether the file system cannot do it at all.
    var isRefusal: Bool { [.invalidArgument, .noFunction, .notSupported].contains(code) }
}
