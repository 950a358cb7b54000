import Foundation

/// Values as JSON, by Foundation's coders, which are set up nowhere else.
package enum JSONCoding {
    /// The value's bytes: the same for the same value, and readable where they are looked at. Throws where a number in it is
    /// none that JSON has.
    package static func write(_ value: some Encodable, pretty: Bool = false) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return Array(try encoder.encode(value))
    }

    /// Reads a value of the type that is asked for.
    package static func read<Value: Decodable>(_ bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}

/// A value that is sent to another program, or kept for another life. It holds nothing that JSON could not.
package protocol JSONMessage: Codable {
    /// Whether this program knows the version that it says it has.
    var isKnown: Bool { get }
}

extension JSONMessage {
    /// One without a version is known.
    package var isKnown: Bool { true }

    /// Whatever the bytes are, the answer is a message or nothing.
    package init?(json bytes: [UInt8]) {
        guard let message: Self = try? JSONCoding.read(bytes), message.isKnown else { return nil }
        self = message
    }

    /// Its bytes.
    package var json: [UInt8] {
        do { return try JSONCoding.write(self) } catch {
            preconditionFailure("a value of ours cannot be written as JSON: \(error)")
        }
    }

    /// As one frame.
    package var frame: [UInt8] { framed(json) }
}
