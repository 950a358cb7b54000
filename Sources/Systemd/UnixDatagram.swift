import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// The address of an AF_UNIX socket: a path, or an abstract name with a leading `@`. See unix(7).
struct UnixAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// Nil if `text` is neither absolute nor abstract, or too long for a socket address.
    init?(_ text: String) {
        var bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count >= 2, !bytes.contains(0) else { return nil }
        let room = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
        switch first {
        // With room for a terminating NUL, which some servers require.
        case UInt8(ascii: "/"): guard bytes.count < room else { return nil }
        case UInt8(ascii: "@"):
            guard bytes.count <= room else { return nil }
            bytes[0] = 0
        default: return nil
        }
        self.bytes = bytes
    }

    func withSocketAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // A path's length includes its NUL; an abstract name has none.
        let terminator = bytes.first == 0 ? 0 : 1
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + terminator)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

/// Sends `bytes` as one datagram to `address`, waiting at most `patience`.
///
/// On a new socket each time: the receiver may have been restarted, and the calls are too rare for a permanent
/// descriptor. Connected, because only then does poll(2) consider the receiver's queue.
func sendDatagram(_ bytes: [UInt8], to address: UnixAddress, patience: Duration = .zero) throws(SystemCallError) {
    let flags = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let socket = try descriptorCall("socket") { Glibc.socket(AF_UNIX, flags, 0) }
    let number = socket.raw
    try systemCall("connect") { address.withSocketAddress { Glibc.connect(number, $0, $1) } }
    let clock = SuspendingClock()
    let deadline = clock.now.advanced(by: patience)
    while true {
        do throws(SystemCallError) {
            try systemCall("send") { Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
            return
        } catch  where error.code == .resourceTemporarilyUnavailable && clock.now < deadline {
            let (seconds, attoseconds) = clock.now.duration(to: deadline).components
            let milliseconds = Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1)
            var waiting = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
            try systemCall("poll") { poll(&waiting, 1, milliseconds) }
        }
    }
}
