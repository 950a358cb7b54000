package import Catalogue
package import FileValues
package import Filing
import LinuxKernel
import PhotoFormats
import PhotoModel
import SystemPackage

/// The mark by which a library knows its own sidecars again, also without its catalogue: a hidden file with a random name.
enum LibraryMark {
    static let file: BytePath = ".photoinbox-library"

    /// Nil if the library has none, or one that a power cut has left empty. A backup may have linked it.
    static func read(in root: borrowing OwnedDescriptor) throws -> String? {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            bytes = try root.openBeneath(file, [.read, .nonBlocking]).read(66)
        } catch {
            if error.code == .noSuchFileOrDirectory { return nil }
            throw SystemCallError(error.call, error.code, path: file)
        }
        if bytes.isEmpty { return nil }
        let mark = String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
        guard FileNames.isToken(mark) else {
            throw SidecarText.Refusal(
                "\(file) of the library has no mark in it; put back that of a backup, or remove it")
        }
        return mark
    }

    /// What to do with a sidecar that has another mark.
    static func advice(of other: SidecarText.Statement) -> String {
        "it was written for the library whose \(file) has \(other.library); if that is this one, write that there"
    }

    static func make(in root: borrowing OwnedDescriptor) throws(SystemCallError) -> String {
        let mark = FileNames.makeToken()
        try root.put(Array("\(mark)\n".utf8), as: file, mode: 0o644)
        try root.openBeneath(file, [.read]).sync()
        try root.syncDirectory()
        return mark
    }
}

/// Writes what people say of a library's photos to XMP sidecars beside them, and never to a file that was filed. In a file
/// that exists, only what this catalogue wrote is changed; all else is added beside what is missing. For one thread at a
/// time. See docs/decisions/0056.
package final class SidecarWriting {
    /// It changes just now, and is to be tried again soon.
    private struct Busy: Error {}

    /// A file under the name of a sidecar that was never filed.
    private struct Standing {
        let file: SourceFile
        let bytes: [UInt8]
        let said: SidecarText.Statement?
    }

    private let library: BytePath
    private let root: OwnedDescriptor
    private let catalogue: CatalogueFile
    private let work: FileWork
    private let probe = WriterProbe()
    private let requireLibrary: () throws -> Void
    /// One that cannot be made is not tried again for each photo.
    private lazy var mark = Result { try LibraryMark.read(in: self.root) ?? LibraryMark.make(in: self.root) }
    /// The first failure that concerns more than one photo.
    package private(set) var failure: (any Error)?
    /// Directories that are full, read-only, or failing, and why.
    private var failing: [BytePath: String] = [:]
    /// Whether the file system has refused to exchange two names.
    private var cannotExchange = false
    /// Directories without leftovers of an interruption.
    private var tidied: Set<BytePath> = []

    /// Opens the library. `requireLibrary` throws if the library is not at its path, or not this daemon's.
    package init(
        of library: BytePath, for catalogue: CatalogueFile, work: FileWork = FileWork(),
        requireLibrary: @escaping () throws -> Void = {}
    ) throws {
        self.library = library
        self.catalogue = catalogue
        self.work = work
        self.requireLibrary = requireLibrary
        root = try openDirectory(library)
        try requireSame(root, as: library, requireLibrary)
    }

    /// Writes at most `limit` sidecars that are due, of photos with identifiers above `last`. Returns what is to be
    /// recorded; nil if none is due. Throws if it is stopped, or the library or the catalogue is away. What fails with one
    /// photo is no reason to pass over the others; those of a directory that is full, read-only or failing are left until
    /// later.
    package func next(after last: inout Int64, limit: Int) throws -> [SidecarOutcome]? {
        let page = try catalogue.sidecarsToWrite(in: library, after: last, limit: limit).map { due in
            (due: due, said: Result { try statement(on: due.stored) })
        }
        guard let end = page.last else { return nil }
        try catalogue.expect(page.compactMap { due, said in try? said.get().map { (due, hash(of: $0.canonical)) } })
        var outcomes: [SidecarOutcome] = []
        for (due, said) in page {
            let path = due.stored.photo.libraryPath
            if work.shouldStop() { throw FilingError(.openSource, .source, .stopped, path: path) }
            if let reason = failing[path.parent] {
                outcomes.append((due, nil, reason, true))
                continue
            }
            do {
                if due.stored.undoneBy != nil { try takeAway(due.stored) }
                outcomes.append((due, try said.get().map { try write($0, of: due) }, nil, false))
            } catch let error as CatalogueError { throw error } catch is Busy { continue } catch {
                if let error = error as? FilingError, [.busy, .sourceChanged].contains(error.kind) { continue }
                try requireSame(root, as: library, requireLibrary)
                let isLater = Self.concernsMore(error)
                if isLater {
                    failure = failure ?? error
                    failing[path.parent] = "\(error)"
                }
                outcomes.append((due, nil, "\(error)", isLater))
            }
        }
        last = end.due.stored.id
        return outcomes
    }

    private static func concernsMore(_ error: any Error) -> Bool {
        let code =
            (error as? SystemCallError)?.code ?? (error as? FilingError)?.code
            ?? (error as? ByteSourceError).map { Errno(rawValue: $0.code) }
        return code.map { [.noSpace, .readOnly, .inputOutput, .exhausted].contains(FilingError.Kind($0)) } ?? false
    }

    // MARK: - One photo

    /// What the sidecar of a photo is to say; nil if it needs none.
    private func statement(on stored: StoredPhoto) throws -> SidecarText.Statement? {
        let content = stored.photo.sha256
        guard stored.supersededAt == nil, let said = try catalogue.description(ofHash: content) else { return nil }
        return SidecarText.Statement(
            of: content, in: try mark.get(), title: said.title, keywords: said.keywords, rating: said.rating,
            taken: said.taken, place: said.place)
    }

    /// Returns the SHA-256 of what the sidecar says now.
    private func write(_ said: SidecarText.Statement, of due: DueSidecar) throws -> [UInt8] {
        let (stored, new) = (due.stored, hash(of: said.canonical))
        let path = stored.photo.libraryPath
        let photo = try requirePhoto(stored)
        let directory = try root.openDirectoryBeneath(path.parent)
        try tidy(path.parent, directory)
        let (place, standing) = try choose(for: stored)
        if let other = standing?.said {
            let old = hash(of: other.canonical)
            if old == new { return new }
            if !due.hasSaid(old), other.library != said.library {
                throw SidecarText.Refusal("\(place.name.escaped): \(LibraryMark.advice(of: other)), or move it away")
            }
            guard due.hasSaid(old) else {
                throw SidecarText.Refusal(
                    "\(place.name.escaped) says something else than this catalogue (\(other.differences(from: said))): "
                        + "import that with photoinbox import-csv, or move the file away")
            }
        }
        let text = try SidecarText.text(said, in: standing?.bytes)
        try put(text, of: stored, at: place, beside: photo, replacing: standing, in: directory)
        return new
    }

    /// The photo's status, if it is as it was filed, as far as is known without reading it.
    private func requirePhoto(_ stored: StoredPhoto) throws -> FileStatus {
        var photo: FileStatus?
        do throws(SystemCallError) { photo = try FileStatus(of: stored.photo.libraryPath, beneath: root) } catch {
            guard [.noSuchFileOrDirectory, .notDirectory].contains(error.code) else { throw error }
        }
        guard let photo, photo.kind == .regular, photo.identity.size == stored.photo.size,
            try catalogue.damage(ofPhoto: stored.id) == nil
        else { throw SidecarText.Refusal("its photo is not as it was filed; see photoinbox verify") }
        return photo
    }

    /// Returns the path for a photo's sidecar, and the file that has it: the sidecar that this program wrote before, or the
    /// first path that no filed file and no sidecar of another photo has.
    private func choose(for stored: StoredPhoto) throws -> (BytePath, Standing?) {
        var chosen: (BytePath, Standing?)?
        var refusal = SidecarText.Refusal("it has no name")
        for place in SidecarMetadata.names(of: stored.photo.libraryPath, format: stored.photo.format) {
            do {
                let standing = try look(at: place)
                if standing?.said?.sha256 == stored.photo.sha256 { return (place, standing) }
                if standing?.said != nil {
                    refusal = SidecarText.Refusal(
                        "\(place.name.escaped) belongs to another photo; move it there, or away")
                } else {
                    chosen = chosen ?? (place, standing)
                }
            } catch let error as SidecarText.Refusal { refusal = error }
        }
        guard let chosen else { throw refusal }
        return chosen
    }

    /// Reads the file at `place`; nil if there is none. Refuses what was filed, and what is no plain file.
    private func look(at place: BytePath) throws -> Standing? {
        guard let file = try open(place) else { return nil }
        guard file.identity.size <= SidecarMetadata.largest else {
            throw SidecarText.Refusal("\(place.name.escaped) has \(file.identity.size) bytes, too many for a sidecar")
        }
        let bytes = try read(file)
        let said = SidecarText.Statement(bytes)
        // What this program writes is the same each time, so that its bytes may have been filed once.
        if try catalogue.isFiled(at: place, in: library, content: said == nil ? hash(of: bytes) : nil) {
            throw SidecarText.Refusal("\(place.name.escaped) was filed, and filed files are not changed")
        }
        return Standing(file: file, bytes: bytes, said: said)
    }

    /// Nil if there is none.
    private func open(_ path: BytePath) throws -> SourceFile? {
        do { return try SourceFile(path, beneath: root) } catch {
            if error.code == .fileNameTooLong {
                throw SidecarText.Refusal(
                    "its name would be too long; give the photo a shorter one, and run photoinbox verify --repair")
            }
            guard case .refused(let refusal) = error.cause, refusal != .leased else { throw error }
            if refusal == .gone { return nil }
            throw SidecarText.Refusal("\(path.name.escaped): \(refusal)")
        }
    }

    private func read(_ file: SourceFile) throws -> [UInt8] {
        var source = DescriptorByteSource(file)
        let bytes = try source.read(at: 0, count: Int(file.identity.size))
        if bytes.count != Int(file.identity.size) { throw Busy() }
        return bytes
    }

    /// Moves the sidecars of a photo that was undone beside it, with whatever others have written there; if it is not where
    /// it was returned to, or that is another file system, to a name with a number.
    private func takeAway(_ stored: StoredPhoto) throws {
        let (path, mark) = (stored.photo.libraryPath, try LibraryMark.read(in: root))
        guard let directory = try? root.openDirectoryBeneath(path.parent) else { return }
        try tidy(path.parent, directory)
        let undone = try stored.undoneBy.flatMap { try catalogue.request(id: $0)?.request.move }
        for place in SidecarMetadata.names(of: path, format: stored.photo.format) {
            let standing: Standing?
            do { standing = try look(at: place) } catch is SidecarText.Refusal { continue }
            guard let said = standing?.said, said.library == mark, said.sha256 == stored.photo.sha256 else { continue }
            let statement = SidecarStatement(sha256: said.sha256, isOwn: true)
            // The photo may have been filed again.
            if try catalogue.isSidecar(place, in: library, statement) { continue }
            let isLong = place == path.addingSuffix(".xmp")
            if let undone, (try? move(place.name, of: stored, in: directory, after: undone, isLong)) != nil { continue }
            try keep(place.name, like: path.name, in: directory)
        }
    }

    private func move(
        _ name: BytePath, of stored: StoredPhoto, in directory: borrowing OwnedDescriptor, after undone: RequestedMove,
        _ isLong: Bool
    ) throws {
        let photo = undone.destinationPath
        let returned = try openDirectory(undone.destinationRoot).openDirectoryBeneath(photo.parent)
        guard try FileStatus(of: photo.name, in: returned).identity.size == stored.photo.size,
            try directory.moveToFreeName(
                name, in: returned, like: (isLong ? photo.name : photo.stem).addingSuffix(".xmp")) != nil
        else { throw Busy() }
        try returned.syncDirectory()
        try directory.syncDirectory()
    }

    // MARK: - Leftovers of an interruption

    /// What an interruption has left in a directory is removed if all of it stands in the sidecar, or will again; else it
    /// gets a name with a number, which people see.
    private func tidy(_ path: BytePath, _ directory: borrowing OwnedDescriptor) throws {
        guard tidied.insert(path).inserted else { return }
        let prefix = Self.temporary("").bytes.dropLast(".part".utf8.count)
        let names = try directory.entries().map(\.name)
        for name in names where name.bytes.starts(with: prefix) {
            let status = try FileStatus(of: name, in: directory)
            guard status.kind == .regular else { continue }
            // Where no name can be given exclusively, a new one has two names for a moment.
            if status.links == 2,
                names.contains(where: { other in
                    other != name && other.lowercasedExtension == Array("xmp".utf8)
                        && (try? FileStatus(of: other, in: directory))?.identity.inode == status.identity.inode
                })
            {
                try directory.unlink(name)
                continue
            }
            let content = bytes(ofHexadecimal: name.bytes.dropFirst(prefix.count).prefix(64))
            let stored = try content.flatMap { try catalogue.photo(withHash: $0) }
            let isGone = try? remove(path.appending(name), in: directory) { left in
                // A power cut leaves zeros.
                let left = left.dropLast(left.reversed().prefix { $0 == 0 }.count)
                if try content.map({ try isCut(Array(left), of: $0) }) ?? left.isEmpty { return true }
                return try stored.map { try isNeedless(Array(left), of: $0) } == true
            }
            if isGone != true { try keep(name, like: stored?.photo.libraryPath.name ?? "sidecar", in: directory) }
        }
    }

    /// `token` begins with the photo's SHA-256.
    private static func temporary(_ token: String) -> BytePath { FileNames.temporary("sidecar-\(token)") }

    /// Whether it is the beginning of a new sidecar of the photo with this content, whatever was to be said of that: it was
    /// never exchanged, since its end is not there.
    private func isCut(_ left: [UInt8], of content: [UInt8]) throws -> Bool {
        let bare = SidecarText.Statement(of: content, in: "")
        let text = try SidecarText.text(bare, in: nil)
        let hash = Array(hexadecimal(content).utf8)
        let head = text.prefix((text.firstRange(of: hash)?.upperBound ?? text.count))
        let end = "<?xpacket end=\"w\"?>\n".utf8
        return head.starts(with: left) || left.starts(with: head) && !left.suffix(end.count).elementsEqual(end)
    }

    private func isNeedless(_ left: [UInt8], of stored: StoredPhoto) throws -> Bool {
        let new = try statement(on: stored)
        for place in SidecarMetadata.names(of: stored.photo.libraryPath, format: stored.photo.format) {
            let standing: Standing?
            do { standing = try look(at: place) } catch is SidecarText.Refusal { continue }
            // Before the names were exchanged, what was to be written, or a part; after that, what was merged.
            if let new, (try? SidecarText.text(new, in: standing?.bytes).starts(with: left)) == true { return true }
            if let standing, let said = standing.said, (try? SidecarText.text(said, in: left)) == standing.bytes {
                return true
            }
        }
        return false
    }

    /// Moves a file to a name with a number that is no sidecar's: `a.nef-2.xmp`, since `a-2.xmp` may be that of `a-2.nef`.
    private func keep(_ name: BytePath, like photo: BytePath, in directory: borrowing OwnedDescriptor) throws {
        guard try directory.moveToFreeName(name, in: directory, like: photo.addingSuffix(".xmp"), attempt: 1) != nil
        else { throw Busy() }
        try directory.syncDirectory()
    }

    /// Removes a temporary if `isNeedless` says so of its bytes. Returns whether it is gone.
    private func remove(
        _ temporary: BytePath, in directory: borrowing OwnedDescriptor, where isNeedless: ([UInt8]) throws -> Bool
    ) throws -> Bool {
        guard let file = try open(temporary) else { return true }
        guard file.identity.size <= SidecarMetadata.largest, try isNeedless(try read(file)),
            probe.probe(file) != .writerOpen
        else { return false }
        try file.requireUnchanged(.removeSource)
        try directory.unlink(temporary.name)
        return true
    }

    // MARK: - One file

    /// Writes `text` at `place`, so that a crash leaves the old or the new file.
    private func put(
        _ text: [UInt8], of stored: StoredPhoto, at place: BytePath, beside photo: FileStatus,
        replacing standing: Standing?, in directory: borrowing OwnedDescriptor
    ) throws {
        if let standing {
            try requireExchange()
            if probe.probe(standing.file) == .writerOpen { throw Busy() }
        }
        let token = "\(hexadecimal(stored.photo.sha256))-\(FileNames.makeToken())"
        let temporary = place.parent.appending(Self.temporary(token))
        do {
            try fill(temporary, with: text, beside: photo, replacing: standing, in: directory)
            work.willEnter(.nameCopy)
            if let standing {
                try replace(standing, by: temporary, in: directory)
            } else {
                do throws(SystemCallError) { try directory.renameExclusively(temporary.name, as: place.name) } catch {
                    if error.code == .fileExists { throw Busy() }
                    throw error
                }
            }
        } catch {
            if (try? remove(temporary, in: directory, where: { text.starts(with: $0) })) != true {
                tidied.remove(place.parent)
            }
            throw error
        }
        work.willEnter(.syncDestination)
        try directory.syncDirectory()
    }

    private func fill(
        _ temporary: BytePath, with text: [UInt8], beside photo: FileStatus, replacing standing: Standing?,
        in directory: borrowing OwnedDescriptor
    ) throws {
        work.willEnter(.makeTemporary)
        let file = try directory.openBeneath(temporary.name, [.write, .createNew], mode: 0o600)
        work.willEnter(.copy)
        try file.write(text, at: 0)
        work.willEnter(.setAttributes)
        if let standing { try giveAttributes(of: standing.file, to: file) } else { try share(file, like: photo) }
        work.willEnter(.syncCopy)
        try file.sync()
    }

    /// Gives a new sidecar the photo's owner and group, as far as possible.
    private func share(_ file: borrowing OwnedDescriptor, like photo: FileStatus) throws(SystemCallError) {
        let own = try FileStatus(of: file)
        if own.group != photo.group { try? file.setOwner(user: nil, group: photo.group) }
        if own.user != photo.user { try? file.setOwner(user: photo.user, group: nil) }
        try file.setMode(photo.mode & 0o666 | 0o600)
    }

    /// Whoever could change the old sidecar can change the new one, by its group if this program may give it no owner.
    private func giveAttributes(of old: SourceFile, to file: borrowing OwnedDescriptor) throws {
        let (own, wanted, name) = (try FileStatus(of: file), old.status, old.name.escaped)
        if wanted.mode & 0o200 == 0 { throw SidecarText.Refusal("\(name) is read-only") }
        if own.group != wanted.group, (try? file.setOwner(user: nil, group: wanted.group)) == nil {
            throw SidecarText.Refusal("the daemon is not in group \(wanted.group), which \(name) has")
        }
        if own.user != wanted.user, (try? file.setOwner(user: wanted.user, group: nil)) == nil,
            wanted.mode & 0o020 == 0
        {
            throw SidecarText.Refusal("\(name) belongs to user \(wanted.user), and its group may not write it")
        }
        try file.setMode(wanted.mode & 0o777 | 0o600)
        if let attribute = file.copyAttributes(of: old.content) {
            throw SidecarText.Refusal("\(name) has an extended attribute that cannot be copied: \(attribute)")
        }
    }

    private func requireExchange() throws(SidecarText.Refusal) {
        if !cannotExchange { return }
        throw SidecarText.Refusal("the library's file system cannot exchange two names, so no sidecar is changed")
    }

    /// Exchanges the names, so that a change in the last moment is seen, and the old file is still there to be put back.
    private func replace(
        _ standing: Standing, by temporary: BytePath, in directory: borrowing OwnedDescriptor
    ) throws {
        let place = standing.file.path
        if probe.probe(standing.file) == .writerOpen { throw Busy() }
        try standing.file.requireUnchanged(.checkSourceAgain)
        do throws(SystemCallError) { try directory.exchange(temporary.name, place.name) } catch {
            if error.code == .noSuchFileOrDirectory { throw Busy() }
            guard [.invalidArgument, .noFunction, .notSupported].contains(error.code) else { throw error }
            cannotExchange = true
            try requireExchange()
        }
        do {
            work.willEnter(.seeCopy)
            // Whoever records files of the library looks at them again after that; so one of the two sees the other.
            guard try !catalogue.isFiled(at: place, in: library), let old = try open(temporary),
                try read(old) == standing.bytes, probe.probe(old) != .writerOpen
            else { throw Busy() }
            // Only then may the old one go, all of which stands in the new one.
            try directory.syncDirectory()
            try old.requireUnchanged(.removeSource)
            try directory.unlink(temporary.name)
        } catch {
            try directory.exchange(temporary.name, place.name)
            throw error
        }
    }
}

func hash(of bytes: [UInt8]) -> [UInt8] {
    var hasher = ContentHasher()
    bytes.withUnsafeBytes { hasher.update($0) }
    return hasher.hash().bytes
}
