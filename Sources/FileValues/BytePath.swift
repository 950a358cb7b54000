/// A path, or one name of it, as raw bytes: any byte but NUL, in no particular encoding.
///
/// Names in an inbox are hostile input, so a `BytePath` is never converted to `String` for a system call, only for
/// display, by ``escaped``. A value type without I/O; safe on any thread. See path_resolution(7).
public struct BytePath: Hashable, Sendable {
    /// The bytes, without a terminating NUL.
    public let bytes: [UInt8]

    /// Copies `bytes` up to the first NUL, where the kernel would end the path too.
    public init(_ bytes: some Collection<UInt8>) {
        // One copy of contiguous storage: other modules call this unspecialised, so each byte alone would cost a call.
        let copy = bytes.withContiguousStorageIfAvailable { [UInt8]($0[..<($0.firstIndex(of: 0) ?? $0.count)]) }
        self.bytes = copy ?? Array(bytes.prefix { $0 != 0 })
    }

    /// The UTF-8 bytes of `string`, up to the first NUL.
    public init(_ string: String) {
        self.init(string.utf8)
    }

    /// Whether there are no bytes; as a relative path, the root itself.
    public var isEmpty: Bool { bytes.isEmpty }

    /// Whether the path starts at the root of the file system.
    public var isAbsolute: Bool { bytes.first == Self.slash }

    /// The names between slashes, in order, without empty ones (from doubled, leading or trailing slashes).
    public var components: [BytePath] {
        bytes.split(separator: Self.slash).map { BytePath(unchecked: Array($0)) }
    }

    /// The last name; empty for the root and for an empty path.
    public var name: BytePath {
        let trimmed = trimmingTrailingSlashes
        guard let cut = trimmed.lastIndex(of: Self.slash) else { return BytePath(unchecked: Array(trimmed)) }
        return BytePath(unchecked: Array(trimmed[(cut + 1)...]))
    }

    /// All but the last name: empty for a single relative name, `/` for a name directly below the root.
    public var parent: BytePath {
        let trimmed = trimmingTrailingSlashes
        guard let cut = trimmed.lastIndex(of: Self.slash) else { return BytePath(unchecked: []) }
        if cut == trimmed.startIndex { return BytePath(unchecked: [Self.slash]) }
        return BytePath(unchecked: Array(trimmed[..<cut]))
    }

    /// The name without its last extension: `IMG_1` of `a/IMG_1.CR3`. A leading dot starts no extension.
    public var stem: BytePath {
        let name = self.name.bytes
        guard let dot = Self.extensionDot(in: name) else { return BytePath(unchecked: name) }
        return BytePath(unchecked: Array(name[..<dot]))
    }

    /// The last extension in ASCII lower case, without its dot: `cr3` of `IMG_1.CR3`; empty if there is none.
    public var lowercasedExtension: [UInt8] {
        let name = self.name.bytes
        guard let dot = Self.extensionDot(in: name) else { return [] }
        return name[(dot + 1)...].map(\.asciiLowercased)
    }

    /// This path with `other` below it; `other` alone if this path is empty.
    public func appending(_ other: BytePath) -> BytePath {
        if isEmpty { return other }
        if other.isEmpty { return self }
        if bytes.last == Self.slash { return BytePath(unchecked: bytes + other.bytes) }
        return BytePath(unchecked: bytes + [Self.slash] + other.bytes)
    }

    /// This path with `suffix` added to its last name.
    public func addingSuffix(_ suffix: String) -> BytePath { BytePath(unchecked: bytes + Array(suffix.utf8)) }

    /// Whether this path is `ancestor` or below it, compared by names alone: links are not resolved.
    public func isInside(_ ancestor: BytePath) -> Bool {
        guard isAbsolute == ancestor.isAbsolute else { return false }
        let mine = components
        let theirs = ancestor.components
        return mine.count >= theirs.count && mine.starts(with: theirs)
    }

    /// This path relative to `ancestor`: nil if it is not inside, empty if both are the same.
    public func relative(to ancestor: BytePath) -> BytePath? {
        guard isInside(ancestor) else { return nil }
        let rest = components.dropFirst(ancestor.components.count).map(\.bytes)
        return BytePath(unchecked: Array(rest.joined(separator: [Self.slash])))
    }

    /// Whether the path may be resolved beneath a directory descriptor: relative, not empty, without `.` and `..`.
    public var isSafeBeneath: Bool {
        !isEmpty && !isAbsolute
            && components.allSatisfy { $0.bytes != [Self.dot] && $0.bytes != [Self.dot, Self.dot] }
    }

    /// Calls `body` with the bytes as a C string, for system calls.
    public func withCString<R, E: Error>(_ body: (UnsafePointer<CChar>) throws(E) -> R) throws(E) -> R {
        // The rethrowing call would lose the error's type, so its result is passed as a value.
        let result: Result<R, E> = withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("a terminated buffer is never empty") }
            for (index, byte) in bytes.enumerated() { buffer.initializeElement(at: index, to: CChar(bitPattern: byte)) }
            buffer.initializeElement(at: bytes.count, to: 0)
            do throws(E) { return .success(try body(base)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Wraps bytes that are known to hold no NUL, such as names from the kernel, without a search.
    package init(withoutNUL bytes: [UInt8]) { self.bytes = bytes }

    private var trimmingTrailingSlashes: ArraySlice<UInt8> {
        var end = bytes.endIndex
        while end > 0, bytes[end - 1] == Self.slash { end -= 1 }
        return bytes[..<end]
    }

    private static func extensionDot(in name: [UInt8]) -> Int? {
        guard let cut = name.lastIndex(of: dot), cut > 0, cut < name.count - 1 else { return nil }
        return cut
    }

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
}

extension BytePath: Comparable {
    /// Byte order, as in `LC_ALL=C sort`.
    public static func < (left: BytePath, right: BytePath) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension BytePath: ExpressibleByStringLiteral {
    /// A path written in source.
    public init(stringLiteral value: String) { self.init(value) }
}

extension BytePath: CustomStringConvertible {
    /// The same as ``escaped``, so that a path can never forge a line of a message.
    public var description: String { escaped }
}
