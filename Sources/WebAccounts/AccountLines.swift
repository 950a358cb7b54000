package import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A line of one of the administrator's files web.users, web.links and web.devices: fields between colons.
package protocol AccountLine: Hashable, Sendable {
    /// The name of the file, beside the configuration.
    static var file: BytePath { get }
    /// The fields, for whoever reads of a wrong line: `NAME:ROLE:LINK:END`.
    static var form: String { get }
    /// The comment above the lines.
    static var title: String { get }
    /// Whether the file may be a symbolic link.
    static var isFollowed: Bool { get }

    /// No other line has it.
    var key: String { get }
    var fields: [String] { get }

    /// Nil for a wrong line.
    init?(fields: [String])
}

extension AccountLine {
    package static var isFollowed: Bool { false }
}

/// A file of the administrator's: the programs of the pages only read it. It has nothing that can be used.
package struct AccountLines<Line: AccountLine>: Hashable, Sendable {
    /// In the order of the file.
    package private(set) var all: [Line] = []

    package init() {}

    /// Throws for the first line that is wrong: whoever it was meant for must not be left out silently.
    package init(_ text: String) throws(WrongLine) {
        for (index, text) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if text.allSatisfy({ $0 == " " || $0 == "\t" }) || text.first == "#" { continue }
            let fields = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard let line = Line(fields: fields), self[line.key] == nil else { throw WrongLine(number: index + 1) }
            all.append(line)
        }
    }

    package struct WrongLine: Error, Hashable, Sendable, CustomStringConvertible {
        package let number: Int

        package var description: String { "line \(number) is not \(Line.form), or names something twice" }
    }

    package subscript(key: String) -> Line? { all.first { $0.key == key } }

    /// Adds a line, or replaces the one of that key.
    package mutating func put(_ line: Line) {
        if let index = all.firstIndex(where: { $0.key == line.key }) {
            all[index] = line
        } else {
            all.append(line)
        }
    }

    /// Whether there was one of that key.
    package mutating func remove(_ key: String) -> Bool { remove { $0.key == key } > 0 }

    /// How many there were.
    package mutating func remove(where isMeant: (Line) -> Bool) -> Int {
        let count = all.count
        all.removeAll(where: isMeant)
        return count - all.count
    }

    package var text: String {
        "# \(Line.title)\n" + all.map { $0.fields.joined(separator: ":") + "\n" }.joined()
    }
}

package typealias People = AccountLines<Person>
package typealias GuestLinks = AccountLines<GuestLink>
package typealias Devices = AccountLines<Device>

/// The lines that count now: a change of their file counts at the next request. On a queue of its own, where it is read.
package actor AccountFile<Line: AccountLine> {
    private let queue = MonitorQueue(label: "photo-inbox.\(Line.file)")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let directory: BytePath?
    private var read: (identity: FileIdentity, lines: AccountLines<Line>)?
    private var reported: String?
    private let log: @Sendable (String) -> Void

    /// The file in a directory, or none.
    package init(in directory: BytePath?, log: @escaping @Sendable (String) -> Void) {
        (self.directory, self.log) = (directory, log)
    }

    /// The first such line; nil also while the file cannot be read, or has a wrong line.
    package func first(where isMeant: @Sendable (Line) -> Bool) -> Line? {
        guard let directory else { return nil }
        do {
            let file = try openDirectory(directory).openBeneath(Line.file, [.read, .nonBlocking])
            let identity = try FileStatus(of: file).identity
            if read?.identity != identity {
                read = (identity, try AccountLines(String(decoding: try file.read(1 << 20), as: UTF8.self)))
                reported = nil
            }
        } catch {
            if (error as? SystemCallError)?.code == .noSuchFileOrDirectory {
                reported = nil
            } else {
                report("\(directory.appending(Line.file)) cannot be used: \(error)")
            }
            read = nil
            return nil
        }
        return read?.lines.all.first(where: isMeant)
    }

    /// Whether the file could not be read at the last request, or has a wrong line.
    package var isUnusable: Bool { reported != nil }

    /// Once, though strangers may ask at any time.
    private func report(_ text: String) {
        if reported != text { log(text) }
        reported = text
    }
}
