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

/// An intent's step, as the catalogue has it.
package enum IntentStep: Sendable {
    /// Its content is claimed: no other intent of the content is begun.
    case begun
    /// Another host took its content over; a copy of this intent may stand in the library.
    case lost
    /// Its copy is a photo; its source may stand still.
    case recorded
}

/// What the catalogue answered to a statement that writes, whichever it was.
package enum Refusal: Sendable {
    /// The host has a newer life, or was forgotten.
    case anotherLife
    /// No answer came: it is written, or not.
    case unknownOutcome
}
