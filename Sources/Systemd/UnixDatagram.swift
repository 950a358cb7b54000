import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// The address of an AF_UNIX socket: a path, or a name in the abstract space, written with `@` first. See unix(7).
struct UnixAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// nil if `text` is neither absolute nor abstract, or does not fit into a socket address.
    init?(_ text: String) {
        var bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count >= 2, !bytes.contains(0) else { return nil }
        let room = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
        switch first {
        // The terminating NUL has to fit too, for the servers that look for it.
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
        // A path's NUL belongs to its length; an abstract name is exactly its bytes.
        let terminator = bytes.first == 0 ? 0 : 1
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + terminator)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

/// Sends `bytes` as one datagram to `address` without waiting for longer than `patience`; zero means not at all.
///
/// A fresh socket each time: the other side may have been restarted, and the few calls a minute are not worth a
/// descriptor that stays open. Connected, because only then does poll(2) know the other side's queue.
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
