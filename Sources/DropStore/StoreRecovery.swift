import FileValues
import LinuxKernel
import SystemPackage

/// What a restart does, by the ledger and the parts that are there; see the table in docs/decisions/0061.
struct StoreRecovery {
    private(set) var entries: [LedgerEntry] = []
    /// Parts to be removed, when the entries are durable.
    private(set) var outdated: [BytePath] = []
    private(set) var remarks: [String] = []

    /// `damaged` lines of the ledger are not in the table.
    init(of table: UploadTable, in hidden: borrowing OwnedDescriptor, damaged: Int) throws(SystemCallError) {
        if damaged > 0 { remarks.append("\(damaged) lines of the ledger of uploads were damaged and are left out") }
        let parts = Set(try hidden.entries().compactMap { UploadID(part: $0.name) })
        for part in parts where table[part] == nil {
            // It was never reported, unless its line is one of those.
            if damaged == 0 {
                outdated.append(part.part)
            } else {
                remarks.append("\(DropStore.directory)/\(part.part) is not in the ledger and stays")
            }
        }
        for (id, record) in table.uploads {
            if parts.contains(id) { try decide(id, record, in: hidden) } else { decide(id, record) }
        }
    }

    private mutating func decide(
        _ id: UploadID, _ record: UploadRecord, in hidden: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        switch record.phase {
        case .receiving:
            if try FileStatus(of: id.part, in: hidden).identity.size < record.offset { lose(id, hasPart: true) }
        case .whole(let digest), .placing(let digest, _):
            let part = try hidden.openBeneath(id.part, .read)
            guard let length = record.length, try FileStatus(of: part).identity.size == length,
                try hashPart(part, length) == digest
            else { return lose(id, hasPart: true) }
            // Its name was not given.
            if case .placing = record.phase { entries.append(.whole(id, digest)) }
        case .placed: remarks.append("\(DropStore.directory)/\(id.part) has its name in the inbox and stays")
        case .ended: outdated.append(id.part)
        }
    }

    private mutating func decide(_ id: UploadID, _ record: UploadRecord) {
        switch record.phase {
        case .receiving, .whole: lose(id, hasPart: false)
        case .placing: entries.append(.placed(id))
        case .placed, .ended: break
        }
    }

    private mutating func lose(_ id: UploadID, hasPart: Bool) {
        entries.append(.ended(id, .lost))
        if hasPart { outdated.append(id.part) }
        remarks.append("upload \(id) is lost: its bytes are not those of the ledger")
    }
}
