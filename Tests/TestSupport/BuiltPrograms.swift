import Glibc

/// The built programs under test: beside the test bundle, or in PHOTOINBOX_BIN.
public enum BuiltPrograms {
    /// Their directory.
    public static let directory: String = {
        if let named = getenv("PHOTOINBOX_BIN") { return String(cString: named) }
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        let own = path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
        return String(decoding: own.prefix(own.lastIndex(of: UInt8(ascii: "/")) ?? 0), as: UTF8.self)
    }()

    /// The path of the program `name`.
    public static func path(_ name: String) -> String { "\(directory)/\(name)" }
}
