import FileValues
import Testing

@Suite("ASCII")
struct ASCIITests {
    @Test("Digits, letters and lower case, for every byte")
    func everyByte() {
        let (upper, lower) = (Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8), Array("abcdefghijklmnopqrstuvwxyz".utf8))
        for byte in UInt8.min ... .max {
            #expect(byte.isASCIIDigit == "0123456789".utf8.contains(byte))
            #expect(byte.isASCIILetter == (upper + lower).contains(byte))
            #expect(byte.asciiLowercased == upper.firstIndex(of: byte).map { lower[$0] } ?? byte)
        }
    }

    @Test("Numbers are padded to a width, by any radix, and are never cut")
    func padding() {
        #expect(padded(7, 3) == "007" && padded(1_234, 3) == "1234" && padded(0, 2) == "00")
        #expect(padded(UInt32(0o640), 4, radix: 8) == "0640" && padded(UInt8(10), 2, radix: 16) == "0a")
        #expect(padded(UInt64.max, 16, radix: 16, uppercase: true) == "FFFFFFFFFFFFFFFF")
        #expect(padded(UInt64(0xAB), 16, radix: 16) == "00000000000000ab")
    }
}
