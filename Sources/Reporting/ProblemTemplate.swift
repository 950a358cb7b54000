import FileValues

/// A text with parameters: `{path}`; `{path'}` quoted for a shell;
/// `{count|photo|photos}` a number with its noun; `{count?is|are}` the word alone.
package struct ProblemTemplate: Hashable, Sendable, ExpressibleByStringLiteral {
    enum Piece: Hashable {
        case literal(String)
        case value(ProblemParameter)
        case shellQuoted(ProblemParameter)
        case counted(ProblemParameter, one: String, many: String)
        case word(ProblemParameter, one: String, many: String)
    }

    let pieces: [Piece]

    /// Templates are in the source, so an invalid one is a bug; the tests read the whole table.
    package init(stringLiteral text: String) {
        var pieces: [Piece] = []
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { pieces.append(.literal(String(rest[..<open]))) }
            let inside = rest[rest.index(after: open)...]
            guard let close = inside.firstIndex(of: "}"), let piece = Self.piece(inside[..<close]) else {
                preconditionFailure("broken template: \(text)")
            }
            pieces.append(piece)
            rest = inside[inside.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.literal(String(rest))) }
        self.pieces = pieces
    }

    var parameters: Set<ProblemParameter> {
        Set(
            pieces.compactMap { piece in
                switch piece {
                case .literal: nil
                case .value(let name), .shellQuoted(let name), .counted(let name, _, _), .word(let name, _, _):
                    name
                }
            })
    }

    /// The text with `values`; a missing value is shown as "?".
    func rendered(_ values: [ProblemParameter: ProblemValue], clock: LocalClock) -> String {
        pieces.map { piece in
            switch piece {
            case .literal(let text): text
            case .value(let name): values[name].map { $0.text(clock: clock) } ?? "?"
            case .shellQuoted(let name): values[name].map { shellQuoted($0.text(clock: clock)) } ?? "?"
            case .counted(let name, let one, let many):
                if case .count(let number) = values[name] {
                    "\(HumanText.count(number)) \(number == 1 ? one : many)"
                } else {
                    "? \(many)"
                }
            case .word(let name, let one, let many): values[name] == .count(1) ? one : many
            }
        }.joined()
    }

    /// The text for the manual, with parameters in capitals, like `PATH`.
    package var generalText: String {
        pieces.map { piece in
            switch piece {
            case .literal(let text): text
            case .value(let name), .shellQuoted(let name): name.rawValue.uppercased()
            case .counted(let name, _, let many): "\(name.rawValue.uppercased()) \(many)"
            case .word(_, _, let many): many
            }
        }.joined()
    }

    private static func piece(_ text: Substring) -> Piece? {
        let word = text.prefix { $0.isLetter }
        guard let name = ProblemParameter(rawValue: String(word)) else { return nil }
        let tail = text[word.endIndex...]
        switch tail.first {
        case nil: return .value(name)
        case "'" where tail.count == 1: return .shellQuoted(name)
        case "|", "?":
            let words = tail.dropFirst().split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 2 else { return nil }
            return tail.first == "|"
                ? .counted(name, one: words[0], many: words[1]) : .word(name, one: words[0], many: words[1])
        default: return nil
        }
    }
}

extension ProblemValue {
    /// For the middle of a sentence; one line, whatever it holds.
    func text(clock: LocalClock) -> String {
        switch self {
        case .count(let number): HumanText.count(number)
        case .seconds(let number): HumanText.age(number)
        case .moment(let moment): clock.timeOfDay(moment)
        case .path(let path): path.escaped
        case .text(let text): escapeForDisplay(Array(text.utf8))
        }
    }
}

/// `text` as one word of a shell's command line; quoted only if needed.
package func shellQuoted(_ text: String) -> String {
    let isPlain =
        !text.isEmpty && text.first != "-" && text.first != "~"
        && text.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "/._-+:@%,=".unicodeScalars.contains($0)
        }
    if isPlain { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
