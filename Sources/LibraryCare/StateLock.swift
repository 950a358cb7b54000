package import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// Keeps a second daemon away from the same state: an flock(2) on a file in the state directory, held as long as this
/// object lives, and let go by the kernel however the process ends.
package final class StateLock: Sendable {
    /// Another daemon holds it.
    package struct Taken: Error, CustomStringConvertible {
        let path: BytePath

        package var description: String {
            "another photoinboxd works with this state directory: it holds \(path.escaped). Stop it, or give --state"
        }
    }

    private let file: OwnedDescriptor
    /// Whether a catalogue was opened here before: where there is none now, it was lost.
    package let hadCatalogue: Bool

    /// Takes the lock of the state directory `directory`, without waiting. Throws ``Taken``, or what the system says.
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

    /// Remembers that there is a catalogue. That it cannot be is no reason not to file.
    package func noteCatalogue() { if !hadCatalogue { try? file.write(Array("a catalogue was made\n".utf8), at: 0) } }
}
