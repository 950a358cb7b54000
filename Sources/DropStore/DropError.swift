package import LinuxKernel
import SystemPackage

/// Why something is not done for an upload.
package enum DropError: Error, Hashable, Sendable {
    case notFound
    case ended(UploadEnd)
    /// It has its name in the inbox, and is no upload any more.
    case placed
    /// Another request for the same upload has begun.
    case superseded
    /// All its bytes are there, and are being read.
    case busy
    /// It continues at this offset.
    case wrongOffset(UInt64)
    /// Another length was announced, or is there.
    case wrongLength
    /// More than was announced, or than is allowed.
    case tooLong(limit: UInt64)
    /// Its owner has too many uploads that have not ended.
    case tooManyOpen
    /// Its owner has too many files that are held.
    case tooManyHeld
    /// Its owner has sent what is allowed.
    case overTotal
    case empty
    /// Its owner has a total, so its length must be said at once.
    case lengthRequired
    /// The inbox was moved away, or another file system is mounted over it.
    case inboxGone
    /// Its name, as the file system allows it, is one that the daemon would ignore, by this rule.
    case ignoredName(rule: String)
    /// Bytes are not those of the digest that came with them.
    case wrongDigest
    /// The disk is full, or as full as it may be.
    case noRoom
    case system(SystemCallError)

    package init(_ error: SystemCallError) {
        switch error.code {
        case .noSpace, .diskQuotaExceeded: self = .noRoom
        default: self = .system(error)
        }
    }
}

/// Runs system calls for an upload.
func dropping<Value>(_ body: () throws(SystemCallError) -> Value) throws(DropError) -> Value {
    do throws(SystemCallError) { return try body() } catch { throw DropError(error) }
}
