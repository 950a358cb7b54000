public import FileValues
import Glibc
import SystemPackage

/// The reason why a file is not trusted: another user could have created it or could change it.
public struct UntrustedFile: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, with a remedy if there is one.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Checks that only `owners` can have created the regular file at `path` and can change or replace it: the file and
/// every directory on its path, with the targets of links, belongs to one of them and is writable by no other user.
///
/// Walks from the root with O_PATH, one name at a time, so that each is checked as it is opened. After success the file
/// may be opened or executed by its path: only `owners` could change anything in between. Links are followed if only
/// `owners` could have created them. A world-writable directory is accepted if it is sticky, as /tmp is, and the next
/// name is a directory of `owners`: no other user can rename it, and directories have no hard links. Blocks on the file
/// system. See path_resolution(7), execve(2).
///
/// - Parameter isProgram: Whether it must be executable as well.
public func checkTrusted(
    _ path: BytePath, owners: Set<UInt32>, isProgram: Bool
) throws(UntrustedFile) {
    guard path.isAbsolute else { throw UntrustedFile("\(path) is not an absolute path") }
    var walk = TrustWalk(path, owners: owners)
    let status = try walk.finish()
    let place = walk.place
    guard status.kind == .regular else { throw UntrustedFile("\(place) is not a file") }
    if let reason = walk.objection(to: status, place) { throw reason }
    if isProgram, status.mode & 0o111 == 0 { throw UntrustedFile("\(place) may not be run; chmod +x \(place)") }
}

/// A walk from the root to a file.
private struct TrustWalk {
    /// The kernel's limit, too.
    private static let mostLinks = 40

    private let owners: Set<UInt32>
    /// The resolved names so far.
    private var done: [BytePath] = []
    private var left: [BytePath]
    private var links = 0
    /// Whether the current directory is world-writable.
    private var isShared = false

    init(_ path: BytePath, owners: Set<UInt32>) {
        self.owners = owners
        left = Self.names(of: path)
    }

    var place: BytePath { done.reduce("/") { $0.appending($1) } }

    /// Walks to the end and returns its status.
    mutating func finish() throws(UntrustedFile) -> FileStatus {
        var status = try enter()
        while !left.isEmpty {
            let name = left.removeFirst()
            if name == ".." {
                if !done.isEmpty { done.removeLast() }
                status = try enter()
                continue
            }
            let entry = try entryStatus(name)
            if entry.kind == .symbolicLink {
                try follow(name, entry)
                status = try enter()
                continue
            }
            done.append(name)
            guard !left.isEmpty else {
                if isShared { throw shared(place.parent) }
                return entry
            }
            status = try enter()
        }
        return status
    }

    /// Why another user could change it; nil if none could.
    func objection(to status: FileStatus, _ place: BytePath) -> UntrustedFile? {
        if !owners.contains(status.user) {
            return UntrustedFile("\(place) belongs to user \(status.user); chown it to root")
        }
        let sticky = status.kind == .directory && status.mode & 0o1000 != 0
        if status.mode & 0o022 != 0, !sticky {
            return UntrustedFile("\(place) can be written to by others than its owner; chmod go-w \(place)")
        }
        return nil
    }

    /// Checks the current directory.
    private mutating func enter() throws(UntrustedFile) -> FileStatus {
        let status: FileStatus
        do throws(SystemCallError) { status = try FileStatus(of: try open()) } catch { throw unreachable(place, error) }
        guard status.kind == .directory else { throw UntrustedFile("\(place) is not a directory") }
        if let objection = objection(to: status, place) { throw objection }
        isShared = status.mode & 0o022 != 0
        return status
    }

    private func entryStatus(_ name: BytePath) throws(UntrustedFile) -> FileStatus {
        do throws(SystemCallError) { return try FileStatus(of: name, in: try open()) } catch {
            throw unreachable(place.appending(name), error)
        }
    }

    private mutating func follow(_ name: BytePath, _ status: FileStatus) throws(UntrustedFile) {
        links += 1
        let link = place.appending(name)
        if links > Self.mostLinks { throw UntrustedFile("\(link) leads in a circle") }
        if isShared { throw shared(place) }
        guard owners.contains(status.user) else {
            throw UntrustedFile("the link \(link) belongs to user \(status.user); chown -h it to root")
        }
        let target: BytePath
        do throws(SystemCallError) { target = try open().readLink(name) } catch { throw unreachable(link, error) }
        if target.isAbsolute { done = [] }
        left = Self.names(of: target) + left
    }

    /// The current directory, opened from the root on.
    private func open() throws(SystemCallError) -> OwnedDescriptor {
        var current = try openDirectory("/", .placeAlone)
        for name in done { current = try current.openBeneath(name, [.placeAlone, .directory]) }
        return current
    }

    private func shared(_ place: BytePath) -> UntrustedFile {
        UntrustedFile("everybody may write to \(place); put it elsewhere")
    }

    private func unreachable(_ place: BytePath, _ error: SystemCallError) -> UntrustedFile {
        switch error.code {
        case .noSuchFileOrDirectory: UntrustedFile("there is no \(place)")
        case .notDirectory: UntrustedFile("\(place) is not a directory")
        default: UntrustedFile("\(place) cannot be looked at: \(error.code)")
        }
    }

    private static func names(of path: BytePath) -> [BytePath] { path.components.filter { $0 != "." && $0 != "/" } }
}

extension OwnedDescriptor {
    /// The target of the link `name` in this directory; see readlinkat(2).
    fileprivate borrowing func readLink(_ name: BytePath) throws(SystemCallError) -> BytePath {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let directory = raw
        let count = try systemCall("readlinkat", path: name) {
            name.withCString { readlinkat(directory, $0, &buffer, buffer.count) }
        }
        return BytePath(buffer.prefix(count).map { UInt8(bitPattern: $0) })
    }
}
