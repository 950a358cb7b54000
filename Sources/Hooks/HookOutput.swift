import FileValues

/// Cuts the output of a hook into lines for the log: bounded in length and number, with nothing in them that could disguise
/// itself. A value without I/O.
struct HookOutput: Sendable {
    /// Bytes of a line before it is escaped; a longer one becomes several.
    static let longestLine = 1_024
    /// Of one run; what comes after is counted.
    static let mostLines = 500

    private var rest: [UInt8] = []
    private var lines = 0
    private(set) var leftOut = 0

    /// Adds output; the lines that are complete now.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [String] {
        var done: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                emit(&done)
            } else {
                rest.append(byte)
                if rest.count == Self.longestLine { emit(&done) }
            }
        }
        return done
    }

    /// The output is at its end: the rest of it, and how much was left out.
    mutating func end() -> [String] {
        var done: [String] = []
        if !rest.isEmpty { emit(&done) }
        if leftOut > 0 { done.append("(\(leftOut) more line\(leftOut == 1 ? "" : "s") left out)") }
        return done
    }

    private mutating func emit(_ done: inout [String]) {
        defer { rest.removeAll(keepingCapacity: true) }
        if rest.isEmpty { return }
        guard lines < Self.mostLines else {
            leftOut += 1
            return
        }
        lines += 1
        done.append(escapeForDisplay(rest))
    }
}
