import Catalogue
import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// What is known of files before they are copied: by earlier runs, the inbox and the catalogue.
final class ImportKnowledge {
    /// What makes a copy needless.
    enum Answer {
        case known(StoredPhoto)
        case waiting(BytePath)
        /// Why, and where the copy lies now, if it was moved out of the inbox.
        case decided(String, at: BytePath?)
    }

    private let plan: ImportPlan
    private let inbox: OwnedDescriptor
    private let catalogue: Catalogue?
    private let memory: ImportMemory?
    private let sizes: SizeFilter

    init(
        _ plan: ImportPlan, inbox: consuming OwnedDescriptor, catalogue: Catalogue?, memory: ImportMemory?
    ) throws(CatalogueError) {
        self.plan = plan
        self.inbox = inbox
        self.catalogue = catalogue
        self.memory = memory
        let sizes = SizeFilter()
        try catalogue?.eachPhotoSize { sizes.insert($0) }
        self.sizes = sizes
    }

    /// What makes a copy of a file needless that is the one of `entry`. Reads nothing of it.
    func answer(_ entry: ImportMemory.Entry, _ status: FileStatus) throws(CatalogueError) -> Answer? {
        // Twice, since it may be filed between the two looks.
        for _ in 0..<2 {
            if let photo = try catalogue?.photo(withHash: entry.hash.bytes) { return .known(photo) }
            // A copy has the time that the file had then: FAT shows it rounded once it was mounted anew.
            if let lying = try? FileStatus(of: entry.destination, beneath: inbox), lying.kind == .regular,
                lying.identity.size == status.identity.size,
                [entry.modified, status.identity.modified].contains(where: { $0.isNear(lying.identity.modified) })
            {
                return .waiting(entry.destination)
            }
        }
        // On its way to quarantine: its outcome is recorded when it is there, in one step with the end of the move.
        if try catalogue?.pendingMoves(inbox: plan.inbox).contains(where: { $0.move.path == entry.destination }) == true
        {
            return .waiting(entry.destination)
        }
        // Gone without an outcome, or by somebody's hand: it is wanted anew.
        let outcomes = try catalogue?.outcomes(forPath: entry.destination, inbox: plan.inbox) ?? []
        guard let last = outcomes.first?.outcome, last.outcome == .quarantined || last.outcome == .ignored else {
            return nil
        }
        return .decided("\(last.outcome.rawValue): \(last.reason)", at: last.destination)
    }

    /// Whether a photo of this size is filed, so that the hash must be known before anything is copied.
    func mayBeFiled(size: UInt64) -> Bool { sizes.mayContain(size) }

    /// The photo with this content, if it is filed.
    func filed(_ hash: ContentHash) throws(CatalogueError) -> StoredPhoto? {
        try catalogue?.photo(withHash: hash.bytes)
    }

    /// Whether what makes a copy needless is there, whole and durable, so that the source may go. Reads it.
    func stands(_ answer: Answer, _ hash: ContentHash, size: UInt64, _ copier: ImportCopier) throws -> Bool {
        guard let (file, directory) = try? place(of: answer), (try? file.descriptor.sync()) != nil,
            // A run that was killed right after it named a copy may have left the name where a power cut takes it.
            (try? directory.descriptor.sync()) != nil
        else { return false }
        file.descriptor.dropCachedPages()
        do {
            let read = try copier.read(file.descriptor, size: size, "the copy") { _, _ throws(SystemCallError) in }
            return read == hash
        } catch is ImportTrouble { return false }
    }

    private func place(of answer: Answer) throws(SystemCallError) -> (SharedFile, SharedFile) {
        switch answer {
        case .known(let photo): try open(photo.photo.libraryPath, beneath: try openDirectory(photo.photo.library))
        case .waiting(let path): try open(path, beneath: inbox)
        case .decided(_, let path?): try open(path.name, beneath: try openDirectory(path.parent))
        case .decided(_, nil): throw SystemCallError("open", .noSuchFileOrDirectory)
        }
    }

    private func open(
        _ path: BytePath, beneath root: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> (SharedFile, SharedFile) {
        let directory = SharedFile(try root.openDirectoryBeneath(path.parent))
        return (SharedFile(try directory.descriptor.openBeneath(path.name, [.read, .nonBlocking])), directory)
    }
}

extension FileTime {
    /// Whether the two are one time to a clock of two seconds.
    func isNear(_ other: FileTime) -> Bool {
        let (later, earlier) = (max(seconds, other.seconds), min(seconds, other.seconds))
        let (apart, isFar) = later.subtractingReportingOverflow(earlier)
        return !isFar && apart <= 2
    }
}

/// Which sizes have occurred, in a megabyte, whatever their number; says yes too often, never too seldom.
final class SizeFilter {
    private static let bits = 1 << 23
    private var words = [UInt64](repeating: 0, count: bits / 64)

    func insert(_ size: UInt64) {
        let bit = Self.bit(of: size)
        words[bit >> 6] |= 1 << UInt64(bit & 63)
    }

    func mayContain(_ size: UInt64) -> Bool {
        let bit = Self.bit(of: size)
        return words[bit >> 6] & 1 << UInt64(bit & 63) != 0
    }

    /// Fibonacci's multiplication spreads sizes that differ by little.
    private static func bit(of size: UInt64) -> Int { Int((size &* 0x9E37_79B9_7F4A_7C15) >> 41) }
}
