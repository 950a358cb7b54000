package import Catalogue
package import FileValues
package import Filing
import LinuxKernel

/// The damage of a photo in the library. The catalogue records its description.
package enum PhotoDamage: CustomStringConvertible {
    case notFiled
    /// The disk cannot read it; it may be intact.
    case unreadable(FilingError.Cause)

    package var description: String {
        switch self {
        case .notFiled: "missing, or not what was filed"
        case .unreadable(let cause): "it cannot be read: \(cause)"
        }
    }
}

/// Verifies photos of one library. For one thread at a time.
package final class LibraryReading {
    private let library: BytePath
    private let root: DestinationRoot
    private let libraryGuard: LibraryGuard

    /// Opens the library. Throws ``SystemCallError``, and the errors of ``LibraryGuard/check(_:at:)``.
    package init(_ library: BytePath, _ libraryGuard: LibraryGuard) throws {
        let root = try DestinationRoot(library)
        try libraryGuard.check(root.descriptor, at: library)
        self.library = library
        self.libraryGuard = libraryGuard
        self.root = root
    }

    /// Returns whether this library must contain the photo now.
    package func concerns(_ stored: StoredPhoto) -> Bool {
        stored.supersededAt == nil && stored.photo.library == library
    }

    /// Returns the present identity of the photo's file; nil if there is none.
    package func identity(of stored: StoredPhoto) -> FileIdentity? {
        (try? FileStatus(of: stored.photo.libraryPath, beneath: root.descriptor))?.identity
    }

    /// Reads the whole photo and returns its damage; nil if it is intact, or a sidecar, which people and programs write to.
    /// Throws if the library is no longer there.
    package func damage(of stored: StoredPhoto) throws -> PhotoDamage? {
        guard let hash = ContentHash(stored.photo.sha256) else { return .notFiled }
        do throws(FilingError) {
            let isWhole = try root.holds(stored.photo.libraryPath, hash: hash, size: stored.photo.size)
            return isWhole || stored.photo.part.isSidecar && identity(of: stored) != nil ? nil : .notFiled
        } catch {
            // A missing disk is not a damaged photo.
            try libraryGuard.check(try openDirectory(library), at: library)
            return .unreadable(error.cause)
        }
    }
}
