/// What is under way about a photo and excludes other uses of it. Each has a row, which begins in a transaction that locks the
/// photo's row, and sees the rows of the others: it is not enough to look first and to write then.
package enum PhotoUse: String, Sendable {
    /// Intents of its filing are recorded, so a source of it may stand.
    case finishing
    /// A source with its content is set aside as a duplicate.
    case duplicate
    /// A person has it moved out of the library: back, or to a bucket.
    case undo
    /// Its file was found missing, and the content is filed again.
    case supersession

    /// Whether this may begin while `other`, of another source, stands.
    package func mayBegin(beside other: PhotoUse) -> Bool {
        switch (self, other) {
        // Any number of sources may be compared with one copy, which stays.
        case (.duplicate, .duplicate), (.duplicate, .finishing), (.finishing, .duplicate), (.finishing, .finishing):
            true
        // Of two supersessions the second takes over from the first, or waits: its intent is of the same content.
        case (.supersession, .finishing), (.supersession, .supersession): true
        default: false
        }
    }
}
