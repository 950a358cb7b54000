public import FileValues

/// The directories that this machine exports over NFS.
///
/// Leases do not detect NFS writers: NFSv3 opens nothing, and nfsd(7) closes its files when a lease is requested. Safe
/// on any thread. The lists are cached for two seconds.
public final class ExportedTrees: Sendable {
    private struct Root {
        let path: BytePath
        let device, inode: UInt64
    }

    private struct Reading {
        let moment: ContinuousClock.Instant
        let roots: [Root]
    }

    /// The exports of this machine.
    public static let system = ExportedTrees(lists: ["/var/lib/nfs/etab", "/proc/fs/nfsd/exports"])

    private let lists: [BytePath]
    private let reading = Locked<Reading?>(nil)

    /// The exports in `lists`, files in the format of exportfs(8) and the kernel; one that cannot be read counts as
    /// empty.
    public init(lists: [BytePath]) { self.lists = lists }

    /// The exported directory that is or contains `directory`, if any. A file system mounted in one counts as exported.
    public func root(of directory: borrowing OwnedDescriptor) -> BytePath? {
        let roots = current()
        guard !roots.isEmpty else { return nil }
        var path = "."
        var below: FileStatus?
        // No directory is deeper: a path has at most 4,096 bytes.
        for _ in 0..<2_048 {
            guard let status = try? FileStatus(of: BytePath(path), in: directory) else { return nil }
            if status.device == below?.device, status.identity.inode == below?.identity.inode { return nil }
            let found = roots.first { $0.device == status.device && $0.inode == status.identity.inode }
            if let found { return found.path }
            below = status
            path += "/.."
        }
        return nil
    }

    private func current() -> [Root] {
        let now = ContinuousClock.now
        let known = reading.withLock { last -> [Root]? in
            guard let last, now - last.moment < .seconds(2) else { return nil }
            return last.roots
        }
        if let known { return known }
        let paths = Set(lists.flatMap { Self.paths(in: (try? contents(of: $0)) ?? []) })
        let roots = paths.compactMap { path -> Root? in
            guard let status = try? FileStatus(at: path, followingLinks: true) else { return nil }
            return Root(path: path, device: status.device, inode: status.identity.inode)
        }
        reading.withLock { $0 = Reading(moment: now, roots: roots) }
        return roots
    }

    /// The first field of each line, with octal escapes as in exports(5) decoded; pure.
    static func paths(in text: [UInt8]) -> [BytePath] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let field = Array(line.prefix { $0 != 0x20 && $0 != 0x09 })
            guard field.first == UInt8(ascii: "/") else { return nil }
            var bytes: [UInt8] = []
            var index = 0
            while index < field.count {
                let digits = field[(index + 1)...].prefix(3)
                if field[index] == UInt8(ascii: "\\"), digits.count == 3,
                    digits.allSatisfy({ (0x30...0x37).contains($0) })
                {
                    bytes.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 << 3 | Int($1 & 7) }))
                    index += 4
                } else {
                    bytes.append(field[index])
                    index += 1
                }
            }
            return BytePath(bytes)
        }
    }
}
