package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Properties of a file system, tested in an empty directory: its own claims are not trusted where a photo could be
/// lost.
package struct FileSystemTrial: Hashable, Sendable {
    /// The calls that set a name without replacing a file.
    package let means: PlacementMeans
    /// Bytes that names there must not contain.
    package let forbidden: Set<UInt8>
    /// Whether names lose trailing dots and spaces.
    package let trimsEnds: Bool
    /// Whether `a` and `A` are the same name.
    package let foldsCase: Bool

    /// Tests the file system of an open directory and leaves nothing in it. Throws
    /// ``FilingError/Cause/cannotNameSafely(_:)`` if no call sets a name without replacing.
    package init(in root: borrowing OwnedDescriptor, path: BytePath) throws(FilingError) {
        do throws(SystemCallError) {
            Self.removeLeftovers(in: root)
            let name = BytePath(Self.prefix + FileNames.makeToken())
            try root.makeDirectory(name, mode: 0o700)
            defer { Self.remove(name, in: root) }
            let directory = try root.openDirectoryBeneath(name)
            // An unlocked directory counts as a leftover. Without locks, only a crash at this moment leaves one.
            _ = flock(directory.raw, LOCK_EX | LOCK_NB)
            means = try Self.meansOfNaming(in: directory)
            foldsCase = try Self.foldsCase(in: directory)
            (forbidden, trimsEnds) = try Self.names(in: directory)
            try directory.syncDirectory()
        } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: path)
        }
        if means.isEmpty {
            let error = SystemCallError("renameat2", .notSupported, path: path)
            throw FilingError(.openDestination, .destination, .cannotNameSafely(error), path: path)
        }
    }

    /// Returns `name` as the file system can store it.
    package func fitting(_ name: BytePath) -> BytePath {
        var bytes = name.bytes.map { forbidden.contains($0) ? UInt8(ascii: "_") : $0 }
        if trimsEnds {
            for index in bytes.indices.reversed() {
                guard Self.trimmed.contains(bytes[index]) else { break }
                bytes[index] = UInt8(ascii: "_")
            }
        }
        return BytePath(bytes)
    }

    /// Returns `path` with each of its names as the file system can store it.
    package func fitting(path: BytePath) -> BytePath {
        path.components.reduce("") { $0.appending(fitting($1)) }
    }

    private static let prefix = FileNames.prefix + "trial-"
    private static let trimmed = Array(". ".utf8)
    /// The bytes that FAT, NTFS and SMB refuse.
    private static let suspects = Array(":?*\"<>|\\".utf8)

    private static func makeFile(
        _ name: BytePath, size: Int = 0, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        let file = try directory.openBeneath(name, [.readWrite, .createNew], mode: 0o600)
        if size > 0 { try file.write([UInt8](repeating: 0, count: size), at: 0) }
    }

    /// Tests each call with a taken name, for which it must fail and keep both files, and with a free one.
    private static func meansOfNaming(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> PlacementMeans
    {
        var means: PlacementMeans = []
        for candidate: PlacementMeans in [.link, .renameNoReplace] {
            let (new, taken) = (BytePath("new-\(candidate.rawValue)"), BytePath("taken-\(candidate.rawValue)"))
            try makeFile(new, size: 1, in: directory)
            try makeFile(taken, size: 2, in: directory)
            do throws(SystemCallError) {
                if candidate == .link {
                    try directory.link(new, as: taken)
                } else {
                    try directory.rename(new, to: directory, as: taken)
                }
                continue
            } catch {
                guard error.code == .fileExists else { continue }
            }
            guard (try? FileStatus(of: new, in: directory))?.identity.size == 1,
                (try? FileStatus(of: taken, in: directory))?.identity.size == 2
            else { continue }
            let free = BytePath("free-\(candidate.rawValue)")
            do throws(SystemCallError) {
                if candidate == .link {
                    try directory.link(new, as: free)
                } else {
                    try directory.rename(new, to: directory, as: free)
                }
                if try FileStatus(of: free, in: directory).identity.size == 1 { means.insert(candidate) }
            } catch { continue }
        }
        return means
    }

    private static func foldsCase(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
        try makeFile("case", in: directory)
        return (try? FileStatus(of: "CASE", in: directory)) != nil
    }

    private static func names(
        in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> (forbidden: Set<UInt8>, trimsEnds: Bool) {
        // The file systems of local disks accept every byte.
        if try FileSystemStatus(of: directory).kind.leases == .decides { return ([], false) }
        for byte in suspects { try? makeFile(name(with: byte), in: directory) }
        for byte in trimmed { try? makeFile(name(endingIn: byte), in: directory) }
        // Some accept the name and store another.
        let stored = Set(try directory.entries().map(\.name))
        return (
            Set(suspects.filter { !stored.contains(name(with: $0)) }),
            !trimmed.allSatisfy { stored.contains(name(endingIn: $0)) }
        )
    }

    private static func name(with byte: UInt8) -> BytePath { BytePath(Array("a".utf8) + [byte] + Array("b".utf8)) }
    private static func name(endingIn byte: UInt8) -> BytePath { BytePath(Array("end".utf8) + [byte]) }

    private static func remove(_ name: BytePath, in root: borrowing OwnedDescriptor) {
        if let directory = try? root.openDirectoryBeneath(name), let entries = try? directory.entries() {
            for entry in entries { try? removeTrialFile(entry.name, in: directory) }
        }
        ImportInbox.removeDirectory(name, in: root)
    }

    private static func removeLeftovers(in root: borrowing OwnedDescriptor) {
        guard let entries = try? root.entries() else { return }
        let mark = Array(prefix.utf8)
        for entry in entries where entry.name.bytes.starts(with: mark) {
            guard let directory = try? root.openDirectoryBeneath(entry.name),
                flock(directory.raw, LOCK_EX | LOCK_NB) == 0
            else { continue }
            remove(entry.name, in: root)
        }
    }
}
