import CLinux
public import FileValues
import Glibc
import SystemPackage

// AF_UNIX stream sockets by path; see unix(7).

/// Creates a non-blocking socket that listens at `path`, replaces what is there, and has the permissions of `mode` and
/// `group`.
///
/// It is created under a temporary name, given its permissions, and renamed: no client finds it incomplete, and a
/// socket that an earlier process left is no obstacle.
public func listen(at path: BytePath, mode: UInt32, group: UInt32? = nil) throws(SystemCallError) -> OwnedDescriptor {
    let directory = try openDirectory(path.parent)
    let temporary = path.name.addingSuffix(".\(getpid()).part")
    try? directory.unlink(temporary)
    let socket = try descriptorCall("socket") { clinux_unix_stream() }
    let (raw, parent) = (socket.raw, directory.raw)
    try systemCall("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) }
    try systemCall("bind", path: path) { place(temporary, in: parent).withCString { clinux_unix_bind(raw, $0) } }
    do throws(SystemCallError) {
        if let group {
            try systemCall("fchownat", path: path) {
                temporary.withCString { fchownat(parent, $0, uid_t.max, group, AT_SYMLINK_NOFOLLOW) }
            }
        }
        try systemCall("fchmodat", path: path) { temporary.withCString { fchmodat(parent, $0, mode, 0) } }
        try systemCall("listen", path: path) { Glibc.listen(raw, 128) }
        try directory.rename(temporary, replacing: path.name)
    } catch {
        try? directory.unlink(temporary)
        throw error
    }
    return socket
}

/// Connects to the socket at `path`. Connecting, sending and receiving block at most `patience` each, then fail with
/// EAGAIN. Without `patience` the connection is non-blocking, and EAGAIN means that its backlog is full.
public func connect(to path: BytePath, patience: Duration?) throws(SystemCallError) -> OwnedDescriptor {
    let directory = try openDirectory(path.parent, .placeAlone)
    let socket = try descriptorCall("socket") { clinux_unix_stream() }
    let (raw, parent) = (socket.raw, directory.raw)
    if let patience {
        let (seconds, attoseconds) = patience.components
        let milliseconds = max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
        try systemCall("setsockopt") { clinux_socket_patience(raw, milliseconds) }
    } else {
        try systemCall("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) }
    }
    try systemCall("connect", path: path) {
        place(path.name, in: parent).withCString { clinux_unix_connect(raw, $0) }
    }
    return socket
}

/// Both ends of a connection without a path, closed on exec; the second is for a child. Sending and receiving on the
/// first block at most `patience` each, then fail with EAGAIN. See socketpair(2).
package func connectedPair(patience: Duration) throws(SystemCallError) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try systemCall("socketpair") { socketpair(AF_UNIX, kind, 0, &ends) }
    let near = ends[0]
    let (seconds, attoseconds) = patience.components
    let milliseconds = max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    try systemCall("setsockopt") { clinux_socket_patience(near, milliseconds) }
    return (near, ends[1])
}

/// A path for a name in an open directory: a socket address holds only 107 bytes.
private func place(_ name: BytePath, in directory: Int32) -> BytePath {
    BytePath("/proc/self/fd/\(directory)").appending(name)
}

/// Accepts the next connection of a listening socket, without blocking; nil if there is none.
func acceptConnection(_ listener: Int32) throws(SystemCallError) -> OwnedDescriptor? {
    while true {
        do { return try descriptorCall("accept") { clinux_accept(listener) } } catch {
            switch error.code {
            case .resourceTemporarilyUnavailable: return nil
            // The client closed it before it was accepted.
            case .connectionAbort, .protocolError: continue
            default: throw error
            }
        }
    }
}

/// Accepts pending connections of a listening socket without blocking. Not thread-safe.
///
/// When the process or the system has no descriptor left, accept(2) fails and the connection stays pending, so that the
/// listening socket is permanently ready. One descriptor is therefore reserved: it is closed to accept and close that
/// connection, which at least informs the client.
package struct ConnectionAcceptor: ~Copyable, Sendable {
    /// The result of one attempt.
    package enum Result: ~Copyable {
        case connection(OwnedDescriptor)
        /// Closed at once for lack of descriptors.
        case refused
        /// No connection is pending.
        case none
        /// A connection is pending, but there is neither a descriptor for it nor a reserved one: try again later.
        case exhausted
    }

    private var reserve: OwnedDescriptor?

    package init() throws(SystemCallError) { reserve = try Self.makeReserve() }

    /// Accepts the next connection. Throws errors that a retry would not remedy.
    package mutating func accept(from listener: Int32) throws(SystemCallError) -> Result {
        do throws(SystemCallError) {
            // Another thread may have used the descriptor the last time.
            if reserve == nil { reserve = try? Self.makeReserve() }
            do throws(SystemCallError) {
                guard let connection = try acceptConnection(listener) else { return .none }
                return .connection(connection)
            } catch { guard Self.isShortage(error), reserve != nil else { throw error } }
            reserve = nil
            let isRefused = try acceptConnection(listener) != nil
            reserve = try? Self.makeReserve()
            return isRefused ? .refused : .none
        } catch { if Self.isShortage(error) { return .exhausted } else { throw error } }
    }

    /// Whether descriptors or memory are exhausted, which may be temporary.
    private static func isShortage(_ error: SystemCallError) -> Bool {
        [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .noBufferSpace].contains(error.code)
    }

    private static func makeReserve() throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("open", path: "/dev/null") { "/dev/null".withCString { open($0, O_RDONLY | O_CLOEXEC) } }
    }
}

/// Whether a descriptor is a listening socket; see SO_ACCEPTCONN in socket(7).
package func isListening(_ descriptor: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
    let raw = descriptor.raw
    return try systemCall("getsockopt SO_ACCEPTCONN") { clinux_is_listening(raw) } == 1
}

/// The path of the socket that accepted a connection; nil if it has none, such as an abstract one. See getsockname(2).
package func localPath(of connection: borrowing OwnedDescriptor) throws(SystemCallError) -> BytePath? {
    let raw = connection.raw
    var name = [CChar](repeating: 0, count: 128)
    try systemCall("getsockname") {
        name.withUnsafeMutableBufferPointer { clinux_unix_name(raw, $0.baseAddress, UInt32($0.count)) }
    }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : BytePath(bytes)
}
