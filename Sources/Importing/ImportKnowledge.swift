import Catalogue
import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// Determines from earlier runs, the inbox and the catalogue which files need no copy. Any thread.
final class ImportKnowledge: Sendable {
    /// Why no copy is needed.
    enum Answer {
        case known(StoredPhoto)
        case waiting(BytePath)
        /// The daemon is moving the copy out of the inbox.
        case moving
        /// The reason, and the copy's new path if it was moved out of the inbox.
        case decided(String, at: BytePath?)
    }

    private let plan: ImportPlan
    private let inbox: OwnedDescriptor
    private let catalogue: CatalogueFile?
    private let sizes: SizeFilter

    init(_ plan: ImportPlan, inbox: consuming OwnedDescriptor, catalogue: CatalogueFile?) throws(CatalogueError) {
        self.inbox = inbox
        (self.plan, self.catalogue) = (plan, catalogue)
        var sizes = SizeFilter()
        try catalogue?.eachPhotoSize { sizes.insert($0) }
        self.sizes = sizes
    }

    /// Returns why the file of `entry` needs no copy; nil if it does. Does not read the file.
    func answer(_ entry: ImportMemory.Entry, _ status: FileStatus) throws(CatalogueError) -> Answer? {
        // Twice, since it may be filed between the two checks.
        for _ in 0..<2 {
            if let photo = try filed(entry.hash) { return .known(photo) }
            // The copy has the file's time at the copying; FAT rounds the file's own time after the next mount.
            if let copy = try? FileStatus(of: entry.destination, beneath: inbox), copy.kind == .regular,
                copy.identity.size == status.identity.size,
                [entry.modified, status.identity.modified].contains(where: { $0.isNear(copy.identity.modified) })
            {
                return .waiting(entry.destination)
            }
        }
        // It is being moved to quarantine; its outcome is recorded when the move ends.
        if try catalogue?.pendingMoves(inbox: plan.inbox).contains(where: { $0.move.path == entry.destination }) == true
        {
            return .moving
        }
        // A copy that was removed without an outcome, or by a person, is imported again.
        let outcomes = try catalogue?.outcomes(forPath: entry.destination, inbox: plan.inbox) ?? []
        guard let last = outcomes.first?.outcome, last.outcome == .quarantined || last.outcome == .ignored else {
            return nil
        }
        return .decided("\(last.outcome.rawValue): \(last.reason)", at: last.destination)
    }

    /// Whether a photo of this size is recorded, so that the file must be hashed before it is copied.
    func mayBeFiled(size: UInt64) -> Bool { sizes.mayContain(size) }

    /// Returns the photo with this content if it is recorded in the configured library and a file of its size exists. A
    /// record alone is not sufficient: the library may be another one now, or have lost the file.
    func filed(_ hash: ContentHash) throws(CatalogueError) -> StoredPhoto? {
        guard let library = plan.library, let stored = try catalogue?.photo(withHash: hash.bytes),
            stored.photo.library == library, let root = try? openDirectory(library),
            (try? plan.requireLibrary(root)) != nil,
            let status = try? FileStatus(of: stored.photo.libraryPath, beneath: root), status.kind == .regular,
            status.identity.size == stored.photo.size
        else { return nil }
        return stored
    }

    /// Returns the copy that makes another one unnecessary.
    func copy(of answer: Answer, _ hash: ContentHash, size: UInt64) -> RecordedCopy? {
        switch answer {
        case .known(let photo):
            RecordedCopy(
                root: photo.photo.library, path: photo.photo.libraryPath, hash: hash, size: size,
                requirePlace: plan.requireLibrary)
        case .waiting(let path): RecordedCopy(root: plan.inboxPath, path: path, hash: hash, size: size)
        case .decided(_, let path?): RecordedCopy(root: path.parent, path: path.name, hash: hash, size: size)
        case .moving, .decided(_, nil): nil
        }
    }
}

extension FileTime {
    /// Whether the two differ by at most two seconds, the resolution of FAT.
    func isNear(_ other: FileTime) -> Bool {
        let (later, earlier) = (max(seconds, other.seconds), min(seconds, other.seconds))
        let (apart, isFar) = later.subtractingReportingOverflow(earlier)
        return !isFar && apart <= 2
    }
}

/// A set of sizes that always uses a megabyte; with false positives, without false negatives.
struct SizeFilter {
    private static let bits = 1 << 23
    private var words = [UInt64](repeating: 0, count: bits / 64)

    mutating func insert(_ size: UInt64) {
        let bit = Self.bit(of: size)
        words[bit >> 6] |= 1 << UInt64(bit & 63)
    }

    func mayContain(_ size: UInt64) -> Bool {
        let bit = Self.bit(of: size)
        return words[bit >> 6] & 1 << UInt64(bit & 63) != 0
    }

    /// Fibonacci hashing spreads sizes that differ by little.
    private static func bit(of size: UInt64) -> Int { Int((size &* 0x9E37_79B9_7F4A_7C15) >> 41) }
}
