package import FileValues

/// A pattern for relative paths in an inbox: `*.tmp`, `@eaDir`, `raw/*.xmp`, `**/cache`.
///
/// `*` and `?` match bytes other than `/`, `[a-z]` and `[!a-z]` one byte, `**` any number of whole names; `\` escapes
/// the next byte. A pattern without `/` matches any name along the path; one with `/` is matched from the inbox down.
/// Everything below a matching directory matches, too. Byte-wise, case-sensitive; the time is at most proportional to
/// pattern times path. Pure.
package struct PathGlob: Hashable, Sendable, CustomStringConvertible {
    /// As it was written.
    package let pattern: String
    private let names: [NamePattern]
    private let isAnchored: Bool

    init(parsing pattern: String) throws(ValueMistake) {
        self.pattern = pattern
        let parts = pattern.utf8.split(separator: UInt8(ascii: "/"))
        if parts.isEmpty { throw ValueMistake("is empty and excludes nothing") }
        isAnchored = parts.count > 1 || pattern.hasPrefix("/")
        var names: [NamePattern] = []
        for part in parts { names.append(try NamePattern(Array(part))) }
        if names.allSatisfy({ $0 == .anyNames }) { throw ValueMistake("excludes every file of the inbox") }
        self.names = names
    }

    package var description: String { pattern }

    /// Returns whether `path`, relative to the inbox, or one of its parent directories matches.
    package func matches(_ path: BytePath) -> Bool {
        let components = path.components.map(\.bytes)
        guard isAnchored else { return components.contains { names[0].matches($0) } }
        // `reached[i]`: the first i names of the pattern match the components seen so far.
        var reached = [true] + Array(repeating: false, count: names.count)
        skipOverAnyNames(&reached)
        for component in components {
            var next = Array(repeating: false, count: names.count + 1)
            for (index, name) in names.enumerated() where reached[index] {
                if name == .anyNames {
                    next[index] = true
                } else if name.matches(component) {
                    next[index + 1] = true
                }
            }
            skipOverAnyNames(&next)
            if next[names.count] { return true }
            reached = next
        }
        return false
    }

    private func skipOverAnyNames(_ reached: inout [Bool]) {
        for (index, name) in names.enumerated() where name == .anyNames && reached[index] { reached[index + 1] = true }
    }
}

/// The pattern of one name, or `**`.
private enum NamePattern: Hashable {
    case anyNames
    case name([Token])

    enum Token: Hashable {
        case byte(UInt8)
        case anyByte
        case anyBytes
        case set([ClosedRange<UInt8>], negated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .byte(let wanted): byte == wanted
            case .anyByte, .anyBytes: true
            case .set(let ranges, let negated): ranges.contains { $0.contains(byte) } != negated
            }
        }
    }

    init(_ text: [UInt8]) throws(ValueMistake) {
        if text == Array("**".utf8) {
            self = .anyNames
            return
        }
        var tokens: [Token] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"): if tokens.last != .anyBytes { tokens.append(.anyBytes) }
            case UInt8(ascii: "?"): tokens.append(.anyByte)
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else { throw ValueMistake("ends with a lone \\") }
                tokens.append(.byte(next))
            case UInt8(ascii: "["): tokens.append(try Self.readSet(&rest))
            default: tokens.append(.byte(byte))
            }
        }
        self = .name(tokens)
    }

    private static func readSet(_ rest: inout ArraySlice<UInt8>) throws(ValueMistake) -> Token {
        var negated = false
        if rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^") {
            negated = true
            rest.removeFirst()
        }
        var ranges: [ClosedRange<UInt8>] = []
        while let low = rest.popFirst() {
            if low == UInt8(ascii: "]"), !ranges.isEmpty { return .set(ranges, negated: negated) }
            if rest.first == UInt8(ascii: "-"), let high = rest.dropFirst().first, high != UInt8(ascii: "]") {
                guard low <= high else { throw ValueMistake("has a range that runs backwards") }
                ranges.append(low...high)
                rest.removeFirst(2)
            } else {
                ranges.append(low...low)
            }
        }
        throw ValueMistake("has a [ without its ]")
    }

    func matches(_ name: [UInt8]) -> Bool {
        guard case .name(let tokens) = self else { return true }
        // Backtracking to the last star is enough, so this is not exponential.
        var token = 0
        var byte = 0
        var star: (token: Int, byte: Int)?
        while byte < name.count {
            if token < tokens.count, tokens[token] == .anyBytes {
                star = (token, byte)
                token += 1
            } else if token < tokens.count, tokens[token].matches(name[byte]) {
                token += 1
                byte += 1
            } else if let last = star {
                star = (last.token, last.byte + 1)
                token = last.token + 1
                byte = last.byte + 1
            } else {
                return false
            }
        }
        return tokens[token...].allSatisfy { $0 == .anyBytes }
    }
}
