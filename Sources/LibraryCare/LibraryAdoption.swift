package import Catalogue
package import FileValues
package import Filing
import LinuxKernel
import PhotoFormats
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
        /// Sidecars that this program wrote; what they say is recorded.
        package var restored = 0
        /// Files that could not be read.
        package var unreadable = 0
        /// Damaged files whose photos were filed again elsewhere.
        package var replaced = 0
        /// Photos of the former catalogue whose files have other bytes now, as it has recorded them.
        package var damaged: [PhotoRecord] = []

        package init() {}
    }

    /// A result reported during the run.
    package enum Finding: Hashable, Sendable {
        case adopted(BytePath)
        case moved(BytePath, from: BytePath)
        case sameContent(BytePath, as: BytePath)
        case differs(BytePath)
        case unreadable(BytePath, reason: String)
        /// Its name is that of a photo, but not its content, and nobody has had it filed as it is.
        case noPhoto(BytePath)
        /// Its photo was filed again elsewhere, since this file is damaged. It gets no record.
        case replaced(BytePath, by: BytePath?)
        /// What a sidecar that this program wrote says is not recorded, or not all of it.
        case sidecar(BytePath, reason: String)
    }

    /// Rows per transaction; more only so that a photo and its sidecars are in one.
    private static let batch = 100
    /// Even then.
    private static let most = 10_000

    /// Nil for a dry run.
    private let catalogue: CatalogueFile?
    private let known: CatalogueFile
    private let tree: LibraryTree
    private let missing: Set<Int64>
    private let former: FormerCatalogue?
    private let work: FileWork

    /// Adopts into `catalogue`, or, with nil, makes a dry run. Photos of `known` are skipped. `missing` are photos
    /// whose files are missing: a file with the same content gets their row. `former` is what `catalogue` is to replace.
    /// `work` can stop the run.
    package init(
        of tree: LibraryTree, into catalogue: CatalogueFile?, comparingWith known: CatalogueFile,
        missing: Set<Int64> = [], former: FormerCatalogue? = nil, work: FileWork = FileWork()
    ) {
        self.tree = tree
        self.catalogue = catalogue
        self.known = known
        self.missing = missing
        self.former = former
        self.work = work
    }

    package init(
        of tree: LibraryTree, into catalogue: CatalogueFile, missing: Set<Int64> = [],
        former: FormerCatalogue? = nil, work: FileWork = FileWork()
    ) {
        self.init(
            of: tree, into: catalogue, comparingWith: catalogue, missing: missing, former: former, work: work)
    }

    /// Adopts the photos below `directory`. Calls `report` with each finding and `progress` after each file. Throws
    /// ``FilingError/Cause/stopped`` when stopped; photos adopted so far stay.
    @discardableResult
    package func run(
        below directory: BytePath = "", progress: (Summary) throws -> Void = { _ in },
        report: (Finding) throws -> Void = { _ in }
    ) throws -> Summary {
        var summary = Summary()
        var waiting = Waiting(
            mark: Result { try LibraryMark.read(in: tree.root) },
            replaced: try known.replacedPhotos(in: tree.path))
        try tree.walk(below: directory) { path in
            if work.shouldStop() {
                try record(&waiting, &summary, report)
                throw FilingError(.openSource, .source, .stopped, path: path)
            }
            // In the order of names, all that begin with one stem follow each other.
            let isFull = waiting.photos.count >= Self.most
            if isFull || waiting.stem.map({ path.bytes.starts(with: $0) }) != true {
                if waiting.photos.count >= Self.batch { try record(&waiting, &summary, report) }
                waiting.stem = path.parent.appending(path.stem).bytes + [UInt8(ascii: ".")]
            }
            summary.seen += 1
            do {
                if let finding = try read(path, into: &waiting, &summary) { try report(finding) }
            } catch let error as FilingError where error.kind != .stopped {
                summary.unreadable += 1
                try report(.unreadable(path, reason: "\(error.cause)"))
            }
            try progress(summary)
        } unreadable: { path, error in
            summary.unreadable += 1
            try report(.unreadable(path, reason: "\(error)"))
        }
        try record(&waiting, &summary, report)
        // One that is missing is written again.
        try catalogue?.renewSidecars(in: tree.path, .all)
        return summary
    }

    /// What is to be recorded in one transaction: in the order of names, so that a photo precedes its sidecar.
    private struct Waiting {
        /// That of the library, nil if it has none, or why it cannot be read.
        let mark: Result<String?, any Error>
        /// See ``CatalogueFile/replacedPhotos(in:)``.
        let replaced: [BytePath: StoredPhoto]
        var photos: [PhotoRecord] = []
        /// What sidecars that this program has written say, by their paths.
        var said: [BytePath: SidecarText.Statement] = [:]
        /// The content of the photos that were read, by the paths that their sidecars can have.
        var besides: [BytePath: [UInt8]] = [:]
        /// Path and stem, with a dot, of the first of the files that may be sidecars of each other.
        var stem: [UInt8]?
    }

    /// Adds the row for the file at `path`, unless there is one with its path and size, or it gets none. Returns why it gets
    /// none.
    private func read(
        _ path: BytePath, into waiting: inout Waiting, _ summary: inout Summary
    ) throws -> Finding? {
        // Snapshots of a library and albums are often hard links.
        let file = try SourceFile(path, beneath: tree.root, mayHaveLinks: true)
        if let known = try known.photo(library: tree.path, path: path), known.photo.size == file.identity.size {
            summary.known += 1
            return nil
        }
        let before = former?.photo(at: path)
        let replaced = waiting.replaced[path] ?? former?.replaced[path]
        var bytes = DescriptorByteSource(file)
        var sidecar: SidecarKind?
        if case .sidecar(let kind) = NameRules.decide(path) { sidecar = kind }
        let report: PhotoReport
        var said: SidecarText.Statement?
        do {
            report = try PhotoReader.read(&bytes, name: path.name)
            if sidecar == .xmp, bytes.size <= SidecarMetadata.largest {
                said = SidecarText.Statement(try bytes.read(at: 0, count: Int(bytes.size)))
            }
        } catch {
            throw FilingError(
                .openSource, .source, .system(SystemCallError("pread", .ioError, path: path)), path: path)
        }
        guard report.format != nil || sidecar != nil || before != nil || replaced != nil else {
            return Self.noPhoto(path, &summary)
        }
        let hash = try file.hash(work)
        summary.bytes += file.identity.size
        if let replaced, replaced.photo.sha256 != hash.bytes, try !isMoved(hash, to: path) {
            summary.replaced += 1
            if former?.replaced[path] == replaced {
                summary.damaged.append(PhotoRecord(adopting: path, asFiled: replaced.photo))
            }
            let whole = try known.photo(withHash: replaced.photo.sha256)
            return .replaced(path, by: (whole ?? former?.photo(withHash: replaced.photo.sha256))?.photo.libraryPath)
        }
        // People and programs write to sidecars.
        if let before, before.photo.sha256 != hash.bytes, !before.photo.part.isSidecar,
            try !isMoved(hash, to: path)
        {
            summary.differing += 1
            summary.damaged.append(PhotoRecord(adopting: path, asFiled: before.photo))
            return .differs(path)
        }
        guard report.format != nil || sidecar != nil else {
            // A person had it filed as it is.
            guard let photo = before?.photo, photo.sha256 == hash.bytes else { return Self.noPhoto(path, &summary) }
            var found = PhotoRecord(adopting: path, asFiled: photo)
            found.sourceIdentity = file.identity
            waiting.photos.append(found)
            return nil
        }
        let date = CaptureDateDecision(
            recorded: report.dates, name: path.name, modified: file.identity.modified, now: Moment.now.wall,
            zone: { LocalClock(at: $0).offset })
        let photo = PhotoRecord(adopting: path, of: tree.path, file, report, sidecar, date: date.chosen, hash: hash)
        waiting.photos.append(photo)
        if sidecar == nil {
            for name in SidecarMetadata.names(of: path, format: photo.format) { waiting.besides[name] = hash.bytes }
        } else if let said {
            waiting.said[path] = said
        }
        return nil
    }

    /// Whether this is the content of a recorded photo that is not at its own place, so that somebody has moved it here.
    private func isMoved(_ hash: ContentHash, to path: BytePath) throws -> Bool {
        guard let photo = try (former?.photo(withHash: hash.bytes) ?? known.photo(withHash: hash.bytes))?.photo,
            photo.library == tree.path, photo.libraryPath != path
        else { return false }
        // Files of a camera often have one size.
        guard let own = try? SourceFile(photo.libraryPath, beneath: tree.root, mayHaveLinks: true),
            own.identity.size == photo.size
        else { return true }
        return try own.hash(work) != hash
    }

    /// Counts a file that gets no row. Reports it only if people would believe that it is a photo.
    private static func noPhoto(_ path: BytePath, _ summary: inout Summary) -> Finding? {
        summary.others += 1
        return PhotoFormat.formats(withExtension: path.lowercasedExtension).isEmpty ? nil : .noPhoto(path)
    }

    /// Returns the result that adopting a photo would have, for a dry run. Two new photos with the same bytes both
    /// count as new.
    private func predictedAdoption(_ photo: PhotoRecord, _ said: SidecarStatement?) throws -> Adoption {
        if let there = try known.photo(library: photo.library, path: photo.libraryPath) { return .differs(there.id) }
        let same = try known.photo(withHash: photo.sha256)
        let isBack = same.map { $0.photo.isInBucket && !photo.part.isSidecar } ?? false
        if let same, missing.contains(same.id) || isBack {
            return .moved(same.id, from: same.photo.libraryPath)
        }
        if let said {
            if !said.isPlain, try known.isStruck(photo) { return .adopted(0) }
            return try known.isSidecar(photo.libraryPath, in: photo.library, said) ? .restored : .ofAnother
        }
        guard let same, !photo.part.isSidecar else { return .adopted(0) }
        return .sameContent(as: same.id, path: same.photo.libraryPath)
    }

    private func record(
        _ waiting: inout Waiting, _ summary: inout Summary, _ report: (Finding) throws -> Void
    ) throws {
        guard !waiting.photos.isEmpty else { return }
        let said = waiting.said
        let mark = try? waiting.mark.get()
        var sidecars: [BytePath: SidecarStatement] = [:]
        for photo in waiting.photos {
            let path = photo.libraryPath
            guard let said = said[path] else { continue }
            sidecars[path] = SidecarStatement(
                sha256: said.sha256,
                PhotoDescription(
                    title: said.title, keywords: said.keywords, rating: said.rating, taken: said.taken,
                    place: said.place),
                hash: said.odd.isEmpty ? hash(of: said.canonical) : nil, isOwn: said.library == mark,
                isBesidePhoto: waiting.besides[path] == said.sha256,
                isPlain: (try? SidecarText.text(said, in: nil)).map { hash(of: $0) } == photo.sha256)
        }
        let missing = missing.subtracting(summary.moved)
        let results =
            try catalogue?.adopt(waiting.photos, missing: missing, sidecars: sidecars, at: Moment.now.wall)
            ?? waiting.photos.map { try predictedAdoption($0, sidecars[$0.libraryPath]) }
        for (photo, result) in zip(waiting.photos, results) {
            switch result {
            // The daemon has written to it meanwhile, unaware of the record.
            case .adopted(let id) where isReplaced(photo):
                try catalogue?.strike([id], at: Moment.now.wall)
                summary.others += 1
                let reason = "it was changed while it was read, and is not recorded; run photoinbox adopt again"
                try report(.sidecar(photo.libraryPath, reason: reason))
            case .adopted:
                summary.adopted += 1
                try report(.adopted(photo.libraryPath))
            case .known: summary.known += 1
            case .moved(let id, let old):
                summary.moved.insert(id)
                try report(.moved(photo.libraryPath, from: old))
            case .sameContent(_, let path):
                summary.sameContent += 1
                try report(.sameContent(photo.libraryPath, as: path))
            case .differs:
                summary.differing += 1
                try report(.differs(photo.libraryPath))
            // Its filing records it.
            case .beingFiled: break
            case .restored:
                summary.restored += 1
                if let odd = said[photo.libraryPath]?.odd, !odd.isEmpty {
                    let names = odd.joined(separator: ", ")
                    try report(.sidecar(photo.libraryPath, reason: "its \(names) cannot be read, and is not recorded"))
                }
            case .ofAnother:
                summary.others += 1
                var reason = "it was written for a photo that is not beside it; move it there, or away"
                if case .failure(let error) = waiting.mark {
                    reason = "\(error)"
                } else if let said = said[photo.libraryPath], said.library != mark {
                    reason = LibraryMark.advice(of: said)
                }
                try report(.sidecar(photo.libraryPath, reason: "\(reason), and run photoinbox adopt"))
            }
        }
        waiting = Waiting(mark: waiting.mark, replaced: waiting.replaced, stem: waiting.stem)
    }

    private func isReplaced(_ photo: PhotoRecord) -> Bool {
        guard photo.format == SidecarKind.xmp.rawValue else { return false }
        // Not the time of the inode's change: modes and owners may change meanwhile.
        let now = (try? FileStatus(of: photo.libraryPath, beneath: tree.root))?.identity
        let read = photo.sourceIdentity
        return now?.inode != read.inode || now?.size != read.size || now?.modified != read.modified
    }
}

extension PhotoRecord {
    /// One whose file shows less than a former catalogue knows.
    init(adopting path: BytePath, asFiled former: PhotoRecord) {
        self = former
        inbox = CatalogueFile.adoptedInbox
        sourcePath = path
        originalName = path.name
        part.key = SetName(path).key.bytes
        part.shortKey = SetName(path).shortKeys.first?.bytes
    }

    fileprivate init(
        adopting path: BytePath, of library: BytePath, _ file: SourceFile, _ report: PhotoReport,
        _ sidecar: SidecarKind?, date: CaptureDate?, hash: ContentHash
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
