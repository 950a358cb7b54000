import Foundation

/// Values as JSON, by Foundation's coders, which are set up only here.
package enum JSONCoding {
    /// The value's bytes, which are the same for the same value. Throws if it contains a number that
    /// JSON cannot represent.
    package static func write(_ value: some Encodable, pretty: Bool = false) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return Array(try encoder.encode(value))
    }

    package static func read<Value: Decodable>(_ bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}

/// A value that is sent to another program, or saved for the next start. JSON can represent all of it.
package protocol JSONMessage: Codable {
    var isKnown: Bool { get }
}

extension JSONMessage {
    /// A message without a version is known.
    package var isKnown: Bool { true }

    package init?(json bytes: [UInt8]) {
        guard let message: Self = try? JSONCoding.read(bytes), message.isKnown else { return nil }
        self = message
    }

    package var json: [UInt8] {
        do { return try JSONCoding.write(self) } catch {
            preconditionFailure("a message cannot be written as JSON: \(error)")
        }
    }

    package var frame: [UInt8] { framed(json) }
}
