import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// The files in `links/` of the state directory: the ledger, replaced whole, and the progress of what is under way, a file
/// each that grows. Durable when a call returns. One thread at a time; waits for the disk.
struct LinkStore: Sendable {
    private let state: BytePath
    private static let ledger: BytePath = "ledger.json"
    /// The most bytes of one that are read: a progress file has a line for each of 10,000 addresses.
    private static let longest = 16 << 20

    init(state: BytePath) { self.state = state }

    private func directory() throws(SystemCallError) -> OwnedDescriptor {
        try openDirectory(state).makeDirectoriesBeneath("links", mode: 0o700)
    }

    /// Nil where there is none, or none that can be read.
    func ledger() throws(SystemCallError) -> LinkLedger? { try content(Self.ledger).flatMap { LinkLedger(json: $0) } }

    func save(_ ledger: LinkLedger) throws(SystemCallError) {
        try directory().put(ledger.json, as: Self.ledger, mode: 0o600, durably: true)
    }

    /// What has ended of an operation; a line that was not written whole is cut off.
    func progress(_ operation: Int64) throws(SystemCallError) -> LinkProgress? {
        guard let bytes = try content(name(operation)) else { return nil }
        let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if whole < bytes.count {
            try directory().openBeneath(name(operation), [.write, .nonBlocking]).cut(to: UInt64(whole))
        }
        return LinkProgress(bytes)
    }

    func begin(_ operation: Int64, _ progress: LinkProgress) throws(SystemCallError) {
        let directory = try directory()
        try? directory.unlink(name(operation))
        let file = try directory.openBeneath(name(operation), [.write, .createNew])
        try file.write(progress.head, at: 0)
        try file.sync()
        try directory.syncDirectory()
    }

    func add(_ lines: [UInt8], to operation: Int64) throws(SystemCallError) {
        let file = try directory().openBeneath(name(operation), [.write, .nonBlocking])
        try file.write(lines, at: try FileStatus(of: file).identity.size)
        try file.sync()
    }

    func remove(_ operation: Int64) { try? directory().unlink(name(operation)) }

    /// Removes what is of none of these, and with nil the ledger as well.
    func removeAll(but operations: [Int64]?) {
        guard let directory = try? openDirectory(state).openDirectoryBeneath("links"),
            let entries = try? directory.entries()
        else { return }
        let kept = operations.map { Set($0.map { name($0) }).union([Self.ledger]) } ?? []
        for entry in entries where !kept.contains(entry.name) { try? directory.unlink(entry.name) }
    }

    private func name(_ operation: Int64) -> BytePath { BytePath("\(operation).progress") }

    private func content(_ name: BytePath) throws(SystemCallError) -> [UInt8]? {
        let file: OwnedDescriptor
        do throws(SystemCallError) { file = try directory().openBeneath(name, [.read, .nonBlocking]) } catch {
            guard error.code == .noSuchFileOrDirectory else { throw error }
            return nil
        }
        let size = try FileStatus(of: file).identity.size
        guard size <= Self.longest else { return nil }
        return try file.read(Int(size))
    }
}
