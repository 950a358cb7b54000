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
}
