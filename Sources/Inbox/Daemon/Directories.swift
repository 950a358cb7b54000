package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Makes the directory at `path`, an absolute path, with what is missing on the way; one that is there is left as it is.
/// New ones are for their owner and group alone: what is in them is nobody else's business.
package func makeDirectory(_ path: BytePath, mode: UInt32 = 0o750) throws(SystemCallError) {
    do { _ = try openDirectory(path) } catch {
        guard error.code == .noSuchFileOrDirectory, !path.isEmpty, path != "/" else { throw error }
        try makeDirectory(path.parent, mode: 0o755)
        _ = try openDirectory(path.parent).makeDirectoriesBeneath(path.name, mode: mode)
        // The unit's umask would leave the group out.
        try openDirectory(path).setMode(mode)
    }
}

/// Lets the group read the catalogue at `path` with its log, whatever the umask was: people in the daemon's group look
/// into it with the command line. What SQLite makes beside it later gets the same mode.
func allowGroupToRead(_ path: BytePath) throws(SystemCallError) {
    for suffix in ["", "-wal", "-shm"] {
        let file = path.addingSuffix(suffix)
        do { try systemCall("chmod", path: file) { file.withCString { chmod($0, 0o640) } } } catch {
            if error.code != .noSuchFileOrDirectory { throw error }
        }
    }
}
