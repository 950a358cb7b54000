import FileValues
import LinuxKernel
import TOMLKit

/// A configuration file's text as a tree of values with their places, together with its syntax errors.
///
/// Never traps, whatever the bytes are: TOMLKit sees only what ``TOMLScanner`` found well formed.
struct TOMLDocument: Sendable {
    /// In file order; without the statements that have syntax errors.
    private(set) var entries: [TOMLEntry] = []
    /// In file order.
    private(set) var errors: [TOMLSyntaxError] = []

    /// Bytes; larger is no configuration.
    static let largest = 1 << 20
    /// More would only tire.
    private static let mostErrors = 20
    /// Names the tables that stand in for refused headers.
    private static let refusedPrefix = "\u{1}refused "

    /// TOMLKit 0.6.0 never frees what it has parsed, about ten bytes for each byte of text: so much would each reload cost
    /// the daemon, were the same text not known again.
    private static let recent = Locked(RecentTexts<TOMLDocument>())

    /// The document of `text`, parsed unless it is one of the last.
    static func reading(_ text: [UInt8]) -> TOMLDocument {
        if let known = recent.withLock({ $0.made(of: text) }) { return known }
        let document = TOMLDocument(text)
        recent.withLock { $0.keep(document, of: text) }
        return document
    }

    init(_ original: [UInt8]) {
        if let error = Self.refusal(of: original) {
            errors = [error]
            return
        }
        // One bad statement must not hide the mistakes in all the others: each is reported, blanked, and left behind.
        var bytes = original
        var scan = TOMLScanner(bytes)
        while errors.count < Self.mostErrors {
            let bad = scan.statements.filter { $0.error != nil }
            if !bad.isEmpty {
                errors += bad.compactMap(\.error)
                bytes = Self.blanking(bad, in: bytes)
                scan = TOMLScanner(bytes)
                continue
            }
            do {
                let table = try TOMLTable(string: String(decoding: bytes, as: UTF8.self))
                entries = Self.entries(of: table, at: TOMLPath(), scan.places).filter {
                    !$0.key.hasPrefix(Self.refusedPrefix)
                }
                break
            } catch {
                let failure = Self.syntaxError(error)
                errors.append(failure)
                guard let statement = scan.statements.first(where: { $0.lines.contains(failure.position.line) }) else {
                    break
                }
                bytes = Self.blanking([statement], in: bytes)
                scan = TOMLScanner(bytes)
            }
        }
        errors = Array(errors.sorted { $0.position < $1.position }.prefix(Self.mostErrors))
    }

    /// What is no text, or too large to be read at all.
    private static func refusal(of bytes: [UInt8]) -> TOMLSyntaxError? {
        if bytes.count > largest {
            return TOMLSyntaxError(position: .first, message: "larger than \(largest) bytes; this is no configuration")
        }
        for (index, line) in bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false).enumerated() {
            let column = { (length: Int) in
                TextPosition(line: index + 1, column: 1 + line.prefix(length).count { $0 & 0xC0 != 0x80 })
            }
            if let place = line.firstIndex(of: 0) {
                return TOMLSyntaxError(
                    position: column(place - line.startIndex), message: "a NUL byte; this is no text file")
            }
            if String(validating: line, as: UTF8.self) == nil {
                return TOMLSyntaxError(
                    position: column(validLength(of: line)), message: "not valid UTF-8; save the file as UTF-8")
            }
        }
        return nil
    }

    /// How many bytes at the start of `line` are whole characters.
    private static func validLength(of line: ArraySlice<UInt8>) -> Int {
        // An invalid sequence becomes U+FFFD of another length, so the first difference is where it stands.
        let repaired = String(decoding: line, as: UTF8.self).utf8
        return zip(line, repaired).prefix { $0 == $1 }.count
    }

    /// `bytes` with `statements` replaced: blanks for keys and values, a stand-in for a header, so that what follows
    /// it does not fall to the section before. Lines stay where they are.
    private static func blanking(_ statements: [TOMLScanner.Statement], in bytes: [UInt8]) -> [UInt8] {
        var result = bytes
        for statement in statements.reversed() {
            var blank = result[statement.range].filter { $0 == ASCII.newline }
            if statement.isHeader {
                blank.insert(contentsOf: "[\"\\u0001refused \(statement.range.lowerBound)\"]".utf8, at: 0)
            }
            result.replaceSubrange(statement.range, with: blank)
        }
        return result
    }

    private static func syntaxError(_ error: any Error) -> TOMLSyntaxError {
        guard let parse = error as? TOMLParseError else {
            return TOMLSyntaxError(position: .first, message: "cannot be read: \(excerpt("\(error)", limit: 200))")
        }
        var message = excerpt(parse.description, limit: 200)
        if message.hasPrefix("Error while parsing"), let cut = message.firstRange(of: ": ") {
            message = String(message[cut.upperBound...])
        }
        let begin = parse.source.begin
        return TOMLSyntaxError(
            position: TextPosition(line: max(1, begin.line), column: max(1, begin.column)), message: message)
    }

    /// The tree below `table`. Values point into the parser's memory, so everything is copied out at once.
    private static func entries(
        of table: TOMLTable, at path: TOMLPath, _ places: [TOMLPath: TOMLScanner.Place]
    ) -> [TOMLEntry] {
        let found: [TOMLEntry] = table.keys.compactMap { key in
            guard let value = table[key] else { return nil }
            let path = path.appending(.key(key))
            return TOMLEntry(key: key, position: places[path]?.key ?? .first, node: node(value, at: path, places))
        }
        return found.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    private static func node(
        _ value: any TOMLValueConvertible, at path: TOMLPath, _ places: [TOMLPath: TOMLScanner.Place]
    ) -> TOMLNode {
        let place = places[path]
        let content: TOMLNode.Content =
            switch value.type {
            case .string: .string(value.string ?? "")
            case .int: .integer(value.int ?? 0)
            case .double: .number(value.double ?? 0)
            case .bool: .boolean(value.bool ?? false)
            case .date, .time, .dateTime: .date
            case .array:
                .array(
                    (value.array.map(Array.init) ?? []).enumerated().map {
                        node($0.element, at: path.appending(.index($0.offset)), places)
                    })
            case .table: .table(value.table.map { entries(of: $0, at: path, places) } ?? [])
            }
        return TOMLNode(content: content, position: place?.value ?? .first, source: place?.source ?? "")
    }
}
