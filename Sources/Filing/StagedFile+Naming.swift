package import FileValues
package import LinuxKernel
import SystemPackage

/// A file that stands under its final name.
package struct PlacedFile: Hashable, Sendable {
    /// Relative to the root.
    package let path: BytePath
    /// Whether an equal file was there already, so that nothing new was put there.
    package let wasThere: Bool
    /// How the bytes were brought over; nil if they were there.
    package let method: CopyMethod?
    /// Its status under that name, when its content had been read again.
    package let status: FileStatus
}

extension StagedFile {
    /// Gives the copy its final name, never over another file: where the name is taken by an equal file, that one
    /// becomes the filed photo; where by a different one, the copy gets a number that is free. Files with numbers are not
    /// compared: there may be thousands, and an equal one that was filed is known by its hash.
    ///
    /// The name is durable only after ``syncDirectory(work:)``.
    package func giveName(work: FileWork = FileWork()) throws(FilingError) -> PlacedFile {
        work.willEnter(.nameCopy)
        let placed = try FileNames.withFreeNumber { number throws(FilingError) -> PlacedFile? in
            let name = plan.candidate(number)
            switch try tryName(name) {
            case .named: return try named(name)
            case .anonymousRefused:
                // Known only now that this file system makes anonymous files but can't name them.
                root.means.remove(.anonymousTemporary)
                let again = try StagedFile.stage(plan, from: source, in: root, work: work)
                return try again.giveName(work: work)
            case .taken:
                guard number == 0, let equal = try equalFile(under: name, work) else { return nil }
                return try found(equal, under: name)
            }
        } isFree: { number throws(FilingError) in
            if plan.isExact { throw .noFreeName(.nameCopy, plan.path) }
            return try isFree(number)
        }
        guard let placed else { throw .noFreeName(.nameCopy, plan.path) }
        return placed
    }

    /// Whether no file has the name with this number.
    func isFree(_ number: Int) throws(FilingError) -> Bool {
        try filing(.nameCopy, .destination, plan.path) { () throws(SystemCallError) in
            try directory.isFree(plan.candidate(number))
        }
    }

    /// The copy has `name` now.
    func named(_ name: BytePath) throws(FilingError) -> PlacedFile {
        temporaryName = nil
        let status = try filing(.nameCopy, .destination, plan.path) { () throws(SystemCallError) in
            do throws(SystemCallError) { return try FileStatus(of: content) } catch {
                // FUSE loses an open file with its first name. What it says of the new one is believed by nobody.
                guard error.code == .staleNFSFileHandle else { throw error }
                return try FileStatus(of: name, in: directory)
            }
        }
        return PlacedFile(path: plan.directory.appending(name), wasThere: false, method: method, status: status)
    }

    /// An equal file has `name` already; the copy is not needed.
    func found(_ equal: FileStatus, under name: BytePath) throws(FilingError) -> PlacedFile {
        try discardTemporary()
        return PlacedFile(path: plan.directory.appending(name), wasThere: true, method: nil, status: equal)
    }

    /// The file under `name`, if it has the content of this copy. Throws if it is the source itself, which another path
    /// leads to: that is no copy.
    func equalFile(under name: BytePath, _ work: FileWork) throws(FilingError) -> FileStatus? {
        let size = source.identity.size
        guard let equal = try holds(name, in: directory, hash: plan.hash, size: size, work, .nameCopy) else {
            return nil
        }
        if equal.device == source.status.device, equal.identity.inode == source.identity.inode {
            let path = plan.directory.appending(name)
            throw FilingError(.nameCopy, .either, .noOtherCopy(.sameFile(path)), path: source.path)
        }
        return equal
    }

    /// Makes the new name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncDestination)
        try filing(.syncDestination, .destination, plan.path) { () throws(SystemCallError) in
            try directory.syncDirectory()
        }
    }

    enum Naming { case named, taken, anonymousRefused }

    /// Gives the copy this name if it is free.
    func tryName(_ name: BytePath) throws(FilingError) -> Naming {
        guard let temporaryName else { return try linkAnonymous(as: name) }
        var refusal: SystemCallError?
        // A server refuses a second name that is taken; the flag of a rename may be looked at in a cache alone.
        if root.means.contains(.link) {
            do {
                if try directory.giveSecondName(name, in: directory, to: temporaryName) { return .named }
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
            // No links here, or no /proc; a directory that was removed says ENOENT as well, and again to the next try.
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

/// Whether `name` in `directory` is a regular file with this content. If so it is synced before the answer, since
/// whoever put it there may not have.
///
/// Its status; nil if it is missing, of another kind or size, or damaged beyond reading. Throws where a later try could
/// give another answer.
func holds(
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
        // A name that leads to nothing that we can read is not ours; of a photo that was filed, that is no answer.
        case .gone, .permission, .other:
            if step == .nameCopy || isMissing(error.code) { return nil } else { throw error }
        // Reading a damaged file; a sync that failed must not be taken for one.
        case .inputOutput where error.code == .ioError && !error.isSync: return nil
        default: throw error
        }
    }
}

func isMissing(_ code: Errno?) -> Bool {
    [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(code)
}

/// The file `name`, open, if it is a regular one of this size.
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
