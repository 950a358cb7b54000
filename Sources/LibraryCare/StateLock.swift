package import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// A lock that excludes a second daemon from the state directory: an flock(2) on a file in it, released by deinit or
/// the end of the process.
package final class StateLock: Sendable {
    /// Another daemon holds the lock.
    package struct Taken: Error, CustomStringConvertible {
        let path: BytePath

        package var description: String {
            "another photoinboxd works with this state directory: it holds \(path.escaped). Stop it, or give --state"
        }
    }

    private let file: OwnedDescriptor
    /// Whether a catalogue was opened here before. If there is none now, it was lost.
    package let hadCatalogue: Bool

    /// Locks the state directory without waiting. Throws ``Taken`` or a system error.
    package init(_ directory: BytePath) throws {
        let path = directory.appending("lock")
        file = try descriptorCall("open", path: path) {
            path.withCString { Glibc.open($0, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        }
        let raw = file.raw
        do { try systemCall("flock", path: path) { flock(raw, LOCK_EX | LOCK_NB) } } catch {
            throw error.code == .wouldBlock ? Taken(path: path) as any Error : error
        }
        hadCatalogue = try FileStatus(of: file).identity.size > 0
    }

    /// Records that there is a catalogue. Errors are ignored, since they must not prevent filing.
    package func noteCatalogue() { if !hadCatalogue { try? file.write(Array("a catalogue was made\n".utf8), at: 0) } }
}
