import FileValues

/// Cuts what a hook says into lines for the log: bounded in length and number, with nothing in them that could disguise
/// itself. A value without I/O.
struct HookOutput: Sendable {
    /// Bytes of a line before it is escaped; a longer one becomes several.
    static let longestLine = 1_024
    /// Of one run; what comes after is counted.
    static let mostLines = 500

    private var rest: [UInt8] = []
    private var lines = 0
    private(set) var leftOut = 0

    /// Takes what came; the lines that are whole by now.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [String] {
        var told: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                tell(&told)
            } else {
                rest.append(byte)
                if rest.count == Self.longestLine { tell(&told) }
            }
        }
        return told
    }

    /// It says nothing more: what is left of it, and how much was left out.
    mutating func end() -> [String] {
        var told: [String] = []
        if !rest.isEmpty { tell(&told) }
        if leftOut > 0 { told.append("(\(leftOut) more line\(leftOut == 1 ? "" : "s") left out)") }
        return told
    }

    private mutating func tell(_ told: inout [String]) {
        defer { rest.removeAll(keepingCapacity: true) }
        if rest.isEmpty { return }
        guard lines < Self.mostLines else {
            leftOut += 1
            return
        }
        lines += 1
        told.append(escapeForDisplay(rest))
    }
}
