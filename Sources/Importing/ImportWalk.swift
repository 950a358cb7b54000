import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoFormats
import PhotoModel
import SystemPackage

/// Decides on each file of the source, and copies it if needed.
final class ImportWalk {
    enum Result {
        /// It is copied, and must be synced and compared.
        case copy(ImportCopy)
        /// The result is final.
        case finding(ImportFinding)
    }

    private let plan: ImportPlan
    private let root: HeldDescriptor
    private let inbox: ImportInbox?
    private let knowledge: ImportKnowledge
    private let memory: ImportMemory?
    private let copier: ImportCopier
    private let removal: ImportRemoval
    /// Files that are read ahead: the first of this set and of the next.
    private var ahead: [OpenSource] = []

    /// `inbox` is nil in a dry run.
    init(
        _ plan: ImportPlan, root: HeldDescriptor, inbox: ImportInbox?, removal: ImportRemoval, memory: ImportMemory?,
        shouldAbandon: @escaping () -> Bool
    ) {
        (self.plan, self.root, self.inbox, self.removal) = (plan, root, inbox, removal)
        knowledge = removal.knowledge
        self.memory = memory
        copier = ImportCopier(shouldAbandon: shouldAbandon)
    }

    /// Opens a directory of the source. Returns it with its sets.
    func open(_ path: BytePath) throws(SystemCallError) -> (OpenDirectory, [[SourceEntry]]) {
        let directory = try OpenDirectory(path, beneath: root.descriptor)
        return (directory, try directory.sets())
    }

    /// Reads the first file of a set ahead, unless it need not be read at all.
    func prepare(_ set: [SourceEntry], in directory: OpenDirectory) {
        guard let entry = set.first, entry.hasPhotoName, inbox != nil,
            let status = try? FileStatus(of: entry.name, in: directory.descriptor), status.kind == .regular,
            memory?.entry(ImportMemory.Key(directory.path.appending(entry.name), status)) == nil,
            let source = try? OpenSource(entry.name, in: directory)
        else { return }
        source.content.adviseReadingSoon(length: min(source.size, 32 << 20))
        ahead = ahead.suffix(1) + [source]
    }

    /// Decides on one file. With `withNewPhoto` a photo of its set is new, so that a sidecar is copied even if it is
    /// known. `onRead` is called with the number of bytes read.
    func process(
        _ entry: SourceEntry, in directory: OpenDirectory, withNewPhoto: Bool, onRead: (UInt64) -> Void
    ) throws -> Result {
        var entry = entry
        if ImportRemoval.mark(of: entry.name) != nil, plan.removes, inbox != nil,
            let name = ImportRemoval.restore(entry.name, in: directory, memory)
        {
            entry = SourceEntry(
                name: name, key: entry.key, hasPhotoName: SetName(name).role != nil, isSidecar: entry.isSidecar)
        }
        let path = directory.path.appending(entry.name)
        do {
            let status: FileStatus
            do throws(SystemCallError) { status = try FileStatus(of: entry.name, in: directory.descriptor) } catch {
                throw ImportFileFailure(error, "the file")
            }
            if let reason = leftOut(path, status) {
                return .finding(ImportFinding(.leftOut, path, size: status.identity.size, reason))
            }
            return try decide(path, status, entry, in: directory, withNewPhoto, onRead)
        } catch let trouble as ImportFileFailure {
            return .finding(ImportFinding(.failed, path, size: 0, trouble.reason))
        } catch let error as CatalogueError { throw ImportFailure.catalogue("\(error)") }
    }

    private func leftOut(_ path: BytePath, _ status: FileStatus) -> String? {
        switch status.kind {
        case .regular: break
        case .symbolicLink: return "a symbolic link"
        default: return "not a regular file"
        }
        switch NameRules.decide(path) {
        case .ignored(let rule): return rule
        case .unfinished(let rule): return "not finished: \(rule)"
        case .take, .sidecar: break
        }
        if status.identity.size == 0 { return "empty" }
        return plan.exclusion(path)
    }

    private func decide(
        _ path: BytePath, _ status: FileStatus, _ entry: SourceEntry, in directory: OpenDirectory,
        _ withNewPhoto: Bool, _ onRead: (UInt64) -> Void
    ) throws -> Result {
        let source = try open(entry, directory)
        // The file may have been replaced before it was opened: the decision is for the open file.
        let status = source.status
        if let line = memory?.entry(ImportMemory.Key(path, status)),
            let answer = try knowledge.answer(line, status), !(withNewPhoto && isKnown(answer))
        {
            // A file is removed only after it was read, even if it is in the memory.
            let isMove = plan.removes && !plan.isDry
            if !isMove, line.wouldShowWrites(to: status) {
                if try copier.sample(source) == line.sample {
                    return .finding(finding(answer, path, source.size))
                }
            } else if try readAgain(source, line, answer, onRead) {
                return .finding(isMove ? try removed(answer, line.hash, source) : finding(answer, path, source.size))
            }
        }
        if !entry.hasPhotoName, try !mayBePhoto(source) {
            return .finding(
                ImportFinding(.leftOut, path, size: source.size, "not a photo, by its name and its first bytes"))
        }
        if knowledge.mayBeFiled(size: source.size), !(entry.isSidecar && withNewPhoto) {
            let hash = try copier.hash(source)
            if let photo = try knowledge.filed(hash) {
                if !plan.removes || plan.isDry {
                    // So that the next run need not read it.
                    try remember(source, hash, as: path)
                    return .finding(finding(.known(photo), path, source.size))
                }
                return .finding(try removed(.known(photo), hash, source))
            }
        }
        guard let inbox else { return .finding(ImportFinding(.copied, path, size: source.size, "it is new")) }
        return .copy(try copier.copy(source, into: inbox, onRead))
    }

    /// Returns whether a file still has the content of its line. If so, writes the line again, so that the next run
    /// need not read the file.
    private func readAgain(
        _ source: OpenSource, _ line: ImportMemory.Entry, _ answer: ImportKnowledge.Answer, _ onRead: (UInt64) -> Void
    ) throws -> Bool {
        guard try copier.hash(source, onRead) == line.hash else { return false }
        // Copies that wait in the inbox are found by the file's time when it was copied.
        if isKnown(answer) || line.modified.isNear(source.status.identity.modified) {
            try remember(source, line.hash, as: line.destination)
        }
        return true
    }

    private func remember(_ source: OpenSource, _ hash: ContentHash, as destination: BytePath) throws {
        guard let memory, inbox != nil else { return }
        let line = ImportMemory.Entry(
            hash: hash, sample: try copier.sample(source), modified: source.status.identity.modified,
            read: FileTime.now.seconds, destination: destination)
        // The memory only saves work.
        try? memory.add([(ImportMemory.Key(source.path, source.status), line)], durably: false)
    }

    private func open(_ entry: SourceEntry, _ directory: OpenDirectory) throws -> OpenSource {
        if let index = ahead.firstIndex(where: { $0.name == entry.name && $0.directory === directory }) {
            let source = ahead.remove(at: index)
            if (try? source.change()) == .some(nil) { return source }
        }
        do throws(SystemCallError) { return try OpenSource(entry.name, in: directory) } catch {
            throw ImportFileFailure(error, "the file")
        }
    }

    private func mayBePhoto(_ source: OpenSource) throws -> Bool {
        do throws(SystemCallError) { return FirstBytes.mayBePhoto(try source.content.read(FirstBytes.count)) } catch {
            throw ImportFileFailure(error, "the file")
        }
    }

    private func isKnown(_ answer: ImportKnowledge.Answer) -> Bool { if case .known = answer { true } else { false } }

    private func finding(_ answer: ImportKnowledge.Answer, _ path: BytePath, _ size: UInt64) -> ImportFinding {
        switch answer {
        case .known(let photo):
            ImportFinding(.known, path, size: size, "filed as \(photo.photo.libraryPath.escaped), photo:\(photo.id)")
        case .waiting(let place):
            ImportFinding(.waiting, path, size: size, "copied already, in the inbox as \(place.escaped)")
        case .moving:
            ImportFinding(.waiting, path, size: size, "copied already, and being moved out of the inbox")
        case .decided(let reason, _): ImportFinding(.decided, path, size: size, "copied already, \(reason)")
        }
    }

    private func removed(
        _ answer: ImportKnowledge.Answer, _ hash: ContentHash, _ source: OpenSource
    ) throws -> ImportFinding {
        var finding = finding(answer, source.path, source.size)
        // With this line the next run can restore the name, if this run is killed while the file is set aside.
        let key = ImportMemory.Key(source.path, source.status)
        var line = memory?.entry(key)
        if line == nil || memory?.contains(key) != true {
            let made = ImportMemory.Entry(
                hash: hash, sample: try copier.sample(source), modified: source.status.identity.modified,
                read: FileTime.now.seconds, destination: line?.destination ?? source.path)
            do throws(SystemCallError) { try memory?.add([(key, made)]) } catch {
                throw ImportFileFailure(error, "the memory of imports")
            }
            line = made
        }
        guard let line else { return finding }
        finding.kept = removal.remove(source, line, answer, root: root.descriptor)
        if finding.kept == nil { finding.source = .removed }
        return finding
    }
}
