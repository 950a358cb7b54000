import CLinux
import Glibc
import SystemPackage

/// Local sockets for whole messages with descriptors; SOCK_SEQPACKET in unix(7).
public enum MessageSocket {
    /// Both ends of a connected pair. Closed on exec.
    public struct Pair: ~Copyable, Sendable {
        /// The non-blocking end: a call that would block throws EAGAIN.
        public let near: OwnedDescriptor
        /// The blocking end, for a child.
        public let far: OwnedDescriptor

        /// Creates a pair; see socketpair(2).
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

        /// Transfers `near` to a new owner, such as a monitor, and closes the other end.
        public consuming func takeNear() -> OwnedDescriptor { near }
    }

    /// Sends one message, with copies of `descriptors` (at most four), on the socket `raw`. EPIPE if the other end is
    /// closed.
    public static func send(
        _ bytes: [UInt8], with descriptors: [Int32] = [], to raw: Int32
    ) throws(SystemCallError) {
        try systemCall("sendmsg") {
            clinux_send_message(raw, bytes, UInt64(bytes.count), descriptors, UInt32(descriptors.count))
        }
    }

    /// The result of receiving.
    public enum Received: Hashable, Sendable {
        /// The other end is closed.
        case end
        /// A message longer than `limit`, with its length; its content is lost.
        case tooLong(Int)
        /// A whole message.
        case message([UInt8])
    }

    /// Receives one message of at most `limit` bytes from the socket `raw`; the kernel closes descriptors sent with it.
    public static func receive(limit: Int, from raw: Int32) throws(SystemCallError) -> Received {
        var buffer = [UInt8](repeating: 0, count: limit)
        let length = try systemCall("recvmsg") { clinux_receive_message(raw, &buffer, UInt64(limit), nil, nil) }
        return received(buffer, length: Int(length))
    }

    /// The same with the message's descriptors, which the caller owns: pass each to an ``OwnedDescriptor``.
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
        // An empty message would look like the end; none is ever sent.
        if length == 0 { return .end }
        return length > buffer.count ? .tooLong(length) : .message(Array(buffer.prefix(length)))
    }
}
