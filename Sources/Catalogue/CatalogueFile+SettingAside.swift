import FileValues
import LinuxKernel
import SystemPackage

extension CatalogueFile {
    /// The path that ``moveAside(_:as:now:)`` gives next.
    static func freeName(_ path: String, as why: String, now: FileTime) -> String {
        var name = "\(path).\(why)-\(now.seconds)"
        for attempt in 1..<100 where (try? FileStatus(at: BytePath(name))) != nil {
            name = "\(path).\(why)-\(now.seconds)-\(attempt + 1)"
        }
        return name
    }

    /// Renames a catalogue and its log files durably to `PATH.WHY-SECONDS`, replacing nothing. Returns the new path.
    static func moveAside(_ path: String, as why: String, now: FileTime) throws(CatalogueError) -> String {
        let operation = "setting aside the catalogue \(path)"
        do throws(SystemCallError) {
            let whole = BytePath(path)
            let directory = try openParent(of: whole)
            for attempt in 0..<100 {
                let ending = ".\(why)-\(now.seconds)" + (attempt == 0 ? "" : "-\(attempt + 1)")
                // The file itself first: a crash after it leaves the log alone, which SQLite removes with the new file.
                // In the other order the damaged file could open as an older, intact one.
                do { try directory.rename(whole.name, to: directory, as: whole.name.addingSuffix(ending)) } catch {
                    if error.code == .fileExists { continue }
                    // Only its logs exist.
                    if error.code != .noSuchFileOrDirectory { throw error }
                }
                for suffix in ["-wal", "-shm"] {
                    // NAME.damaged-1-wal, so that SQLite finds the log with the renamed file.
                    do {
                        try directory.rename(
                            whole.name.addingSuffix(suffix), to: directory,
                            as: whole.name.addingSuffix(ending + suffix))
                    } catch  where error.code == .noSuchFileOrDirectory { continue }
                }
                try directory.syncDirectory()
                return path + ending
            }
            throw SystemCallError("renameat2", .fileExists, path: whole)
        } catch {
            throw CatalogueError(error.code == .noSpace ? .diskFull : .inputOutput, operation, "\(error)")
        }
    }
}
