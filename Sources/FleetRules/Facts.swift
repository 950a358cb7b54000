/// What stands at a name of the library, opened and read again just now.
package enum Standing: Sendable {
    /// The content that is asked about, all of it.
    case whole
    /// Another file, or a part of the content.
    case other
    case nothing
}

/// Where the catalogue has the live photo of a content, seen from a place of the library.
package enum RecordedPlace: Sendable {
    case nowhere
    /// At that place.
    case here
    case elsewhere
}

/// How far a filing is, as the catalogue has it.
package enum IntentStep: String, Hashable, Sendable {
    /// Its content is claimed: no other intent of the content is begun. A copy may stand in the library.
    case begun
    /// Another host took its content over, or a database that went back has forgotten it: a copy may stand in the library. Only
    /// in PostgreSQL.
    case lost
    /// Photo and outcome are recorded; the source may stand still.
    case recorded
}
