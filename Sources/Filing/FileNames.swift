package import FileValues

/// The names that filing gives: to its own temporaries, and to files whose name is taken.
package enum FileNames {
    /// What every file begins with that is ours for the time of one filing. Whoever watches an inbox leaves such names
    /// alone; ``Recovery`` removes or renames what a crash left of them.
    package static let prefix = ".photo-inbox-"

    /// The named temporary in the destination directory, where anonymous ones don't work.
    package static func temporary(_ token: String) -> BytePath { BytePath("\(prefix)\(token).part") }

    /// The source's name between its last look and its removal. It ends like other unfinished names too.
    package static func aside(_ token: String) -> BytePath { BytePath("\(prefix)\(token).aside.part") }

    /// The copy with this number in the hidden directory of an import.
    static func copy(_ number: Int) -> BytePath { BytePath("\(number).part") }

    /// Whether `name` is that of such a copy.
    static func isCopyNumber(_ name: BytePath) -> Bool {
        let digits = name.bytes.dropLast(5)
        return name.bytes.suffix(5).elementsEqual(".part".utf8) && !digits.isEmpty
            && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether `name` is one of ours.
    package static func isOurs(_ name: BytePath) -> Bool { name.bytes.starts(with: Array(prefix.utf8)) }

    /// Whether `token` can stand in such a name: 1 to 64 ASCII letters, digits and dashes.
    package static func isToken(_ token: String) -> Bool {
        (1...64).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "-")
            }
    }

    /// A token that no other run and no other daemon will use: 128 random bits.
    package static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// `IMG_1.jpg` for attempt 0, then `IMG_1-2.jpg`, `IMG_1-3.jpg` …, cut to the 255 bytes that a name may have.
    ///
    /// With `numberAfter` the number follows so many bytes of the name: `IMG_1-2.CR3.xmp` goes with `IMG_1-2.CR3`.
    package static func candidate(_ name: BytePath, attempt: Int, numberAfter: Int? = nil) -> BytePath {
        guard attempt > 0 else { return name }
        return fitting(stem(of: name, numberAfter), of: name.name, suffix: "-\(attempt + 1)")
    }

    /// What the number follows.
    static func stem(of name: BytePath, _ numberAfter: Int?) -> [UInt8] {
        Array(name.name.bytes.prefix(numberAfter ?? name.stem.bytes.count))
    }

    /// What follows the number: the extension with its dot and in its own spelling; one so long that no stem would be
    /// left is cut as well.
    static func ending(of name: BytePath, stem: Int) -> [UInt8] { cut(Array(name.name.bytes.dropFirst(stem)), to: 64) }

    /// `IMG_1.jpg.reason.txt`, cut to 255 bytes likewise.
    package static func reason(for name: BytePath, attempt: Int) -> BytePath {
        let ending = Array((attempt == 0 ? ".reason.txt" : ".reason-\(attempt + 1).txt").utf8)
        return BytePath(cut(name.bytes, to: limit - ending.count) + ending)
    }

    /// NAME_MAX of linux/limits.h, in bytes.
    private static let limit = 255

    private static func fitting(_ stem: [UInt8], of name: BytePath, suffix: String) -> BytePath {
        let ending = ending(of: name, stem: stem.count)
        let suffix = Array(suffix.utf8)
        return BytePath(cut(stem, to: limit - suffix.count - ending.count) + suffix + ending)
    }

    /// At most `length` bytes, not ending inside a UTF-8 sequence that is whole in `bytes`.
    private static func cut(_ bytes: [UInt8], to length: Int) -> [UInt8] {
        guard bytes.count > length else { return bytes }
        var end = length
        while end > 0, length - end < 3, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        // Four continuation bytes in a row are no UTF-8 anyway.
        if bytes[end] & 0xC0 == 0x80 { end = length }
        return Array(bytes[..<end])
    }
}
