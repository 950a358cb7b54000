package import FileValues
import Glibc
import SystemPackage

/// The absolute path without links, `.` and `..`; see realpath(3).
package func realPath(_ path: BytePath) throws(SystemCallError) -> BytePath {
    guard let text = path.withCString({ realpath($0, nil) }) else {
        throw SystemCallError("realpath", Errno(rawValue: errno), path: path)
    }
    defer { free(text) }
    return BytePath(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
}

/// The text of a symbolic link; nil if there is none, or it cannot be read. See readlink(2).
package func linkText(of path: BytePath) -> BytePath? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = path.withCString { readlink($0, &buffer, buffer.count) }
    guard count > 0, count < buffer.count else { return nil }
    return BytePath(buffer[..<count].map { UInt8(bitPattern: $0) })
}

/// The path where a file named by `path` exists or would be created: links in the last name are followed, dangling ones
/// too, those in directories are not. At most 40, as in the kernel. See readlink(2).
package func linkedPath(_ path: BytePath) -> BytePath {
    var path = path
    for _ in 0..<40 {
        guard let target = linkText(of: path) else { return path }
        path = target.isAbsolute || path.parent.isEmpty ? target : path.parent.appending(target)
    }
    return path
}
