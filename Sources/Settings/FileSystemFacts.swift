package import FileValues
import Glibc
package import LinuxKernel

/// The facts of the system that a check of the configuration requires; tests replace them.
package protocol FileSystemFacts {
    /// Returns the entry at `path`; follows links.
    func entry(at path: BytePath) -> FileSystemEntry
    /// Returns the entry of an inbox, with a time limit, since other inboxes may work.
    func inbox(at path: BytePath) -> FileSystemEntry
    /// Returns why users other than `owners` could replace or change a file; nil if they cannot.
    func objection(to path: BytePath, owners: Set<UInt32>, isProgram: Bool) -> String?
    /// The name of this process's user, and whether it is a service's.
    var user: (name: String, isService: Bool) { get }
    /// Whether this process checks for a unit that it is not in, which may be shown home directories that this one is not.
    var isOutsideUnit: Bool { get }
    /// What the unit hides from the service; see ``protectedHomes()``.
    var homes: [BytePath] { get }
    /// Whether a user of this name or number exists.
    func hasUser(_ name: String) -> Bool
    /// Whether a group of this name or number exists.
    func hasGroup(_ name: String) -> Bool
    /// Whether this process may give its files to that user, and still set their mode and name.
    func mayGiveFiles(toUser name: String) -> Bool
    /// Whether this process may give its files to that group; nil if `library` may give it to them, or cannot be seen.
    func mayGiveFiles(toGroup name: String, in library: BytePath) -> Bool?
    /// The group of a directory with the set-group-ID bit, which new directories in it lose if this process is not in it;
    /// nil if they keep it, or there is none.
    func groupLost(below path: BytePath) -> String?
    /// The mounted file systems.
    func mounts() -> MountTable
    /// Returns how two directories overlap if their mounts do not show it: creates a file in one and searches the other
    /// for it.
    func probe(_ first: BytePath, _ second: BytePath) -> PlaceMeeting.Relation?
}

/// Where `ProtectHome=` of systemd.exec(5) hides directories of people: here, or at what these are links to, since it mounts
/// over that. It also hides /run/user, where no photos stay.
package func protectedHomes() -> [BytePath] {
    (["/home", "/root"] as [BytePath]).flatMap { home in
        [home] + ((try? realPath(home)).map { $0 == home ? [] : [$0] } ?? [])
    }
}

/// The kind of the entry at a path.
package enum FileSystemEntry: Hashable, Sendable {
    case missing
    /// Not accessible, with the reason: a parent directory may not be searched.
    case unknown(String)
    /// The file system does not answer now, with the system's message: a hung mount, a server that is down.
    case unreachable(String)
    case directory(DirectoryFacts)
    case fifo
    /// A regular file, and whether this process may run it.
    case file(isExecutable: Bool)
    /// Any other kind.
    case other
}

/// The properties of a directory that are checked.
package struct DirectoryFacts: Hashable, Sendable {
    /// Whether this process may list and search it.
    package var isReadable: Bool
    /// Whether this process may add and remove names.
    package var isWritable: Bool
    /// The path without links; nil if unknown.
    package var realPath: BytePath?
    /// Nil if unknown.
    package var place: KernelPlace?

    package init(isReadable: Bool, isWritable: Bool, realPath: BytePath?, place: KernelPlace?) {
        self.isReadable = isReadable
        self.isWritable = isWritable
        self.realPath = realPath
        self.place = place
    }
}

/// The file system of this machine, as this process's effective user. Blocks on the file system. See stat(2),
/// faccessat(2), realpath(3).
package struct LocalFileSystem: FileSystemFacts {
    /// The time limit for an inbox, in seconds.
    private let patience: Double
    package let isOutsideUnit: Bool

    /// By default longer than a disk takes to spin up.
    package init(patience: Double = 15, isOutsideUnit: Bool = false) {
        (self.patience, self.isOutsideUnit) = (patience, isOutsideUnit)
    }

    package func inbox(at path: BytePath) -> FileSystemEntry {
        runOnOwnThread(named: "check", patience: patience) { entry(at: path) }
            ?? .unreachable("no answer for \(Int(patience)) s")
    }

    /// Errors of a path that exists but does not work at the moment.
    private static let transient: Set<Int32> = [
        ENOTCONN, EIO, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENODEV, ENXIO,
    ]

    package func entry(at path: BytePath) -> FileSystemEntry {
        var status = stat()
        guard path.withCString({ fstatat(AT_FDCWD, $0, &status, 0) }) == 0 else {
            let code = errno
            if code == ENOENT { return .missing }
            if code == EACCES {
                let obstacle = AccessObstacle(to: path)
                return .unknown(obstacle.text + (obstacle.command.map { "; \($0)" } ?? ""))
            }
            let words = String(cString: strerror(code))
            return Self.transient.contains(code) ? .unreachable(words) : .unknown(words)
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            return .directory(
                DirectoryFacts(
                    isReadable: mayAccess(path, R_OK | X_OK), isWritable: mayAccess(path, W_OK | X_OK),
                    realPath: try? realPath(path), place: try? KernelPlace(at: path)))
        case S_IFIFO: return .fifo
        case S_IFREG: return .file(isExecutable: mayAccess(path, X_OK))
        default: return .other
        }
    }

    package func objection(to path: BytePath, owners: Set<UInt32>, isProgram: Bool) -> String? {
        let place = path.isAbsolute ? path : SettingsContext.currentDirectory.appending(path)
        do throws(UntrustedFile) {
            try checkTrusted(place, owners: owners, isProgram: isProgram)
            return nil
        } catch { return error.description }
    }

    package func mounts() -> MountTable { (try? MountTable.ofProcess()) ?? MountTable([]) }

    package func probe(_ first: BytePath, _ second: BytePath) -> PlaceMeeting.Relation? {
        if let relation = probe(first, in: second) { return relation }
        return probe(second, in: first).map { relation in
            switch relation {
            case .firstInSecond: .secondInFirst
            case .secondInFirst: .firstInSecond
            case .same, .shared: relation
            }
        }
    }

    /// Probes with a file in `first` only, and creates none in `second`.
    package func probe(_ first: BytePath, in second: BytePath) -> PlaceMeeting.Relation? {
        let found: PlaceMeeting.Relation?? = runOnOwnThread(named: "probe", patience: patience) {
            switch PlaceProbe(first)?.find(around: second) {
            case .there: .same
            case .above: .secondInFirst
            case .inside: .firstInSecond
            case nil: nil
            }
        }
        return found ?? nil
    }

    package var user: (name: String, isService: Bool) {
        let number = geteuid()
        return (userName(number) ?? "user \(number)", (1..<1000).contains(number))
    }

    package var homes: [BytePath] { protectedHomes() }

    package func hasUser(_ name: String) -> Bool { userNumber(name).map { $0 != .max } ?? false }

    package func hasGroup(_ name: String) -> Bool { groupNumber(name).map { $0 != .max } ?? false }

    package func mayGiveFiles(toUser name: String) -> Bool {
        userNumber(name) == geteuid() || Capabilities.ofProcess().isSuperset(of: [.chown, .fowner])
    }

    package func mayGiveFiles(toGroup name: String, in library: BytePath) -> Bool? {
        let number = groupNumber(name)
        if number.map({ Account.ofProcess().groups.contains($0) }) == true || Capabilities.ofProcess().contains(.chown)
        {
            return true
        }
        // By the set-group-ID bit or an option of the mount, new files may have its group already.
        guard let status = try? FileStatus(at: library, followingLinks: true) else { return nil }
        return status.group == number ? nil : false
    }

    package func groupLost(below path: BytePath) -> String? {
        guard let status = try? FileStatus(at: path, followingLinks: true), status.mode & 0o2000 != 0,
            !Account.ofProcess().groups.contains(status.group), !Capabilities.ofProcess().contains(.fsetid)
        else { return nil }
        return groupName(status.group) ?? "\(status.group)"
    }

    private func mayAccess(_ path: BytePath, _ mode: Int32) -> Bool {
        path.withCString { faccessat(AT_FDCWD, $0, mode, AT_EACCESS) } == 0
    }
}
