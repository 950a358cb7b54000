/// The text behind `%41`; nil if an escape is incomplete, or if it is not UTF-8 or has control characters.
package func percentDecoded(_ text: Substring, plusIsBlank: Bool = false) -> String? {
    var decoded: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            guard let value = bytes(ofHexadecimal: rest.prefix(2))?.first else { return nil }
            decoded.append(value)
            rest = rest.dropFirst(2)
        } else {
            decoded.append(plusIsBlank && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        }
    }
    guard decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: decoded, as: UTF8.self)
}

/// Bytes as a part of a path or of a field: `a%20b`; see RFC 3986 2.3.
package func percentEncoded(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes {
        if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte) {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            text += "%" + padded(byte, 2, radix: 16, uppercase: true)
        }
    }
    return text
}
