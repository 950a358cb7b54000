package import FileValues
import Filing
package import LinuxKernel

/// The files of a library, as they lie there. Reads only; confined to whoever made it.
package final class LibraryTree {
    /// Directories within each other beyond this are nobody's library.
    private static let deepest = 64

    /// Where it is.
    package let path: BytePath
    let root: OwnedDescriptor
    private let reader = DirectoryReader()

    /// Opens the library at `path`.
    package init(_ path: BytePath) throws(SystemCallError) {
        self.path = path
        root = try openDirectory(path)
    }

    /// Calls `visit` with each regular file below `directory`, in the order of names, by its path from the library's
    /// root; hidden files and directories are nobody's photos. What cannot be read goes to `unreadable`, and the walk
    /// goes on.
    package func walk(
        below directory: BytePath = "", _ visit: (BytePath) throws -> Void,
        unreadable: (BytePath, SystemCallError) throws -> Void
    ) throws {
        try walk(directory, depth: 0, visit, unreadable)
    }

    private func walk(
        _ path: BytePath, depth: Int, _ visit: (BytePath) throws -> Void,
        _ unreadable: (BytePath, SystemCallError) throws -> Void
    ) throws {
        var entries: [DirectoryEntry] = []
        do throws(SystemCallError) {
            let directory = try root.openDirectoryBeneath(path)
            try reader.read(directory) { entry in
                if entry.name.bytes.first != UInt8(ascii: ".") { entries.append(entry) }
            }
        } catch { return try unreadable(path, error) }
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            let inner = path.appending(entry.name)
            switch kind(of: entry, at: inner) {
            case .regular: try visit(inner)
            case .directory where depth < Self.deepest: try walk(inner, depth: depth + 1, visit, unreadable)
            default: break
            }
        }
    }

    private func kind(of entry: DirectoryEntry, at path: BytePath) -> FileKind {
        guard entry.kind == .unknown else { return entry.kind }
        return (try? FileStatus(of: path, beneath: root))?.kind ?? .unknown
    }
}
