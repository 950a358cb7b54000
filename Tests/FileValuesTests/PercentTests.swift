import FileValues
import Testing

@Suite("Percent-encoding")
struct PercentTests {
    @Test("Every byte is itself where RFC 3986 2.3 reserves it for nothing, and else two digits in upper case")
    func everyByte() {
        let plain = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        for byte in UInt8.min ... .max {
            let digits = hexadecimal([byte]).uppercased()
            #expect(percentEncoded([byte]) == (plain.contains(byte) ? String(Unicode.Scalar(byte)) : "%\(digits)"))
        }
    }

    @Test(
        "Texts are decoded",
        arguments: [
            ("", ""), ("a%20b", "a b"), ("%41%c3%A4", "Aä"), ("a+b", "a+b"), ("%25", "%"), ("%2541", "%41"),
        ])
    func decoded(text: String, plain: String) { #expect(percentDecoded(text[...]) == plain) }

    @Test(
        "Escapes that are incomplete, control characters and invalid UTF-8 are refused",
        arguments: ["%", "%4", "a%", "%4g", "%+4", "%%41", "%00", "%0A", "%7f", "a\tb", "%ff", "%c3"])
    func refused(text: String) { #expect(percentDecoded(text[...]) == nil) }

    @Test("A plus is a blank in a query, unless it is escaped")
    func plus() { #expect(percentDecoded("a+b%2B", plusIsBlank: true) == "a b+") }
}
