/// Writes the records of a CSV file by RFC 4180, with CR LF at line ends.
package struct CSVText: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var isFirst = true

    package init() {}

    /// Adds a field. Spreadsheets treat text that begins with one of `=+-@`, a tab or a carriage return as a formula:
    /// such a field gets a leading apostrophe, which they do not show and ``isGuarded(_:)`` recognises.
    package mutating func field(_ text: some Collection<UInt8>) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        let needsGuard = Self.isFormula(text.first) || Self.isGuarded(text)
        guard
            needsGuard
                || text.contains(where: {
                    $0 == quoteMark || $0 == UInt8(ascii: ",") || $0 == lineFeed || $0 == carriageReturn
                })
        else {
            return bytes.append(contentsOf: text)
        }
        bytes.append(quoteMark)
        if needsGuard { bytes.append(UInt8(ascii: "'")) }
        for byte in text {
            if byte == quoteMark { bytes.append(quoteMark) }
            bytes.append(byte)
        }
        bytes.append(quoteMark)
    }

    package mutating func field(_ text: String) { field(text.utf8) }

    /// Adds a number, of which a minus sign makes no formula.
    package mutating func number(_ text: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        bytes.append(contentsOf: text.utf8)
    }

    package mutating func endRecord() {
        bytes += [carriageReturn, lineFeed]
        isFirst = true
    }

    /// Removes and returns the bytes written since the last call.
    package mutating func removeAll() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    /// Whether a field begins with the apostrophe of ``field(_:)``, which is not part of the text.
    package static func isGuarded(_ text: some Collection<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: "'") else { return false }
        let rest = text.dropFirst()
        // A guarded apostrophe.
        return isFormula(rest.first) || isGuarded(rest)
    }

    private static func isFormula(_ byte: UInt8?) -> Bool {
        switch byte {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, carriageReturn: true
        default: false
        }
    }
}
