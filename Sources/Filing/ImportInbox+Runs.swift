package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

// The directories `import-DATE-N` and `fetch-DATE-N` of the inbox. The daemon files their photos and removes the
// directories that it has emptied. A run removes other empty ones at its end, or the next run does.
//
// A run holds a shared lock on its own directory. A removal requires the exclusive lock, so that no run loses its
// directory just before it names a photo.
extension ImportInbox {
    /// The kind of a run.
    package enum Run: String, CaseIterable, Sendable {
        case fetch, `import`
    }

    /// Creates the directory of a new run, `import-DATE-N`. Returns its name and its lock.
    package func makeRun(_ kind: Run = .import, date: String) throws(SystemCallError) -> (
        name: BytePath, hold: HeldDescriptor
    ) {
        for number in 1..<10_000 {
            let name = BytePath("\(kind.rawValue)-\(date)-\(number)")
            do throws(SystemCallError) {
                try root.makeDirectory(name, mode: attributes.directoryMode & 0o777)
            } catch {
                if error.code == .fileExists { continue }
                throw error
            }
            // Nil if another run found it empty and has just removed it.
            guard let hold = lockRun(name) else { continue }
            try setAttributes(of: hold.descriptor, isDirectory: true)
            try root.syncDirectory()
            return (name, hold)
        }
        throw SystemCallError("mkdirat", .fileExists)
    }

    /// Locks the directory `name` against removal by other runs while the returned value exists. Nil if it is removed
    /// or about to be.
    package func lockRun(_ name: BytePath) -> HeldDescriptor? {
        guard let directory = try? root.openDirectoryBeneath(name) else { return nil }
        // On a file system without locks, no other run gets the exclusive one either.
        if flock(directory.raw, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK { return nil }
        guard let status = try? FileStatus(of: directory), status.links > 0 else { return nil }
        return HeldDescriptor(directory)
    }

    /// Removes the directories of earlier runs, and subdirectories, that have no files.
    func removeEmptyRuns() {
        guard let entries = try? root.entries() else { return }
        for entry in entries where Self.isRun(entry.name) {
            guard let directory = try? root.openDirectoryBeneath(entry.name),
                flock(directory.raw, LOCK_EX | LOCK_NB) == 0
            else { continue }
            Self.removeEmptyDirectories(in: directory, depth: 0)
            Self.removeDirectory(entry.name, in: root)
        }
    }

    /// Removes the directories of a run that the removal of `path` has emptied, unless the run is still active.
    package static func removeEmptied(by path: BytePath, of inbox: BytePath) {
        guard let run = path.components.first, isRun(run), let root = try? LinuxKernel.openDirectory(inbox),
            let directory = try? root.openDirectoryBeneath(run), flock(directory.raw, LOCK_EX | LOCK_NB) == 0
        else { return }
        defer { flock(directory.raw, LOCK_UN) }
        let place = path.parent
        if place != run {
            guard let parent = try? root.openDirectoryBeneath(place.parent), removeDirectory(place.name, in: parent)
            else { return }
            // Including those that were emptied during the run.
            removeEmptyDirectories(in: directory, depth: 0)
        }
        removeDirectory(run, in: root)
    }

    /// `import-2026-11-22-1`.
    static func isRun(_ name: BytePath) -> Bool {
        let parts = name.bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 5, Run.allCases.contains(where: { parts[0].elementsEqual($0.rawValue.utf8) }) else {
            return false
        }
        let digits = parts.dropFirst().allSatisfy { part in part.allSatisfy { (0x30...0x39).contains($0) } }
        return digits && parts[1].count == 4 && parts[2].count == 2 && parts[3].count == 2 && !parts[4].isEmpty
    }

    /// The maximum depth; cards are not nested deeper, and deeper directories stay.
    private static let maximumDepth = 64

    private static func removeEmptyDirectories(in directory: borrowing OwnedDescriptor, depth: Int) {
        guard depth < maximumDepth, let entries = try? directory.entries() else { return }
        for entry in entries {
            // Fails for links and files.
            guard let inner = try? directory.openDirectoryBeneath(entry.name) else { continue }
            removeEmptyDirectories(in: inner, depth: depth + 1)
            removeDirectory(entry.name, in: directory)
        }
    }

    /// Removes an empty directory; see rmdir(2).
    @discardableResult
    static func removeDirectory(_ name: BytePath, in root: borrowing OwnedDescriptor) -> Bool {
        let number = root.raw
        return name.withCString { unlinkat(number, $0, Int32(AT_REMOVEDIR)) } == 0
    }
}
