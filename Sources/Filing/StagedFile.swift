package import FileValues
import LinuxKernel
import SystemPackage

/// The planned destination of a file.
package struct PlacementPlan: Sendable {
    /// Names the temporaries; see ``FileNames/makeToken()``. The intent contains it, for recovery.
    package let token: String
    /// The directory, relative to the root; empty for the root itself.
    package let directory: BytePath
    /// The wanted name.
    package let name: BytePath
    /// Whether no other name is permitted if that one is taken.
    package let isExact: Bool
    /// The source's hash, which the copy must have.
    package let hash: ContentHash
    /// The offset in the name at which a number is inserted if the name is taken, in bytes; nil for the end of its
    /// stem.
    package let numberAfter: Int?

    package init(
        token: String = FileNames.makeToken(), directory: BytePath, name: BytePath, isExact: Bool = false,
        hash: ContentHash, numberAfter: Int? = nil
    ) {
        self.numberAfter = numberAfter
        precondition(FileNames.isToken(token), "not a token: \(escapeForDisplay(Array(token.utf8)))")
        self.token = token
        self.directory = directory
        self.name = name
        self.isExact = isExact
        self.hash = hash
    }
}

/// How the bytes were copied.
package enum CopyMethod: String, Hashable, Sendable { case clone, kernelCopy, readAndWrite }

/// A complete, synced and verified copy of a source in its destination directory, without its final name.
///
/// Created by ``stage(_:from:in:work:)``, named by ``assignName(work:)``; its deinit removes it if it has no final
/// name. Confined to the file queue.
package final class StagedFile {
    package let plan: PlacementPlan
    package private(set) var method = CopyMethod.readAndWrite

    let source: SourceFile
    let root: DestinationRoot
    let directory: OwnedDescriptor
    let content: OwnedDescriptor
    /// The temporary's name, if it has one and it was not renamed to the final one.
    var temporaryName: BytePath?

    /// Copies `source` by `plan`, up to and including the second check of the source.
    package static func stage(
        _ plan: PlacementPlan, from source: SourceFile, in root: DestinationRoot, work: FileWork = FileWork()
    ) throws(FilingError) -> StagedFile {
        let staged = try StagedFile(plan, source, root, work)
        work.willEnter(.copy)
        staged.method = try copyContent(of: source, to: staged.content, path: plan.path, means: root.means, work)
        work.willEnter(.setAttributes)
        try staged.setAttributes()
        work.willEnter(.syncCopy)
        try staged.syncCopy()
        work.willEnter(.verifyCopy)
        try staged.verifyCopy(work)
        work.willEnter(.checkSource)
        try source.requireUnchanged(.checkSource)
        return staged
    }

    private init(
        _ plan: PlacementPlan, _ source: SourceFile, _ root: DestinationRoot, _ work: FileWork
    ) throws(FilingError) {
        self.plan = plan
        self.source = source
        self.root = root
        work.willEnter(.openDestination)
        directory = try root.openDirectory(plan.directory)
        work.willEnter(.makeTemporary)
        var temporary = try Temporary(in: directory, plan, root)
        // Two paths of a network share have two devices, so that a copy with the number of its source would pass for its source,
        // which would stay. While the first is open, the next one gets another number.
        if try temporary.status.identity.inode == source.identity.inode {
            try temporary.removeName(in: directory)
            temporary = try Temporary(in: directory, plan, root)
        }
        temporaryName = temporary.name
        content = temporary.content
    }

    deinit {
        // An error is ignored: the intent contains the name, and recovery removes it.
        if let temporaryName { try? removeUnfinished(temporaryName, in: directory) }
    }

    private func setAttributes() throws(FilingError) {
        try filing(.setAttributes, .destination, plan.path) { () throws(SystemCallError) in
            let attributes = root.attributes
            // The owner first, since changing it clears the set-id bits.
            if attributes.user != nil || attributes.group != nil {
                try content.setOwner(user: attributes.user, group: attributes.group)
            }
            try content.setMode((attributes.mode ?? source.status.mode) & 0o777)
            try content.setModified(source.identity.modified)
        }
    }

    private func syncCopy() throws(FilingError) {
        try filing(.syncCopy, .destination, plan.path) { () throws(SystemCallError) in try content.sync() }
    }

    /// Reads the copy from the medium and compares it with the planned hash.
    private func verifyCopy(_ work: FileWork) throws(FilingError) {
        content.dropCachedPages()
        let read = try hashContent(
            of: content, expectedSize: source.identity.size, work: work, .verifyCopy, .destination, path: plan.path)
        guard read == HashedContent(hash: plan.hash, size: source.identity.size) else {
            // The copy is damaged, unless the source was written to meanwhile.
            try source.requireUnchanged(.verifyCopy)
            throw FilingError(.verifyCopy, .destination, .copyDiffers, path: plan.path)
        }
    }
}

extension PlacementPlan {
    /// The wanted path, relative to the root.
    package var path: BytePath { directory.appending(name) }

    /// Returns the name for this attempt.
    func candidate(_ attempt: Int) -> BytePath {
        FileNames.candidate(name, attempt: attempt, numberAfter: numberAfter)
    }
}

/// A new file for the copy, with a name only if O_TMPFILE does not work.
private struct Temporary: ~Copyable {
    let content: OwnedDescriptor
    let name: BytePath?

    init(
        in directory: borrowing OwnedDescriptor, _ plan: PlacementPlan, _ root: DestinationRoot
    ) throws(FilingError) {
        // Unreadable for others until its mode is set.
        let mode: UInt32 = 0o600
        if root.means.contains(.anonymousTemporary) {
            do {
                content = try directory.makeAnonymousFile(mode: mode)
                name = nil
                return
            } catch {
                guard Self.isUnsupported(error.code) else {
                    throw FilingError(.makeTemporary, .destination, .system(error), path: plan.path)
                }
                root.means.remove(.anonymousTemporary)
            }
        }
        let name = FileNames.temporary(plan.token)
        do { content = try directory.openBeneath(name, [.readWrite, .createNew], mode: mode) } catch {
            throw FilingError(.makeTemporary, .destination, .system(error), path: plan.directory.appending(name))
        }
        self.name = name
    }

    var status: FileStatus {
        get throws(FilingError) {
            do { return try FileStatus(of: content) } catch {
                throw FilingError(.makeTemporary, .destination, .system(error), path: name ?? "")
            }
        }
    }

    func removeName(in directory: borrowing OwnedDescriptor) throws(FilingError) {
        guard let name else { return }
        do { try removeUnfinished(name, in: directory) } catch {
            throw FilingError(.makeTemporary, .destination, .system(error), path: name)
        }
    }

    /// A kernel or file system that sees only the O_DIRECTORY part of O_TMPFILE returns EISDIR; see open(2).
    private static func isUnsupported(_ code: Errno) -> Bool {
        [.notSupported, .isDirectory, .invalidArgument, .noFunction].contains(code)
    }
}
