package import PhotoModel

/// What lately came with what in one inbox: whether to expect a partner that is not in sight. A value.
package struct PairHistory: Hashable, Sendable {
    /// So many of the last files of each role are remembered.
    package static let length = 8

    /// For each role that photos have, with what the last ones of it came; the newest last.
    private var seen: [SetRoles: [SetRoles]] = [:]

    package init() {}

    /// From the roles of files that were filed, newest first, each with its set's number.
    init(_ filed: [(role: String, set: Int64)]) {
        var sets: [(number: Int64, roles: [SetRole])] = []
        for row in filed.reversed() {
            guard let role = SetRole(code: row.role) else { continue }
            if let index = sets.firstIndex(where: { $0.number == row.set }) {
                sets[index].roles.append(role)
            } else {
                sets.append((row.set, [role]))
            }
        }
        for set in sets { self.filed(set.roles) }
    }

    /// Files with these roles were filed as one, or one alone; beside `others` that were filed before.
    package mutating func filed(_ roles: [SetRole], beside others: [SetRole] = []) {
        for (index, role) in roles.enumerated() {
            var partners = others.map { SetRoles($0) }
            for (other, partner) in roles.enumerated() where other != index { partners.append(SetRoles(partner)) }
            note(SetRoles(role), with: SetRoles(partners))
        }
        // Those that were there have got their partner late.
        for role in others { note(SetRoles(role), with: SetRoles(roles.map { SetRoles($0) })) }
    }

    /// What half or more of the last ones of this role came with.
    package func expected(with role: SetRole) -> SetRoles {
        let last = seen[SetRoles(role)] ?? []
        guard !role.isSidecar, !last.isEmpty else { return [] }
        let all: [SetRoles] = [.raw, .picture, .film, .sidecar]
        return SetRoles(all.filter { kind in last.count { $0.contains(kind) } * 2 >= last.count })
    }

    private mutating func note(_ role: SetRoles, with partners: SetRoles) {
        guard role != .sidecar else { return }
        seen[role, default: []].append(partners)
        if let count = seen[role]?.count, count > Self.length { seen[role]?.removeFirst(count - Self.length) }
    }
}
