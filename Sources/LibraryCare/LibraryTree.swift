package import FileValues
import Filing
package import LinuxKernel
import PhotoFormats
import PhotoModel

/// The files of a library. Only reads. Confined to one thread at a time.
package final class LibraryTree {
    /// The maximum depth; deeper directories are ignored.
    private static let maximumDepth = 64

    package let path: BytePath
    package let root: OwnedDescriptor
    private let reader = DirectoryReader()

    /// Opens the library at `path`.
    package init(_ path: BytePath) throws(SystemCallError) {
        self.path = path
        root = try openDirectory(path)
    }

    /// Calls `visit` with the path, relative to the root, of each regular file below `directory`, in the order of
    /// names. Skips hidden files and directories. Calls `unreadable` for each directory that cannot be read, and
    /// continues.
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
            case .directory where depth < Self.maximumDepth: try walk(inner, depth: depth + 1, visit, unreadable)
            default: break
            }
        }
    }

    /// Returns the first photo that is recorded neither by its path nor by its content, which is read entirely.
    /// Examines a bounded number of files; nil if none of them is unrecorded.
    func firstPhoto(
        isRecorded: (BytePath) throws -> Bool, hasRecord: (ContentHash) throws -> Bool
    ) throws -> BytePath? {
        var left = (files: 2_000, opened: 50)
        do {
            try walk { path in
                left.files -= 1
                if NameRules.decide(path) == .take, try !isRecorded(path),
                    let file = try? SourceFile(path, beneath: root, mayHaveLinks: true)
                {
                    left.opened -= 1
                    var bytes = DescriptorByteSource(file)
                    if (try? PhotoReader.read(&bytes, name: path.name))?.format != nil,
                        try !hasRecord(try file.hash(FileWork()))
                    {
                        throw Ended(photo: path)
                    }
                }
                if left.files == 0 || left.opened == 0 { throw Ended(photo: nil) }
            } unreadable: { _, _ in
            }
        } catch let ended as Ended { return ended.photo }
        return nil
    }

    private struct Ended: Error { let photo: BytePath? }

    private func kind(of entry: DirectoryEntry, at path: BytePath) -> FileKind {
        guard entry.kind == .unknown else { return entry.kind }
        return (try? FileStatus(of: path, beneath: root))?.kind ?? .unknown
    }
}
