package import FileValues
import Filing
import Glibc
package import LinuxKernel
import SystemPackage

/// The record of files that earlier runs copied from one source into one inbox: a small file of lines, extended before
/// each batch gets its names, so that the next run can continue after a kill.
///
/// It only saves work: without it the source is read again, and filed photos are found by their hashes. A line is found
/// by path and size, in any spelling of the name: FAT assigns inode numbers anew with each mount, stores times to two
/// seconds, and shows short names in upper or lower case by mount option. The content decides whether the file is that
/// of the line: see ``Entry/wouldShowWrites(to:)``.
package final class ImportMemory: Sendable {
    struct Entry: Hashable, Sendable {
        let hash: ContentHash
        let sample: ImportSample
        /// The modification time, by the source's clock.
        let modified: FileTime
        /// When it was read, by this machine's clock: seconds since 1970.
        let read: Int64
        /// Relative to the inbox.
        let destination: BytePath

        /// Whether every write since it was read would have changed its time: it had then been unchanged for longer
        /// than the coarsest resolution of a file system (two seconds) and usual clock corrections.
        func wouldShowWrites(to status: FileStatus) -> Bool {
            modified == status.identity.modified && modified.seconds <= read - Self.rest
        }

        private static let rest: Int64 = 10
    }

    struct Key: Hashable, Sendable {
        let path: BytePath
        let size: UInt64

        init(_ path: BytePath, _ status: FileStatus) { self.init(path: path, size: status.identity.size) }

        fileprivate init(path: BytePath, size: UInt64) {
            (self.path, self.size) = (path, size)
        }

        /// A key that is equal for all spellings that a case-insensitive file system treats as one name. ASCII only,
        /// since a miss only costs reading the file.
        fileprivate var folded: Folded {
            let bytes = path.bytes.map(\.asciiLowercased)
            return Folded(path: BytePath(bytes), size: size)
        }
    }

    fileprivate struct Folded: Hashable {
        let path: BytePath
        let size: UInt64
        /// Makes its hash differ from that of a ``Key`` of the same path.
        private let mark: UInt8 = 1
    }

    private struct State {
        /// The offset of a file's line, by the hash of its key and by that of its folded key: 32 bytes per file.
        var lines: [Int: UInt64] = [:]
        var end: UInt64 = 0
        var run: BytePath?
    }

    /// A larger file is truncated.
    private static let limit: UInt64 = 64 << 20
    private static let longestLine = 32 << 10

    private let file: OwnedDescriptor
    private let state: Locked<State>

    /// Opens or creates the memory of `source` in `directory`. Throws EWOULDBLOCK while another process has it.
    package init(
        of source: BytePath, inbox: String, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        var hasher = ContentHasher()
        Array("\(inbox)/".utf8).withUnsafeBytes { hasher.update($0) }
        source.bytes.withUnsafeBytes { hasher.update($0) }
        let name = BytePath("import-\(hasher.hash().description.prefix(24))")
        file = try Self.open(name, in: directory)
        let number = file.raw
        try systemCall("flock") { flock(number, LOCK_EX | LOCK_NB) }
        var size = try FileStatus(of: file).identity.size
        if size > Self.limit {
            try systemCall("ftruncate") { ftruncate(number, 0) }
            size = 0
        }
        state = Locked(try Self.read(file, size))
    }

    private static func open(
        _ name: BytePath, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> OwnedDescriptor {
        do { return try directory.openBeneath(name, .readWrite) } catch {
            guard error.code == .noSuchFileOrDirectory else { throw error }
        }
        return try directory.openBeneath(name, [.readWrite, .createNew], mode: 0o640)
    }

    /// The directory in the inbox of an unfinished earlier run.
    var unfinishedRun: BytePath? { state.withLock { $0.run } }

    /// Returns the entry of a file; nil if there is none, or its line was changed.
    func entry(_ key: Key) -> Entry? {
        let (own, other) = state.withLock { ($0.lines[key.hashValue], $0.lines[key.folded.hashValue]) }
        if let (found, entry) = line(at: own), found == key { return entry }
        if let (found, entry) = line(at: other), found.folded == key.folded { return entry }
        return nil
    }

    /// Returns whether there is a line for exactly this name.
    func contains(_ key: Key) -> Bool { line(at: state.withLock { $0.lines[key.hashValue] })?.0 == key }

    private func line(at start: UInt64?) -> (Key, Entry)? {
        guard let start, let bytes = try? file.read(Self.longestLine, at: start),
            let end = bytes.firstIndex(of: newline)
        else { return nil }
        return Self.parse(bytes[..<end])
    }

    /// Returns the name that a file of `directory` had before it was set aside with `mark`; see
    /// ``ImportRemoval/mark(for:)``.
    func name(setAsideAs mark: String, in directory: BytePath) -> BytePath? {
        for start in state.withLock({ Set($0.lines.values) }) {
            guard let (key, _) = line(at: start) else { continue }
            if key.path.parent == directory, ImportRemoval.mark(for: key.path) == mark { return key.path.name }
        }
        return nil
    }

    func begin(_ run: BytePath) throws(SystemCallError) { try append([("run " + run.escaped, nil)]) { $0.run = run } }

    func finish() throws(SystemCallError) {
        guard let run = unfinishedRun else { return }
        try append([("done " + run.escaped, nil)]) { $0.run = nil }
    }

    /// Records files that are about to get their names. `durably` may be false if the record only saves work.
    func add(_ files: [(Key, Entry)], durably: Bool = true) throws(SystemCallError) {
        try append(files.map { (Self.line($0, $1), $0) }, durably: durably)
    }

    private func append(
        _ lines: [(text: String, key: Key?)], durably: Bool = true, _ change: (inout State) -> Void = { _ in }
    ) throws(SystemCallError) {
        let start = state.withLock { $0.end }
        var bytes: [UInt8] = []
        var starts: [(Int, UInt64)] = []
        for (text, key) in lines {
            if let key {
                starts.append((key.hashValue, start + UInt64(bytes.count)))
                starts.append((key.folded.hashValue, start + UInt64(bytes.count)))
            }
            bytes += Array(text.utf8) + [newline]
        }
        try file.write(bytes, at: start)
        if durably { try file.sync() }
        let end = start + UInt64(bytes.count)
        state.withLock { state in
            for (key, start) in starts { state.lines[key] = start }
            state.end = end
            change(&state)
        }
    }

    /// An escaped path contains no tab: ``BytePath/escaped`` writes it as two letters.
    private static func line(_ key: Key, _ entry: Entry) -> String {
        "file \(key.size) \(entry.modified.seconds) \(entry.modified.nanoseconds) \(entry.hash) \(entry.sample.text) "
            + "\(entry.read) \(entry.destination.escaped)\t\(key.path.escaped)"
    }

    private static func parse(_ line: ArraySlice<UInt8>) -> (Key, Entry)? {
        guard let text = String(validating: line, as: UTF8.self) else { return nil }
        let words = text.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: false)
        guard words.count == 8, words[0] == "file", let size = UInt64(words[1]), let seconds = Int64(words[2]),
            let nanoseconds = UInt32(words[3]), nanoseconds < 1_000_000_000,
            let hash = bytes(ofHexadecimal: words[4].utf8).flatMap({ ContentHash($0) }),
            let sample = ImportSample(words[5]), let read = Int64(words[6])
        else { return nil }
        let paths = words[7].split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        guard paths.count == 2, let destination = BytePath(escaped: String(paths[0])),
            let path = BytePath(escaped: String(paths[1])), destination.isSafeBeneath, path.isSafeBeneath
        else { return nil }
        let modified = FileTime(seconds: seconds, nanoseconds: nanoseconds)
        return (
            Key(path: path, size: size),
            Entry(hash: hash, sample: sample, modified: modified, read: read, destination: destination)
        )
    }

    /// Reads all lines once. A partial line at the end, from a crash, will be overwritten.
    private static func read(_ file: borrowing OwnedDescriptor, _ size: UInt64) throws(SystemCallError) -> State {
        var state = State()
        var rest: [UInt8] = []
        var offset: UInt64 = 0
        while offset < size {
            let block = try file.read(256 << 10, at: offset)
            if block.isEmpty { break }
            offset += UInt64(block.count)
            rest += block
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: newline) {
                apply(rest[start..<end], at: state.end, &state)
                state.end += UInt64(end - start + 1)
                start = end + 1
            }
            rest.removeFirst(start)
            if rest.count > longestLine { break }
        }
        return state
    }

    private static func apply(_ line: ArraySlice<UInt8>, at start: UInt64, _ state: inout State) {
        if let (key, _) = parse(line) {
            state.lines[key.hashValue] = start
            state.lines[key.folded.hashValue] = start
        } else if let text = String(validating: line, as: UTF8.self) {
            let words = text.split(separator: " ", maxSplits: 1)
            guard words.count == 2, let run = BytePath(escaped: String(words[1])), run.components.count == 1,
                run.isSafeBeneath
            else { return }
            if words[0] == "run" { state.run = run }
            if words[0] == "done", state.run == run { state.run = nil }
        }
    }
}

private let newline = UInt8(ascii: "\n")

/// Where the memory of imports is: in the state directory, or, for users who may not write there, in the inbox, under a
/// hidden name.
package enum ImportMemoryPlace {
    private static let hidden: BytePath = ".photo-inbox-imports"
    private static let name: BytePath = "imports"

    /// Whether a memory exists; a dry run creates none.
    package static func exists(state: BytePath, _ plan: ImportPlan) -> Bool {
        [state.appending(name), plan.inboxPath.appending(hidden)].contains { (try? FileStatus(at: $0)) != nil }
    }

    /// The memory for `plan`; nil if it cannot be opened, since it only saves work. Throws
    /// ``ImportFailure/busy`` while another run has it.
    package static func open(state: BytePath, _ plan: ImportPlan) throws(ImportFailure) -> ImportMemory? {
        for (parent, name) in [(state, name), (plan.inboxPath, hidden)] {
            do throws(SystemCallError) {
                let directory = try openDirectory(parent)
                if (try? FileStatus(of: name, in: directory)) == nil {
                    try directory.makeDirectory(name, mode: 0o700)
                }
                let place = try directory.openDirectoryBeneath(name)
                return try ImportMemory(of: plan.source, inbox: plan.inbox, in: place)
            } catch {
                if error.code == .wouldBlock { throw .busy }
            }
        }
        return nil
    }
}
