import CSV
import Catalogue
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

/// A CSV file, read from its beginning or from a saved place.
final class TableFile {
    /// Absolute, so that the file is recognised from another directory.
    let path: BytePath
    let identity: FileIdentity
    private let file: OwnedDescriptor
    private let separator: UInt8
    /// Where the first row after the header begins.
    private(set) var beginning = ImportPlace()

    /// If `separator` is nil, the first line's most frequent one is used.
    init(_ path: BytePath, separator: UInt8?) throws(SystemCallError) {
        file = try openFile(path)
        let status = try FileStatus(of: file)
        guard status.kind == .regular else { throw SystemCallError("read", .invalidArgument, path: path) }
        identity = status.identity
        self.path = (try? realPath(path)) ?? path
        let first = try file.read(65_536).prefix { $0 != 0x0A }
        self.separator = separator ?? Self.separator(of: first)
    }

    private static func separator(of line: ArraySlice<UInt8>) -> UInt8 {
        let marks = [UInt8(ascii: ","), UInt8(ascii: ";"), 0x09]
        let counts = marks.map { mark in line.count { $0 == mark } }
        let most = counts.max() ?? 0
        return zip(marks, counts).first { $0.1 == most }?.0 ?? marks[0]
    }

    func header() throws -> CSVRecord {
        var (record, reader) = (CSVRecord(), reader(from: ImportPlace()))
        guard try reader.next(&record) else {
            throw CommandFailure(.failed, "\(path.escaped) is empty", action: "Its first row must name the columns.")
        }
        (beginning.offset, beginning.line) = (record.end, record.nextLine)
        return record
    }

    func reader(from place: ImportPlace) -> CSVReader<SystemCallError> {
        var offset = place.offset
        return CSVReader(separator: separator, offset: offset, line: place.line) {
            [self] buffer throws(SystemCallError) in
            let count = try file.read(into: buffer, at: offset)
            offset += UInt64(count)
            return count
        }
    }
}
