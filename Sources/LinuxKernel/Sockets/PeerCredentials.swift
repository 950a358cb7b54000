import CLinux
import Glibc
import SystemPackage

/// The credentials of a local client, as of its connect(2); see SO_PEERCRED in unix(7).
///
/// They cannot be forged, but may have changed since: the program may have dropped privileges, or the process number
/// may be reused. Suitable for deciding what the connection may do, and for the log.
public struct PeerCredentials: Hashable, Sendable, CustomStringConvertible {
    /// Its process, for messages only; 0 if it is in another process namespace.
    public let process: Int32
    /// Its user.
    public let user: UInt32
    /// Its group.
    public let group: UInt32
    /// Its supplementary groups.
    public let supplementaryGroups: [UInt32]

    /// Credentials from their parts.
    public init(process: Int32, user: UInt32, group: UInt32, supplementaryGroups: [UInt32] = []) {
        self.process = process
        self.user = user
        self.group = group
        self.supplementaryGroups = supplementaryGroups
    }

    /// The credentials of the peer of a connected AF_UNIX socket.
    public init(of connection: borrowing OwnedDescriptor) throws(SystemCallError) {
        let raw = connection.raw
        var (process, user, group) = (Int32(0), UInt32(0), UInt32(0))
        try systemCall("getsockopt SO_PEERCRED") { clinux_peer(raw, &process, &user, &group) }
        self.init(process: process, user: user, group: group, supplementaryGroups: try Self.groups(of: raw))
    }

    /// Whether the client is in this group.
    public func isIn(group id: UInt32) -> Bool { group == id || supplementaryGroups.contains(id) }

    /// `user 1000 (process 4121)`.
    public var description: String { "user \(user)" + (process > 0 ? " (process \(process))" : "") }

    private static func groups(of raw: Int32) throws(SystemCallError) -> [UInt32] {
        var room: UInt32 = 32
        // A process may be in up to 65,536; see NGROUPS_MAX in credentials(7).
        while room <= 65_536 {
            var groups = [UInt32](repeating: 0, count: Int(room))
            var count = room
            do {
                try systemCall("getsockopt SO_PEERGROUPS") { clinux_peer_groups(raw, &groups, &count) }
                return Array(groups.prefix(Int(count)))
            } catch {
                // Before Linux 4.13 only the main group is known.
                if error.code == Errno(rawValue: ENOPROTOOPT) { return [] }
                guard error.code == .outOfRange else { throw error }
                room = max(room * 2, count)
            }
        }
        return []
    }
}
