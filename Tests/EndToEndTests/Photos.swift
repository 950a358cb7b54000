import Foundation

/// The photographs in Tests/Fixtures, and as many different ones as are wanted.
enum Photos {
    private static let directory = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")

    static func path(_ name: String) -> String { directory.appending(path: name).path(percentEncoded: false) }

    static func named(_ name: String) throws -> Data { try Data(contentsOf: directory.appending(path: name)) }

    /// A whole JPEG that is like no other: a comment with `number` stands after its start. Taken, says its EXIF, on
    /// 2024-01-31.
    static func unique(_ number: Int, of name: String = "exif.jpg") throws -> Data {
        let photo = try named(name)
        let comment = Array("number \(number)".utf8)
        let length = comment.count + 2
        return photo.prefix(2) + [0xFF, 0xFE, UInt8(length >> 8), UInt8(length & 0xFF)] + comment + photo.dropFirst(2)
    }

    /// The same, made larger by `megabytes` of what follows its end, which cameras do too.
    static func large(_ number: Int, megabytes: Int) throws -> Data {
        try unique(number) + Data(repeating: UInt8(truncatingIfNeeded: number), count: megabytes << 20)
    }

    /// Where photos with the fixtures' EXIF date go.
    static let day = "2024/01/2024-01-31"
}
