import FileValues
import LinuxKernel

/// A temporary file with a unique name, by which a directory is recognised wherever else it is mounted.
final class PlaceProbe {
    /// Where it was found: in the directory itself, in a parent, or in a subdirectory.
    enum Found { case there, above, inside }

    /// The number of subdirectories to search.
    private static let most = 256

    private let directory: OwnedDescriptor
    private let name: BytePath

    /// Creates it in the directory at `path`; nil if that fails.
    init?(_ path: BytePath) {
        guard let directory = try? openDirectory(path) else { return nil }
        var generator = SystemRandomNumberGenerator()
        // Names like this are ignored by watches; see FileNames.
        name = BytePath(".photo-inbox-probe-\(String(generator.next(), radix: 16))")
        self.directory = directory
        guard (try? self.directory.openBeneath(name, [.write, .createNew])) != nil else { return nil }
    }

    deinit { try? directory.unlink(name) }

    /// Searches the directory at `path`, its parents on the same file system, and its subdirectories.
    func find(around path: BytePath) -> Found? {
        guard let other = try? openDirectory(path), let device = (try? FileStatus(of: other))?.device else {
            return nil
        }
        if (try? FileStatus(of: name, in: other)) != nil { return .there }
        if isAbove(path, on: device) { return .above }
        let inner = ((try? other.entries()) ?? []).filter { [.directory, .unknown].contains($0.kind) }
        return inner.prefix(Self.most).contains { isThere(beneath: $0.name, of: other) } ? .inside : nil
    }

    /// Only on the same file system: for an automounter a name may be a host's.
    private func isAbove(_ path: BytePath, on device: UInt64) -> Bool {
        var above = (try? realPath(path))?.parent ?? ""
        while !above.isEmpty, let directory = try? openDirectory(above, .placeAlone),
            (try? FileStatus(of: directory))?.device == device
        {
            if (try? FileStatus(of: name, in: directory)) != nil { return true }
            if above == "/" { return false }
            above = above.parent
        }
        return false
    }

    private func isThere(beneath inner: BytePath, of other: borrowing OwnedDescriptor) -> Bool {
        (try? FileStatus(of: inner.appending(name), beneath: other)) != nil
    }
}
