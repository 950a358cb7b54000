package import FileValues
package import LinuxKernel
import SystemPackage

/// A file under its final name.
package struct PlacedFile: Hashable, Sendable {
    /// Relative to the root.
    package let path: BytePath
    /// Whether an equal file already existed, so that no new one was created.
    package let wasThere: Bool
    /// How the bytes were copied; nil if the file existed.
    package let method: CopyMethod?
    /// Its status after its content was verified.
    package let status: FileStatus
}

extension StagedFile {
    /// Gives the copy its final name without replacing a file.
    ///
    /// If an equal file has the name, that file becomes the filed photo; if a different one has it, the copy gets a
    /// free number. Files with numbers are not compared: there may be thousands, and the catalogue knows an equal one
    /// by its hash. The name is durable only after ``syncDirectory(work:)``.
    package func assignName(work: FileWork = FileWork()) throws(FilingError) -> PlacedFile {
        work.willEnter(.nameCopy)
        let placed = try FileNames.withFreeNumber { number throws(FilingError) -> PlacedFile? in
            let name = plan.candidate(number)
            switch try tryName(name) {
            case .named: return try placedFile(named: name)
            case .anonymousRefused:
                // This file system creates anonymous files but cannot name them.
                root.means.remove(.anonymousTemporary)
                let again = try StagedFile.stage(plan, from: source, in: root, work: work)
                return try again.assignName(work: work)
            case .taken:
                guard number == 0, !root.isShared, let equal = try equalFile(under: name, work) else { return nil }
                return try placedFile(existing: equal, named: name)
            }
        } isFree: { number throws(FilingError) in
            if plan.isExact { throw .noFreeName(.nameCopy, plan.path) }
            return try isFree(number)
        }
        guard let placed else { throw .noFreeName(.nameCopy, plan.path) }
        return placed
    }

    /// Returns whether the name with this number is free.
    func isFree(_ number: Int) throws(FilingError) -> Bool {
        try filing(.nameCopy, .destination, plan.path) { () throws(SystemCallError) in
            try directory.isFree(plan.candidate(number))
        }
    }

    /// Returns the copy after it was named `name`.
    func placedFile(named name: BytePath) throws(FilingError) -> PlacedFile {
        temporaryName = nil
        let status = try filing(.nameCopy, .destination, plan.path) { () throws(SystemCallError) in
            do throws(SystemCallError) { return try FileStatus(of: content) } catch {
                // FUSE loses an open file with its first name. Its status by the new name is not relied on.
                guard error.code == .staleNFSFileHandle else { throw error }
                return try FileStatus(of: name, in: directory)
            }
        }
        return PlacedFile(path: plan.directory.appending(name), wasThere: false, method: method, status: status)
    }

    /// Returns the equal file that already has `name`, and discards the copy.
    func placedFile(existing equal: FileStatus, named name: BytePath) throws(FilingError) -> PlacedFile {
        try discardTemporary()
        return PlacedFile(path: plan.directory.appending(name), wasThere: true, method: nil, status: equal)
    }

    /// Returns the status of the file `name` if it has the content of this copy. Throws if it is the source itself by
    /// another path, which is no copy.
    func equalFile(under name: BytePath, _ work: FileWork) throws(FilingError) -> FileStatus? {
        let size = source.identity.size
        guard let equal = try verifiedFile(name, in: directory, hash: plan.hash, size: size, work, .nameCopy) else {
            return nil
        }
        if equal.device == source.status.device, equal.identity.inode == source.identity.inode {
            let path = plan.directory.appending(name)
            throw FilingError(.nameCopy, .either, .noOtherCopy(.sameFile(path)), path: source.path)
        }
        return equal
    }

    /// Makes the name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncDestination)
        try filing(.syncDestination, .destination, plan.path) { () throws(SystemCallError) in
            try directory.syncDirectory()
        }
    }

    enum Naming { case named, taken, anonymousRefused }

    /// Names the copy if the name is free.
    func tryName(_ name: BytePath) throws(FilingError) -> Naming {
        guard let temporaryName else { return try linkAnonymous(as: name) }
        var refusal: SystemCallError?
        // A link first: the server checks it, whereas a client may check RENAME_NOREPLACE only in its cache.
        if root.means.contains(.link) {
            do {
                if try directory.moveByLink(temporaryName, to: directory, as: name) { return .named }
                root.means.remove(.link)
            } catch { if error.code == .fileExists { return .taken } else { throw failed(error, name) } }
        }
        if root.means.contains(.renameNoReplace) {
            do {
                try directory.rename(temporaryName, to: directory, as: name)
                return .named
            } catch {
                if error.code == .fileExists { return .taken }
                guard error.isRefusal else { throw failed(error, name) }
                root.means.remove(.renameNoReplace)
                refusal = error
            }
        }
        let reason = refusal ?? SystemCallError("renameat2", .notSupported, path: name)
        throw FilingError(.nameCopy, .destination, .cannotNameSafely(reason), path: plan.path)
    }

    private func linkAnonymous(as name: BytePath) throws(FilingError) -> Naming {
        do {
            try directory.link(content, as: name)
            return .named
        } catch {
            switch error.code {
            case .fileExists: return .taken
            // No links or no /proc. A removed directory fails with ENOENT too, and fails again with a named temporary.
            case .notPermitted, .noFunction, .notSupported, .noSuchFileOrDirectory, .improperLink, .permissionDenied:
                return .anonymousRefused
            default: throw failed(error, name)
            }
        }
    }

    func discardTemporary() throws(FilingError) {
        guard let temporaryName else { return }
        do { try removeUnfinished(temporaryName, in: directory) } catch { throw failed(error, temporaryName) }
        self.temporaryName = nil
    }

    private func failed(_ error: SystemCallError, _ name: BytePath) -> FilingError {
        FilingError(.nameCopy, .destination, .system(error), path: plan.directory.appending(name))
    }
}

/// Returns the status of `name` in `directory` if it is a regular file with this content, which is then synced, since
/// its creator may not have done so.
///
/// Nil if it is missing, of another kind or size, or unreadable by damage. Throws if a retry could have another result.
func verifiedFile(
    _ name: BytePath, in directory: borrowing OwnedDescriptor, hash: ContentHash, size: UInt64, _ work: FileWork,
    _ step: FilingStep
) throws(FilingError) -> FileStatus? {
    do {
        let file = try openRegular(name, size: size, in: directory, step)
        guard let file else { return nil }
        let status = try filing(step, .destination, name) { () throws(SystemCallError) in try FileStatus(of: file) }
        file.dropCachedPages()
        let read = try hashContent(of: file, expectedSize: size, work: work, step, .destination, path: name)
        guard read == HashedContent(hash: hash, size: size) else { return nil }
        try filing(step, .destination, name) { () throws(SystemCallError) in try file.sync() }
        return status
    } catch {
        switch error.kind {
        // When a copy is named, an unreadable file is simply another file; for a filed photo the result stays unknown.
        case .gone, .permission, .other:
            if step == .nameCopy || isMissing(error.code) { return nil } else { throw error }
        // The file is damaged, unless it was the sync that failed.
        case .inputOutput where error.code == .ioError && !error.isSync: return nil
        default: throw error
        }
    }
}

func isMissing(_ code: Errno?) -> Bool {
    [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(code)
}

/// Opens `name` if it is a regular file of this size.
func openRegular(
    _ name: BytePath, size: UInt64, in directory: borrowing OwnedDescriptor, _ step: FilingStep
) throws(FilingError) -> OwnedDescriptor? {
    do throws(SystemCallError) {
        let seen = try FileStatus(of: name, in: directory)
        guard seen.kind == .regular, seen.identity.size == size else { return nil }
        let file = try directory.openBeneath(name, [.read, .nonBlocking])
        guard try FileStatus(of: file).kind == .regular else { return nil }
        return file
    } catch {
        throw FilingError(step, .destination, .system(error), path: name)
    }
}

extension FilingError {
    fileprivate var isSync: Bool {
        guard case .system(let error) = cause else { return false }
        return error.call == "fsync"
    }
}
