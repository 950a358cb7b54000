import Glibc

/// The group of this process, where somebody has chosen who is in it: a service's, or the private group of a user that
/// has the user's name. Nil for one that may be everybody's, such as `users`. See login.defs(5), SYS_UID_MAX and
/// USERGROUPS_ENAB. Looks names up, which may wait.
package func chosenGroup() -> UInt32? {
    isChosen(user: geteuid(), named: userName(geteuid()), group: groupName(getegid())) ? getegid() : nil
}

func isChosen(user: UInt32, named userName: String?, group groupName: String?) -> Bool {
    user < 1000 || (userName != nil && userName == groupName)
}

/// The name of a user, where it has one. Looks it up, which may wait; see getpwuid_r(3).
package func userName(_ number: UInt32) -> String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var room = [CChar](repeating: 0, count: 16_384)
    return room.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress, getpwuid_r(number, &entry, start, buffer.count, &found) == 0,
            found != nil, let text = entry.pw_name
        else { return nil }
        return String(cString: text)
    }
}

private func groupName(_ number: UInt32) -> String? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var room = [CChar](repeating: 0, count: 65_536)
    return room.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress, getgrgid_r(number, &entry, start, buffer.count, &found) == 0,
            found != nil,
            let text = entry.gr_name
        else { return nil }
        return String(cString: text)
    }
}
