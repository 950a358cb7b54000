package import FileValues

/// The outcomes of one inbox on one day.
package struct DayCounts: Hashable, Sendable {
    /// `2026-11-21`, of local time.
    package let day: String
    package let inbox: String
    package let files: [OutcomeKind: Int]
    /// Bytes of the filed photos.
    package let filedBytes: UInt64
}

extension CatalogueFile {
    /// Counts the files with each outcome since `time`, by local day and inbox, newest day first.
    package func countsByDay(since time: FileTime, inbox: String?) throws(CatalogueError) -> [DayCounts] {
        try read("counting outcomes") { db in
            var days: [DayCounts] = []
            try db.each(
                """
                SELECT \(db.words.localDay("o.at")) AS day, o.inbox AS inbox, o.outcome AS outcome, count(*) AS files,
                    CAST(coalesce(sum(CASE WHEN o.outcome = 'filed' THEN p.size END), 0) AS BIGINT) AS bytes
                FROM outcome AS o LEFT JOIN photo AS p ON p.id = o.photo_id
                WHERE o.at >= ?1 AND (o.inbox = ?2 OR ?2 IS NULL)
                GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2
                """, [time.nanosecondsSince1970, inbox]
            ) { row in
                guard let kind = OutcomeKind(rawValue: try row.value("outcome")) else {
                    throw UnreadableRow(column: "outcome")
                }
                let day: String = try row.value("day")
                let inbox: String = try row.value("inbox")
                let last = days.last.flatMap { $0.day == day && $0.inbox == inbox ? days.popLast() : nil }
                var files = last?.files ?? [:]
                files[kind] = try row.value("files")
                let bytes = UInt64(clamping: try row.value("bytes") as Int64)
                days.append(
                    DayCounts(day: day, inbox: inbox, files: files, filedBytes: (last?.filedBytes ?? 0) + bytes))
            }
            return days
        }
    }
}
