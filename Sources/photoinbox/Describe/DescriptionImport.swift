import CSV
import Catalogue
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting

/// Takes a table of any size into the catalogue, row by row, in batches that are each kept whole with the place in the
/// table: wherever it stops, it goes on from the last one.
struct DescriptionImport {
    /// What came of it.
    struct Summary {
        var place = ImportPlace()
        /// Rows of this run alone.
        var rows = 0
        /// The line that this run began with, where an earlier one had stopped.
        var resumedAt: Int?
        var wasStopped = false
    }

    let source: TableFile
    let catalogue: CatalogueFile
    let batchSize: Int
    /// Nothing is kept.
    let isDry: Bool
    let display: ProgressDisplay
    let interruption: Interruption
    /// Told of each row that is not taken in.
    let tell: (_ line: Int, _ column: Int, _ reason: String) throws -> Void

    /// A row that is not taken in.
    private struct Rejected {
        let line: Int
        let column: Int
        let reason: String
        let raw: [UInt8]
    }

    /// What is to be kept next.
    private struct Pending {
        var batch = DescriptionBatch()
        /// Where each row of the batch came from, for those that turn out to name no photo.
        var origins: [(line: Int, raw: [UInt8])] = []
        var rejected: [Rejected] = []
        /// Bytes of rows that are kept for the file of rejected ones.
        var size = 0

        /// Memory stays bounded whatever the rows are like.
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
            display.say("columns that nothing is taken from: \(columns.ignored.map(shown).joined(separator: ", "))")
        }
        if !isDry, !fromStart, let left = try catalogue.placeOfImport(source.path, source.identity) {
            (summary.place, summary.resumedAt) = (left, left.line)
            display.say("going on with line \(left.line), where it stopped; --from-start begins anew")
        } else {
            summary.place = source.beginning
        }
        if summary.place.rejectsLength == 0, !isDry, let reason = RejectsFile.whyNotReplaced(path) {
            throw CommandFailure(.failed, reason, action: "Move it away, or name another one with --rejects.")
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
        var (kept, lastPause) = (summary.place.rows, monotonicSeconds())
        while true {
            if interruption.isHurried() || interruption.isStopAsked {
                summary.wasStopped = true
                break
            }
            guard try reader.next(&record) else { break }
            summary.place.rows += 1
            summary.rows += 1
            take(record, reader.raw, columns, &pending)
            (summary.place.offset, summary.place.line) = (record.end, record.nextLine)
            if summary.place.rows - kept >= batchSize || pending.isLarge {
                try keep(&pending, columns, &rejects, &summary)
                kept = summary.place.rows
                pause(&lastPause)
            }
            if summary.rows.isMultiple(of: 100) { try showProgress(summary) }
        }
        if summary.place.rows > kept { try keep(&pending, columns, &rejects, &summary) }
        try showProgress(summary)
    }

    private func take(
        _ record: CSVRecord, _ raw: ArraySlice<UInt8>, _ columns: DescriptionColumns, _ pending: inout Pending
    ) {
        func reject(_ column: Int, _ reason: String) {
            pending.size += raw.count
            pending.rejected.append(Rejected(line: record.line, column: column, reason: reason, raw: Array(raw)))
        }
        if let fault = record.fault { return reject(record.count, fault.rawValue) }
        do throws(DescriptionColumns.Fault) {
            // Only a path can turn out to be nobody's.
            let isPath = try columns.add(record, to: &pending.batch) == .path
            if isPath { pending.size += raw.count }
            pending.origins.append((record.line, isPath ? Array(raw) : []))
        } catch { reject(error.column, error.reason) }
    }

    private func keep(
        _ pending: inout Pending, _ columns: DescriptionColumns, _ rejects: inout RejectsFile, _ summary: inout Summary
    ) throws {
        // Changed only in copies until all is kept: a transaction may be begun anew.
        let (before, rows) = ((rejects, summary), pending)
        var told: [Rejected] = []
        func settle(_ unknown: [Int]) throws -> ImportPlace {
            (rejects, summary) = before
            let number = columns.number(of: .path)
            told = rows.rejected
            for index in unknown {
                let (line, raw) = rows.origins[index]
                told.append(
                    Rejected(
                        line: line, column: number, reason: "no photo in the library has this path, nor came under it",
                        raw: raw))
            }
            told.sort { $0.line < $1.line }
            summary.place.rejected += told.count
            if isDry { return summary.place }
            for row in told { rejects.add(line: row.line, column: row.column, row.reason, row: row.raw) }
            summary.place.rejectsLength = try rejects.write()
            return summary.place
        }
        if isDry {
            _ = try settle(try catalogue.unknown(in: pending.batch))
        } else {
            try catalogue.describe(pending.batch, from: source.path, source.identity, settle: settle)
        }
        for row in told { try tell(row.line, row.column, row.reason) }
        pending.clear()
    }

    /// The daemon waits for the catalogue by asking again at least every tenth of a second, for five seconds at most: now
    /// and then it must find it free. See sqlite3_busy_timeout.
    private func pause(_ last: inout Double) {
        guard !isDry, monotonicSeconds() - last > 2 else { return }
        interruption.wait(atMost: timespec(tv_sec: 0, tv_nsec: 110_000_000))
        last = monotonicSeconds()
    }

    private func showProgress(_ summary: Summary) throws {
        let line = ProgressLine(
            photos: summary.place.rows, totalPhotos: nil, bytes: summary.place.offset,
            totalBytes: source.identity.size, seconds: display.seconds)
        try display.show(line, asked: interruption.takeProgressRequest())
    }
}

private func monotonicSeconds() -> Double { Double(monotonicNanoseconds()) / 1e9 }
