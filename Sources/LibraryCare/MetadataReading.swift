package import Catalogue
package import FileValues
package import Filing
package import LinuxKernel
import PhotoModel

/// Reads the metadata of a library's photos and of their sidecars for the catalogue, in the order in which they were
/// filed. For one thread at a time.
package final class MetadataReading {
    private let library: BytePath
    private let root: OwnedDescriptor
    private let catalogue: CatalogueFile
    private let work: FileWork

    /// Opens the library. Throws ``SystemCallError``.
    package init(
        of library: BytePath, for catalogue: CatalogueFile, work: FileWork = FileWork()
    ) throws(SystemCallError) {
        self.library = library
        self.catalogue = catalogue
        self.work = work
        root = try openDirectory(library)
    }

    /// Reads the next `limit` photos after `last`; nil if there are none. A file that is missing or unreadable has no
    /// metadata. A sidecar renews the metadata of the photos of its set.
    ///
    /// `requireLibrary` is called after a file was not found, and throws if the library itself is gone.
    package func next(
        after last: Int64, limit: Int, requireLibrary: () throws -> Void = {}
    ) throws -> MetadataBatch? {
        let page = try catalogue.photos(after: last, limit: limit)
        guard let end = page.last else { return nil }
        var batch = MetadataBatch(through: end.id)
        for stored in page where stored.photo.library == library {
            if work.shouldStop() { throw FilingError(.openSource, .source, .stopped, path: stored.photo.libraryPath) }
            let set = try catalogue.photos(inSetOf: stored)
            let sidecars = set.filter(\.photo.part.isSidecar)
            let photos = stored.photo.part.isSidecar ? set.filter { !$0.photo.part.isSidecar } : [stored]
            for photo in photos {
                do {
                    batch.decisions[photo.id] = try decision(
                        on: photo,
                        sidecars.filter { SetName($0.photo.originalName).belongs(to: photo.photo.originalName) })
                } catch { try requireLibrary() }
            }
        }
        return batch
    }

    /// Reads everything that was not read yet and records it. Calls `progress` with the number of photos so far.
    package func run(progress: (Int) throws -> Void = { _ in }) throws {
        var last = try catalogue.metadataReadThrough()
        var count = 0
        while let batch = try next(after: last, limit: 50) {
            try catalogue.record(batch)
            last = batch.through
            count += batch.decisions.count
            try progress(count)
        }
    }

    private func decision(on stored: StoredPhoto, _ sidecars: [StoredPhoto]) throws -> MetadataDecision {
        let file = try SourceFile(stored.photo.libraryPath, beneath: root)
        var bytes = DescriptorByteSource(file)
        let report = try PhotoReader.read(&bytes, name: file.name)
        var found = report.metadata
        for stored in sidecars {
            guard let sidecar = try? read(stored) else { continue }
            found[sidecar.source] = sidecar.metadata
        }
        return MetadataDecision(found, iptcIsNewer: report.iptcIsNewer)
    }

    private func read(_ stored: StoredPhoto) throws -> SidecarMetadata? {
        guard case .sidecar(let kind) = NameRules.decide(stored.photo.libraryPath),
            stored.photo.size <= SidecarMetadata.largest
        else { return nil }
        let file = try SourceFile(stored.photo.libraryPath, beneath: root)
        var source = DescriptorByteSource(file)
        return SidecarMetadata(
            try source.read(at: 0, count: Int(min(file.identity.size, SidecarMetadata.largest))), kind: kind)
    }
}
