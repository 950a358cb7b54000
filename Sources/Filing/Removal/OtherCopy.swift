package import FileValues
package import LinuxKernel

/// A file whose bytes permit the removal of another file with the same bytes.
package enum OtherCopy {
    /// A recorded copy, to be opened again by its path.
    case recorded(RecordedCopy)
    /// The source of a copy that is to be removed, by its name in its directory. Its content must have this hash.
    case source(SourceFile, ContentHash)
    /// An object in a bucket that has this content, as a program has just read there: it is not opened here.
    case stored(ContentHash)
}

/// The recorded place and content of a copy.
package struct RecordedCopy {
    /// The path of the tree that contains it: the library's, as configured now.
    package let root: BytePath
    /// Relative to `root`.
    package let path: BytePath
    /// The SHA-256 of its content.
    package let hash: ContentHash
    /// Its size in bytes.
    package let size: UInt64
    /// Its status when this process last read or wrote its content; nil requires that the content is read now.
    package let lastRead: FileStatus?
    /// Throws unless the open directory is the recorded place.
    package let requirePlace: (borrowing OwnedDescriptor) throws -> Void

    package init(
        root: BytePath, path: BytePath, hash: ContentHash, size: UInt64, lastRead: FileStatus? = nil,
        requirePlace: @escaping (borrowing OwnedDescriptor) throws -> Void = { _ in }
    ) {
        self.root = root
        self.path = path
        self.hash = hash
        self.size = size
        self.lastRead = lastRead
        self.requirePlace = requirePlace
    }
}

extension RecordedCopy {
    /// Whether a regular file of its size is there, without reading it.
    package var mayExist: Bool {
        guard let root = try? openDirectory(root), let status = try? FileStatus(of: path, beneath: root) else {
            return false
        }
        return status.kind == .regular && status.identity.size == size
    }
}

/// The reason why no other file with the same bytes was verified, so that a file stays.
package enum CopyDoubt: Hashable, Sendable, CustomStringConvertible {
    /// The recorded path has no file of this kind and size.
    case missing(BytePath)
    /// No copy is recorded.
    case unrecorded
    /// The content of the copy differs.
    case differs(BytePath)
    /// The recorded path is another path of the file that was to be removed.
    case sameFile(BytePath)
    /// The recorded path is in another place than was recorded; the text says which.
    case otherPlace(String)

    /// One clause for people.
    package var description: String {
        switch self {
        case .missing(let path): "its copy is missing: \(path)"
        case .unrecorded: "no copy of it is recorded in the library"
        case .differs(let path): "its copy has other bytes: \(path)"
        case .sameFile(let path): "it is the same file as its copy, \(path), reached by another path"
        case .otherPlace(let why): "its copy cannot be checked: \(why)"
        }
    }
}
