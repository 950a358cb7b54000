package import Catalogue
package import FileValues
import LinuxKernel
import SystemPackage

/// A catalogue that is made anew beside the one in use, and takes its place when it is whole. Holds the state's lock, so
/// that no daemon files meanwhile.
package final class CatalogueRebuilding {
    /// The one that is being made.
    package let catalogue: Catalogue

    private let path: BytePath
    private let lock: StateLock

    /// Begins, or goes on with what an earlier run left. Throws ``StateLock/Taken`` while a daemon runs.
    package init(_ path: BytePath, state: BytePath) throws {
        self.path = path
        lock = try StateLock(state)
        let name = path.addingSuffix(".rebuilding")
        catalogue = try Catalogue.openForRepair(String(decoding: name.bytes, as: UTF8.self))
    }

    /// Puts the new one in the old one's place; where that lies now, if there was one.
    package func finish(now: FileTime) throws -> BytePath? {
        try catalogue.closeWhole()
        let directory = try openDirectory(path.parent.isEmpty ? "." : path.parent)
        let new = path.name.addingSuffix(".rebuilding")
        var old: BytePath?
        if (try? FileStatus(of: path.name, in: directory)) != nil {
            let ending = ".before-rebuild-\(now.seconds)"
            // The file itself first: its log alone does no harm, while the file without its log would look whole.
            for suffix in ["", "-wal", "-shm"] {
                do throws(SystemCallError) {
                    try directory.rename(
                        path.name.addingSuffix(suffix), to: directory, as: path.name.addingSuffix(ending + suffix))
                } catch {
                    if error.code == .noSuchFileOrDirectory, !suffix.isEmpty { continue }
                    throw error
                }
            }
            old = path.addingSuffix(ending)
        }
        try directory.rename(new, to: directory, as: path.name)
        try directory.sync()
        withExtendedLifetime(lock) {}
        return old
    }
}
