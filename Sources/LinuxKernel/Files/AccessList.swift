/// A POSIX access control list, as an extended attribute stores it; see acl(5).
package struct AccessList: Hashable, Sendable {
    package enum Tag: UInt16, Sendable {
        case owner = 1, user = 2, group = 4, namedGroup = 8, mask = 16, other = 32
    }

    package struct Entry: Hashable, Sendable {
        package let tag: Tag
        /// 4 to read, 2 to write, 1 to search.
        package let permissions: UInt32
        /// Of the user or group that it names.
        package var number = UInt32.max
    }

    package static let ofFile = "system.posix_acl_access"
    /// The one that new files in a directory get, in place of the umask.
    package static let ofNewFiles = "system.posix_acl_default"

    package let entries: [Entry]

    /// The list that permission bits stand for.
    package init(mode: UInt32) {
        entries = [
            Entry(tag: .owner, permissions: mode >> 6 & 7), Entry(tag: .group, permissions: mode >> 3 & 7),
            Entry(tag: .other, permissions: mode & 7),
        ]
    }

    /// Nil for other bytes than a list of version 2.
    package init?(attribute bytes: [UInt8]) {
        func number(_ start: Int, _ count: Int) -> UInt32 {
            bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard bytes.count >= 4, bytes.count % 8 == 4, number(0, 4) == 2 else { return nil }
        var entries: [Entry] = []
        for start in stride(from: 4, to: bytes.count, by: 8) {
            guard let tag = Tag(rawValue: UInt16(number(start, 2))) else { return nil }
            entries.append(Entry(tag: tag, permissions: number(start + 2, 2) & 7, number: number(start + 4, 4)))
        }
        self.entries = entries
    }

    package var attribute: [UInt8] {
        func bytes(_ number: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        return entries.reduce(into: bytes(2, 4)) { all, entry in
            all += bytes(UInt32(entry.tag.rawValue), 2) + bytes(entry.permissions, 2) + bytes(entry.number, 4)
        }
    }

    private init(_ entries: [Entry]) { self.entries = entries }

    /// The same after chmod(2) with these permission bits: those of the group are the mask's, where there is one.
    package func changed(to mode: UInt32) -> AccessList {
        let hasMask = entries.contains { $0.tag == .mask }
        return AccessList(
            entries.map { entry in
                switch entry.tag {
                case .owner: Entry(tag: .owner, permissions: mode >> 6 & 7)
                case .group: hasMask ? entry : Entry(tag: .group, permissions: mode >> 3 & 7)
                case .mask: Entry(tag: .mask, permissions: mode >> 3 & 7)
                case .other: Entry(tag: .other, permissions: mode & 7)
                case .user, .namedGroup: entry
                }
            })
    }

    /// The same, but that the file's owner and its group may do everything; other users and groups get no more by it.
    package func openingToGroup() -> AccessList {
        let mask = entries.first { $0.tag == .mask }?.permissions ?? 7
        return AccessList(
            entries.map { entry in
                switch entry.tag {
                case .owner, .group, .mask: Entry(tag: entry.tag, permissions: 7)
                case .user, .namedGroup:
                    Entry(tag: entry.tag, permissions: entry.permissions & mask, number: entry.number)
                case .other: entry
                }
            })
    }

    /// As setfacl(1) reads it: `u::rwx,g::r-x,o::---`.
    package var text: String {
        entries.map { entry in
            let kind =
                switch entry.tag {
                case .owner, .user: "u"
                case .group, .namedGroup: "g"
                case .mask: "m"
                case .other: "o"
                }
            let name = [.user, .namedGroup].contains(entry.tag) ? "\(entry.number)" : ""
            let letters = zip([4, 2, 1] as [UInt32], ["r", "w", "x"]).map { entry.permissions & $0 != 0 ? $1 : "-" }
            return "\(kind):\(name):\(letters.joined())"
        }.joined(separator: ",")
    }

    /// Whether the file's owner and its group may do everything.
    package var isOpenToGroup: Bool {
        entries.allSatisfy { ![.owner, .group, .mask].contains($0.tag) || $0.permissions == 7 }
    }

    /// Whether it gives `account` all of these permissions on a file of this owner and group; see acl(5), ACCESS CHECK
    /// ALGORITHM.
    package func grants(_ wanted: UInt32, to account: Account, owner: UInt32, group: UInt32) -> Bool {
        if account.user == 0 { return true }
        let mask = entries.first { $0.tag == .mask }?.permissions ?? 7
        func allows(_ entry: Entry?, within mask: UInt32 = 7) -> Bool {
            (entry?.permissions ?? 0) & mask & wanted == wanted
        }
        if account.user == owner { return allows(entries.first { $0.tag == .owner }) }
        if let own = entries.first(where: { $0.tag == .user && $0.number == account.user }) {
            return allows(own, within: mask)
        }
        let ofGroups = entries.filter {
            $0.tag == .group && account.groups.contains(group)
                || $0.tag == .namedGroup && account.groups.contains($0.number)
        }
        if !ofGroups.isEmpty { return ofGroups.contains { allows($0, within: mask) } }
        return allows(entries.first { $0.tag == .other })
    }
}
