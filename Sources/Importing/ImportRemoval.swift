import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// Takes files out of the source, once what they hold is durable elsewhere.
///
/// As filing does it: the name is set aside, looked at once more, and only then removed; see ``SourceFile/remove(token:hash:probe:work:syncing:timesTellEverything:)``.
/// The name that it has in between is made from its path, so that the next run gives a file back what a killed one
/// left so.
enum ImportRemoval {
    /// What stands in the name of a file that is set aside.
    static func token(for path: BytePath) -> String {
        var hasher = ContentHasher()
        path.bytes.withUnsafeBytes { hasher.update($0) }
        return "import-" + hasher.hash().description.prefix(32)
    }

    /// Removes a file that is still as `source` was opened; nil if it is gone now, else why it is not. Whoever calls
    /// keeps `source` open: on FAT the number of a file that nobody has open may be given to another.
    static func remove(
        _ source: OpenSource, hash: ContentHash, root: borrowing OwnedDescriptor, shouldStop: @escaping () -> Bool
    ) -> String? {
        do throws(FilingError) {
            let file = try SourceFile(source.path, beneath: root)
            guard file.status.device == source.status.device, file.identity == source.status.identity else {
                return "it changed meanwhile"
            }
            let removal = try file.remove(
                token: token(for: source.path), hash: hash, probe: WriterProbe(),
                work: FileWork(shouldStop: shouldStop))
            switch removal {
            case .removed: return nil
            case .kept(let error): return "it could not be removed: \(error.cause)"
            }
        } catch { return "it could not be removed: \(error.cause)" }
    }

    /// Gives the file that lies as `entry` in `directory` the name back that it had before a killed run set it aside.
    static func restore(
        _ entry: BytePath, in directory: OpenDirectory, _ memory: ImportMemory?
    ) -> BytePath? {
        guard let token = token(of: entry), let memory,
            let name = memory.name(setAsideAs: token, in: directory.path)
        else { return nil }
        do throws(SystemCallError) {
            try directory.descriptor.rename(entry, to: directory.descriptor, as: name)
            return name
        } catch { return nil }
    }

    /// Whether a killed import left a file under this name.
    static func token(of name: BytePath) -> String? {
        let (prefix, suffix) = (Array((FileNames.prefix + "import-").utf8), Array(".aside.part".utf8))
        guard name.bytes.starts(with: prefix), name.bytes.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        let token = name.bytes.dropFirst(FileNames.prefix.utf8.count).dropLast(suffix.count)
        return String(decoding: token, as: UTF8.self)
    }
}
