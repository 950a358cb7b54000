/// The messages between the daemon and a decoder: small, versioned, length-prefixed, written and read only here.
///
/// A message is its length after this field (u32), the version (u16), the kind (u8), and the kind's fields; numbers are
/// little-endian, texts are UTF-8 after their length (u16). Neither side trusts the other: for any bytes, reading
/// returns a message or throws a ``WireError``.
package enum DecoderWire {
    package static let version: UInt16 = 4
    /// The longest message, in bytes.
    package static let longestMessage = 4_096
    /// The longest text, in bytes; longer ones are cut.
    package static let longestText = 1_024
    /// The longest rendition, in bytes.
    package static let longestPart: UInt64 = 32 << 20

    fileprivate enum Kind: UInt8 {
        case picture = 1
        case hello = 2
        case answer = 3
        case refusal = 4
    }
}

/// Why bytes are not a valid message, or a message is not plausible.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It is too short or too long.
    case length
    /// The other side uses another version.
    case version(UInt16)
    /// An unknown kind or value.
    case value(String)
    /// Well-formed, but not what was requested.
    case contradiction(String)

    package var description: String {
        switch self {
        case .length: "a message of a wrong length"
        case .version(let version): "a message of version \(version)"
        case .value(let what): "a message with an unknown \(what)"
        case .contradiction(let what): what
        }
    }
}

/// A message of a decoder.
package enum DecoderMessage: Hashable, Sendable {
    case hello(DecoderHello)
    case answer(DecoderAnswer)
    case refusal(DecoderRefusal)
}

extension DecoderRequest {
    /// The message's bytes.
    package var encoded: [UInt8] {
        var writer = WireWriter(kind: DecoderWire.Kind.picture.rawValue)
        writer.put(id)
        writer.put(kind.rawValue)
        writer.put(limits.bytes)
        writer.put(limits.pixels)
        writer.put(limits.side)
        writer.put(limits.scans)
        writer.put(limits.processorSeconds)
        writer.put(limits.seconds)
        writer.put(quality)
        writer.put(UInt8(truncatingIfNeeded: sizes.count))
        for size in sizes { writer.put(size) }
        return writer.message
    }

    /// Reads a message.
    package init(encoded: [UInt8]) throws(WireError) {
        var reader = try WireReader(encoded)
        guard reader.kind == DecoderWire.Kind.picture.rawValue else { throw .value("kind \(reader.kind)") }
        let id: UInt64 = try reader.number()
        guard let kind = Kind(rawValue: try reader.number()) else { throw .value("kind of picture") }
        var limits = Limits(
            bytes: try reader.number(), pixels: try reader.number(), side: try reader.number(),
            scans: try reader.number(), processorSeconds: try reader.number())
        limits.seconds = try reader.number()
        let quality: UInt8 = try reader.number()
        guard (1...100).contains(quality) else { throw .value("quality") }
        let count: UInt8 = try reader.number()
        guard (1...Self.mostSizes).contains(Int(count)) else { throw .value("number of sizes") }
        var sizes: [UInt32] = []
        for _ in 0..<count { sizes.append(try reader.number()) }
        guard sizes.allSatisfy({ (1...65_535).contains($0) }), zip(sizes, sizes.dropFirst()).allSatisfy({ $0 > $1 })
        else { throw .value("order of sizes") }
        guard sizes.count == 1 || !kind.makesOne else { throw .value("number of sizes") }
        try reader.end()
        self.init(id: id, kind: kind, limits: limits, quality: quality, sizes: sizes)
    }
}

extension DecoderMessage {
    /// The message's bytes.
    package var encoded: [UInt8] {
        switch self {
        case .hello(let hello):
            var writer = WireWriter(kind: DecoderWire.Kind.hello.rawValue)
            writer.put(hello.gaps)
            return writer.message
        case .answer(let answer):
            var writer = WireWriter(kind: DecoderWire.Kind.answer.rawValue)
            writer.put(answer.id)
            writer.put(answer.width)
            writer.put(answer.height)
            writer.put(answer.orientation)
            writer.put(answer.memory)
            writer.put(UInt8(answer.ignoresProfile ? 1 : 0))
            writer.put(UInt8(answer.likeness == nil ? 0 : 1))
            writer.put(answer.likeness ?? 0)
            writer.put(UInt8(truncatingIfNeeded: answer.parts.count))
            for part in answer.parts {
                writer.put(part.size)
                writer.put(part.width)
                writer.put(part.height)
                writer.put(part.offset)
                writer.put(part.length)
            }
            return writer.message
        case .refusal(let refusal):
            var writer = WireWriter(kind: DecoderWire.Kind.refusal.rawValue)
            writer.put(refusal.id)
            writer.put(refusal.code.rawValue)
            writer.put(refusal.reason)
            return writer.message
        }
    }

    /// Reads a message.
    package init(encoded: [UInt8]) throws(WireError) {
        var reader = try WireReader(encoded)
        switch DecoderWire.Kind(rawValue: reader.kind) {
        case .hello: self = .hello(DecoderHello(gaps: try reader.text()))
        case .answer: self = .answer(try DecoderAnswer(from: &reader))
        case .refusal:
            let id: UInt64 = try reader.number()
            guard let code = DecoderRefusal.Code(rawValue: try reader.number()) else { throw .value("reason") }
            self = .refusal(DecoderRefusal(id: id, code: code, reason: try reader.text()))
        case .picture, nil: throw .value("kind \(reader.kind)")
        }
        try reader.end()
    }
}

extension DecoderAnswer {
    fileprivate init(from reader: inout WireReader) throws(WireError) {
        self.init(
            id: try reader.number(), width: try reader.number(), height: try reader.number(),
            orientation: try reader.number(), memory: try reader.number(), parts: [])
        let ignoresProfile: UInt8 = try reader.number()
        guard ignoresProfile <= 1 else { throw .value("profile") }
        self.ignoresProfile = ignoresProfile == 1
        let isDescribed: UInt8 = try reader.number()
        let likeness: UInt64 = try reader.number()
        guard isDescribed <= 1, isDescribed == 1 || likeness == 0 else { throw .value("likeness") }
        if isDescribed == 1 { self.likeness = likeness }
        let count: UInt8 = try reader.number()
        guard (1...DecoderRequest.mostSizes).contains(Int(count)) else { throw .value("number of pictures") }
        for _ in 0..<count {
            parts.append(
                DecodedPart(
                    size: try reader.number(), width: try reader.number(), height: try reader.number(),
                    offset: try reader.number(), length: try reader.number()))
        }
    }
}
