import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// A line of a ``LineFile``: fields behind their checksum, between tabs.
protocol CheckedLine: Sendable {
    var fields: [String] { get }

    /// Nil for those of another version.
    init?(fields: [String])
}

extension CheckedLine {
    var text: String {
        let content = fields.joined(separator: "\t")
        return "\(checksum(content))\t\(content)\n"
    }

    /// Nil for a line that is torn, damaged or of another version.
    init?(_ text: String) {
        guard let tab = text.firstIndex(of: "\t") else { return nil }
        let content = text[text.index(after: tab)...]
        guard text[..<tab] == checksum(content) else { return nil }
        self.init(fields: content.split(separator: "\t", omittingEmptySubsequences: false).map(String.init))
    }
}

private func checksum(_ content: some StringProtocol) -> String {
    var hasher = ContentHasher()
    Array(content.utf8).withUnsafeBytes { hasher.update($0) }
    return String(hasher.hash().description.prefix(8))
}

/// A file of lines that are appended, durably before anybody is told. Any thread.
final class LineFile<Line: CheckedLine>: Sendable {
    private struct State {
        var file: HeldDescriptor
        /// Where the next line goes: what a failed call has written behind it is overwritten.
        var end: UInt64
        var lines = 0
        /// Lines since the start, for ``sync()``.
        var appended = 0
        var isBroken = false
    }

    /// What was read at the start.
    struct Content: Equatable {
        /// Lines that are damaged, without a last one that is torn.
        var damaged = 0
        /// Whether a power cut tore the last line, which nobody was told about.
        var isTorn = false
    }

    private let name: BytePath
    private let state: Locked<State>
    /// The number of lines that are durable. Held while syncing, so that those who wait share one.
    private let synced = Locked(0)

    /// Opens or creates the one of this name in `directory`.
    init(_ name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        self.name = name
        let file: OwnedDescriptor
        do throws(SystemCallError) {
            file = try directory.openBeneath(name, .readWrite)
        } catch {
            guard error.code == .noSuchFileOrDirectory else { throw error }
            file = try directory.openBeneath(name, [.readWrite, .createNew], mode: 0o600)
            try directory.syncDirectory()
        }
        let end = try FileStatus(of: file).identity.size
        state = Locked(State(file: HeldDescriptor(file), end: end))
    }

    /// Calls `body` with each line, in order; a piece of the file at a time, since it may be large.
    func read(_ body: (Line) -> Void) throws(SystemCallError) -> Content {
        let (file, end) = state.withLock { ($0.file, $0.end) }
        var content = Content()
        var (lines, offset, rest) = (0, UInt64(0), [UInt8]())
        // Whether the line before is damaged: torn, if it is the last.
        var isPending = false
        func take(_ text: ArraySlice<UInt8>) {
            guard !text.isEmpty else { return }
            if isPending { content.damaged += 1 }
            let line = Line(String(decoding: text, as: UTF8.self))
            isPending = line == nil
            guard let line else { return }
            lines += 1
            body(line)
        }
        while offset < end {
            let bytes = try file.descriptor.read(Int(min(end - offset, Self.piece)), at: offset)
            // What was not read must not count as if it were not there.
            guard !bytes.isEmpty else { throw SystemCallError("pread", .ioError, path: name) }
            offset += UInt64(bytes.count)
            rest += bytes
            var start = rest.startIndex
            while let newline = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                take(rest[start..<newline])
                start = newline + 1
            }
            rest.removeFirst(start)
        }
        content.isTorn = !rest.isEmpty
        take(rest[...])
        content.isTorn = content.isTorn || isPending
        state.withLock { $0.lines = lines }
        return content
    }

    private static var piece: UInt64 { 1 << 20 }

    /// How many lines it has.
    var lines: Int { state.withLock { $0.lines } }

    var size: UInt64 { state.withLock { $0.end } }

    func append(_ lines: [Line]) throws(SystemCallError) {
        let bytes = Array(lines.map(\.text).joined().utf8)
        try state.withLock { state throws(SystemCallError) in
            guard !state.isBroken else { throw broken }
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
            guard !isBroken else { throw broken }
            do throws(SystemCallError) { try file.descriptor.sync() } catch {
                state.withLock { $0.isBroken = true }
                throw error
            }
            synced = appended
        }
    }

    /// Replaces all lines, durably.
    func replace(_ lines: [Line], in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let bytes = Array(lines.map(\.text).joined().utf8)
        let temporary = name.addingSuffix(".new")
        try? directory.unlink(temporary)
        let file = try directory.openBeneath(temporary, [.readWrite, .createNew], mode: 0o600)
        try file.write(bytes, at: 0)
        try file.sync()
        try directory.rename(temporary, replacing: name)
        let new = HeldDescriptor(file)
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

    private var broken: SystemCallError { SystemCallError("fsync", .ioError, path: name) }
}
