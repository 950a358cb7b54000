public import FileValues

/// The files and directories that a ``DirectoryWatch`` knew, for the next one: so only changes since then are reported after
/// a restart.
///
/// It holds the files that the receiver has acknowledged (``DirectoryWatch/acknowledge(root:path:identity:)``), each with the
/// identity that was reported, and the directories. Files that were reported and not acknowledged are left out, and so are
/// reported again: without a memory, or with an old one, files are at worst reported twice. Each root is recognised by its
/// identity: a memory does not apply to another directory at the same path, and up to four of those that were there in turns
/// (memory cards, say) are remembered.
///
/// A file that was overwritten with its size and times restored, and the same change time, is not reported: only reading
/// it could show that.
///
/// A value, compact: 43 bytes and its name for a file, in the form in which ``WatchMemoryFile`` keeps it.
public struct WatchMemory: Hashable, Sendable {
    /// Bytes of the receiver, at most 64 KiB; such as the rules by which it processed the files.
    public var note: [UInt8] = []
    /// By the root's identifier; of several directories that were there, the latest first.
    package var roots: [String: [RootMemory]] = [:]

    /// An empty one.
    public init() {}

    /// The identifiers of its roots, in byte order.
    public var rootIdentifiers: [String] { roots.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    /// How many files there are in a root, or in the latest of its directories; without directories.
    public func count(of root: String) -> Int { roots[root]?.first?.files ?? 0 }

    /// Forgets a root: all its files will be reported as found.
    public mutating func forget(root: String) { roots[root] = nil }

    /// Gives a root another identifier, in place of a root that has it.
    public mutating func rename(root: String, to new: String) {
        if root != new { roots[new] = roots.removeValue(forKey: root) }
    }

    /// Calls `body` with the same files by their paths below the root, and the identity with which they were acknowledged;
    /// links, FIFOs, sockets and devices too.
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
