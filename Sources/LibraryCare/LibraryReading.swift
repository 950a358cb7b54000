package import Catalogue
package import FileValues
package import Filing
import LinuxKernel

/// What is wrong with a photo of the library, in words that the catalogue keeps.
package enum PhotoDamage: CustomStringConvertible {
    case notFiled
    /// May be whole: the disk does not give it out.
    case unreadable(FilingError.Cause)

    package var description: String {
        switch self {
        case .notFiled: "missing, or not what was filed"
        case .unreadable(let cause): "it cannot be read: \(cause)"
        }
    }
}

/// Reads photos of one library again and compares them with what was filed. For one thread at a time.
package final class LibraryReading {
    private let library: BytePath
    private let root: DestinationRoot
    private let libraryGuard: LibraryGuard

    /// Throws ``SystemCallError`` where the library cannot be opened, and what ``LibraryGuard/check(_:at:)`` throws where
    /// it is another one.
    package init(_ library: BytePath, _ libraryGuard: LibraryGuard) throws {
        let root = try DestinationRoot(library)
        try libraryGuard.check(root.descriptor, at: library)
        self.library = library
        self.libraryGuard = libraryGuard
        self.root = root
    }

    /// Whether the photo is one that this library has to hold now.
    package func concerns(_ stored: StoredPhoto) -> Bool {
        stored.supersededAt == nil && stored.photo.library == library
    }

    /// How the file at the photo's place is now; nil where there is none.
    package func identity(of stored: StoredPhoto) -> FileIdentity? {
        (try? FileStatus(of: stored.photo.libraryPath, beneath: root.descriptor))?.identity
    }

    /// What is wrong with the photo, after reading all of it; nil if it is whole. Throws where the library went away
    /// meanwhile.
    package func damage(of stored: StoredPhoto) throws -> PhotoDamage? {
        guard let hash = ContentHash(stored.photo.sha256) else { return .notFiled }
        do throws(FilingError) {
            let isWhole = try root.holds(stored.photo.libraryPath, hash: hash, size: stored.photo.size)
            return isWhole ? nil : .notFiled
        } catch {
            // A disk that is gone is not the damage of one photo.
            try libraryGuard.check(try openDirectory(library), at: library)
            return .unreadable(error.cause)
        }
    }
}
