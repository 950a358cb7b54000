package import FileValues
package import LinuxKernel

/// The file whose bytes permit the removal of another file with the same bytes.
package enum OtherCopy {
    /// A copy in a tree of ours, opened anew by its recorded path.
    case recorded(RecordedCopy)
    /// The source of a copy that is taken back, by its name in the directory that it was opened in. Its content must
    /// have this hash.
    case source(SourceFile, ContentHash)
}

/// Where a copy is according to the record.
package struct RecordedCopy {
    /// The path of the tree that holds it: the library's, as configured now.
    package let root: BytePath
    /// Relative to `root`.
    package let path: BytePath
    /// The SHA-256 of its content.
    package let hash: ContentHash
    /// Its size in bytes.
    package let size: UInt64
    /// Its status when this process last read or wrote its content; nil to have the content read now.
    package let lastRead: FileStatus?
    /// Throws unless the open directory is the place that the record means.
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
    /// Whether something of its size is there, as its name alone tells.
    package var mayStand: Bool {
        guard let root = try? openDirectory(root), let status = try? FileStatus(of: path, beneath: root) else {
            return false
        }
        return status.kind == .regular && status.identity.size == size
    }
}

/// Why the bytes of a file were not seen in another file, so that it stays.
package enum CopyDoubt: Hashable, Sendable, CustomStringConvertible {
    /// Nothing of its kind and size is at the recorded path.
    case missing(BytePath)
    /// No record leads to one.
    case unrecorded
    /// The content of the file there differs.
    case differs(BytePath)
    /// The recorded path leads to the very file that was to be removed.
    case sameFile(BytePath)
    /// The directory at the recorded path is another place than the one that is meant; says which.
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
