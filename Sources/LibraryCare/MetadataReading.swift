package import Catalogue
package import FileValues
package import Filing
package import LinuxKernel
import PhotoFormats
import PhotoModel
import SystemPackage

/// Reads the metadata of a library's photos and of their sidecars for the catalogue. For one thread at a time.
package final class MetadataReading {
    private let library: BytePath
    private let root: OwnedDescriptor
    private let catalogue: CatalogueFile
    private let placeNames: PlaceNames?
    private let work: FileWork
    private let requireLibrary: () throws -> Void

    /// Opens the library. `requireLibrary` throws if the library is not at its path; called after a file was not read.
    /// Throws ``SystemCallError``.
    package init(
        of library: BytePath, for catalogue: CatalogueFile, placeNames: PlaceNames? = nil, work: FileWork = FileWork(),
        requireLibrary: @escaping () throws -> Void = {}
    ) throws(SystemCallError) {
        self.library = library
        self.catalogue = catalogue
        self.placeNames = placeNames
        self.work = work
        self.requireLibrary = requireLibrary
        root = try openDirectory(library)
    }

    /// Reads at most `limit` photos that are due, with identifiers above `last`; returns the identifier of the last one,
    /// nil if there are none. A file that is not there has no metadata; one that cannot be read stays due.
    package func next(after last: inout Int64, limit: Int) throws -> MetadataBatch? {
        let page = try catalogue.photosToRead(in: library, after: last, limit: limit)
        guard let end = page.last else { return nil }
        var batch = MetadataBatch()
        var isIncomplete = false
        for due in page {
            let stored = due.stored
            if work.shouldStop() { throw FilingError(.openSource, .source, .stopped, path: stored.photo.libraryPath) }
            // Of a record that was replaced or struck, what is known stays; a sidecar is read with its photos.
            if stored.supersededAt != nil || stored.photo.part.isSidecar {
                batch.add(nil, of: due)
                continue
            }
            do {
                batch.add(try decision(on: stored), of: due)
            } catch let error as FilingError where Self.isAbsence(error) {
                isIncomplete = true
                batch.add(MetadataDecision([:]), of: due)
            } catch is FilingError { isIncomplete = true } catch is ByteSourceError { isIncomplete = true }
        }
        if isIncomplete { try requireSame(root, as: library, requireLibrary) }
        last = end.stored.id
        return batch
    }

    /// Reads everything that is due and records it.
    package func run() throws {
        placeNames?.refresh()
        try catalogue.renewMetadata(placeNames: placeNames?.version)
        var last: Int64 = 0
        while let batch = try next(after: &last, limit: 50) { try catalogue.record(batch) }
    }

    /// Whether the catalogue has other metadata of a photo than its file and its sidecars have now.
    func isOutdated(_ stored: StoredPhoto) throws -> Bool {
        if stored.photo.part.isSidecar { return false }
        return try catalogue.differs(try decision(on: stored), from: stored)
    }

    /// Whether there is no such file to be read.
    private static func isAbsence(_ error: FilingError) -> Bool {
        switch error.cause {
        case .refused(.leased): false
        case .refused: true
        case .system(let error):
            [.noSuchFileOrDirectory, .notDirectory, .permissionDenied, .tooManySymbolicLinkLevels].contains(error.code)
        default: false
        }
    }

    private func decision(on stored: StoredPhoto) throws -> MetadataDecision {
        let sidecars = try catalogue.photos(inSetOf: stored).filter {
            $0.photo.part.isSidecar && SetName($0.photo.originalName).belongs(to: stored.photo.originalName)
        }
        let file = try SourceFile(stored.photo.libraryPath, beneath: root, mayHaveLinks: true)
        var bytes = DescriptorByteSource(file)
        let report = try PhotoReader.readMetadata(&bytes, name: file.name)
        var found = report.metadata
        for stored in sidecars {
            guard let sidecar = try read(stored) else { continue }
            found[sidecar.source] = sidecar.metadata
        }
        var decision = MetadataDecision(found, iptcIsNewer: report.iptcIsNewer)
        decision.nearby = decision.chosen.position.flatMap { placeNames?.place(near: $0) }
        return decision
    }

    private func read(_ stored: StoredPhoto) throws -> SidecarMetadata? {
        guard case .sidecar(let kind) = NameRules.decide(stored.photo.libraryPath),
            stored.photo.size <= SidecarMetadata.largest
        else { return nil }
        do {
            let file = try SourceFile(stored.photo.libraryPath, beneath: root, mayHaveLinks: true)
            var source = DescriptorByteSource(file)
            return SidecarMetadata(
                try source.read(at: 0, count: Int(min(file.identity.size, SidecarMetadata.largest))), kind: kind)
        } catch let error as FilingError where Self.isAbsence(error) { return nil }
    }
}

/// Throws if the directory at the library's path is another one than `root`, or not the library.
func requireSame(
    _ root: borrowing OwnedDescriptor, as library: BytePath, _ requireLibrary: () throws -> Void
) throws {
    let (opened, now) = (try FileStatus(of: root), try FileStatus(at: library, followingLinks: true))
    guard opened.device == now.device, opened.identity.inode == now.identity.inode else {
        throw SystemCallError("stat", .noSuchFileOrDirectory, path: library)
    }
    try requireLibrary()
}
