package import FileValues
import Glibc
import SystemPackage

/// The path without links, `.` and `..`; see realpath(3).
package func realPath(_ path: BytePath) throws(SystemCallError) -> BytePath {
    guard let text = path.withCString({ realpath($0, nil) }) else {
        throw SystemCallError("realpath", Errno(rawValue: errno), path: path)
    }
    defer { free(text) }
    return BytePath(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
}

/// Where a file is or would be made that is named by `path`: symbolic links that the last name is are followed, to nothing
/// as well; those of directories stay. At most 40, as the kernel follows. See readlink(2).
package func linkedPath(_ path: BytePath) -> BytePath {
    var path = path
    for _ in 0..<40 {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = path.withCString { readlink($0, &buffer, buffer.count) }
        guard count > 0, count < buffer.count else { return path }
        let target = BytePath(buffer[..<count].map { UInt8(bitPattern: $0) })
        path = target.isAbsolute || path.parent.isEmpty ? target : path.parent.appending(target)
    }
    return path
}
