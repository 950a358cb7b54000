package import Catalogue
package import FileValues
import LinuxKernel
import SystemPackage

/// A catalogue that is made anew beside the one in use, and takes its place when it is whole. Holds the state's lock, so
/// that no daemon files meanwhile.
package final class CatalogueRebuilding {
    /// What came of it.
    package struct Result: Hashable, Sendable {
        /// Where the old one lies now, if there was one.
        package var old: BytePath?
        /// Photos whose titles, keywords, ratings or places were taken over.
        package var descriptions = 0
        /// Why these could not be read in the old one; nil if they could, or there was none.
        package var withoutDescriptions: String?
    }

    /// The one in use, for reading; nil if there is none, or it cannot be read.
    package let old: CatalogueFile?

    private let path: BytePath
    private let lock: StateLock
    private let isThere: Bool

    /// Takes the lock. Throws ``StateLock/Taken`` while a daemon runs.
    package init(_ path: BytePath, state: BytePath) throws {
        let path = linkedPath(path)
        self.path = path
        lock = try StateLock(state)
        let directory = try openDirectory(state)
        try directory.openBeneath("lock", [.read, .nonBlocking]).giveToOwner(of: directory)
        isThere = (try? FileStatus(at: path)) != nil
        do throws(CatalogueError) { old = try CatalogueFile.openForReading(Self.text(path)) } catch {
            // One that only cannot be read now is not replaced without being asked what the library is.
            guard [.missing, .corrupt].contains(error.code) else { throw error }
            old = nil
        }
    }

    private var new: BytePath { path.addingSuffix(".rebuilding") }

    private static func text(_ path: BytePath) -> String { String(decoding: path.bytes, as: UTF8.self) }

    /// The new one: begun, or as an earlier run left it. It belongs to the old one's owner and group and has its mode, or
    /// to the directory's owner: root would leave one that the daemon cannot open.
    package func begin(for library: BytePath) throws -> CatalogueFile {
        let catalogue = try open()
        if try catalogue.libraries().allSatisfy({ $0 == library }) { return catalogue }
        // Somebody began it for another library, and meant something else.
        try discard(catalogue)
        return try open()
    }

    /// Lets `catalogue`, the new one, go: the old one stays.
    package func discard(_ catalogue: CatalogueFile) throws {
        catalogue.close()
        let directory = try openParent()
        for suffix in ["", "-wal", "-shm"] { try? directory.unlink(new.name.addingSuffix(suffix)) }
    }

    private func open() throws -> CatalogueFile {
        let directory = try openParent()
        // Before SQLite opens it, which makes the files beside it like it.
        let file = try openNew(in: directory)
        let status = try FileStatus(of: file)
        guard status.kind == .regular, status.links == 1 else {
            throw SystemCallError("open", .fileExists, path: new)
        }
        if let old = try? FileStatus(of: path.name, in: directory), old.kind == .regular {
            try file.setOwner(user: old.user, group: old.group)
            try file.setMode(old.mode & 0o777)
        } else {
            try file.giveToOwner(of: directory)
            try file.setMode(0o640)
        }
        return try CatalogueFile.openForRepair(Self.text(new))
    }

    private func openNew(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> OwnedDescriptor {
        do { return try directory.openBeneath(new.name, [.readWrite, .createNew], mode: 0o600) } catch {
            guard error.code == .fileExists else { throw error }
            return try directory.openBeneath(new.name, [.readWrite, .nonBlocking])
        }
    }

    private func openParent() throws(SystemCallError) -> OwnedDescriptor {
        try openDirectory(path.parent.isEmpty ? "." : path.parent)
    }

    /// Takes over what people said of photos, and puts `catalogue`, the new one, in the old one's place.
    package func finish(_ catalogue: CatalogueFile, now: FileTime) throws -> Result {
        var result = Result()
        old?.close()
        if isThere {
            do throws(CatalogueError) { result.descriptions = try catalogue.copyDescriptions(from: path) } catch {
                result.withoutDescriptions = "\(error)"
            }
        }
        try catalogue.closeWhole()
        let directory = try openParent()
        let ending = ".before-rebuild-\(now.seconds)"
        if (try? FileStatus(of: path.name, in: directory)) != nil { result.old = path.addingSuffix(ending) }
        // The file itself first: its log alone does no harm, while the file without its log would look whole. And a log
        // whose file is gone goes, too: SQLite would take it for the new one's.
        for suffix in ["", "-wal", "-shm"] {
            do throws(SystemCallError) {
                try directory.rename(
                    path.name.addingSuffix(suffix), to: directory, as: path.name.addingSuffix(ending + suffix))
            } catch {
                if error.code != .noSuchFileOrDirectory { throw error }
            }
        }
        try directory.rename(new.name, to: directory, as: path.name)
        try directory.sync()
        withExtendedLifetime(lock) {}
        return result
    }
}
