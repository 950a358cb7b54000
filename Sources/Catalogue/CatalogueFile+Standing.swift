package import FileValues
import GRDB
import LinuxKernel
import SystemPackage

/// The open file, as its path must lead to it: what is recorded in one that was removed or replaced is lost with the last
/// descriptor.
struct Standing: Hashable, Sendable {
    /// Which file, on this boot.
    struct File: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64

        /// What lies at `path`; nil if nothing does. Throws where that cannot be told now.
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

    let file: File
    /// Its -wal; nil until there is one.
    var log: File?

    /// What lies at `path`; nil if nothing does.
    init?(at path: String) throws(SystemCallError) {
        guard let file = try File(at: BytePath(path)) else { return nil }
        self.file = file
        log = try File(at: BytePath(path + "-wal"))
    }
}

extension CatalogueFile {
    /// The file that is open is not at its path any more, or its log is not: what is recorded is not kept. nil if it
    /// stands, as far as can be told. One stat(2) or two.
    package func loss(_ operation: String = "looking at the catalogue") -> CatalogueError? {
        guard let known = standing.withLock({ $0 }) else { return nil }
        let found: Standing?
        // A disk that does not answer is told by SQLite.
        do { found = try Standing(at: path) } catch { return nil }
        guard let now = found else { return CatalogueError(.replaced, operation, "the file was removed") }
        guard now.file == known.file else { return CatalogueError(.replaced, operation, "another file lies there") }
        if known.log == nil {
            standing.withLock { $0?.log = now.log }
        } else if now.log != known.log {
            return CatalogueError(.replaced, operation, "its log \(path)-wal was removed or replaced")
        }
        return nil
    }

    func requireStanding(_ operation: String) throws(CatalogueError) {
        if let loss = loss(operation) { throw loss }
    }

    /// Remembers what is open, just after it was opened.
    func noteStanding() { standing.withLock { $0 = (try? Standing(at: path)) ?? nil } }

    /// Writes all that the open file holds to its path again, durably, and goes on with that. What lies there is set
    /// aside as `NAME.found-SECONDS`; gives back where. Until it is done the open file is the only one, so it stays open
    /// whatever fails.
    @discardableResult
    package func restore(at now: FileTime) throws(CatalogueError) -> String? {
        let operation = "writing the catalogue \(path) anew"
        do {
            let whole = BytePath(path)
            let directory = try openDirectory(whole.parent.isEmpty ? "." : whole.parent)
            let copy = whole.name.addingSuffix(Self.restored)
            let part = copy.addingSuffix(".part")
            try? directory.unlink(part)
            let before = standing.withLock { $0 }
            return try connection.withLock { connection in
                guard connection != nil else { throw CatalogueError(.replaced, operation, "it is not open") }
                try connection?.writeWithoutTransaction { db in
                    try db.execute(
                        sql: "VACUUM INTO ?",
                        arguments: [String(decoding: whole.parent.appending(part).bytes, as: UTF8.self)])
                }
                let file = try directory.openBeneath(part, .read)
                try file.setMode(0o640)
                try file.sync()
                // From here on the copy is found by the next start, too.
                try? directory.unlink(copy)
                try directory.rename(part, to: directory, as: copy)
                let aside = try Self.clear(path, of: before, now: now)
                try directory.rename(copy, to: directory, as: whole.name)
                try directory.sync()
                // What it held is written down.
                connection = nil
                connection = try Self.connect(path, operation)
                noteStanding()
                return aside
            }
        } catch { throw CatalogueError(.replaced, operation, "\(error)") }
    }

    /// Takes what lies at the path out of the way: logs of the open file are in the copy, all else is somebody's.
    private static func clear(_ path: String, of open: Standing?, now: FileTime) throws -> String? {
        let whole = BytePath(path)
        let directory = try openDirectory(whole.parent.isEmpty ? "." : whole.parent)
        let log = whole.name.addingSuffix("-wal")
        if let mine = open?.log, try Standing.File(at: whole.addingSuffix("-wal")) == mine {
            try directory.unlink(log)
            try? directory.unlink(whole.name.addingSuffix("-shm"))
        }
        let isThere = try ["", "-wal", "-shm"].contains { try Standing.File(at: whole.addingSuffix($0)) != nil }
        return isThere ? try moveAside(path, as: "found", now: now) : nil
    }

    /// The ending of a copy that is whole, and only has to be named.
    private static let restored = ".restored"

    /// Finishes what a crash left of ``restore(at:)``; whether there is a catalogue at the path.
    static func finishRestoring(_ path: String) throws(CatalogueError) -> Bool {
        do throws(SystemCallError) {
            if try Standing.File(at: BytePath(path)) != nil { return true }
            guard try Standing.File(at: BytePath(path + restored)) != nil else { return false }
            let whole = BytePath(path)
            let directory = try openDirectory(whole.parent.isEmpty ? "." : whole.parent)
            for suffix in ["-wal", "-shm"] where try Standing.File(at: whole.addingSuffix(suffix)) != nil {
                // They are of a file that is gone, and would be taken for this one's.
                try directory.unlink(whole.name.addingSuffix(suffix))
            }
            try directory.rename(whole.name.addingSuffix(restored), to: directory, as: whole.name)
            try directory.sync()
            return true
        } catch { throw CatalogueError(.inputOutput, "opening the catalogue \(path)", "\(error)") }
    }
}
