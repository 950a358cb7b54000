package import FileValues

/// Names of temporaries, and of files whose wanted name is taken.
package enum FileNames {
    /// The prefix of every temporary of this program. Watchers of an inbox ignore such names; ``Recovery`` removes or
    /// renames those that a crash left.
    package static let prefix = ".photo-inbox-"

    /// The name of a temporary in the destination directory where O_TMPFILE does not work.
    package static func temporary(_ token: String) -> BytePath { BytePath("\(prefix)\(token).part") }
    /// The source's name between its last check and its removal. Its suffix is that of unfinished names.
    package static func aside(_ token: String) -> BytePath { BytePath("\(prefix)\(token).aside.part") }
    /// The name of the copy with this number in the hidden directory of an import.
    static func copy(_ number: Int) -> BytePath { BytePath("\(number).part") }
    static func isCopyNumber(_ name: BytePath) -> Bool {
        let digits = name.bytes.dropLast(5)
        return name.bytes.suffix(5).elementsEqual(".part".utf8) && !digits.isEmpty
            && digits.allSatisfy(\.isASCIIDigit)
    }

    /// Whether `name` is a temporary of this program.
    package static func isOurs(_ name: BytePath) -> Bool { name.bytes.starts(with: Array(prefix.utf8)) }

    /// Whether `token` is valid: 1 to 64 ASCII letters, digits and dashes.
    package static func isToken(_ token: String) -> Bool {
        (1...64).contains(token.utf8.count)
            && token.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }

    /// Returns a unique token of 128 random bits.
    package static func makeToken() -> String { randomHexadecimal(bytes: 16) }

    /// Returns `IMG_1.jpg` for attempt 0, then `IMG_1-2.jpg`, `IMG_1-3.jpg` …, cut to 255 bytes.
    ///
    /// With `numberAfter` the number follows that many bytes of the name: `IMG_1-2.CR3.xmp` belongs to `IMG_1-2.CR3`.
    package static func candidate(_ name: BytePath, attempt: Int, numberAfter: Int? = nil) -> BytePath {
        guard attempt > 0 else { return name }
        return fitting(stem(of: name, numberAfter), of: name.name, suffix: "-\(attempt + 1)")
    }

    /// Returns the part of `name` before the number.
    static func stem(of name: BytePath, _ numberAfter: Int?) -> [UInt8] {
        Array(name.name.bytes.prefix(numberAfter ?? name.stem.bytes.count))
    }

    /// Returns the part of `name` after the number: the extension with its dot, cut if it is too long to leave a stem.
    static func ending(of name: BytePath, stem: Int) -> [UInt8] { cut(Array(name.name.bytes.dropFirst(stem)), to: 64) }

    /// Returns `IMG_1.jpg.reason.txt`, cut to 255 bytes.
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

    /// Returns at most `length` bytes, without splitting a UTF-8 sequence.
    private static func cut(_ bytes: [UInt8], to length: Int) -> [UInt8] {
        guard bytes.count > length else { return bytes }
        var end = length
        while end > 0, length - end < 3, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        // Four consecutive continuation bytes are not valid UTF-8.
        if bytes[end] & 0xC0 == 0x80 { end = length }
        return Array(bytes[..<end])
    }
}
