package import FileValues
import Glibc
package import LinuxKernel
import Reporting
import SystemPackage

/// What keeps this process's user from a path: a directory on the way that it may not enter, or the path itself.
package struct AccessObstacle: Hashable, Sendable {
    package let user: String
    package let path: BytePath
    /// `root:root 0700`; empty if it cannot be seen.
    package let permissions: String
    package let isOnTheWay: Bool

    /// Finds it after a call was refused; a relative path, which may be one below an open directory, stands for itself.
    /// Blocks on the file system.
    package init(to named: BytePath) {
        user = userName(geteuid()) ?? "user \(geteuid())"
        var (above, closed) = (named.isAbsolute ? named.parent : "", nil as BytePath?)
        while !above.isEmpty {
            // The uppermost one counts: what is below it looks the same.
            if above.withCString({ faccessat(AT_FDCWD, $0, X_OK, AT_EACCESS) }) != 0, errno == EACCES { closed = above }
            if above == "/" { break }
            above = above.parent
        }
        isOnTheWay = closed != nil
        path = closed ?? named
        let status = path.isAbsolute ? try? FileStatus(at: path, followingLinks: true) : nil
        permissions =
            status.map { status in
                "\(userName(status.user) ?? "\(status.user)"):\(groupName(status.group) ?? "\(status.group)") "
                    + octal(status.mode)
            } ?? ""
    }

    /// Nil for errors of another kind, and without a path.
    package init?(of error: SystemCallError) {
        guard error.code == .permissionDenied, let path = error.path else { return nil }
        self.init(to: path)
    }

    /// `permission denied to ana by /home/bob (bob:bob 0700)`; a path that the sentence has named is not repeated.
    package var text: String {
        "permission denied to \(user)" + (isOnTheWay ? " by \(path)" : "")
            + (permissions.isEmpty ? "" : " (\(permissions))")
    }

    /// The command that lets the user enter the directory on the way.
    package var command: String? { isOnTheWay ? setfaclCommand("-m u:\(user):x", path) : nil }
}

/// The command that changes the access list of `path`; see setfacl(1).
package func setfaclCommand(_ change: String, _ path: BytePath) -> String {
    "sudo setfacl \(change) \(shellQuoted(path.escaped))"
}

/// Permission bits as chmod(1) reads them, four digits at least.
package func octal(_ mode: UInt32) -> String {
    let digits = String(mode & 0o7777, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
