package import FileValues
package import Filing
package import LinuxKernel

/// What is to be imported, and where to.
package struct ImportPlan: Sendable {
    /// The directory that files are taken from: absolute, with no link in it.
    package var source: BytePath
    /// That directory, where whoever plans has opened it already; nil to have it opened by its path.
    package var root: SharedFile?
    /// The inbox's name.
    package var inbox: String
    /// The inbox's directory: absolute, with no link in it.
    package var inboxPath: BytePath
    /// Bytes that are left free in the inbox's file system.
    package var minFree: UInt64
    /// Whether a file leaves the source once its copy is durable.
    package var removes: Bool
    /// Whether nothing is to be done, only said.
    package var isDry: Bool
    /// The configured library; nil if none is known, so that nothing counts as filed.
    package var library: BytePath?
    /// Throws unless the open directory is that library.
    package var requireLibrary: @Sendable (borrowing OwnedDescriptor) throws -> Void
    /// Why the daemon would leave a file alone that lies at this path of the inbox; nil if it would not.
    package var exclusion: @Sendable (BytePath) -> String?

    func openSource() throws(SystemCallError) -> OwnedDescriptor {
        if let root { return try root.descriptor.openDirectoryBeneath("") }
        return try openDirectory(source)
    }

    package init(
        source: BytePath, root: SharedFile? = nil, inbox: String, inboxPath: BytePath, minFree: UInt64 = 0,
        removes: Bool = false, isDry: Bool = false, library: BytePath?,
        requireLibrary: @escaping @Sendable (borrowing OwnedDescriptor) throws -> Void,
        exclusion: @escaping @Sendable (BytePath) -> String? = { _ in nil }
    ) {
        self.source = source
        self.root = root
        self.inbox = inbox
        self.inboxPath = inboxPath
        self.minFree = minFree
        self.removes = removes
        self.isDry = isDry
        self.library = library
        self.requireLibrary = requireLibrary
        self.exclusion = exclusion
    }
}

/// What became of one file of the source, or of a directory that was not gone into.
package struct ImportFinding: Hashable, Sendable {
    /// The words are those of JSON and never change.
    package enum What: String, CaseIterable, Hashable, Sendable {
        /// Its verified copy lies in the inbox (or would, in a dry run).
        case copied
        /// Its content is recorded in the configured library and its file is there.
        case known
        /// An earlier run copied it, and the daemon has not filed it yet.
        case waiting
        /// An earlier run copied it, and the daemon decided otherwise than filing it.
        case decided
        /// It is no photo, or a rule leaves it out.
        case leftOut = "left-out"
        /// It could not be imported; it is where it was.
        case failed
    }

    /// What became of the file in the source.
    package enum Source: String, Hashable, Sendable { case kept, removed }

    package let what: What
    /// Relative to the source.
    package let path: BytePath
    package let size: UInt64
    /// Why so, or where it lies now.
    package let reason: String
    /// Whether it left the source.
    package var source = Source.kept
    /// Why it did not, although it was to.
    package var kept: String?

    package init(_ what: What, _ path: BytePath, size: UInt64, _ reason: String) {
        self.what = what
        self.path = path
        self.size = size
        self.reason = reason
    }
}

/// How far an import is, in files and bytes.
package struct ImportProgress: Hashable, Sendable {
    /// Nil until all is counted.
    package var totalFiles: Int?
    package var totalBytes: UInt64?
    package var files = 0
    package var bytes: UInt64 = 0

    package init() {}
}

/// Why an import could not go on at all. One file's trouble is an ``ImportFinding``.
package enum ImportFailure: Error, Hashable, Sendable {
    /// A system call on the source's or the inbox's own directories failed.
    case system(SystemCallError)
    /// Another run imports from there.
    case busy
    /// The catalogue failed, in words.
    case catalogue(String)
}

/// How whoever started an import follows and stops it. All are called on the thread that runs it.
package struct ImportControl {
    /// Whether to end after the set that is being copied.
    package var shouldEnd: () -> Bool
    /// Whether to end at once; asked between blocks.
    package var shouldAbandon: () -> Bool
    /// Told after each file and now and then within one.
    package var progress: (ImportProgress) throws -> Void
    /// Told of each file, once its fate is sure.
    package var tell: (ImportFinding) throws -> Void

    package init(
        shouldEnd: @escaping () -> Bool, shouldAbandon: @escaping () -> Bool,
        progress: @escaping (ImportProgress) throws -> Void, tell: @escaping (ImportFinding) throws -> Void
    ) {
        self.shouldEnd = shouldEnd
        self.shouldAbandon = shouldAbandon
        self.progress = progress
        self.tell = tell
    }
}
