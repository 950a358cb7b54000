import Glibc
package import LinuxKernel
import SystemPackage

/// A socket that listens, inherited or made here. Closed with the last reference, unless a server has taken it. Any thread.
package final class WebListener: Sendable {
    private let number: Locked<Int32?>
    /// Whether it is a local socket, whose peers the kernel names.
    let isLocal: Bool

    /// Takes over a listening stream socket, of the network or local; throws for another kind.
    package init(taking socket: consuming OwnedDescriptor) throws(SystemCallError) {
        let raw = socket.raw
        guard try option(SO_ACCEPTCONN, raw) == 1, try option(SO_TYPE, raw) == Int32(SOCK_STREAM.rawValue) else {
            throw SystemCallError("getsockopt", .invalidArgument)
        }
        isLocal = try option(SO_DOMAIN, raw) == AF_UNIX
        number = Locked(socket.take())
    }

    deinit { if let raw = take() { close(raw) } }

    /// Listens for programs of this machine at a port of 127.0.0.1; 0 for any.
    package convenience init(loopbackPort port: UInt16) throws(SystemCallError) {
        let socket = try descriptorCall("socket") {
            Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        let raw = socket.raw
        var yes: Int32 = 1
        try systemCall("setsockopt") {
            setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        try systemCall("bind") {
            withAddress(&address) { bind(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        try systemCall("listen") { listen(raw, 128) }
        try self.init(taking: socket)
    }

    /// The port, of a listener of the network.
    package var port: UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard !isLocal, let raw = number.withLock({ $0 }),
            withAddress(&address, { getsockname(raw, $0, &length) }) == 0
        else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }

    /// The socket, once.
    func take() -> Int32? {
        number.withLock { $0.take() }
    }
}

private func option(_ name: Int32, _ raw: Int32) throws(SystemCallError) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    try systemCall("getsockopt") { getsockopt(raw, SOL_SOCKET, name, &value, &length) }
    return value
}

private func withAddress(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
}
