import FileValues
import SystemPackage

extension Mount {
    /// The number of the mount through which `descriptor` was opened, as in ``identifier``; see proc_pid_fdinfo(5).
    /// Shows whether a path still led to a certain mount when it was opened.
    package static func identifier(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) -> Int {
        let path = BytePath("/proc/self/fdinfo/\(descriptor.raw)")
        let text = String(decoding: try contents(of: path), as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("mnt_id:") {
            if let number = Int(line.dropFirst(7).filter { $0 != " " && $0 != "\t" }) { return number }
        }
        throw SystemCallError("open", .noSuchFileOrDirectory, path: path)
    }
}
