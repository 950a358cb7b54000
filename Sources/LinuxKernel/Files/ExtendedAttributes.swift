import CLinux
import Glibc

/// The attribute with a download's address, as browsers, wget and curl set it; not every file system stores it.
package let originAttribute = "user.xdg.origin.url"

extension OwnedDescriptor {
    /// Sets an extended attribute of an open file; false if that fails. See fsetxattr(2).
    @discardableResult
    package borrowing func setAttribute(_ name: String, _ value: [UInt8]) -> Bool {
        let number = raw
        return name.withCString { clinux_set_attribute(number, $0, value, UInt64(value.count)) } == 0
    }

    /// An extended attribute of an open file; nil if absent, unsupported or longer than `most` bytes. See fgetxattr(2).
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
