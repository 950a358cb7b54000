import ControlProtocol
import Foundation

// What the daemon and the hooks' unit say to each other: frames as on the control socket, first an object, then the hook's
// input as it is; one object comes back.

/// What is asked for: a hook by its name, never by what it runs. That stands in the configuration, which is root's.
struct HookRequest: Hashable, Sendable, Codable {
    static let currentVersion = 1
    /// Bytes of the object; and of the input, which may be longer than ``HookLines/mostBytes`` for one file's sake.
    static let longestHeader = 4 << 10
    static let longestInput = 4 << 20

    var version = currentVersion
    var hook: String

    /// Its bytes and the input's.
    static func frames(_ hook: String, input: [UInt8]) -> [UInt8] {
        framed(encoded(HookRequest(hook: hook))) + framed(input)
    }
}

/// What is answered.
struct HookAnswer: Hashable, Sendable, Codable {
    static let longest = 64 << 10

    var version = HookRequest.currentVersion
    var ending: HookEnding

    var frame: [UInt8] { framed(encoded(self)) }
}

extension HookRequest {
    /// Whatever the bytes are, the answer is a request or nothing.
    init?(json bytes: [UInt8]) {
        guard let request = try? JSONDecoder().decode(HookRequest.self, from: Data(bytes)),
            request.version == Self.currentVersion
        else { return nil }
        self = request
    }
}

extension HookAnswer {
    init?(json bytes: [UInt8]) {
        guard let answer = try? JSONDecoder().decode(HookAnswer.self, from: Data(bytes)),
            answer.version == HookRequest.currentVersion
        else { return nil }
        self = answer
    }
}

private func encoded(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Texts and numbers: nothing in them can fail to be written.
    return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
}
