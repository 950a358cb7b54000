package import FileValues
import LinuxKernel
import SystemPackage

/// A file that stands under its final name.
package struct PlacedFile: Hashable, Sendable {
    /// Relative to the root.
    package let path: BytePath
    /// Whether an equal file was there already, so that nothing new was put there.
    package let wasThere: Bool
    /// How the bytes were brought over; nil if they were there.
    package let method: CopyMethod?
    /// The inode of a copy that was made; nil if it was there.
    let inode: UInt64?
}

extension StagedFile {
    /// Gives the copy its final name, never over another file: where the name is taken by an equal file, that one
    /// becomes the filed photo; where by a different one, the next of ``FileNames/candidate(_:attempt:)`` is tried.
    ///
    /// The name is durable only after ``syncDirectory(work:)``.
    package func giveName(work: FileWork = FileWork()) throws(FilingError) -> PlacedFile {
        work.willEnter(.nameCopy)
        let inode = try filing(.nameCopy, .destination, plan.path) { () throws(SystemCallError) in
            try FileStatus(of: content).identity.inode
        }
        for attempt in 0..<(plan.isExact ? 1 : Self.attempts) {
            let name = plan.candidate(attempt)
            let path = plan.directory.appending(name)
            switch try tryName(name) {
            case .named:
                temporaryName = nil
                return PlacedFile(path: path, wasThere: false, method: method, inode: inode)
            case .anonymousRefused:
                // Known only now that this file system makes anonymous files but can't name them.
                root.means.remove(.anonymousTemporary)
                let again = try StagedFile.stage(plan, from: source, in: root, work: work)
                return try again.giveName(work: work)
            case .taken:
                let size = source.identity.size
                guard try holds(name, in: directory, hash: plan.hash, size: size, work, .nameCopy) else { continue }
                try discardTemporary()
                return PlacedFile(path: path, wasThere: true, method: nil, inode: nil)
            }
        }
        throw FilingError(.nameCopy, .destination, .noFreeName, path: plan.path)
    }

    /// Makes the new name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncDestination)
        try filing(.syncDestination, .destination, plan.path) { () throws(SystemCallError) in try directory.sync() }
    }

    static let attempts = 1_000

    enum Naming { case named, taken, anonymousRefused }

    /// Gives the copy this name if it is free.
    func tryName(_ name: BytePath) throws(FilingError) -> Naming {
        guard let temporaryName else { return try linkAnonymous(as: name) }
        var refusal: SystemCallError?
        if root.means.contains(.renameNoReplace) {
            do {
                try directory.rename(temporaryName, to: directory, as: name)
                return .named
            } catch  where error.code == .fileExists {
                return .taken
            } catch  where [.invalidArgument, .noFunction, .notSupported].contains(error.code) {
                root.means.remove(.renameNoReplace)
                refusal = error
            } catch { throw failed(error, name) }
        }
        if root.means.contains(.link) {
            do { try directory.link(temporaryName, as: name) } catch  where error.code == .fileExists {
                return .taken
            } catch  where [.notPermitted, .noFunction, .notSupported].contains(error.code) {
                throw FilingError(.nameCopy, .destination, .cannotNameSafely(error), path: plan.path)
            } catch { throw failed(error, name) }
            do { try directory.remove(temporaryName) } catch {
                // Two names now, and that of the photo is the one to go: another try then finds nothing in its way.
                try? directory.remove(name)
                throw failed(error, temporaryName)
            }
            return .named
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
        do { try directory.remove(temporaryName) } catch { throw failed(error, temporaryName) }
        self.temporaryName = nil
    }

    private func failed(_ error: SystemCallError, _ name: BytePath) -> FilingError {
        FilingError(.nameCopy, .destination, .system(error), path: plan.directory.appending(name))
    }
}

/// Whether `name` in `directory` is a regular file with this content. If so it is synced before the answer, since
/// whoever put it there may not have.
///
/// False if it is missing, of another kind or size, or damaged beyond reading; throws where a later try could give
/// another answer.
func holds(
    _ name: BytePath, in directory: borrowing OwnedDescriptor, hash: ContentHash, size: UInt64, _ work: FileWork,
    _ step: FilingStep
) throws(FilingError) -> Bool {
    do {
        let file = try openRegular(name, size: size, in: directory, step)
        guard let file else { return false }
        file.dropCachedPages()
        let read = try hashContent(of: file, expectedSize: size, work: work, step, .destination, path: name)
        guard read == HashedContent(hash: hash, size: size) else { return false }
        try filing(step, .destination, name) { () throws(SystemCallError) in try file.sync() }
        return true
    } catch {
        switch error.kind {
        // A name that leads to nothing that we can read is not ours; of a photo that was filed, that is no answer.
        case .gone, .permission, .other:
            if step == .nameCopy || isMissing(error.code) { return false } else { throw error }
        // Reading a damaged file; a sync that failed must not be taken for one.
        case .inputOutput where error.code == .ioError && !error.isSync: return false
        default: throw error
        }
    }
}

private func isMissing(_ code: Errno?) -> Bool {
    [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(code)
}

private func openRegular(
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
