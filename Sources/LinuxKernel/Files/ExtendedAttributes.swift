import CLinux
import Glibc

/// Where a file was downloaded from, as browsers, wget and curl leave it: a file system may not keep it.
package let originAttribute = "user.xdg.origin.url"

extension OwnedDescriptor {
    /// Sets an extended attribute of an open file; false where that cannot be done. See fsetxattr(2).
    @discardableResult
    package borrowing func setAttribute(_ name: String, _ value: [UInt8]) -> Bool {
        let number = raw
        return name.withCString { clinux_set_attribute(number, $0, value, UInt64(value.count)) } == 0
    }

    /// An extended attribute of an open file; nil where there is none, where it is longer than `most` bytes, and where the
    /// file system has none at all. See fgetxattr(2).
    package borrowing func attribute(_ name: String, most: Int) -> [UInt8]? {
        let number = raw
        var count: Int64 = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, initialized in
            count = name.withCString { clinux_attribute(number, $0, buffer.baseAddress, UInt64(buffer.count)) }
            initialized = Int(max(0, count))
        }
        return count >= 0 ? bytes : nil
    }
}
