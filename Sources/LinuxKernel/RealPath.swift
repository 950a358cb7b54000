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
