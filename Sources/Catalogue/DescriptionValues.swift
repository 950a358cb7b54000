/// What somebody says of a photo. What is nil is not said.
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

/// Rows of a table on their way into the catalogue: their texts one after the other, so that many cost few allocations.
package struct DescriptionBatch: Sendable {
    /// Which photo a row is about.
    package enum Subject: Sendable {
        case content
        /// By the path that it has in the library, or had in its inbox.
        case path
    }

    /// Places in ``bytes``; empty ones say nothing.
    struct Row: Sendable {
        let subject: Subject
        let key: Range<Int>
        let title, keywords, taken, place: Range<Int>
        let rating: Int?
    }

    private(set) var bytes: [UInt8] = []
    private(set) var rows: [Row] = []
    private var marked = 0

    package init() {}

    package var count: Int { rows.count }
    /// How many bytes its texts have.
    package var size: Int { bytes.count }

    /// Adds a text to the row that is being made.
    package mutating func add(_ text: some Collection<UInt8>) -> Range<Int> {
        let begin = bytes.count
        bytes.append(contentsOf: text)
        return begin..<bytes.count
    }

    /// Ends the row. `key` is a SHA-256 of 32 bytes, or a path.
    package mutating func end(
        _ subject: Subject, key: Range<Int>, title: Range<Int>, keywords: Range<Int>, rating: Int?, taken: Range<Int>,
        place: Range<Int>
    ) {
        rows.append(
            Row(
                subject: subject, key: key, title: title, keywords: keywords, taken: taken, place: place,
                rating: rating))
        marked = bytes.count
    }

    /// Forgets the texts of a row that is not to be.
    package mutating func drop() { bytes.removeSubrange(marked...) }

    package mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
        marked = 0
    }
}

/// How far a table was taken in.
package struct ImportPlace: Hashable, Sendable {
    /// Bytes up to the next row, and its line, from 1.
    package var offset: UInt64
    package var line: Int
    /// Rows so far, and how many of them were rejected.
    package var rows: Int
    package var rejected: Int
    /// How long the file of the rejected ones was.
    package var rejectsLength: UInt64

    package init(offset: UInt64 = 0, line: Int = 1, rows: Int = 0, rejected: Int = 0, rejectsLength: UInt64 = 0) {
        (self.offset, self.line, self.rows) = (offset, line, rows)
        (self.rejected, self.rejectsLength) = (rejected, rejectsLength)
    }
}
