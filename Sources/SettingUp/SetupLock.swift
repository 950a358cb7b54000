package import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
import Reporting

/// A lock that excludes a second writer of the same file: an flock(2) on its directory, or on the nearest one above that
/// exists, released by deinit or with the process. Without effect where the file system has no locks.
package final class SetupLock {
    private var directory: OwnedDescriptor?

    /// Throws if another one, which `command` names, holds it. `file` must be without links.
    package init(of file: BytePath, against command: String = "setup") throws(CommandFailure) {
        for above in file.ancestors.reversed() {
            guard let found = try? openWithoutLinks(above) else { continue }
            let (number, inode) = (found.raw, (try? FileStatus(of: found))?.identity.inode)
            directory = consume found
            while flock(number, LOCK_EX | LOCK_NB) != 0 {
                if errno == EINTR { continue }
                guard errno == EWOULDBLOCK else { return }
                let holder = inode.flatMap { lockHolder(of: $0) }.map { " by process \($0)" } ?? ""
                throw CommandFailure(
                    .busy, "another \(command) may be running: \(above) is locked\(holder)",
                    action: "Run this again once it has ended.")
            }
            return
        }
    }
}
