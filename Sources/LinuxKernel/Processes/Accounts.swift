import CLinux
import Glibc

// Users and groups by name and by number. Each call reads files or queries a name service, and may block; any thread.
// See getpwuid_r(3) and getgrnam_r(3).

/// The name of a user, if any.
package func userName(_ number: UInt32) -> String? {
    lookUp(passwd(), { getpwuid_r(number, $0, $1, $2, $3) }) { $0.pw_name.map { String(cString: $0) } }
}

/// The number of a user, given by name or number; nil if unknown.
package func userNumber(_ text: String) -> UInt32? {
    lookUp(passwd(), { getpwnam_r(text, $0, $1, $2, $3) }) { $0.pw_uid } ?? UInt32(text)
}

/// The name of a group, if any.
package func groupName(_ number: UInt32) -> String? {
    lookUp(group(), { getgrgid_r(number, $0, $1, $2, $3) }) { $0.gr_name.map { String(cString: $0) } }
}

/// The number of a group, given by name or number; nil if unknown.
package func groupNumber(_ text: String) -> UInt32? {
    lookUp(group(), { getgrnam_r(text, $0, $1, $2, $3) }) { $0.gr_gid } ?? UInt32(text)
}

/// A user, with the groups that a login gives.
package struct Account: Hashable, Sendable {
    package let name: String
    package let user: UInt32
    /// The primary one first.
    package let groups: [UInt32]
    package let home: String

    package init(name: String, user: UInt32, groups: [UInt32], home: String = "") {
        (self.name, self.user, self.groups, self.home) = (name, user, groups, home)
    }

    /// The user and the groups that this process has.
    package static func ofProcess() -> Account {
        var groups = [gid_t](repeating: 0, count: Int(NGROUPS_MAX))
        let count = Int(max(0, getgroups(Int32(groups.count), &groups)))
        let home = getenv("HOME").map { String(cString: $0) } ?? ""
        return Account(
            name: userName(geteuid()) ?? "\(geteuid())", user: geteuid(), groups: [getegid()] + groups.prefix(count),
            home: home)
    }
}

/// Capabilities, as capabilities(7) numbers them.
package struct Capabilities: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// To give files to other users and groups.
    package static let chown = Capabilities(rawValue: 1 << 0)
    /// To change files of other users.
    package static let fowner = Capabilities(rawValue: 1 << 3)
    /// To set the set-group-ID bit for groups that the process is not in.
    package static let fsetid = Capabilities(rawValue: 1 << 4)

    /// Those that are in effect.
    package static func ofProcess() -> Capabilities { Capabilities(rawValue: clinux_capabilities()) }
}

/// The account of this name, if any. See getgrouplist(3).
package func account(_ name: String) -> Account? {
    lookUp(passwd(), { getpwnam_r(name, $0, $1, $2, $3) }) { entry in
        var groups = [gid_t](repeating: 0, count: Int(NGROUPS_MAX))
        var count = Int32(groups.count)
        guard getgrouplist(name, entry.pw_gid, &groups, &count) >= 0 else { return nil }
        return Account(
            name: name, user: entry.pw_uid, groups: [entry.pw_gid] + groups.prefix(Int(count)),
            home: entry.pw_dir.map { String(cString: $0) } ?? "")
    }
}

/// The users that the group database lists for a group; not those whose primary group it is.
package func groupMembers(_ name: String) -> [String] {
    lookUp(group(), { getgrnam_r(name, $0, $1, $2, $3) }) { entry in
        var names: [String] = []
        while let next = entry.gr_mem?[names.count] { names.append(String(cString: next)) }
        return names
    } ?? []
}

/// The group of this process if it is dedicated: a service's, or a user's private group of the same name. Nil for a
/// common one such as `users`. See login.defs(5), SYS_UID_MAX and USERGROUPS_ENAB.
package func chosenGroup() -> UInt32? {
    isDedicated(user: geteuid(), named: userName(geteuid()), group: groupName(getegid())) ? getegid() : nil
}

func isDedicated(user: UInt32, named userName: String?, group groupName: String?) -> Bool {
    user < 1000 || (userName != nil && userName == groupName)
}

/// The `value` of the entry that `call` finds, if any.
private func lookUp<Entry, Value>(
    _ empty: Entry,
    _ call: (
        UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> Int32, _ value: (Entry) -> Value?
) -> Value? {
    var entry = empty
    var found: UnsafeMutablePointer<Entry>?
    // Large, since a group's entry lists its members.
    var room = [CChar](repeating: 0, count: 65_536)
    return room.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress, call(&entry, start, buffer.count, &found) == 0, found != nil else {
            return nil
        }
        return value(entry)
    }
}
