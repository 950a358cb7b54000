package import FileValues
package import HTTPValues
import Settings

package struct LinkFileRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// A clause without a final stop.
    package let description: String
    init(_ description: String) { self.description = description }
}

/// One line of a link file.
package struct LinkLine: Hashable, Sendable {
    /// From 1; always 1 in formats without lines.
    package let number: Int
    package let address: Result<WebAddress, AddressRefusal>
}

/// Files with addresses: a shortcut of Windows (`.url`) or macOS (`.webloc`), or a list with one address per line
/// (`.links`). Pure, for any bytes.
package enum LinkFile: String, CaseIterable, Hashable, Sendable {
    case url, webloc, links

    /// The largest file, in bytes.
    package var longest: Int { self == .links ? 16 << 20 : 64 << 10 }

    /// The kind by the name's extension; nil for other files.
    package init?(name: BytePath) { self.init(rawValue: String(decoding: name.lowercasedExtension, as: UTF8.self)) }

    /// The addresses in it, in order.
    package func read(_ bytes: [UInt8]) throws(LinkFileRefusal) -> [LinkLine] {
        guard bytes.count <= longest else { throw LinkFileRefusal("larger than \(longest) bytes") }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw LinkFileRefusal("written in UTF-16; save it as UTF-8")
        }
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        let found: [LinkLine]
        switch self {
        case .url: found = Self.shortcut(text)
        case .webloc: found = try Self.webloc(text)
        case .links: found = try Self.list(text)
        }
        guard !found.isEmpty else { throw LinkFileRefusal("it contains no address") }
        return found
    }

    /// Lines that are empty or begin with `#` are ignored.
    private static func list(_ bytes: [UInt8]) throws(LinkFileRefusal) -> [LinkLine] {
        var found: [LinkLine] = []
        for (index, line) in lines(bytes).enumerated() {
            let line = trimmedBlanks(Array(line))
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            guard found.count < FetchLimits.mostAddresses else {
                throw LinkFileRefusal("it contains more than \(FetchLimits.mostAddresses) addresses")
            }
            found.append(LinkLine(number: index + 1, address: address(line)))
        }
        return found
    }

    /// `URL=` in the section `[InternetShortcut]`, in either case.
    private static func shortcut(_ bytes: [UInt8]) -> [LinkLine] {
        var isInside = false
        for (index, line) in lines(bytes).enumerated() {
            let line = trimmedBlanks(Array(line))
            let lower = line.map(\.asciiLowercased)
            if lower.first == UInt8(ascii: "[") {
                isInside = lower == Array("[internetshortcut]".utf8)
            } else if isInside, let equals = lower.firstIndex(of: UInt8(ascii: "=")),
                trimmedBlanks(Array(lower[..<equals])) == Array("url".utf8)
            {
                return [LinkLine(number: index + 1, address: address(Array(line[(equals + 1)...])))]
            }
        }
        return []
    }

    /// The string of the key `URL` of a property list, XML or binary. The XML reader is minimal: no declarations,
    /// no inclusion, and of entities only the five standard ones and numbers.
    private static func webloc(_ bytes: [UInt8]) throws(LinkFileRefusal) -> [LinkLine] {
        if bytes.starts(with: Array("bplist".utf8)) {
            guard let list = BinaryPropertyList(bytes) else {
                throw LinkFileRefusal("a binary property list that is cut short or damaged")
            }
            return list.text("URL").map { [LinkLine(number: 1, address: address($0))] } ?? []
        }
        var rest = bytes[...]
        guard skip(past: "<key>URL</key>", in: &rest), skip(past: "<string>", in: &rest) else { return [] }
        let start = rest.startIndex
        guard skip(past: "</string>", in: &rest) else { return [] }
        let content = Array(bytes[start..<rest.startIndex - "</string>".utf8.count])
        guard let text = unescapedEntities(content) else {
            return [LinkLine(number: 1, address: .failure(AddressRefusal("it contains an unknown entity")))]
        }
        return [LinkLine(number: 1, address: address(text))]
    }

    private static func address(_ bytes: [UInt8]) -> Result<WebAddress, AddressRefusal> {
        do throws(AddressRefusal) { return .success(try WebAddress(bytes)) } catch { return .failure(error) }
    }

    /// Splits at line feeds; carriage returns before them count as blanks.
    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    /// Skips past the next `mark`; false if there is none.
    private static func skip(past mark: String, in rest: inout ArraySlice<UInt8>) -> Bool {
        let mark = Array(mark.utf8)
        var position = rest.startIndex
        while position + mark.count <= rest.endIndex {
            if rest[position..<position + mark.count].elementsEqual(mark) {
                rest = rest[(position + mark.count)...]
                return true
            }
            position += 1
        }
        return false
    }

    private static func unescapedEntities(_ bytes: [UInt8]) -> [UInt8]? {
        let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
        var out: [UInt8] = []
        var position = 0
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "&") else {
                out.append(bytes[position])
                position += 1
                continue
            }
            let name = bytes[(position + 1)...].prefix(10).prefix { $0 != UInt8(ascii: ";") }
            let text = String(decoding: name, as: UTF8.self)
            guard position + 1 + name.count < bytes.count, name.count < 10 else { return nil }
            if let plain = named[text] {
                out += Array(plain.utf8)
            } else if text.hasPrefix("#"), let scalar = number(text.dropFirst()).flatMap(Unicode.Scalar.init) {
                out += Array(String(Character(scalar)).utf8)
            } else {
                return nil
            }
            position += name.count + 2
        }
        return out
    }

    private static func number(_ text: Substring) -> UInt32? {
        text.first == "x" ? UInt32(text.dropFirst(), radix: 16) : UInt32(text)
    }
}
