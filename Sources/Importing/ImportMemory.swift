package import FileValues
import Filing
import Glibc
package import LinuxKernel
import SystemPackage

/// What earlier runs copied from one source into one inbox: a small file of lines, added to before each batch gets its
/// names, so that a run that was killed is taken up where it was.
///
/// It only saves work. Who loses it reads the source again, and finds by their hashes what is filed. A file is known by
/// path, size and time of its last write alone: FAT gives inode numbers anew with each mount, and knows times of change
/// to two seconds.
package final class ImportMemory: Sendable {
    struct Entry: Hashable, Sendable {
        let hash: ContentHash
        /// Relative to the inbox.
        let destination: BytePath
    }

    /// A file as the source has it.
    struct Key: Hashable, Sendable {
        let path: BytePath
        let size: UInt64
        let modified: FileTime

        init(_ path: BytePath, _ status: FileStatus) {
            self.path = path
            size = status.identity.size
            modified = status.identity.modified
        }

        fileprivate init(path: BytePath, size: UInt64, modified: FileTime) {
            self.path = path
            self.size = size
            self.modified = modified
        }
    }

    private struct State {
        /// Where the line of a file begins, by the hash of its key: 16 bytes a file, whatever its path.
        var lines: [Int: UInt64] = [:]
        var end: UInt64 = 0
        var run: BytePath?
    }

    /// A file that has grown so large is begun anew.
    private static let limit: UInt64 = 64 << 20
    private static let longestLine = 32 << 10

    private let file: OwnedDescriptor
    private let state: Locked<State>

    /// Opens, or makes, the memory of `source` in `directory`. Throws EWOULDBLOCK while another process has it.
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

    /// The directory of the inbox that an earlier run has begun and not ended.
    var unfinishedRun: BytePath? { state.withLock { $0.run } }

    /// What is known of a file; nil if nothing is, or its line is not what it was.
    func entry(_ key: Key) -> Entry? {
        guard let start = state.withLock({ $0.lines[key.hashValue] }) else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.longestLine)
        let result: Int? = bytes.withUnsafeMutableBytes { try? file.read(into: $0, at: start) }
        guard let count = result, let end = bytes[..<count].firstIndex(of: newline),
            let (found, entry) = Self.parse(bytes[..<end]), found == key
        else { return nil }
        return entry
    }

    /// The name that a file of `directory` had before it was set aside under `token`, by ``ImportRemoval/token(for:)``.
    func name(setAsideAs token: String, in directory: BytePath) -> BytePath? {
        let starts = state.withLock { Array($0.lines.values) }
        var bytes = [UInt8](repeating: 0, count: Self.longestLine)
        for start in starts {
            let result: Int? = bytes.withUnsafeMutableBytes { try? file.read(into: $0, at: start) }
            guard let count = result, let end = bytes[..<count].firstIndex(of: newline),
                let (key, _) = Self.parse(bytes[..<end])
            else { continue }
            if key.path.parent == directory, ImportRemoval.token(for: key.path) == token { return key.path.name }
        }
        return nil
    }

    /// Remembers that `run` has begun.
    func begin(_ run: BytePath) throws(SystemCallError) { try append([("run " + run.escaped, nil)]) { $0.run = run } }

    /// Remembers that the last run has brought over all there was.
    func finish() throws(SystemCallError) {
        guard let run = unfinishedRun else { return }
        try append([("done " + run.escaped, nil)]) { $0.run = nil }
    }

    /// Remembers files that are about to get their names, durably.
    func add(_ files: [(Key, Entry)]) throws(SystemCallError) {
        try append(files.map { (Self.line($0, $1), $0) })
    }

    private func append(
        _ lines: [(text: String, key: Key?)], _ change: (inout State) -> Void = { _ in }
    ) throws(SystemCallError) {
        let start = state.withLock { $0.end }
        var bytes: [UInt8] = []
        var starts: [(Int, UInt64)] = []
        for (text, key) in lines {
            if let key { starts.append((key.hashValue, start + UInt64(bytes.count))) }
            bytes += Array(text.utf8) + [newline]
        }
        try file.write(bytes, at: start)
        try file.sync()
        let end = start + UInt64(bytes.count)
        state.withLock { state in
            for (key, start) in starts { state.lines[key] = start }
            state.end = end
            change(&state)
        }
    }

    private static func line(_ key: Key, _ entry: Entry) -> String {
        "file \(key.size) \(key.modified.seconds) \(key.modified.nanoseconds) \(entry.hash) "
            + "\(tabless(entry.destination))\t\(key.path.escaped)"
    }

    /// Escaped paths hold no tab: ``BytePath/escaped`` writes it as two letters.
    private static func tabless(_ path: BytePath) -> String { path.escaped }

    private static func parse(_ line: ArraySlice<UInt8>) -> (Key, Entry)? {
        guard let text = String(validating: line, as: UTF8.self) else { return nil }
        let words = text.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard words.count == 6, words[0] == "file", let size = UInt64(words[1]), let seconds = Int64(words[2]),
            let nanoseconds = UInt32(words[3]), nanoseconds < 1_000_000_000, let hash = hash(words[4])
        else { return nil }
        let paths = words[5].split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        guard paths.count == 2, let destination = BytePath(escaped: String(paths[0])),
            let path = BytePath(escaped: String(paths[1])), destination.isSafeBeneath, path.isSafeBeneath
        else { return nil }
        let modified = FileTime(seconds: seconds, nanoseconds: nanoseconds)
        return (Key(path: path, size: size, modified: modified), Entry(hash: hash, destination: destination))
    }

    private static func hash(_ digits: Substring) -> ContentHash? {
        let digits = Array(digits.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: 64, by: 2) {
            guard let byte = UInt8(String(decoding: digits[start..<(start + 2)], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return ContentHash(bytes)
    }

    /// Reads all lines once. What a crash left half-written at the end is written over.
    private static func read(_ file: borrowing OwnedDescriptor, _ size: UInt64) throws(SystemCallError) -> State {
        var state = State()
        var rest: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 256 << 10)
        var offset: UInt64 = 0
        while offset < size {
            let result: Result<Int, SystemCallError> = block.withUnsafeMutableBytes { buffer in
                do throws(SystemCallError) { return .success(try file.read(into: buffer, at: offset)) } catch {
                    return .failure(error)
                }
            }
            let count = try result.get()
            if count == 0 { break }
            offset += UInt64(count)
            rest += block[..<count]
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: newline) {
                take(rest[start..<end], at: state.end, &state)
                state.end += UInt64(end - start + 1)
                start = end + 1
            }
            rest.removeFirst(start)
            if rest.count > longestLine { break }
        }
        return state
    }

    private static func take(_ line: ArraySlice<UInt8>, at start: UInt64, _ state: inout State) {
        if let (key, _) = parse(line) {
            state.lines[key.hashValue] = start
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
