package import FileValues
import LinuxKernel
import SystemPackage

/// The identity of the open database, which its path must still have: records in a file that was removed or replaced
/// are lost when its last descriptor is closed.
struct OpenFile: Hashable, Sendable {
    /// Valid within one boot.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64

        /// The file at `path`; nil if there is none. Throws if that is unknown now.
        init?(at path: BytePath) throws(SystemCallError) {
            do {
                let status = try FileStatus(at: path, followingLinks: true)
                (device, inode) = (status.device, status.identity.inode)
            } catch {
                guard [.noSuchFileOrDirectory, .notDirectory].contains(error.code) else { throw error }
                return nil
            }
        }
    }

    let file: Identity
    /// Its -wal; nil until there is one.
    var log: Identity?

    /// The database at `path`; nil if there is none.
    init?(at path: String) throws(SystemCallError) {
        guard let file = try Identity(at: BytePath(path)) else { return nil }
        self.file = file
        log = try Identity(at: BytePath(path + "-wal"))
    }
}

extension CatalogueFile {
    /// Returns an error if the open file or its log is no longer at its path, so that records are lost. Nil if both are
    /// in place or the check fails. Costs one or two stat(2) calls.
    package func loss(_ operation: String = "looking at the catalogue") -> CatalogueError? {
        if let server {
            guard server.record.withLock({ $0.wentBack }) else { return nil }
            return CatalogueError(.replaced, operation, "the database went back to an earlier state")
        }
        guard let known = openFile.withLock({ $0 }) else { return nil }
        let found: OpenFile?
        // SQLite reports a failing disk.
        do { found = try OpenFile(at: path) } catch { return nil }
        guard let now = found else { return CatalogueError(.replaced, operation, "the file was removed") }
        guard now.file == known.file else { return CatalogueError(.replaced, operation, "another file lies there") }
        if known.log == nil {
            openFile.withLock { $0?.log = now.log }
        } else if now.log != known.log {
            return CatalogueError(.replaced, operation, "its log \(path)-wal was removed or replaced")
        }
        return nil
    }

    func requireInPlace(_ operation: String) throws(CatalogueError) {
        if let loss = loss(operation) { throw loss }
    }

    /// Records the identity of the database just after it was opened.
    func noteOpenFile() { openFile.withLock { $0 = (try? OpenFile(at: path)) ?? nil } }

    /// Writes the content of the open file to its path again, durably, and continues with that file. A file at the path
    /// is renamed to `NAME.found-SECONDS`; returns the new path. Until this succeeds the open file is the only copy, so
    /// it stays open after any failure.
    @discardableResult
    package func restore(at now: FileTime) throws(CatalogueError) -> String? {
        let operation = "writing the catalogue \(path) anew"
        do {
            let whole = BytePath(path)
            let directory = try openParent(of: whole)
            let copy = whole.name.addingSuffix(Self.restored)
            let part = copy.addingSuffix(".part")
            try? directory.unlink(part)
            let before = openFile.withLock { $0 }
            return try connection.withLock { connection in
                guard let open = connection else { throw CatalogueError(.replaced, operation, "it is not open") }
                try open.copy(to: String(decoding: whole.parent.appending(part).bytes, as: UTF8.self))
                let file = try directory.openBeneath(part, .read)
                try file.setMode(0o640)
                try file.sync()
                // After this rename the next start finds the copy, see finishRestoring(_:).
                try? directory.unlink(copy)
                try directory.rename(part, to: directory, as: copy)
                let aside = try Self.vacate(path, of: before, now: now)
                try directory.rename(copy, to: directory, as: whole.name)
                try directory.syncDirectory()
                // The copy has all records of the old file.
                connection = nil
                connection = try SQLiteEngine(path, for: .writing)
                noteOpenFile()
                return aside
            }
        } catch { throw CatalogueError(.replaced, operation, "\(error)") }
    }

    /// Moves the files at the path aside. The log of the open file is already in the copy and is deleted; anything else
    /// belongs to someone else and is kept.
    private static func vacate(_ path: String, of open: OpenFile?, now: FileTime) throws -> String? {
        let whole = BytePath(path)
        let directory = try openParent(of: whole)
        let log = whole.name.addingSuffix("-wal")
        if let mine = open?.log, try OpenFile.Identity(at: whole.addingSuffix("-wal")) == mine {
            try directory.unlink(log)
            try? directory.unlink(whole.name.addingSuffix("-shm"))
        }
        let isThere = try ["", "-wal", "-shm"].contains { try OpenFile.Identity(at: whole.addingSuffix($0)) != nil }
        return isThere ? try moveAside(path, as: "found", now: now) : nil
    }

    /// The suffix of a complete catalogue that only has to be renamed.
    package static let restored = ".restored"

    /// Renames a copy that was left beside a catalogue which is in use: later it would be older than what it is used instead of.
    package static func setAsideRestored(_ path: String, now: FileTime) throws(CatalogueError) {
        guard (try? FileStatus(at: BytePath(path + restored))) != nil else { return }
        _ = try moveAside(path + restored, as: "unused", now: now)
    }

    /// Completes a ``restore(at:)`` or the end of a rebuild that a crash interrupted. Returns whether there is a catalogue at
    /// the path. Call it where no daemon has it open.
    package static func finishRestoring(_ path: String) throws(CatalogueError) -> Bool {
        do throws(SystemCallError) {
            let whole = BytePath(path)
            let isThere = try OpenFile.Identity(at: whole) != nil
            // An empty file counts as missing: sqlite3 makes one where there is none.
            if isThere, try FileStatus(at: whole, followingLinks: true).identity.size > 0 { return true }
            guard try OpenFile.Identity(at: BytePath(path + restored)) != nil else { return isThere }
            let directory = try openParent(of: whole)
            if isThere { try directory.unlink(whole.name) }
            for suffix in ["-wal", "-shm"] where try OpenFile.Identity(at: whole.addingSuffix(suffix)) != nil {
                // They belong to the removed file, and SQLite would apply them to this one.
                try directory.unlink(whole.name.addingSuffix(suffix))
            }
            try directory.rename(whole.name.addingSuffix(restored), to: directory, as: whole.name)
            try directory.syncDirectory()
            return true
        } catch { throw CatalogueError(.inputOutput, "opening the catalogue \(path)", "\(error)") }
    }
}
