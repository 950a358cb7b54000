package import FileValues
import Filing
package import LinuxKernel

/// The source, destination and options of an import.
package struct ImportPlan: Sendable {
    /// The directory to import: absolute, without links.
    package var source: BytePath
    /// The source, if the caller has already opened it.
    package var root: HeldDescriptor?
    /// The inbox's name.
    package var inbox: String
    /// The inbox's directory: absolute, without links.
    package var inboxPath: BytePath
    /// Bytes to keep free in the inbox's file system.
    package var minFree: UInt64
    /// Whether a file is removed from the source once its copy is durable.
    package var removes: Bool
    /// Whether it is a dry run.
    package var isDry: Bool
    /// The configured library; nil if none is known, so that nothing counts as filed.
    package var library: BytePath?
    /// Throws unless the open directory is the configured library.
    package var requireLibrary: @Sendable (borrowing OwnedDescriptor) throws -> Void
    /// Returns why the daemon would ignore a file at this path of the inbox; nil if it would not.
    package var exclusion: @Sendable (BytePath) -> String?

    func openSource() throws(SystemCallError) -> OwnedDescriptor {
        if let root { return try root.descriptor.openDirectoryBeneath("") }
        return try openDirectory(source)
    }

    package init(
        source: BytePath, root: HeldDescriptor? = nil, inbox: String, inboxPath: BytePath, minFree: UInt64 = 0,
        removes: Bool = false, isDry: Bool = false, library: BytePath?,
        requireLibrary: @escaping @Sendable (borrowing OwnedDescriptor) throws -> Void,
        exclusion: @escaping @Sendable (BytePath) -> String? = { _ in nil }
    ) {
        (self.source, self.root, self.inbox, self.inboxPath) = (source, root, inbox, inboxPath)
        (self.minFree, self.removes, self.isDry, self.library) = (minFree, removes, isDry, library)
        (self.requireLibrary, self.exclusion) = (requireLibrary, exclusion)
    }
}

/// The result for one file of the source, or for a directory that was not read.
package struct ImportFinding: Hashable, Sendable {
    /// The words are those of JSON and never change.
    package enum What: String, CaseIterable, Hashable, Sendable {
        /// Its verified copy is in the inbox (or would be, in a dry run).
        case copied
        /// Its content is recorded in the configured library, and the file exists.
        case known
        /// An earlier run copied it, and the daemon has not filed it yet.
        case waiting
        /// An earlier run copied it, and the daemon did not file it.
        case decided
        /// It is not a photo, or a rule leaves it out.
        case leftOut = "left-out"
        /// It could not be imported; it stays in the source.
        case failed
    }

    /// Whether the file is still in the source.
    package enum Source: String, Hashable, Sendable { case kept, removed }

    package let what: What
    /// Relative to the source.
    package let path: BytePath
    package let size: UInt64
    /// The reason, or the copy's path.
    package let reason: String
    /// Whether it was removed from the source.
    package var source = Source.kept
    /// Why the removal failed.
    package var kept: String?

    package init(_ what: What, _ path: BytePath, size: UInt64, _ reason: String) {
        (self.what, self.path, self.size, self.reason) = (what, path, size, reason)
    }
}

/// The progress of an import, in files and bytes.
package struct ImportProgress: Hashable, Sendable {
    /// Nil until all files are counted.
    package var totalFiles: Int?
    package var totalBytes: UInt64?
    package var files = 0
    package var bytes: UInt64 = 0

    package init() {}
}

/// Why an import could not continue. The failure of one file is an ``ImportFinding``.
package enum ImportFailure: Error, Hashable, Sendable {
    /// A system call on the source's or the inbox's own directories failed.
    case system(SystemCallError)
    /// Another run imports from this source.
    case busy
    /// The catalogue failed, with its message.
    case catalogue(String)
}

/// Callbacks to follow and stop an import, all on the thread that runs it.
package struct ImportControl {
    /// Whether to stop after the current set.
    package var shouldEnd: () -> Bool
    /// Whether to stop at once; called between blocks.
    package var shouldAbandon: () -> Bool
    /// Called after each file, and regularly within one.
    package var progress: (ImportProgress) throws -> Void
    /// Called for each file, once its result is final.
    package var report: (ImportFinding) throws -> Void

    package init(
        shouldEnd: @escaping () -> Bool, shouldAbandon: @escaping () -> Bool,
        progress: @escaping (ImportProgress) throws -> Void, report: @escaping (ImportFinding) throws -> Void
    ) {
        (self.shouldEnd, self.shouldAbandon, self.progress) = (shouldEnd, shouldAbandon, progress)
        self.report = report
    }
}
