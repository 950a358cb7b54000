import CLinux
public import FileValues
import Glibc
import SystemPackage

// Stream sockets of AF_UNIX by their paths; see unix(7).

/// Makes a socket that listens at `path`, in place of what was there, and can be connected to by whom `mode` and `group`
/// allow. Non-blocking.
///
/// It is made under a name of its own, given its permissions, and moved over the old one: nobody finds it half made, and
/// a socket that an earlier process left behind is no obstacle.
public func listen(
    at path: BytePath, mode: UInt32, group: UInt32? = nil, backlog: Int32 = 128
) throws(SystemCallError) -> OwnedDescriptor {
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
        try systemCall("listen", path: path) { Glibc.listen(raw, backlog) }
        try directory.rename(temporary, replacing: path.name)
    } catch {
        try? directory.unlink(temporary)
        throw error
    }
    return socket
}

/// Connects to the socket at `path`. Blocking; what is sent, received and waited for takes `patience` each at most, then
/// fails with EAGAIN. With no `patience` at all the connection is non-blocking, and EAGAIN says that too many wait there.
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

/// Both ends of a connection without a path, closed on exec: the second is for a program that is started with it. What is
/// sent and received by the first takes `patience` each at most, then fails with EAGAIN. See socketpair(2).
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

/// A name in an open directory as a path: a socket address has room for 107 bytes, which many a path needs more than.
private func place(_ name: BytePath, in directory: Int32) -> BytePath {
    BytePath("/proc/self/fd/\(directory)").appending(name)
}

/// Takes the next connection of a listening socket, non-blocking; nil if there is none.
func acceptConnection(_ listener: Int32) throws(SystemCallError) -> OwnedDescriptor? {
    while true {
        do { return try descriptorCall("accept") { clinux_accept(listener) } } catch {
            switch error.code {
            case .resourceTemporarilyUnavailable: return nil
            // The other side was gone again before it was its turn.
            case .connectionAbort, .protocolError: continue
            default: throw error
            }
        }
    }
}

/// Takes waiting connections of a listening socket without waiting. One thread at a time.
///
/// When the process or the system has no descriptor left, accept(2) fails and the connection stays in line, so that the
/// listening socket is ready again at once, and for ever. One descriptor is therefore held in reserve: it is given up to
/// take that connection and end it, which at least tells the other side.
package struct ConnectionTaker: ~Copyable, Sendable {
    /// What came of one attempt.
    package enum Taken: ~Copyable {
        case connection(OwnedDescriptor)
        /// It was ended at once for want of descriptors.
        case refused
        /// Nobody waits.
        case nobody
        /// Somebody waits, and there is neither a descriptor for the connection nor one to give up: try again later.
        case exhausted
    }

    private var reserve: OwnedDescriptor?

    package init() throws(SystemCallError) { reserve = try Self.makeReserve() }

    /// Takes the next one. Throws what is not remedied by trying again.
    package mutating func take(from listener: Int32) throws(SystemCallError) -> Taken {
        do throws(SystemCallError) {
            // Another thread may have been faster the last time.
            if reserve == nil { reserve = try? Self.makeReserve() }
            do throws(SystemCallError) {
                guard let connection = try acceptConnection(listener) else { return .nobody }
                return .connection(connection)
            } catch { guard Self.isWant(error), reserve != nil else { throw error } }
            reserve = nil
            let isRefused = try acceptConnection(listener) != nil
            reserve = try? Self.makeReserve()
            return isRefused ? .refused : .nobody
        } catch { if Self.isWant(error) { return .exhausted } else { throw error } }
    }

    /// Of descriptors or memory: it may be over soon.
    private static func isWant(_ error: SystemCallError) -> Bool {
        [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .noBufferSpace].contains(error.code)
    }

    private static func makeReserve() throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("open", path: "/dev/null") { "/dev/null".withCString { open($0, O_RDONLY | O_CLOEXEC) } }
    }
}

/// Whether a descriptor is a socket that listens; see SO_ACCEPTCONN in socket(7).
package func isListening(_ descriptor: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
    let raw = descriptor.raw
    return try systemCall("getsockopt SO_ACCEPTCONN") { clinux_is_listening(raw) } == 1
}

/// The path of the socket that a connection was made to, on the side that accepted it; nil where it has none, as an
/// abstract one. See getsockname(2).
package func localPath(of connection: borrowing OwnedDescriptor) throws(SystemCallError) -> BytePath? {
    let raw = connection.raw
    var name = [CChar](repeating: 0, count: 128)
    try systemCall("getsockname") {
        name.withUnsafeMutableBufferPointer { clinux_unix_name(raw, $0.baseAddress, UInt32($0.count)) }
    }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : BytePath(bytes)
}
