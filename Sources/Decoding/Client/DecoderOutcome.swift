package import LinuxKernel

/// The result for one picture.
package enum DecoderOutcome: Sendable {
    case made(DecodedPicture)
    /// The decoder refused the picture, and still runs.
    case refused(DecoderRefusal)
    /// The picture ended its decoder, with the reason; not to be retried.
    case fatal(reason: String)
    /// No decoder is available; to be retried later.
    case unavailable(DecoderTrouble)
}

/// Why there is no decoder.
package enum DecoderTrouble: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program does not exist, or does not start.
    case cannotStart(reason: String)
    /// It starts, but cannot be confined as required.
    case cannotBeConfined(gaps: String)
    /// The results cannot be written to the state directory.
    case cannotBeKept(SystemCallError)
    /// This client was stopped.
    case stopped

    package var description: String {
        switch self {
        case .cannotStart(let reason): "no photo can be decoded: \(reason)"
        case .cannotBeConfined(let gaps): "no photo can be decoded: it cannot be confined: \(gaps)"
        case .cannotBeKept(let error): "the pictures cannot be saved: \(error)"
        case .stopped: "stopped"
        }
    }
}

/// Renditions, checked against the request; their content is only known to begin like a JPEG.
package struct DecodedPicture: Sendable {
    package let facts: DecoderAnswer
    private let file: HeldDescriptor

    init(facts: DecoderAnswer, file: HeldDescriptor) {
        self.facts = facts
        self.file = file
    }

    /// The bytes of one of them. A compromised decoder may still write to them, so they are read once, and
    /// the copy is used.
    package func bytes(of part: DecodedPart) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(clamping: min(part.length, DecoderWire.longestPart)))
        var filled = 0
        while filled < bytes.count {
            let read: Result<Int, SystemCallError> = bytes.withUnsafeMutableBytes { buffer in
                do throws(SystemCallError) {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    return .success(try file.descriptor.read(into: rest, at: part.offset + UInt64(filled)))
                } catch {
                    return .failure(error)
                }
            }
            let count = try read.get()
            guard count > 0 else { throw WireError.contradiction("a picture outside its file") }
            filled += count
        }
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else {
            throw WireError.contradiction("something that is not a JPEG")
        }
        return bytes
    }
}
