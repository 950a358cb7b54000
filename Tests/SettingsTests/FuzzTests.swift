import FileValues
import Glibc
import TestSupport
import Testing

@testable import Settings

/// Any bytes must be read or refused without a trap, and every value must be at its reported position.
struct FuzzTests {
    private static let fragments = [
        "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\"", "'", "\"\"\"", "'''", "\\", "\\u00e9", "\\U0010FFFF", "#",
        "\n",
        "\r\n", "\t", "inbox", "timer", "a.b.c", "0x", "1e9999", "9223372036854775808", "nan", "1979-05-27T07:32:00Z",
        "true", "\u{FEFF}", "\u{202E}", "\u{0}", "é", "[inbox.card]\n", "path = '/x'\n", "[[timer]]\n", "-", "_",
        "\u{7F}",
    ].map { Array($0.utf8) }

    /// The number of mutants of each seed.
    private static let rounds = getenv("PHOTOINBOX_FUZZ_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 100

    static func mutate(_ original: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1 where place < bytes.count:
                bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...20, using: &random)))
            case 2: bytes.insert(contentsOf: fragments.randomElement(using: &random) ?? [], at: place)
            case 3:
                let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
                let other = Int.random(in: 0...bytes.count, using: &random)
                bytes.insert(contentsOf: bytes[place..<end], at: other)
            case 4 where place < bytes.count: bytes.removeSubrange(place...)
            default: bytes.insert(UInt8.random(in: 0x20...0x7E, using: &random), at: place)
            }
        }
        return bytes
    }

    static func check(_ bytes: [UInt8]) {
        var builder = SettingsBuilder(context: plainContext)
        builder.addFile(bytes, path: "f.toml")
        do throws(SettingsError) {
            let settings = try builder.build()
            _ = settings.effective.map(\.value)
        } catch {
            #expect(!error.issues.isEmpty)
            for issue in error.issues {
                let line = issue.description
                #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "\(bytes)")
            }
        }
    }

    /// Returns values that are not at their reported position, or differ when their source is read alone.
    static func misplaced(_ bytes: [UInt8]) -> [String] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            Array(String(decoding: $0, as: UTF8.self).unicodeScalars.drop { $0 == "\u{FEFF}" })
        }
        func check(_ node: TOMLNode, _ path: String) -> [String] {
            let rest = lines[node.position.line - 1].dropFirst(node.position.column - 1)
            let source = node.source.unicodeScalars.prefix { $0 != "\n" }
            var found = source.isEmpty || !rest.starts(with: source) ? [path] : []
            switch node.content {
            case .table(let entries): found += entries.flatMap { check($0.node, path + "." + $0.key) }
            case .array(let elements): found += elements.flatMap { check($0, path + "[]") }
            default:
                let again = TOMLDocument(Array("a = \(node.source)".utf8)).entries.first
                if again?.node.content != node.content { found.append(path) }
            }
            return found
        }
        return TOMLDocument(bytes).entries.flatMap { check($0.node, $0.key) }
    }

    @Test(arguments: 0..<8) func mutationsOfAValidFile(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<Self.rounds {
            let bytes = Self.mutate(Array(fullFile.utf8), &random)
            Self.check(bytes)
            let found = Self.misplaced(bytes)
            #expect(found.isEmpty, "\(found) in \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(arguments: 0..<4) func randomBytes(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed) &+ 1000)
        for _ in 0..<Self.rounds {
            let length = Int.random(in: 0...200, using: &random)
            Self.check((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
            let text = (0..<20).flatMap { _ in Self.fragments.randomElement(using: &random) ?? [] }
            Self.check(text)
            #expect(Self.misplaced(text).isEmpty, "\(String(decoding: text, as: UTF8.self))")
        }
    }

    private static let repeated: [(start: String, repeated: String)] = [
        ("", "k# = 1\n"), ("", "[t#]\n"), ("", "[[t]]\n"), ("a = [", "1,"), ("a = {b = 1", ",c# = 1"), ("", "["),
        ("a = ", "["), ("a = [\n", "[\n"), ("a = ", "{a = "), ("a = [x\n", "\"\n"), ("a = \"\"\"", "\\\n"),
    ]

    /// Most take a second; quadratic time would take an hour.
    @Test("A document of a megabyte is read in linear time", .timeLimit(.minutes(60)), arguments: repeated)
    func largeDocuments(start: String, repeated: String) {
        let parts = repeated.split(separator: "#", omittingEmptySubsequences: false)
        var text = start
        while text.utf8.count < TOMLDocument.largest - 20 { text += parts.joined(separator: "\(text.utf8.count)") }
        #expect(TOMLDocument(Array(text.utf8)).errors.count < 2)
    }
}
