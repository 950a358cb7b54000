import FileValues
import Testing

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("Every byte is two digits in lower case, and is read in either case")
    func everyByte() {
        let all = Array(UInt8.min ... .max)
        let digits = hexadecimal(all)
        #expect(digits.hasPrefix("000102") && digits.hasSuffix("fdfeff") && digits.utf8.count == 512)
        #expect(bytes(ofHexadecimal: digits.utf8) == all && bytes(ofHexadecimal: digits.uppercased().utf8) == all)
    }

    @Test("Anything else is refused", arguments: ["0", "0x", "+1", "-1", " 1", "1g", "abc"])
    func refused(text: String) { #expect(bytes(ofHexadecimal: text.utf8) == nil) }

    @Test("Random digits are as many as requested, and differ")
    func random() {
        let texts = (0..<100).map { _ in randomHexadecimal(bytes: 16) }
        #expect(Set(texts).count == 100)
        #expect(texts.allSatisfy { bytes(ofHexadecimal: $0.utf8)?.count == 16 && $0.lowercased() == $0 })
    }
}
