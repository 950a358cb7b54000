public import FileValues

/// Why a ``WatchMemory`` could not be read or written.
public struct WatchMemoryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Hashable, Sendable {
        /// The bytes are no memory at all.
        case foreign
        /// A memory in a format that this version does not read.
        case version(UInt32)
        /// It ends too early, or goes on after its end.
        case length
        /// Its checksum is wrong.
        case checksum
        /// The checksum is right, and the content is impossible.
        case malformed(String)
        /// The system refused.
        case system(CallFailure)
    }

    /// The kind of failure.
    public let code: Code

    /// An error of this kind.
    public init(_ code: Code) { self.code = code }

    /// One clause for people.
    public var description: String {
        switch code {
        case .foreign: "it is no record of what was known"
        case .version(let number): "its format is \(number), which this version does not read"
        case .length: "it is cut short, or too long"
        case .checksum: "its checksum is wrong"
        case .malformed(let what): "it is damaged: \(what)"
        case .system(let error): "\(error)"
        }
    }
}
