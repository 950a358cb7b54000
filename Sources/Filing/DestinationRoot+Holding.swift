package import FileValues
package import LinuxKernel
import SystemPackage

extension DestinationRoot {
    /// Whether `path` in this tree is a regular file with this content, read from the medium again.
    ///
    /// False if it is missing, of another kind or size, or damaged beyond reading; throws where a later try could give
    /// another answer.
    package func holds(
        _ path: BytePath, hash: ContentHash, size: UInt64, work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        try file(path, hash: hash, size: size, work: work) != nil
    }

    /// The status of that file; nil where ``holds(_:hash:size:work:)`` is false.
    package func file(
        _ path: BytePath, hash: ContentHash, size: UInt64, work: FileWork = FileWork()
    ) throws(FilingError) -> FileStatus? {
        let parent: OwnedDescriptor
        do { parent = try descriptor.openDirectoryBeneath(path.parent) } catch {
            switch error.code {
            case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels: return nil
            default: throw FilingError(.verifyCopy, .destination, .system(error), path: path)
            }
        }
        return try Filing.holds(path.name, in: parent, hash: hash, size: size, work, .verifyCopy)
    }
}
