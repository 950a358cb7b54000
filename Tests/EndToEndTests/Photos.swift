import Foundation

/// The photos of Tests/Fixtures, and any number of different ones.
enum Photos {
    private static let directory = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")

    static func path(_ name: String) -> String { directory.appending(path: name).path(percentEncoded: false) }

    static func named(_ name: String) throws -> Data { try Data(contentsOf: directory.appending(path: name)) }

    /// A unique JPEG with `number` in a comment after its start. Its EXIF date is
    /// 2024-01-31.
    static func unique(_ number: Int, of name: String = "exif.jpg") throws -> Data {
        let photo = try named(name)
        let comment = Array("number \(number)".utf8)
        let length = comment.count + 2
        return photo.prefix(2) + [0xFF, 0xFE, UInt8(length >> 8), UInt8(length & 0xFF)] + comment + photo.dropFirst(2)
    }

    /// Structurally complete, but too large to decode: 65,500 by 65,500 pixels.
    static func tooLarge() throws -> Data {
        var photo = Array(try named("plain.jpg"))
        guard let frame = photo.indices.dropLast(9).first(where: { photo[$0] == 0xFF && photo[$0 + 1] == 0xC0 }) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        photo.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        return Data(photo)
    }

    /// The photo of ``unique(_:of:)``, made larger by at least `megabytes` of comments.
    static func large(_ number: Int, megabytes: Int) throws -> Data { try large(number, bytes: megabytes << 20) }

    /// The same, made larger by at least `bytes` bytes.
    static func large(_ number: Int, bytes: Int) throws -> Data {
        let photo = try unique(number)
        let comment: Data = [0xFF, 0xFE, 0xFF, 0xFF] + Data(repeating: 0x55, count: 65_533)
        // Appended as blocks: an unoptimised build needs seconds to join megabytes byte by byte.
        var large = photo.prefix(2)
        for _ in 0...bytes / comment.count { large.append(comment) }
        return large + photo.dropFirst(2)
    }

    /// The library directory for the fixtures' EXIF date.
    static let day = "2024/01/2024-01-31"
}
