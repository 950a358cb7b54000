import CLinux
import Glibc
import SystemPackage

/// Local sockets that carry whole messages, and descriptors with them; SOCK_SEQPACKET in unix(7).
public enum MessageSocket {
    /// Both ends of a connected pair. Closed on exec.
    public struct Pair: ~Copyable, Sendable {
        /// One of them, which waits for nothing: what would wait throws EAGAIN.
        public let near: OwnedDescriptor
        /// The other, which waits: for the program that is started with it.
        public let far: OwnedDescriptor

        /// Makes a pair; see socketpair(2).
        public init() throws(SystemCallError) {
            var ends: [Int32] = [-1, -1]
            try systemCall("socketpair") { clinux_unix_message_pair(&ends) }
            let first = OwnedDescriptor(taking: ends[0])
            let second = OwnedDescriptor(taking: ends[1])
            let raw = first.raw
            try systemCall("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) }
            near = first
            far = second
        }

        /// Gives `near` to a new owner, such as a monitor, and closes the other.
        public consuming func takeNear() -> OwnedDescriptor { near }
    }

    /// Sends one message, and copies of `descriptors` (four at most), through the socket `raw`. EPIPE where the other
    /// end is gone.
    public static func send(
        _ bytes: [UInt8], with descriptors: [Int32] = [], to raw: Int32
    ) throws(SystemCallError) {
        try systemCall("sendmsg") {
            clinux_send_message(raw, bytes, UInt64(bytes.count), descriptors, UInt32(descriptors.count))
        }
    }

    /// A message that came.
    public enum Received: Hashable, Sendable {
        /// The other end is closed.
        case end
        /// One that was longer than `limit`; what it held is lost.
        case tooLong(Int)
        /// A whole one.
        case message([UInt8])
    }

    /// Takes one message of at most `limit` bytes from the socket `raw`, and no descriptors: those that were sent are
    /// closed by the kernel.
    public static func receive(limit: Int, from raw: Int32) throws(SystemCallError) -> Received {
        var buffer = [UInt8](repeating: 0, count: limit)
        let length = try systemCall("recvmsg") { clinux_receive_message(raw, &buffer, UInt64(limit), nil, nil) }
        return received(buffer, length: Int(length))
    }

    /// The same with the descriptors that came with it, which the caller owns: hand each to an ``OwnedDescriptor``.
    public static func receiveWithDescriptors(
        limit: Int, from raw: Int32
    ) throws(SystemCallError) -> (Received, descriptors: [Int32]) {
        var buffer = [UInt8](repeating: 0, count: limit)
        var descriptors = [Int32](repeating: -1, count: Int(CLINUX_MOST_DESCRIPTORS))
        var count: UInt32 = 0
        let length = try systemCall("recvmsg") {
            clinux_receive_message(raw, &buffer, UInt64(limit), &descriptors, &count)
        }
        return (received(buffer, length: Int(length)), Array(descriptors.prefix(Int(count))))
    }

    private static func received(_ buffer: [UInt8], length: Int) -> Received {
        // A message of no bytes looks like the end; nobody sends one.
        if length == 0 { return .end }
        return length > buffer.count ? .tooLong(length) : .message(Array(buffer.prefix(length)))
    }
}
