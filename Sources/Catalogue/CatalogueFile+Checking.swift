import FileValues
import GRDB
import LinuxKernel

/// Whether the file is as SQLite left it: `PRAGMA quick_check`, which reads all of it. A small one is checked when it is
/// opened. A large one would keep its daemon from starting for a minute, and is checked while that works.
extension CatalogueFile {
    /// How large a file is checked when it is opened, in bytes.
    static let checkedAtOnce: UInt64 = 64 << 20

    /// Beside a catalogue that was found damaged while it was in use: it is checked when it is opened next, however large.
    static func doubt(of path: String) -> BytePath { BytePath("\(path).damage-found") }

    static func forgetDoubt(of path: String) {
        let mark = doubt(of: path)
        try? openDirectory(mark.parent.isEmpty ? "." : mark.parent).unlink(mark.name)
    }

    static func isCheckedAtOnce(_ path: String) -> Bool {
        let size = (try? FileStatus(at: BytePath(path), followingLinks: true))?.identity.size ?? 0
        return size <= checkedAtOnce || (try? FileStatus(at: doubt(of: path))) != nil
    }

    static func check(_ database: DatabaseQueue, _ operation: String) throws {
        let findings = try database.read { try String.fetchAll($0, sql: "PRAGMA quick_check(3)") }
        guard findings == ["ok"] else {
            throw CatalogueError(Self.code(of: findings), operation, findings.joined(separator: "; "))
        }
    }

    /// Checks the file by a connection of its own, beside whatever is done meanwhile; any thread. Throws ``CatalogueError``
    /// with the code `corrupt` if it is damaged: the next opening sets it aside if ``isMarkedDamaged``. May take minutes; see ``stopChecking()``.
    package func check() throws(CatalogueError) {
        let operation = "checking the catalogue \(path)"
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let database = try DatabaseQueue(path: path, configuration: configuration)
            checking.withLock { $0 = database }
            defer { checking.withLock { $0 = nil } }
            if isClosing.withLock({ $0 }) { return }
            try Self.check(database, operation)
        } catch {
            if isClosing.withLock({ $0 }) { return }
            let failure = CatalogueError(error, operation)
            if failure.code == .corrupt {
                let mark = Self.doubt(of: path)
                try? openDirectory(mark.parent.isEmpty ? "." : mark.parent).openBeneath(
                    mark.name, [.write, .createNew], mode: 0o640
                ).sync()
            }
            throw failure
        }
    }

    /// Whether the next opening checks the file first, however large it is.
    package var isMarkedDamaged: Bool { (try? FileStatus(at: Self.doubt(of: path))) != nil }

    /// Has ``check()`` return at once, and every later one.
    package func stopChecking() {
        isClosing.withLock { $0 = true }
        checking.withLock { $0 }?.interrupt()
    }
}
