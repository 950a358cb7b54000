package import FileValues
package import LinuxKernel
import SystemPackage

extension DestinationRoot {
    /// Returns whether `path` in this tree is a regular file with this content, read again from the medium.
    ///
    /// False if it is missing, of another kind or size, or unreadable by damage. Throws if a retry could have another
    /// result.
    package func holds(
        _ path: BytePath, hash: ContentHash, size: UInt64, work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        try file(path, hash: hash, size: size, work: work) != nil
    }

    /// Returns the status of that file; nil if ``holds(_:hash:size:work:)`` is false.
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
        return try verifiedFile(path.name, in: parent, hash: hash, size: size, work, .verifyCopy)
    }
}
