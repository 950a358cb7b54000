import PhotoModel
import Testing

@Suite("A cut file is never taken for a whole one")
struct TruncationTests {
    /// Whether `length` is one at which a cut file is whole all the same, because nothing in what is left speaks of
    /// what is missing.
    private func cannotTell(_ name: String, _ length: Int) throws -> Bool {
        switch name {
        // Right behind the picture's end marker, where Samsung's data follows without a word in the picture.
        case "samsung.jpg": try length == Fixtures.bytes("plain.jpg").count
        default: false
        }
    }

    @Test("At every length of a small file, at every 97th of a large one", arguments: Fixtures.names)
    func everyLength(name: String) throws {
        let whole = try Fixtures.bytes(name)
        let lengths = Array(stride(from: 0, to: whole.count, by: whole.count > 6_000 ? 97 : 1))
        // The last bytes are where a mistake would hide, and the first ones too.
        for length in lengths + Array(max(0, whole.count - 64)..<whole.count) + Array(0..<min(64, whole.count)) {
            let completeness = try report(Array(whole.prefix(length)), name: name).completeness
            guard completeness.isWhole else { continue }
            #expect(try cannotTell(name, length), "\(length) of \(whole.count): \(completeness)")
        }
    }

    @Test(
        "With zeros in place of what is missing, as programs that reserve space leave them", arguments: Fixtures.names)
    func everyReservedLength(name: String) throws {
        let whole = try Fixtures.bytes(name)
        // RAW and boxes are known by offsets and lengths alone: bytes that were never written are not seen there, and
        // neither are pixels of zero in a PNG, WebP or TIFF. An end marker is.
        guard [".jpg", ".gif", ".png"].contains(where: { name.hasSuffix($0) }), !name.hasPrefix("m"),
            name != "samsung.jpg"
        else { return }
        for length in stride(from: 0, to: whole.count - 16, by: max(1, whole.count / 200)) {
            let reserved = whole.prefix(length) + [UInt8](repeating: 0, count: whole.count - length)
            #expect(try !report(Array(reserved), name: name).completeness.isWhole, "\(length) of \(whole.count)")
        }
    }
}
