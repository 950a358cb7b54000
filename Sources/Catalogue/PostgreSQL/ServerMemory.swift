package import FileValues
package import LinuxKernel
import PostgreSQL
import SystemPackage

/// A row of what is begun, by which recovery finds out how far it came.
struct BegunRow {
    enum Table: String { case intent, move, request }
    /// No column: the hash of the photo that an intent joins.
    static let joined = "joined"

    let table: Table
    /// Without numbers of other rows: a database that went back may give them again.
    let columns: Columns

    init(_ table: Table, _ columns: Columns) {
        self.table = table
        self.columns = columns.filter { $0.value != nil && !["joins", "photo_id", "outcome_id"].contains($0.key) }
    }
}

/// What a daemon keeps in its state directory of the server that its catalogue is in, so that it finds out when that has an
/// earlier state, and what is lost there. Any thread.
package final class ServerMemory: Sendable {
    private struct Values: Sendable {
        /// How often it has written there at least.
        var written: Int64
        /// The server and its standbys, and the highest timeline that was met: each promotion begins another one.
        var cluster: Int64
        var timeline: Int64
        /// How many rows were inserted again, and nobody was told of.
        var again = 0
    }

    /// By what a catalogue knows this daemon: random, and the same for good.
    package let key: String
    private let directory: BytePath
    private let file: OwnedDescriptor
    private let values: Locked<Values>

    package init(in directory: BytePath) throws(SystemCallError) {
        self.directory = directory
        let opened = try openDirectory(directory)
        var text: [UInt8] = []
        do throws(SystemCallError) { text = try opened.openBeneath("host", [.read, .nonBlocking]).read(256) } catch {
            if error.code != .noSuchFileOrDirectory { throw error }
        }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let numbers = lines.dropFirst().map { Int64($0.drop { $0 == " " }) ?? 0 } + [0, 0, 0]
        key = lines.first.map(String.init) ?? randomHexadecimal(bytes: 16)
        let values = Values(written: numbers[0], cluster: numbers[1], timeline: numbers[2])
        if lines.count < 4 { try opened.put(Self.text(key, values), as: "host", durably: true) }
        file = try opened.openBeneath("host", [.readWrite, .nonBlocking])
        self.values = Locked(values)
        // Of another daemon, whose state this was.
        if lines.isEmpty { forget(until: 0) }
    }

    /// Of the same length for all values, and written in its place, since that is done whenever something is recorded: a
    /// process that is killed has written all of it or nothing.
    private static func text(_ key: String, _ values: Values) -> [UInt8] {
        let numbers = [values.written, values.cluster, values.timeline].map { number in
            String(repeating: " ", count: 20 - "\(number)".utf8.count) + "\(number)\n"
        }
        return Array("\(key)\n\(numbers.joined())".utf8)
    }

    // MARK: - Which server, and how often was written there

    var written: Int64 { values.withLock(\.written) }

    /// Errors are ignored: without it, that the database went back may not be found out.
    func wrote(_ count: Int64) {
        values.withLock { values in
            guard count != values.written else { return }
            // What was begun since is in the database again, and is not to be found once it is finished there.
            if count < values.written { forget(until: count) }
            values.written = count
            try? file.write(Self.text(key, values), at: 0)
        }
    }

    /// Whether a connection that was made before may still be used: another one may have met a newer primary since.
    func admits(_ server: PostgresConnection.Server) -> Bool {
        values.withLock { server.systemIdentifier != $0.cluster || server.timeline >= $0.timeline }
    }

    /// Throws if the server was the primary before another one was promoted, and keeps which it is: durably, since what is
    /// written there must not be followed by something on an older one.
    func admit(_ server: PostgresConnection.Server) throws {
        try values.withLock { values in
            let isKnown = server.systemIdentifier == values.cluster
            guard !isKnown || server.timeline >= values.timeline else {
                throw CatalogueError(
                    .unreachable, "connecting",
                    "the server is an old primary, of timeline \(server.timeline), and this daemon has been on timeline "
                        + "\(values.timeline): stop it, or make it a standby")
            }
            if isKnown, server.timeline == values.timeline { return }
            // What was begun on another cluster is nothing that this one has lost.
            if !isKnown { forget(until: values.written) }
            let now = Values(
                written: values.written, cluster: server.systemIdentifier, timeline: server.timeline)
            try file.write(Self.text(key, now), at: 0)
            try file.sync()
            values = now
        }
    }

    // MARK: - What was begun

    /// Of two files that take turns.
    private static let log: (now: BytePath, before: BytePath) = ("begun.log", "begun.log.1")
    private static let most: UInt64 = 8 << 20
    /// More rows than this take longer than a start may.
    private static let mostRows = 10_000

    /// These rows are committed, by the `count`th write, and nothing was done yet of what they say. Not durable: who loses it
    /// by a power cut, and the database's commits at the same time, has the library's photos recorded.
    func begun(_ rows: [BegunRow], by count: Int64) {
        if rows.isEmpty { return }
        // Behind a line that was cut short.
        let text = rows.map { "\n\(count) \($0.line)" }.joined() + "\n"
        values.withLock { _ in
            do throws(SystemCallError) {
                let directory = try openDirectory(directory)
                var size = (try? FileStatus(of: Self.log.now, in: directory))?.identity.size ?? 0
                if size > Self.most {
                    try directory.rename(Self.log.now, replacing: Self.log.before)
                    size = 0
                }
                let isNew = size == 0
                if isNew { try? directory.unlink(Self.log.now) }
                let file = try directory.openBeneath(
                    Self.log.now, isNew ? [.readWrite, .createNew] : [.readWrite, .nonBlocking], mode: 0o600)
                if isNew { try file.giveToOwner(of: directory) }
                try file.write(Array(text.utf8), at: size)
            } catch { forget(until: count) }
        }
    }

    /// What was begun by the writes after the first `count`, in order; nil if that is not known of all.
    func begun(after count: Int64) -> [BegunRow]? {
        values.withLock { _ in
            var (rows, first): ([BegunRow], Int64?) = ([], nil)
            do throws(SystemCallError) {
                let directory = try openDirectory(directory)
                for name in [Self.log.before, Self.log.now] where (try? FileStatus(of: name, in: directory)) != nil {
                    let file = try directory.openBeneath(name, [.read, .nonBlocking])
                    let text = try file.read(Int(clamping: min(try FileStatus(of: file).identity.size, 2 * Self.most)))
                    for line in text.split(separator: UInt8(ascii: "\n")) {
                        let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 1)
                        guard let number = parts.first.flatMap({ Int64($0) }) else { return nil }
                        first = first ?? number
                        if parts.count == 1 { continue }
                        guard let row = BegunRow(parts[1]) else { return nil }
                        if number > count { rows.append(row) }
                    }
                }
            } catch { return nil }
            guard let first, first <= count + 1, rows.count <= Self.mostRows else { return nil }
            return rows
        }
    }

    /// These rows were inserted again in a database of which the first `count` writes are left: it may lose them once more.
    func beganAgain(_ rows: [BegunRow], after count: Int64) {
        wrote(count)
        values.withLock { $0.again += rows.count }
        begun(rows, by: count + 1)
    }

    /// How many rows were inserted again since the last call.
    func takeBegunAgain() -> Int {
        values.withLock { values in
            defer { values.again = 0 }
            return values.again
        }
    }

    /// Begins the log anew, of what the writes after the first `count` begin: what has a hole must not seem to be all.
    private func forget(until count: Int64) {
        guard let directory = try? openDirectory(directory) else { return }
        for name in [Self.log.before, Self.log.now] { try? directory.unlink(name) }
        if let file = try? directory.openBeneath(Self.log.now, [.readWrite, .createNew], mode: 0o600) {
            try? file.giveToOwner(of: directory)
            try? file.write(Array("\(count + 1)\n".utf8), at: 0)
        }
    }
}

extension BegunRow {
    fileprivate var line: String {
        let words = columns.sorted { $0.key < $1.key }.compactMap { name, value -> String? in
            switch value?.sqlValue {
            case .integer(let number): "\(name)=i\(number)"
            case .text(let text): "\(name)=t\(hexadecimal(text.utf8))"
            case .bytes(let bytes): "\(name)=b\(hexadecimal(bytes))"
            case nil, .null, .real: nil
            }
        }
        return ([table.rawValue] + words).joined(separator: " ")
    }

    fileprivate init?(_ line: some StringProtocol) {
        let words = line.split(separator: " ")
        guard let table = words.first.flatMap({ Table(rawValue: String($0)) }) else { return nil }
        var columns: Columns = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1)
            // The names become SQL.
            guard parts.count == 2,
                parts[0].utf8.allSatisfy({ (97...122).contains($0) || $0 == 95 || (48...57).contains($0) })
            else { return nil }
            let value: SQLValue
            switch (parts[1].utf8.first, parts[1].dropFirst()) {
            case (UInt8(ascii: "i"), let digits):
                guard let number = Int64(digits) else { return nil }
                value = .integer(number)
            case (UInt8(ascii: "t"), let digits):
                guard let bytes = bytes(ofHexadecimal: digits.utf8) else { return nil }
                value = .text(String(decoding: bytes, as: UTF8.self))
            case (UInt8(ascii: "b"), let digits):
                guard let bytes = bytes(ofHexadecimal: digits.utf8) else { return nil }
                value = .bytes(bytes)
            default: return nil
            }
            columns[String(parts[0])] = value
        }
        self.init(table, columns)
    }
}
