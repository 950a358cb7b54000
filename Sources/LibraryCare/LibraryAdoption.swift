package import Catalogue
package import FileValues
package import Filing
import LinuxKernel
import PhotoModel
import SystemPackage

/// Takes the photos of a library that is there already into the catalogue: in place, nothing is moved, renamed or
/// changed. What is known stays as it is, so it may be stopped and run again.
///
/// For a thread of its own: reads every new file.
package struct LibraryAdoption {
    /// What it came to, in files.
    package struct Summary: Hashable, Sendable {
        package var seen = 0
        package var bytes: UInt64 = 0
        package var adopted = 0
        package var known = 0
        /// Photos whose rows lead to their new place.
        package var moved: Set<Int64> = []
        /// Photos whose content has a row under another path.
        package var sameContent = 0
        /// Photos that are not what their row says.
        package var differing = 0
        /// Files that are no photos.
        package var others = 0
        /// What could not be read, or is not whole.
        package var unreadable = 0

        package init() {}
    }

    /// What is told while it runs.
    package enum Finding: Hashable, Sendable {
        case adopted(BytePath)
        case moved(BytePath, from: BytePath)
        case sameContent(BytePath, as: BytePath)
        case differs(BytePath)
        case unreadable(BytePath, reason: String)
    }

    /// Rows of one transaction.
    private static let batch = 100

    /// Nil for a dry run.
    private let catalogue: CatalogueFile?
    private let known: CatalogueFile
    private let tree: LibraryTree
    private let missing: Set<Int64>
    private let work: FileWork

    /// `catalogue` takes them, nil for a dry run, in which what `known` has is left out. `missing` are photos whose files
    /// were found to be missing: a file with their content gets their row. `work` is asked whether to stop.
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

    /// The same, for one that both knows and takes.
    package init(
        of tree: LibraryTree, into catalogue: CatalogueFile, missing: Set<Int64> = [], work: FileWork = FileWork()
    ) {
        self.init(of: tree, into: catalogue, comparingWith: catalogue, missing: missing, work: work)
    }

    /// Takes in what lies below `directory`. Throws ``FilingError/Cause/stopped`` when asked to stop; what was taken
    /// in stays. `tell` is called with what is found, `progress` after each file.
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
                if let photo = try unknownPhoto(at: path, &summary) { waiting.append(photo) }
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

    /// The row to be of the file at `path`; nil if it has one, by its path and size, or is no photo.
    private func unknownPhoto(at path: BytePath, _ summary: inout Summary) throws -> PhotoRecord? {
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

    /// What would become of a photo in a dry run; of two with the same bytes each is told as new.
    private func foreseen(_ photo: PhotoRecord) throws -> Adoption {
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
            try catalogue?.adopt(waiting, missing: missing, at: Moment.now.wall) ?? waiting.map(foreseen)
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
            // Whoever files it records it.
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
