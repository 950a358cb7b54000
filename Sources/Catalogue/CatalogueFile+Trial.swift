package import FileValues
import LinuxKernel

extension CatalogueFile {
    /// Free bytes that the catalogue's file system must have, so that the log can grow for some photos. The trial write
    /// alone does not prove it, since it may reuse a checkpointed part of the log.
    private static let room: UInt64 = 1 << 20

    /// Makes a durable trial write that leaves no row. Throws the error that recording a photo would meet.
    package func tryWriting(at time: FileTime) throws(CatalogueError) {
        let operation = "trying whether it can be written to"
        if server == nil {
            let free: UInt64
            do throws(SystemCallError) {
                let parent = BytePath(path).parent
                free = try FileSystemStatus(of: try openDirectory(parent.isEmpty ? "." : parent)).available
            } catch {
                throw CatalogueError(.inputOutput, operation, "\(error)")
            }
            guard free >= Self.room else { throw CatalogueError(.diskFull, operation, "\(free) bytes are free") }
        }
        try write(operation) { db in
            try db.run("INSERT INTO pending_task (name, since) VALUES ('trial', ?)", [time.nanosecondsSince1970])
            try db.run("DELETE FROM pending_task WHERE name = 'trial'")
        }
    }
}
