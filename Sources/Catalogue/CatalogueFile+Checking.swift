import FileValues
import LinuxKernel

/// Integrity checks by `PRAGMA quick_check`, which reads the whole file. A small file is checked when it is opened. A
/// large one would delay the daemon's start by a minute, so it is checked later, beside the daemon's work.
extension CatalogueFile {
    /// The largest file, in bytes, that is checked when it is opened.
    static let checkedAtOnce: UInt64 = 64 << 20

    /// The file that marks a catalogue found damaged in use: the next opening checks it, whatever its size.
    static func damageMark(of path: String) -> BytePath { BytePath("\(path).damage-found") }

    static func removeDamageMark(of path: String) {
        let mark = damageMark(of: path)
        try? openParent(of: mark).unlink(mark.name)
    }

    static func isCheckedAtOnce(_ path: String) -> Bool {
        let size = (try? FileStatus(at: BytePath(path), followingLinks: true))?.identity.size ?? 0
        return size <= checkedAtOnce || (try? FileStatus(at: damageMark(of: path))) != nil
    }

    static func check(_ database: SQLiteEngine, _ operation: String) throws {
        let findings = try database.quickCheck()
        guard findings == ["ok"] else {
            throw CatalogueError(Self.code(of: findings), operation, findings.joined(separator: "; "))
        }
    }

    /// Checks the file by a second connection, concurrently with other work. Any thread; may take minutes, see
    /// ``stopChecking()``. Throws the code `corrupt` if it is damaged; if ``isMarkedDamaged``, the next opening sets it
    /// aside.
    package func check() throws(CatalogueError) {
        // PostgreSQL has checksums, and its own tools.
        guard server == nil else { return }
        let operation = "checking the catalogue \(path)"
        do {
            let database = try SQLiteEngine(path, for: .checking)
            checking.withLock { $0 = database }
            defer { checking.withLock { $0 = nil } }
            if isClosing.withLock({ $0 }) { return }
            try Self.check(database, operation)
        } catch {
            if isClosing.withLock({ $0 }) { return }
            let failure = CatalogueError(error, operation)
            if failure.code == .corrupt {
                let mark = Self.damageMark(of: path)
                try? openParent(of: mark).openBeneath(
                    mark.name, [.write, .createNew], mode: 0o640
                ).sync()
            }
            throw failure
        }
    }

    /// Whether the next opening checks the file first, whatever its size.
    package var isMarkedDamaged: Bool { server == nil && (try? FileStatus(at: Self.damageMark(of: path))) != nil }

    /// Makes this and every later ``check()`` return at once.
    package func stopChecking() {
        isClosing.withLock { $0 = true }
        checking.withLock { $0 }?.interrupt()
    }
}
