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
    /// Whether `ProtectHome=` of the unit hides it, so that no access list would help; see ``protectedHomes()``.
    package let isHidden: Bool

    /// Finds it after a call was refused; a relative path, which may be one below an open directory, stands for itself.
    /// Blocks on the file system.
    package init(to named: BytePath) {
        user = userName(geteuid()) ?? "\(geteuid())"
        let closed = named.isAbsolute ? Self.closedDirectory(on: named) : nil
        isOnTheWay = closed != nil
        path = closed ?? named
        let status = path.isAbsolute ? try? FileStatus(at: path, followingLinks: true) : nil
        permissions =
            status.map { status in
                "\(userName(status.user) ?? "\(status.user)"):\(groupName(status.group) ?? "\(status.group)") "
                    + octal(status.mode)
            } ?? ""
        isHidden = isOnTheWay && status?.mode == 0 && protectedHomes().contains(path)
    }

    /// The first directory on the way to `named` that may not be entered; follows links as the kernel does.
    private static func closedDirectory(on named: BytePath) -> BytePath? {
        var (here, left) = ("/" as BytePath, named.components)
        var links = 0
        while !left.isEmpty {
            if here.withCString({ faccessat(AT_FDCWD, $0, X_OK, AT_EACCESS) }) != 0 {
                return errno == EACCES ? here : nil
            }
            let name = left.removeFirst()
            if name == "." { continue }
            if name == ".." {
                here = here.parent.isEmpty ? "/" : here.parent
                continue
            }
            let next = here.appending(name)
            guard let target = linkText(of: next) else {
                here = next
                continue
            }
            links += 1
            if links > 40 { return nil }
            left = target.components + left
            if target.isAbsolute { here = "/" }
        }
        return nil
    }

    /// Nil for errors of another kind, and without a path.
    package init?(of error: SystemCallError) {
        guard error.code == .permissionDenied, let path = error.path else { return nil }
        self.init(to: path)
    }

    /// `permission denied to ana by /home/bob (bob:bob 0700)`; a path that the sentence has named is not repeated.
    package var text: String {
        if isHidden { return "ProtectHome= of its unit hides \(path)" }
        return "permission denied to \(user)" + (isOnTheWay ? " by \(path)" : "")
            + (permissions.isEmpty ? "" : " (\(permissions))")
    }

    /// The command that lets the user enter the directory on the way, if that is seen.
    package var command: String? {
        isOnTheWay && !permissions.isEmpty && !isHidden ? setfaclCommand("-m u:\(user):x", path) : nil
    }
}

/// The command that changes the access list of `path`; see setfacl(1).
package func setfaclCommand(_ change: String, _ path: BytePath) -> String {
    "sudo setfacl \(change) \(shellQuoted(path.escaped))"
}

/// Permission bits as chmod(1) reads them, four digits at least.
package func octal(_ mode: UInt32) -> String { padded(mode & 0o7777, 4, radix: 8) }
