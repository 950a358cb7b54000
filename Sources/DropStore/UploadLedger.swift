import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// The file of lines. Any thread.
final class UploadLedger: Sendable {
    private struct State {
        var file: SharedFile
        /// Where the next line goes: what a failed call has written behind it is overwritten.
        var end: UInt64
        var lines = 0
        /// Lines since the start, for ``sync()``.
        var appended = 0
        var isBroken = false
    }

    /// What was read at the start.
    struct Content {
        var lines: [LedgerLine] = []
        /// Lines that are damaged, without a last one that is torn.
        var damaged = 0
        /// Whether a power cut tore the last line, which nobody was told about.
        var isTorn = false
    }

    static let name: BytePath = "ledger"

    private let state: Locked<State>
    /// The number of lines that are durable. Held while syncing, so that those who wait share one.
    private let synced = Locked(0)

    /// Opens or creates the one in `directory`.
    init(in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let file: OwnedDescriptor
        do throws(SystemCallError) {
            file = try directory.openBeneath(Self.name, .readWrite)
        } catch {
            guard error.code == .noSuchFileOrDirectory else { throw error }
            file = try directory.openBeneath(Self.name, [.readWrite, .createNew], mode: 0o600)
            try directory.syncDirectory()
        }
        let end = try FileStatus(of: file).identity.size
        state = Locked(State(file: SharedFile(file), end: end))
    }

    func read() throws(SystemCallError) -> Content {
        let (file, end) = state.withLock { ($0.file, $0.end) }
        var content = Content()
        let bytes = try file.descriptor.read(Int(end))
        // What was not read must not count as if it were not there.
        guard bytes.count == Int(end) else { throw SystemCallError("pread", .ioError, path: Self.name) }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        for (index, line) in lines.enumerated() {
            if let line = LedgerLine(String(decoding: line, as: UTF8.self)) {
                content.lines.append(line)
            } else if index == lines.count - 1 {
                content.isTorn = true
            } else {
                content.damaged += 1
            }
        }
        if let last = bytes.last, last != UInt8(ascii: "\n") { content.isTorn = true }
        state.withLock { $0.lines = content.lines.count }
        return content
    }

    /// How many lines it has.
    var lines: Int { state.withLock { $0.lines } }

    var size: UInt64 { state.withLock { $0.end } }

    func append(_ lines: [LedgerLine]) throws(SystemCallError) {
        let bytes = Array(lines.map(\.text).joined().utf8)
        try state.withLock { state throws(SystemCallError) in
            guard !state.isBroken else { throw Self.broken }
            try state.file.descriptor.write(bytes, at: state.end)
            state.end += UInt64(bytes.count)
            state.appended += lines.count
            state.lines += lines.count
        }
    }

    /// Whether a sync has failed: nothing is accepted any more.
    var isBroken: Bool { state.withLock(\.isBroken) }

    /// Makes durable what was appended so far. After a failure nothing is accepted any more: what the file has is unknown.
    func sync() throws(SystemCallError) {
        let wanted = state.withLock { $0.appended }
        try synced.withLock { synced throws(SystemCallError) in
            if synced >= wanted { return }
            let (file, appended, isBroken) = state.withLock { ($0.file, $0.appended, $0.isBroken) }
            guard !isBroken else { throw Self.broken }
            do throws(SystemCallError) { try file.descriptor.sync() } catch {
                state.withLock { $0.isBroken = true }
                throw error
            }
            synced = appended
        }
    }

    /// Replaces all lines, durably.
    func replace(_ lines: [LedgerLine], in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let bytes = Array(lines.map(\.text).joined().utf8)
        let temporary = Self.name.addingSuffix(".new")
        try? directory.unlink(temporary)
        let file = try directory.openBeneath(temporary, [.readWrite, .createNew], mode: 0o600)
        try file.write(bytes, at: 0)
        try file.sync()
        try directory.rename(temporary, replacing: Self.name)
        let new = SharedFile(file)
        try synced.withLock { synced throws(SystemCallError) in
            let appended = state.withLock { state in
                (state.file, state.end, state.lines) = (new, UInt64(bytes.count), lines.count)
                return state.appended
            }
            do throws(SystemCallError) { try directory.syncDirectory() } catch {
                state.withLock { $0.isBroken = true }
                throw error
            }
            synced = appended
        }
    }

    private static let broken = SystemCallError("fsync", .ioError, path: name)
}
