package import FileValues
import GRDB
import LinuxKernel

extension CatalogueFile {
    /// Bytes that must be free where the catalogue lies, for its log to grow by what some photos need: what is written
    /// over a part of the log that is done with shows nothing.
    private static let room: UInt64 = 1 << 20

    /// Writes something, durably, that leaves nothing: throws what recording a photo would run into.
    package func tryWriting(at time: FileTime) throws(CatalogueError) {
        let operation = "trying whether it can be written to"
        let free: UInt64
        do throws(SystemCallError) {
            let parent = BytePath(path).parent
            free = try FileSystemStatus(of: try openDirectory(parent.isEmpty ? "." : parent)).available
        } catch {
            throw CatalogueError(.inputOutput, operation, "\(error)")
        }
        guard free >= Self.room else { throw CatalogueError(.diskFull, operation, "\(free) bytes are free") }
        try write(operation) { db in
            try db.execute(
                sql: "INSERT INTO pending_task (name, since) VALUES ('trial', ?)",
                arguments: [time.nanosecondsSince1970])
            try db.execute(sql: "DELETE FROM pending_task WHERE name = 'trial'")
        }
    }
}
