import CCompression
import HTTPValues
import LinuxKernel
import WebServing

/// Content-Encoding: gzip, for answers that have no secret and repeat nothing of the request: the length of a compressed answer
/// says whether two of its parts are alike. So no record of a photo, whose origin may be a secret, and no failure; pictures and
/// originals, which are compressed already and of which ranges are asked for, are sent as they are.
enum Compression {
    /// Less than this is one packet anyway.
    private static let least = 512
    /// More would keep a thread for long.
    private static let most = 1 << 20

    static let fields = [(name: "Content-Encoding", value: "gzip")]
    /// Also of an answer that is not compressed, if it could be.
    static let variance = [(name: "Vary", value: "Accept-Encoding")]

    /// Nil if that is not smaller, or without zlib.
    static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        guard (least...most).contains(bytes.count) else { return nil }
        let made = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            count = Int(ccompression_gzip(bytes, UInt32(bytes.count), start, UInt32(bytes.count - 1)))
        }
        return made.isEmpty ? nil : made
    }

    /// The parts of the pages that were asked for since the start, about 110 KB of all: each is compressed once.
    private static let parts = Locked<[String: [UInt8]]>([:])

    static func gzip(_ bytes: [UInt8], ofPart name: String) -> [UInt8]? {
        if let kept = parts.withLock({ $0[name] }) { return kept }
        guard let made = gzip(bytes) else { return nil }
        parts.withLock { $0[name] = made }
        return made
    }
}

extension WebResponse {
    /// The same, compressed if its client can decompress it.
    func compressed(for head: RequestHead) -> WebResponse {
        guard case .bytes(let bytes) = body, status == .ok else { return self }
        return encoded(head.acceptsGzip ? Compression.gzip(bytes) : nil)
    }

    /// With this body, which is compressed, instead of its own, if there is one.
    func encoded(_ compressed: [UInt8]?) -> WebResponse {
        var response = self
        response.fields += Compression.variance
        guard let compressed else { return response }
        response.fields += Compression.fields
        response.body = .bytes(compressed)
        return response
    }
}
