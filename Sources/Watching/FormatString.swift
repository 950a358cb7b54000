import ArgumentParser

/// A `--format` of inotifywait(1), read once: what to write for an event, piece by piece.
///
/// `%w` directory, `%f` entry, `%e` or `%Xe` what happened, `%T` time, `%c` cookie, `%%`, `%0` NUL, `%n` newline; any
/// other `%x` stands for itself.
package struct FormatString: Hashable, Sendable {
    /// Without a reference in it, so that walking the pieces counts none.
    struct Piece: Hashable, Sendable {
        enum Kind: UInt8, Sendable { case literal, directory, name, events, time, cookie }
        let kind: Kind
        /// The separator of the words of `%e`.
        var separator = UInt8(ascii: ",")
        /// The bytes of a literal, in ``literals``.
        var range = 0..<0
    }

    private(set) var pieces: [Piece] = []
    private(set) var literals: [UInt8] = []

    /// Whether the time is written, so that `--timefmt` is needed.
    package var hasTime: Bool { pieces.contains { $0.kind == .time } }

    /// Reads `text`; `terminator` is written after each event.
    package init(_ text: some Collection<UInt8>, terminator: UInt8?) throws {
        // inotifywait reads the newline as a part of the format, so that a lone % at the end stands for itself.
        let text = Array(text) + (terminator.map { [$0] } ?? [])
        if text.isEmpty { throw ValidationError("--format is empty, and nothing would be written.") }
        var at = 0
        while at < text.count {
            guard text[at] == UInt8(ascii: "%") else {
                add(literal: text[at])
                at += 1
                continue
            }
            guard at + 1 < text.count else { throw ValidationError("--format ends with a lone %.") }
            let letter = text[at + 1]
            at += 2
            switch letter {
            case UInt8(ascii: "%"): add(literal: letter)
            case UInt8(ascii: "0"): add(literal: 0)
            case UInt8(ascii: "n"): add(literal: UInt8(ascii: "\n"))
            case UInt8(ascii: "w"): pieces.append(Piece(kind: .directory))
            case UInt8(ascii: "f"): pieces.append(Piece(kind: .name))
            case UInt8(ascii: "c"): pieces.append(Piece(kind: .cookie))
            case UInt8(ascii: "e"): pieces.append(Piece(kind: .events))
            case UInt8(ascii: "T"): pieces.append(Piece(kind: .time))
            case _ where at < text.count && text[at] == UInt8(ascii: "e"):
                pieces.append(Piece(kind: .events, separator: letter))
                at += 1
            default:
                add(literal: UInt8(ascii: "%"))
                add(literal: letter)
            }
        }
    }

    private mutating func add(literal byte: UInt8) {
        literals.append(byte)
        if let last = pieces.last, last.kind == .literal {
            pieces[pieces.count - 1].range = last.range.lowerBound..<literals.count
        } else {
            pieces.append(Piece(kind: .literal, range: (literals.count - 1)..<literals.count))
        }
    }
}
