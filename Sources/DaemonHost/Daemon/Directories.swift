import FileValues
import Glibc
package import LinuxKernel
package import Settings
import SystemPackage

/// Makes the directories that a daemon needs.
package func makeDirectories(of settings: Settings) throws(SystemCallError) {
    // A link of ``linkRuntime(of:)`` that leads nowhere any more is in the way of the directory.
    if settings.runtime == runtimeLink(of: settings),
        (try? FileStatus(at: settings.runtime, followingLinks: true)) == nil
    {
        try? removeRuntimeLink(of: settings)
    }
    for directory in settings.directoriesToMake { try makeDirectory(directory) }
}

/// Where the runtime directory is not in the state directory, makes a link "run" there that leads to it, so that a command that
/// knows the state directory alone, as `photoinbox --state`, finds the daemon. That it cannot be is no reason not to file.
func linkRuntime(of settings: Settings) {
    let (target, link) = (settings.runtime, runtimeLink(of: settings))
    guard target != link else { return }
    try? removeRuntimeLink(of: settings)
    _ = try? systemCall("symlink", path: link) {
        target.withCString { target in link.withCString { symlink(target, $0) } }
    }
}

private func runtimeLink(of settings: Settings) -> BytePath { settings.state.appending("run") }

private func removeRuntimeLink(of settings: Settings) throws(SystemCallError) {
    let link = runtimeLink(of: settings)
    if try FileStatus(at: link).kind == .symbolicLink { try openDirectory(link.parent).unlink(link.name) }
}

/// Lets the group read the catalogue at `path` with its log, whatever the umask was: people in the daemon's group look
/// into it with the command line. What SQLite makes beside it later gets the same mode.
func allowGroupToRead(_ path: BytePath) throws(SystemCallError) {
    let mode: mode_t = chosenGroup() == nil ? 0o600 : 0o640
    for suffix in ["", "-wal", "-shm"] {
        let file = path.addingSuffix(suffix)
        do { try systemCall("chmod", path: file) { file.withCString { chmod($0, mode) } } } catch {
            if error.code != .noSuchFileOrDirectory { throw error }
        }
    }
}
