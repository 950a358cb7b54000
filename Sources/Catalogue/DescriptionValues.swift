/// A person's description of a photo. Nil values are unknown.
package struct PhotoDescription: Hashable, Sendable {
    package var title: String?
    package var keywords: [String]
    /// 0 to 5.
    package var rating: Int?
    /// `2026-11-21`, or `2026-11-21T14:07:31` with an offset or without.
    package var taken: String?
    package var place: String?

    package init(
        title: String? = nil, keywords: [String] = [], rating: Int? = nil, taken: String? = nil, place: String? = nil
    ) {
        (self.title, self.keywords, self.rating, self.taken, self.place) = (title, keywords, rating, taken, place)
    }
}

/// Rows of a table to import into the catalogue. Their texts share one buffer, so that many cost few allocations.
package struct DescriptionBatch: Sendable {
    /// How a row names its photo.
    package enum Subject: Sendable {
        case content
        /// By its path in the library, or its former path in an inbox.
        case path
    }

    /// Ranges of ``bytes``; empty ones are absent values.
    struct Row: Sendable {
        let subject: Subject
        let key: Range<Int>
        let title, keywords, taken, place: Range<Int>
        let rating: Int?
    }

    private(set) var bytes: [UInt8] = []
    private(set) var rows: [Row] = []
    private var rowStart = 0

    package init() {}

    package var count: Int { rows.count }
    /// Bytes of its texts.
    package var size: Int { bytes.count }

    /// Appends a text of the current row.
    package mutating func add(_ text: some Collection<UInt8>) -> Range<Int> {
        let begin = bytes.count
        bytes.append(contentsOf: text)
        return begin..<bytes.count
    }

    /// Ends the current row. `key` is a SHA-256 of 32 bytes, or a path.
    package mutating func end(
        _ subject: Subject, key: Range<Int>, title: Range<Int>, keywords: Range<Int>, rating: Int?, taken: Range<Int>,
        place: Range<Int>
    ) {
        rows.append(
            Row(
                subject: subject, key: key, title: title, keywords: keywords, taken: taken, place: place,
                rating: rating))
        rowStart = bytes.count
    }

    /// Removes the texts of the current row.
    package mutating func drop() { bytes.removeSubrange(rowStart...) }

    package mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
        rowStart = 0
    }
}

/// The position of an import in its table.
package struct ImportPlace: Hashable, Sendable {
    /// The next row's offset in bytes, and its line, from 1.
    package var offset: UInt64
    package var line: Int
    /// Rows so far, and the number of rejected ones among them.
    package var rows: Int
    package var rejected: Int
    /// The length of the file of rejected rows, in bytes.
    package var rejectsLength: UInt64

    package init(offset: UInt64 = 0, line: Int = 1, rows: Int = 0, rejected: Int = 0, rejectsLength: UInt64 = 0) {
        (self.offset, self.line, self.rows) = (offset, line, rows)
        (self.rejected, self.rejectsLength) = (rejected, rejectsLength)
    }
}
