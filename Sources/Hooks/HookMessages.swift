import ControlProtocol

// The messages between the daemon and the hooks' unit: frames as on the control socket, first an object, then the hook's
// input as it is; one object comes back.

/// A hook by its name, never by what it runs: that stands in the configuration, which is root's.
struct HookRequest: Hashable, Sendable, JSONMessage {
    static let currentVersion = 1
    /// Bytes of the object; and of the input, which may be longer than ``HookInput/mostBytes`` for one file's sake.
    static let longestHeader = 4 << 10
    static let longestInput = 4 << 20

    var version = currentVersion
    var hook: String

    var isKnown: Bool { version == Self.currentVersion }

    /// Its bytes and the input's.
    static func frames(_ hook: String, input: [UInt8]) -> [UInt8] {
        HookRequest(hook: hook).frame + framed(input)
    }
}

/// How the run ended.
struct HookAnswer: Hashable, Sendable, JSONMessage {
    static let longest = 64 << 10

    var version = HookRequest.currentVersion
    var ending: HookResult

    var isKnown: Bool { version == HookRequest.currentVersion }
}
