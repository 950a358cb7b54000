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

    /// Gives the file the extended attributes of another one, access lists included, and removes all others. Security
    /// labels are left, since the system's policy gives them. Returns the name of one that cannot be copied; nil if there
    /// is none. See xattr(7).
    package borrowing func copyAttributes(of other: borrowing OwnedDescriptor) -> String? {
        let (number, wanted) = (raw, other.attributeNames())
        for name in attributeNames() where !wanted.contains(name) {
            if name.withCString({ clinux_remove_attribute(number, $0) }) != 0 { return name }
        }
        for name in wanted {
            // XATTR_SIZE_MAX of linux/limits.h.
            guard let value = other.attribute(name, most: 65_536) else { return name }
            if attribute(name, most: 65_536) != value, !setAttribute(name, value) { return name }
        }
        return nil
    }

    private borrowing func attributeNames() -> [String] {
        var names = [UInt8](repeating: 0, count: 65_536)
        let count = clinux_attribute_names(raw, &names, UInt64(names.count))
        return names.prefix(Int(max(0, count))).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            .filter { !$0.hasPrefix("security.") }
    }
}
