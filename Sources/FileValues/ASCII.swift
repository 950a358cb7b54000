// Characters of ASCII, byte by byte: without locales, and for any bytes.

extension UInt8 {
    /// Whether this is a digit of ASCII.
    package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether this is a letter of ASCII, in either case.
    package var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }

    /// This byte in the lower case of ASCII; other bytes are unchanged.
    package var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
