import FileValues
import LinuxKernel

/// A temporary file with a unique name, by which a directory is recognised at other mount points.
final class PlaceProbe {
    /// Where the file was found: in the directory itself, in a parent, or in a subdirectory.
    enum Found { case there, above, inside }

    /// The maximum number of subdirectories to search.
    private static let maximumSubdirectories = 256

    private let directory: OwnedDescriptor
    private let name: BytePath

    /// Creates it in the directory at `path`; nil if that fails.
    init?(_ path: BytePath) {
        guard let directory = try? openDirectory(path) else { return nil }
        // Names like this are ignored by watches; see FileNames.
        name = BytePath(".photo-inbox-probe-\(randomHexadecimal(bytes: 8))")
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
        return inner.prefix(Self.maximumSubdirectories).contains { isThere(beneath: $0.name, of: other) }
            ? .inside : nil
    }

    /// Searches parents on the same file system only: below an automounter, a name may be that of a host.
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
