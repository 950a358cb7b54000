package import LinuxKernel

/// What became of one picture.
package enum DecoderOutcome: Sendable {
    case made(DecodedPicture)
    /// The decoder lives, and says why not.
    case refused(DecoderRefusal)
    /// The picture cost its decoder's life: told with the reason, and not tried again.
    case fatal(reason: String)
    /// No picture's fault: no decoder is to be had. To be tried again later.
    case unavailable(DecoderTrouble)
}

/// Why there is no decoder.
package enum DecoderTrouble: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program is not there, or does not start.
    case cannotStart(reason: String)
    /// It starts and cannot be confined, though it has to be.
    case cannotBeConfined(gaps: String)
    /// What it makes cannot be written to the state directory.
    case cannotBeKept(SystemCallError)
    /// This client was stopped.
    case stopped

    package var description: String {
        switch self {
        case .cannotStart(let reason): "no photo can be decoded: \(reason)"
        case .cannotBeConfined(let gaps): "no photo can be decoded: it cannot be confined: \(gaps)"
        case .cannotBeKept(let error): "the pictures cannot be kept: \(error)"
        case .stopped: "stopped"
        }
    }
}

/// A descriptor that several parts hold.
package final class HeldDescriptor: Sendable {
    package let descriptor: OwnedDescriptor

    package init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
}

/// Small pictures, checked against what was asked for; their content is only known to begin as a JPEG.
package struct DecodedPicture: Sendable {
    package let facts: DecoderAnswer
    private let file: HeldDescriptor

    init(facts: DecoderAnswer, file: HeldDescriptor) {
        self.facts = facts
        self.file = file
    }

    /// The bytes of one of them. Whoever runs in the decoder may still write to them: what is wanted is read once, and
    /// the copy used.
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
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { throw WireError.contradiction("something that is no JPEG") }
        return bytes
    }
}
