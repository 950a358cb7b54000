import Glibc
package import SystemPackage

/// Collects bytes and writes them to a descriptor with few calls.
package struct OutputBuffer: ~Copyable {
    package enum Result: Equatable {
        case written
        /// The reader is gone.
        case closed
        case failed(Errno)
    }

    private let descriptor: Int32
    private var bytes: [UInt8] = []

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        bytes.reserveCapacity(64 << 10)
    }

    package var isEmpty: Bool { bytes.isEmpty }
    package var count: Int { bytes.count }

    package mutating func append(_ byte: UInt8) { bytes.append(byte) }

    package mutating func append(_ more: some Collection<UInt8>) { bytes.append(contentsOf: more) }

    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    package mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Gives the buffered bytes to `body`, to append in place.
    package mutating func append(_ body: (inout [UInt8]) -> Void) { body(&bytes) }

    /// Writes all of it; blocks meanwhile.
    package mutating func flush() -> Result {
        defer { bytes.removeAll(keepingCapacity: true) }
        let descriptor = self.descriptor
        return bytes.withUnsafeBytes { Self.write($0, to: descriptor) }
    }

    /// Writes all of `buffer`; blocks meanwhile.
    package static func write(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) -> Result {
        var rest = buffer
        while let start = rest.baseAddress, rest.count > 0 {
            let count = Glibc.write(descriptor, start, rest.count)
            if count == rest.count { break }
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process that shares the descriptor made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            case EPIPE: return .closed
            default: return .failed(Errno(rawValue: errno))
            }
        }
        return .written
    }
}
