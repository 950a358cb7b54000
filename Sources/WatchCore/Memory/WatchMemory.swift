public import FileValues

/// What a ``DirectoryWatch`` knew of its roots, to be given to the next one, so that a restart yields only what changed
/// meanwhile.
///
/// It holds which files the receiver has taken care of (``DirectoryWatch/acknowledge(root:path:identity:)``), each with
/// the identity that was told, and which directories there were. What was told and not acknowledged is left out, and so
/// is told again: losing a memory, or having an old one, can only mean to be told twice. For each root its identity is
/// kept; a memory says nothing of another directory that lies there now, and keeps what was known of those that lay there
/// in turns (memory cards, say), four of them.
///
/// A file that was written over with its size and times put back, and its change time the same, is not told: nothing
/// short of reading it could see that.
///
/// A value, compact: 43 bytes and its name for a file, in the form in which ``WatchMemoryFile`` keeps it.
public struct WatchMemory: Hashable, Sendable {
    /// Bytes of the receiver's own, kept along: by what rules it took care of the files, for one. At most 64 KiB.
    public var note: [UInt8] = []
    /// By the root's identifier; of several directories that lay there, the last first.
    package var roots: [String: [RootMemory]] = [:]

    /// One that knows nothing.
    public init() {}

    /// The identifiers of the roots of which something is known, in byte order.
    public var rootIdentifiers: [String] { roots.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    /// How many files are known in a root, or in what lay there last; directories are left out.
    public func count(of root: String) -> Int { roots[root]?.first?.files ?? 0 }

    /// Forgets a root: all in it will be told as found.
    public mutating func forget(root: String) { roots[root] = nil }

    /// Gives what is known of a root to the identifier `new`, in place of what is known under that.
    public mutating func rename(root: String, to new: String) {
        if root != new { roots[new] = roots.removeValue(forKey: root) }
    }

    /// Calls `body` with the same files by their paths below the root, and the identity in which they were taken care
    /// of; links, FIFOs, sockets and devices too.
    public func forEachFile(of root: String, _ body: (BytePath, FileIdentity) -> Void) {
        var paths: [BytePath] = []
        var current = BytePath("")
        roots[root]?.first?.forEach(
            directory: { parent, name, _ in
                current = parent.map { paths[$0].appending(name) } ?? name
                paths.append(current)
            }, entry: { body(current.appending($0.name), $0.identity) })
    }
}
