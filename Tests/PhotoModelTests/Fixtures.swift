import FileValues
import Foundation
import PhotoFormats

/// The photos of Tests/Fixtures, beside this target's directory.
enum Fixtures {
    /// The names of all photos, sorted.
    static let names: [String] = {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return all.filter { !$0.hasSuffix(".py") && !$0.hasSuffix(".md") && !$0.hasSuffix(".json") }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    static func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// The output of exiftool for each photo, as recorded by make-fixtures.py.
    static func exiftool() throws -> [String: [String: Any]] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/exiftool.json"))
        let rows = try Exiftool.rows(in: data)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0["SourceFile"] as? String ?? "", $0) })
    }

    private static let directory: String = {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return here.appendingPathComponent("Fixtures").path
    }()
}

/// The reader's report on `bytes`; reading from memory cannot fail.
func report(_ bytes: [UInt8], name: String = "") throws -> PhotoReport {
    var source = MemoryByteSource(bytes)
    return try PhotoReader.read(&source, name: BytePath(name))
}

extension Completeness {
    var isWhole: Bool { if case .whole = self { true } else { false } }
}

/// A source that counts its reads and can fail or end early.
struct WatchedSource: ByteSource {
    let bytes: [UInt8]
    var size: UInt64
    var reads = 0
    var failingRead: Int?

    init(_ bytes: [UInt8], failingRead: Int? = nil) {
        self.bytes = bytes
        self.failingRead = failingRead
        size = UInt64(bytes.count)
    }

    mutating func read(at offset: UInt64, count: Int) throws(ByteSourceError) -> [UInt8] {
        reads += 1
        if reads == failingRead { throw ByteSourceError(code: 5, description: "Input/output error") }
        guard offset < UInt64(bytes.count) else { return [] }
        return Array(bytes[Int(offset)..<min(Int(offset) + count, bytes.count)])
    }
}
