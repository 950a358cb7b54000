import FileValues
import Foundation
import TestSupport
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test("It is Foundation's, there and back")
    func same() {
        var chance = SeededGenerator(seed: 3)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) }
            let text = base64Encoded(bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(base64Decoded(text) == bytes)
        }
    }

    @Test(
        "The examples of RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func examples(text: String, encoded: String) { #expect(base64Encoded(Array(text.utf8)) == encoded) }

    @Test(
        "What is not the one text of its bytes is refused",
        arguments: [
            "A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA=A", "AAAA====", "AA==AAAA", " AAA", "AA-_", "AAA\n",
        ])
    func refused(text: String) { #expect(base64Decoded(text) == nil) }
}
