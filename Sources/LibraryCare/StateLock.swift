package import Catalogue
package import FileValues
import Glibc
import LinuxKernel
package import PhotoModel
import SystemPackage

/// A lock that excludes a second daemon from the state directory: an flock(2) on a file in it, released by deinit or
/// the end of the process.
package final class StateLock: Sendable {
    /// Another daemon holds the lock.
    package struct Taken: Error, CustomStringConvertible {
        let path: BytePath

        package var directory: BytePath { path.parent }
        /// Without what to do.
        package var words: String {
            "another photoinboxd works with this state directory: it holds \(path.escaped)"
        }
        package var description: String { "\(words). Stop it, or give --state" }
    }

    private let file: OwnedDescriptor
    private let directory: BytePath
    /// Whether a catalogue was opened here before. If there is none now, it was lost.
    package let hadCatalogue: Bool

    /// Locks the state directory without waiting. Throws ``Taken`` or a system error.
    package init(_ directory: BytePath) throws {
        self.directory = directory
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

    /// Opens the catalogue for the daemon whose state this is. In PostgreSQL it is that daemon's alone, which it is known by
    /// in the file `host`.
    package func openCatalogue(at place: CataloguePlace) throws -> CatalogueFile {
        guard place.file == nil else { return try open(place, CatalogueHost(key: "", name: "")) }
        let memory = try ServerMemory(in: directory)
        return try open(place, CatalogueHost(key: memory.key, name: machineName(), memory: memory))
    }

    private func open(_ place: CataloguePlace, _ host: CatalogueHost) throws -> CatalogueFile {
        let catalogue = try CatalogueFile.open(place, for: host, now: Moment.now.wall, isLost: hadCatalogue)
        // Errors are ignored, since they must not prevent filing.
        if !hadCatalogue { try? file.write(Array("a catalogue was made\n".utf8), at: 0) }
        return catalogue
    }
}

/// The name of this machine; `?` if it has none.
package func machineName() -> String {
    var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
    guard gethostname(&name, name.count - 1) == 0 else { return "?" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
