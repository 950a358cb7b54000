import PhotoFormats
import PhotoModel
import Testing

@Suite("A truncated file is never reported as whole")
struct TruncationTests {
    /// Whether a file that is cut to `length` is whole nevertheless, because the rest does not refer to
    /// the missing part.
    private func cannotTell(_ name: String, _ length: Int) throws -> Bool {
        switch name {
        // Right after the picture's end marker: the picture does not refer to Samsung's data.
        case "samsung.jpg": try length == Fixtures.bytes("plain.jpg").count
        default: false
        }
    }

    @Test("At every length of a small file, at every 97th of a large one", arguments: Fixtures.names)
    func everyLength(name: String) throws {
        let whole = try Fixtures.bytes(name)
        let lengths = Array(stride(from: 0, to: whole.count, by: whole.count > 6_000 ? 97 : 1))
        // Also at the first and last bytes, where mistakes are likely.
        for length in lengths + Array(max(0, whole.count - 64)..<whole.count) + Array(0..<min(64, whole.count)) {
            let completeness = try report(Array(whole.prefix(length)), name: name).completeness
            guard completeness.isWhole else { continue }
            #expect(try cannotTell(name, length), "\(length) of \(whole.count): \(completeness)")
        }
    }

    @Test(
        "With zeros in place of the missing part, as programs that preallocate space leave them",
        arguments: Fixtures.names)
    func zeros(name: String) throws {
        let whole = try Fixtures.bytes(name)
        // RAW and boxes are checked by offsets and lengths alone: unwritten bytes are not detected there, nor
        // are pixels of zero in a PNG, WebP or TIFF. A missing end marker is.
        guard [".jpg", ".gif", ".png"].contains(where: { name.hasSuffix($0) }), !name.hasPrefix("m"),
            name != "samsung.jpg"
        else { return }
        for length in stride(from: 0, to: whole.count - 16, by: max(1, whole.count / 200)) {
            let reserved = whole.prefix(length) + [UInt8](repeating: 0, count: whole.count - length)
            #expect(try !report(Array(reserved), name: name).completeness.isWhole, "\(length) of \(whole.count)")
        }
    }
}
