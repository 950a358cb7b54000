package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

// The directories `import-DATE-N` and `fetch-DATE-N` of the inbox. The daemon takes the photos out of them, and
// removes those that it has emptied; this run at its end, or the next one, removes the others in which nothing is.
//
// A run holds a shared lock on its own. Who removes one takes the exclusive lock first, so that no run that is about to
// name a photo loses the directory under it.
extension ImportInbox {
    /// What a run brings photos by.
    package enum Run: String, CaseIterable, Sendable {
        case fetch, `import`
    }

    /// Makes the directory of a new run, `import-DATE-N`; its name, and what holds it.
    package func makeRun(_ kind: Run = .import, date: String) throws(SystemCallError) -> (
        name: BytePath, hold: SharedFile
    ) {
        for number in 1..<10_000 {
            let name = BytePath("\(kind.rawValue)-\(date)-\(number)")
            do throws(SystemCallError) {
                try root.makeDirectory(name, mode: directoryMode & 0o777)
            } catch {
                if error.code == .fileExists { continue }
                throw error
            }
            // Nil where another run has found it empty, and removed it, just now.
            guard let hold = hold(name) else { continue }
            try dress(hold.descriptor, isDirectory: true)
            try root.syncDirectory()
            return (name, hold)
        }
        throw SystemCallError("mkdirat", .fileExists)
    }

    /// Keeps other runs from removing the directory `name` for as long as the value lives; nil where it is gone, or about
    /// to be.
    package func hold(_ name: BytePath) -> SharedFile? {
        guard let directory = try? root.openDirectoryBeneath(name) else { return nil }
        // Where there are no locks, nobody gets the exclusive one either.
        if flock(directory.raw, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK { return nil }
        guard let status = try? FileStatus(of: directory), status.links > 0 else { return nil }
        return SharedFile(directory)
    }

    /// Removes the directories of earlier runs, and those in them, where no file is left.
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

    /// Removes the directories of a run that are empty now that `path` is gone; none while the run lives.
    package static func removeEmptied(by path: BytePath, of inbox: BytePath) {
        guard let run = path.components.first, isRun(run), let root = try? LinuxKernel.openDirectory(inbox),
            let directory = try? root.openDirectoryBeneath(run), flock(directory.raw, LOCK_EX | LOCK_NB) == 0
        else { return }
        defer { flock(directory.raw, LOCK_UN) }
        let place = path.parent
        if place != run {
            guard let parent = try? root.openDirectoryBeneath(place.parent), removeDirectory(place.name, in: parent)
            else { return }
            // With those that were emptied while the run lived.
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

    /// Cards are not nested deeper; what is stays.
    private static let deepest = 64

    private static func removeEmptyDirectories(in directory: borrowing OwnedDescriptor, depth: Int) {
        guard depth < deepest, let entries = try? directory.entries() else { return }
        for entry in entries {
            // Neither a link nor a file is opened as a directory.
            guard let inner = try? directory.openDirectoryBeneath(entry.name) else { continue }
            removeEmptyDirectories(in: inner, depth: depth + 1)
            removeDirectory(entry.name, in: directory)
        }
    }

    /// See rmdir(2): it removes nothing in which something is.
    @discardableResult
    static func removeDirectory(_ name: BytePath, in root: borrowing OwnedDescriptor) -> Bool {
        let number = root.raw
        return name.withCString { unlinkat(number, $0, Int32(AT_REMOVEDIR)) } == 0
    }
}
