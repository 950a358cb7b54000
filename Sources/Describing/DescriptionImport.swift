import CSV
import Catalogue
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting

/// Imports a table of any size into the catalogue, in batches, each stored with its place in the table: an interrupted run
/// continues after the last batch.
struct DescriptionImport {
    struct Summary {
        var place = ImportPlace()
        /// Rows of this run alone.
        var rows = 0
        /// The first line of a run that continued an earlier one.
        var resumedAt: Int?
        var wasStopped = false
    }

    let source: TableFile
    let catalogue: CatalogueFile
    let batchSize: Int
    /// Nothing is stored.
    let isDry: Bool
    let display: ProgressDisplay
    let interruption: Interruption
    let reportRejected: (_ line: Int, _ column: Int, _ reason: String) throws -> Void

    private struct Rejected {
        let line: Int
        let column: Int
        let reason: String
        let raw: [UInt8]
    }

    private struct Pending {
        var batch = DescriptionBatch()
        /// The source of each row, for those that turn out to name no photo.
        var origins: [(line: Int, raw: [UInt8])] = []
        var rejected: [Rejected] = []
        /// Bytes of rows held for the file of rejected rows.
        var size = 0

        /// Bounds memory whatever the rows are like.
        var isLarge: Bool { size + batch.size > 32 << 20 }

        mutating func clear() {
            batch.clear()
            origins.removeAll(keepingCapacity: true)
            rejected.removeAll(keepingCapacity: true)
            size = 0
        }
    }

    func run(rejects path: BytePath, fromStart: Bool) throws -> Summary {
        var summary = Summary()
        let columns = try DescriptionColumns(header: try source.header(), path: source.path.escaped)
        if !columns.ignored.isEmpty {
            display.remark("ignored columns: \(columns.ignored.map(printable).joined(separator: ", "))")
        }
        if !isDry, !fromStart, let left = try catalogue.placeOfImport(source.path, source.identity) {
            (summary.place, summary.resumedAt) = (left, left.line)
            display.remark("continuing with line \(left.line); --from-start begins with the first")
        } else {
            summary.place = source.beginning
        }
        if summary.place.rejectsLength == 0, !isDry, let reason = RejectsFile.whyNotReplaced(path) {
            throw CommandFailure(.failed, reason, action: "Move it away, or give another file with --rejects.")
        }
        var rejects = RejectsFile(path, length: summary.place.rejectsLength)
        var reader = source.reader(from: summary.place)
        try read(&reader, columns, &rejects, &summary)
        if !summary.wasStopped, !isDry { try catalogue.finishImport(source.path) }
        return summary
    }

    private func read(
        _ reader: inout CSVReader<SystemCallError>, _ columns: DescriptionColumns, _ rejects: inout RejectsFile,
        _ summary: inout Summary
    ) throws {
        var (record, pending) = (CSVRecord(), Pending())
        var (kept, lastPause) = (summary.place.rows, monotonicNanoseconds())
        while true {
            if interruption.mustStop() {
                summary.wasStopped = true
                break
            }
            guard try reader.next(&record) else { break }
            summary.place.rows += 1
            summary.rows += 1
            add(record, reader.raw, columns, &pending)
            (summary.place.offset, summary.place.line) = (record.end, record.nextLine)
            if summary.place.rows - kept >= batchSize || pending.isLarge {
                try store(&pending, columns, &rejects, &summary)
                kept = summary.place.rows
                pause(&lastPause)
            }
            if summary.rows.isMultiple(of: 100) { try showProgress(summary) }
        }
        if summary.place.rows > kept { try store(&pending, columns, &rejects, &summary) }
        try showProgress(summary)
    }

    private func add(
        _ record: CSVRecord, _ raw: ArraySlice<UInt8>, _ columns: DescriptionColumns, _ pending: inout Pending
    ) {
        func reject(_ column: Int, _ reason: String) {
            pending.size += raw.count
            pending.rejected.append(Rejected(line: record.line, column: column, reason: reason, raw: Array(raw)))
        }
        if let fault = record.fault { return reject(record.count, fault.rawValue) }
        do throws(DescriptionColumns.Fault) {
            // Only a path can turn out to name no photo.
            let isPath = try columns.add(record, to: &pending.batch) == .path
            if isPath { pending.size += raw.count }
            pending.origins.append((record.line, isPath ? Array(raw) : []))
        } catch { reject(error.column, error.reason) }
    }

    private func store(
        _ pending: inout Pending, _ columns: DescriptionColumns, _ rejects: inout RejectsFile, _ summary: inout Summary
    ) throws {
        // Computed from copies, since a transaction may be repeated.
        let (before, rows) = ((rejects, summary), pending)
        var rejected: [Rejected] = []
        func place(withUnknown unknown: [Int]) throws -> ImportPlace {
            (rejects, summary) = before
            let number = columns.number(of: .path)
            rejected = rows.rejected
            for index in unknown {
                let (line, raw) = rows.origins[index]
                rejected.append(
                    Rejected(
                        line: line, column: number, reason: "no photo in the library has or had this path",
                        raw: raw))
            }
            rejected.sort { $0.line < $1.line }
            summary.place.rejected += rejected.count
            if isDry { return summary.place }
            for row in rejected { rejects.add(line: row.line, column: row.column, row.reason, row: row.raw) }
            summary.place.rejectsLength = try rejects.write()
            return summary.place
        }
        if isDry {
            _ = try place(withUnknown: try catalogue.unknown(in: pending.batch))
        } else {
            try catalogue.describe(pending.batch, from: source.path, source.identity, settle: place(withUnknown:))
        }
        for row in rejected { try reportRejected(row.line, row.column, row.reason) }
        pending.clear()
    }

    /// Leaves the catalogue free for a moment: the daemon retries at least every tenth of a second, for five seconds. See
    /// sqlite3_busy_timeout.
    private func pause(_ last: inout UInt64) {
        guard !isDry, monotonicNanoseconds() - last > 2_000_000_000 else { return }
        interruption.wait(atMost: timespec(tv_sec: 0, tv_nsec: 110_000_000))
        last = monotonicNanoseconds()
    }

    private func showProgress(_ summary: Summary) throws {
        try display.show(
            photos: summary.place.rows, bytes: summary.place.offset, totalBytes: source.identity.size,
            asked: interruption.consumeProgressRequest())
    }
}
