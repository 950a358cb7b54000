package import Catalogue
package import FileValues
package import Filing
import LinuxKernel
import PhotoModel
import SystemPackage

/// Records the photos of an existing library in the catalogue without moving, renaming or changing files. Known photos
/// are skipped, so it can be stopped and run again.
///
/// Reads every new file, so run it on a separate thread.
package struct LibraryAdoption {
    /// Counts of files.
    package struct Summary: Hashable, Sendable {
        package var seen = 0
        package var bytes: UInt64 = 0
        package var adopted = 0
        package var known = 0
        /// Photos whose rows got their new path.
        package var moved: Set<Int64> = []
        /// Photos whose content has a row with another path.
        package var sameContent = 0
        /// Photos that differ from their row.
        package var differing = 0
        /// Files that are not photos.
        package var others = 0
        /// Files that could not be read.
        package var unreadable = 0

        package init() {}
    }

    /// A result reported during the run.
    package enum Finding: Hashable, Sendable {
        case adopted(BytePath)
        case moved(BytePath, from: BytePath)
        case sameContent(BytePath, as: BytePath)
        case differs(BytePath)
        case unreadable(BytePath, reason: String)
    }

    /// Rows per transaction.
    private static let batch = 100

    /// Nil for a dry run.
    private let catalogue: CatalogueFile?
    private let known: CatalogueFile
    private let tree: LibraryTree
    private let missing: Set<Int64>
    private let work: FileWork

    /// Adopts into `catalogue`, or, with nil, makes a dry run. Photos of `known` are skipped. `missing` are photos
    /// whose files are missing: a file with the same content gets their row. `work` can stop the run.
    package init(
        of tree: LibraryTree, into catalogue: CatalogueFile?, comparingWith known: CatalogueFile,
        missing: Set<Int64> = [],
        work: FileWork = FileWork()
    ) {
        self.tree = tree
        self.catalogue = catalogue
        self.known = known
        self.missing = missing
        self.work = work
    }

    package init(
        of tree: LibraryTree, into catalogue: CatalogueFile, missing: Set<Int64> = [], work: FileWork = FileWork()
    ) {
        self.init(of: tree, into: catalogue, comparingWith: catalogue, missing: missing, work: work)
    }

    /// Adopts the photos below `directory`. Calls `tell` with each finding and `progress` after each file. Throws
    /// ``FilingError/Cause/stopped`` when stopped; photos adopted so far stay.
    @discardableResult
    package func run(
        below directory: BytePath = "", progress: (Summary) throws -> Void = { _ in },
        tell: (Finding) throws -> Void = { _ in }
    ) throws -> Summary {
        var summary = Summary()
        var waiting: [PhotoRecord] = []
        try tree.walk(below: directory) { path in
            if work.shouldStop() {
                try record(&waiting, &summary, tell)
                throw FilingError(.openSource, .source, .stopped, path: path)
            }
            summary.seen += 1
            do {
                if let photo = try newRecord(at: path, &summary) { waiting.append(photo) }
            } catch let error as FilingError where error.kind != .stopped {
                summary.unreadable += 1
                try tell(.unreadable(path, reason: "\(error.cause)"))
            }
            if waiting.count >= Self.batch { try record(&waiting, &summary, tell) }
            try progress(summary)
        } unreadable: { path, error in
            summary.unreadable += 1
            try tell(.unreadable(path, reason: "\(error)"))
        }
        try record(&waiting, &summary, tell)
        return summary
    }

    /// Returns the row for the file at `path`; nil if there is one with its path and size, or it is not a photo.
    private func newRecord(at path: BytePath, _ summary: inout Summary) throws -> PhotoRecord? {
        let file = try SourceFile(path, beneath: tree.root)
        if let known = try known.photo(library: tree.path, path: path), known.photo.size == file.identity.size {
            summary.known += 1
            return nil
        }
        var bytes = DescriptorByteSource(file)
        let report: PhotoReport
        do { report = try PhotoReader.read(&bytes, name: path.name) } catch {
            throw FilingError(
                .openSource, .source, .system(SystemCallError("pread", .ioError, path: path)), path: path)
        }
        var sidecar: SidecarKind?
        if case .sidecar(let kind) = NameRules.decide(path) { sidecar = kind }
        guard report.format != nil || sidecar != nil else {
            summary.others += 1
            return nil
        }
        let hash = try file.hash(work)
        summary.bytes += file.identity.size
        let date = CaptureDateDecision(
            recorded: report.dates, name: path.name, modified: file.identity.modified, now: Moment.now.wall,
            zone: { LocalClock(at: $0).offset })
        return PhotoRecord(
            adopting: path, of: tree.path, file, report, sidecar, date: date.chosen, hash: hash)
    }

    /// Returns the result that adopting a photo would have, for a dry run. Two new photos with the same bytes both
    /// count as new.
    private func predictedAdoption(_ photo: PhotoRecord) throws -> Adoption {
        if let there = try known.photo(library: photo.library, path: photo.libraryPath) { return .differs(there.id) }
        guard let same = try known.photo(withHash: photo.sha256) else { return .adopted(0) }
        if missing.contains(same.id) { return .moved(same.id, from: same.photo.libraryPath) }
        return photo.part.isSidecar ? .adopted(0) : .sameContent(as: same.id, path: same.photo.libraryPath)
    }

    private func record(
        _ waiting: inout [PhotoRecord], _ summary: inout Summary, _ tell: (Finding) throws -> Void
    ) throws {
        guard !waiting.isEmpty else { return }
        let results =
            try catalogue?.adopt(waiting, missing: missing, at: Moment.now.wall) ?? waiting.map(predictedAdoption)
        for (photo, result) in zip(waiting, results) {
            switch result {
            case .adopted:
                summary.adopted += 1
                try tell(.adopted(photo.libraryPath))
            case .known: summary.known += 1
            case .moved(let id, let old):
                summary.moved.insert(id)
                try tell(.moved(photo.libraryPath, from: old))
            case .sameContent(_, let path):
                summary.sameContent += 1
                try tell(.sameContent(photo.libraryPath, as: path))
            case .differs:
                summary.differing += 1
                try tell(.differs(photo.libraryPath))
            // Its filing records it.
            case .beingFiled: break
            }
        }
        waiting = []
    }
}

extension PhotoRecord {
    fileprivate init(
        adopting path: BytePath, of library: BytePath, _ file: SourceFile, _ report: PhotoReport,
        _ sidecar: SidecarKind?, date: PhotoModel.CaptureDate?, hash: ContentHash
    ) {
        let name = SetName(path)
        let role = sidecar.map { .sidecar($0) } ?? report.format.map { SetRole($0) }
        self.init(
            sha256: hash.bytes, size: file.identity.size, library: library, libraryPath: path,
            inbox: CatalogueFile.adoptedInbox, sourcePath: path, originalName: path.name,
            format: sidecar?.rawValue ?? report.format?.rawValue ?? "",
            captured: date.map {
                RecordedCaptureDate(
                    local: $0.hasTime ? String($0.text.prefix(19)) : $0.text, offset: $0.offset,
                    provenance: $0.provenance.rawValue)
            },
            width: report.width, height: report.height, orientation: report.orientation,
            camera: report.camera,
            proof: "found in the library: \(report.completeness.words)", sourceIdentity: file.identity,
            part: SetPart(
                role: role?.code, contentIdentifier: report.contentIdentifier, key: name.key.bytes,
                shortKey: name.shortKeys.first?.bytes))
    }
}
