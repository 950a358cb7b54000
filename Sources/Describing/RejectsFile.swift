import CSV
import CommandContact
import FileValues
import LinuxKernel
import SystemPackage

/// The file of rejected rows, with line, column and reason: created with the first, and synced before its batch is stored.
struct RejectsFile {
    let path: BytePath
    private(set) var length: UInt64
    private var text = CSVText()
    private var file: HeldDescriptor?

    private static let header = "line,column,reason,row\r\n"

    /// `length` is the valid part of an existing file: the rest belongs to a batch that was never stored.
    init(_ path: BytePath, length: UInt64) { (self.path, self.length) = (path, length) }

    mutating func add(line: Int, column: Int, _ reason: String, row: some BidirectionalCollection<UInt8>) {
        text.field("\(line)")
        text.field(column == 0 ? "" : "\(column)")
        text.field(reason)
        var row = row[...]
        while let last = row.last, last == 0x0A || last == 0x0D { row = row.dropLast() }
        text.field(row)
        text.endRecord()
    }

    /// Writes the added rows; returns the file's length.
    mutating func write() throws(SystemCallError) -> UInt64 {
        let bytes = text.removeAll()
        guard !bytes.isEmpty else { return length }
        let file = try opened()
        try file.descriptor.write(bytes, at: length)
        try file.descriptor.sync()
        length += UInt64(bytes.count)
        return length
    }

    private mutating func opened() throws(SystemCallError) -> HeldDescriptor {
        if let file { return file }
        let directory = try openParent(of: path)
        if length == 0 {
            do { try directory.unlink(path.name) } catch {
                if error.code != .noSuchFileOrDirectory { throw error }
            }
        }
        let isNew = length == 0
        let descriptor = try directory.openBeneath(
            path.name, isNew ? [.readWrite, .createNew] : .readWrite, mode: 0o644)
        if isNew {
            try descriptor.write(Array(Self.header.utf8), at: 0)
            length = UInt64(Self.header.utf8.count)
        } else {
            try descriptor.cut(to: length)
        }
        let opened = HeldDescriptor(descriptor)
        file = opened
        return opened
    }

    /// Why the file at this path must not be replaced; nil if it is missing or a file of rejected rows.
    static func whyNotReplaced(_ path: BytePath) -> String? {
        guard let status = try? FileStatus(at: path) else { return nil }
        guard status.kind == .regular else { return "\(path.escaped) is not a regular file" }
        let beginning = try? openFile(path).read(header.utf8.count)
        return beginning == Array(header.utf8)
            ? nil : "\(path.escaped) exists, and is not a file of rejected rows"
    }
}
