import FileValues
import LinuxKernel

/// A file with a name of its own for a moment, by which a directory is known wherever else it is mounted.
final class PlaceProbe {
    /// Where it was found: in the directory itself, in one above it, or in one that it has.
    enum Found { case there, above, inside }

    /// Directories of one level that are looked into.
    private static let most = 256

    private let directory: OwnedDescriptor
    private let name: BytePath

    /// Makes it in the directory at `path`; nil where nothing can be made.
    init?(_ path: BytePath) {
        guard let directory = try? openDirectory(path) else { return nil }
        var generator = SystemRandomNumberGenerator()
        // Of our own names, which nobody watches; see FileNames.
        name = BytePath(".photo-inbox-probe-\(String(generator.next(), radix: 16))")
        self.directory = directory
        guard (try? self.directory.openBeneath(name, [.write, .createNew])) != nil else { return nil }
    }

    deinit { try? directory.unlink(name) }

    /// Looks for it in the directory at `path`, in those above it on its file system, and in those that it has.
    func find(around path: BytePath) -> Found? {
        guard let other = try? openDirectory(path), let device = (try? FileStatus(of: other))?.device else {
            return nil
        }
        if (try? FileStatus(of: name, in: other)) != nil { return .there }
        if isAbove(path, on: device) { return .above }
        let inner = ((try? other.entries()) ?? []).filter { [.directory, .unknown].contains($0.kind) }
        return inner.prefix(Self.most).contains { isThere(beneath: $0.name, of: other) } ? .inside : nil
    }

    /// On other file systems the name might be a host's, for an automounter to find.
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
