import Foundation
import TestSupport

/// The files under test.
enum Checkout {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The text files below `place` whose names end with `suffix`, by path, without build products.
    static func files(below place: String, suffix: String) throws -> [String: String] {
        let root = directory.appending(path: place)
        let paths = FileManager.default.enumerator(atPath: root.path(percentEncoded: false))
        var files: [String: String] = [:]
        while let path = paths?.nextObject() as? String {
            guard path.hasSuffix(suffix) else { continue }
            files["\(place)/\(path)"] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        }
        return files
    }

    /// The output of `swift package dump-package`.
    static func manifest() throws -> JSONTree {
        let scratch = try ScratchDirectory()
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // In its own build directory, since that of the tests may be locked.
        process.arguments = ["swift", "package", "--scratch-path", scratch.path, "dump-package"]
        process.currentDirectoryURL = directory
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "PHOTOINBOX_TESTS" }
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return try JSONTree(bytes)
    }
}

extension JSONTree {
    /// The value of a key; `null` if absent.
    subscript(_ key: String) -> JSONTree {
        if case .object(let items) = self { items[key] ?? .null } else { .null }
    }

    /// The items; empty unless it is an array.
    var items: [JSONTree] { if case .array(let items) = self { items } else { [] } }

    /// The text; nil unless it is a string.
    var text: String? { if case .string(let text) = self { text } else { nil } }
}
