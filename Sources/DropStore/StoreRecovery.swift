import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// What a restart does, by the ledger and the parts that are there; see the table in docs/decisions/0061.
///
/// Bytes that anybody may have been told are durable are never removed: what cannot be continued gets a name in the hidden
/// directory that no start touches, and a person decides.
struct StoreRecovery {
    private(set) var entries: [LedgerEntry] = []
    /// Parts to be removed, when the entries are durable.
    private(set) var outdated: [BytePath] = []
    /// Parts that no upload has any more, to be kept under another name.
    private(set) var unknown: [(id: UploadID, name: BytePath)] = []
    private(set) var remarks: [String] = []

    /// `damaged` lines of the ledger are not in the table.
    init(
        of table: UploadTable, in hidden: borrowing OwnedDescriptor, of root: borrowing OwnedDescriptor, damaged: Int
    ) throws(SystemCallError) {
        if damaged > 0 { remarks.append("\(damaged) lines of the ledger of uploads were damaged and are left out") }
        let parts = Set(try hidden.entries().compactMap { UploadID(part: $0.name) })
        for part in parts where table[part] == nil {
            // An empty one is of an upload whose begin was interrupted.
            if (try? FileStatus(of: part.part, in: hidden).identity.size) == 0 {
                outdated.append(part.part)
            } else {
                set(aside: part, "is not in the ledger", in: hidden)
            }
        }
        for (id, record) in table.uploads {
            // What cannot be looked at now holds up no other.
            do throws(SystemCallError) {
                if parts.contains(id) {
                    try decide(id, record, in: hidden, of: root)
                } else {
                    try decide(id, record, of: root)
                }
            } catch { remarks.append("upload \(id) cannot be looked at, and stays as it is: \(error)") }
        }
        if entries.contains(where: { if case .placed = $0 { true } else { false } }) { try hidden.syncDirectory() }
    }

    private mutating func decide(
        _ id: UploadID, _ record: UploadRecord, in hidden: borrowing OwnedDescriptor, of root: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        switch record.phase {
        case .receiving:
            if try FileStatus(of: id.part, in: hidden).identity.size < record.offset { lose(id, record, in: hidden) }
        case .whole(let digest), .placing(let digest, _), .placed(let digest, _):
            let part = try hidden.openBeneath(id.part, .read)
            guard let length = record.length, try FileStatus(of: part).identity.size == length,
                try hashPart(part, length) == digest
            else {
                if record.isOpen { return lose(id, record, in: hidden) }
                return set(aside: id, "is of \(record.words), which has its name in the inbox", in: hidden)
            }
            // Its name was not given, or a power cut took it.
            if case .whole = record.phase { return }
            if case .placed(_, let path) = record.phase, try !isPathFree(path, in: root) {
                return set(aside: id, "is of \(record.words), which has its name in the inbox", in: hidden)
            }
            entries.append(.whole(id, digest))
        case .ended(.lost), .ended(.failed): set(aside: id, "is of \(record.words), which was lost", in: hidden)
        case .ended: outdated.append(id.part)
        }
    }

    private mutating func decide(
        _ id: UploadID, _ record: UploadRecord, of root: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        switch record.phase {
        case .receiving, .whole: lose(id, record)
        case .placing(_, let path):
            // A power cut could still undo the rename.
            do throws(SystemCallError) {
                try root.openDirectoryBeneath(path.parent).syncDirectory()
            } catch { guard error.code == .noSuchFileOrDirectory || error.code == .notDirectory else { throw error } }
            entries.append(.placed(id))
        case .placed, .ended: break
        }
    }

    private mutating func lose(_ id: UploadID, _ record: UploadRecord) {
        entries.append(.ended(id, .lost))
        remarks.append("upload \(id) is lost, \(record.words): its bytes are not those of the ledger")
    }

    private mutating func lose(_ id: UploadID, _ record: UploadRecord, in hidden: borrowing OwnedDescriptor) {
        lose(id, record)
        set(aside: id, "is what is left of \(record.words)", in: hidden)
    }

    private mutating func set(aside id: UploadID, _ why: String, in hidden: borrowing OwnedDescriptor) {
        let name = hidden.keptName(of: id)
        unknown.append((id, name))
        remarks.append("\(DropStore.directory)/\(name) \(why), and stays")
    }
}

/// Whether nothing has this path; a file in place of one of its directories has it.
func isPathFree(_ path: BytePath, in root: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
    do throws(SystemCallError) {
        return try root.openDirectoryBeneath(path.parent).isFree(path.name)
    } catch {
        // A file, or a link, in place of a directory.
        if error.code == .notDirectory || error.code == .tooManySymbolicLinkLevels { return false }
        if error.code == .noSuchFileOrDirectory { return true }
        throw error
    }
}
