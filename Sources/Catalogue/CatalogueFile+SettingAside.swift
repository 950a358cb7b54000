import FileValues
import LinuxKernel
import SystemPackage

extension CatalogueFile {
    /// Renames a catalogue with its log files to `PATH.WHY-SECONDS`, over nothing, durably; the new path.
    static func moveAside(_ path: String, as why: String, now: FileTime) throws(CatalogueError) -> String {
        let operation = "setting aside the catalogue \(path)"
        do throws(SystemCallError) {
            let whole = BytePath(path)
            let directory = try openDirectory(whole.parent.isEmpty ? "." : whole.parent)
            for attempt in 0..<100 {
                let ending = ".\(why)-\(now.seconds)" + (attempt == 0 ? "" : "-\(attempt + 1)")
                // The file itself first: a crash in between leaves its log alone, which SQLite removes with the new
                // file. The other way round the damaged file could open as an older, whole one.
                do { try directory.rename(whole.name, to: directory, as: whole.name.addingSuffix(ending)) } catch {
                    if error.code == .fileExists { continue }
                    // Its logs alone.
                    if error.code != .noSuchFileOrDirectory { throw error }
                }
                for suffix in ["-wal", "-shm"] {
                    // NAME.damaged-1-wal: so the log is found together with the set-aside file.
                    do {
                        try directory.rename(
                            whole.name.addingSuffix(suffix), to: directory,
                            as: whole.name.addingSuffix(ending + suffix))
                    } catch  where error.code == .noSuchFileOrDirectory { continue }
                }
                try directory.sync()
                return path + ending
            }
            throw SystemCallError("renameat2", .fileExists, path: whole)
        } catch {
            throw CatalogueError(error.code == .noSpace ? .diskFull : .inputOutput, operation, "\(error)")
        }
    }
}
