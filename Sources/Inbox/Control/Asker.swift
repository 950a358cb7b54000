import Glibc

/// Who asked for something: for the record, the journal and the proof of what was released as it is.
package struct Asker: Hashable, Sendable, Codable {
    /// By number, as the kernel knows it.
    package let user: UInt32
    /// By name, where it has one.
    package let name: String?

    package init(user: UInt32, name: String?) {
        self.user = user
        self.name = name
    }

    /// Looks the name up, which may wait for files or for a name service; see getpwuid_r(3).
    package init(lookingUp user: UInt32) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var room = [CChar](repeating: 0, count: 16_384)
        let name: String? = room.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, getpwuid_r(user, &entry, start, buffer.count, &found) == 0,
                found != nil, let text = entry.pw_name
            else { return nil }
            return String(cString: text)
        }
        self.init(user: user, name: name)
    }

    /// `ana`, else `user 1000`.
    package var words: String { name ?? "user \(user)" }
}

/// The number of a group that is given by its name or its number; nil if there is none. See getgrnam_r(3).
func groupNumber(_ text: String) -> UInt32? {
    if let number = UInt32(text) { return number }
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var room = [CChar](repeating: 0, count: 65_536)
    return room.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress, getgrnam_r(text, &entry, start, buffer.count, &found) == 0, found != nil
        else { return nil }
        return entry.gr_gid
    }
}
