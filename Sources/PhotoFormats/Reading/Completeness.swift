/// Whether a file is complete, as far as its structure shows; every reason is a clause for people, with numbers.
package enum Completeness: Equatable, Sendable {
    /// Its structure reaches its end, by `evidence`.
    case whole(evidence: String)
    /// Its structure requires more bytes: it is probably still being written, or was interrupted.
    case cutShort(reason: String)
    /// It is inconsistent.
    case malformed(reason: String)
    /// It is valid, but its structure cannot prove the end; only a quiet time can.
    case weak(reason: String)
    /// It can be displayed, but a part that it refers to is missing, or its end is unknown: a short quiet time proves
    /// nothing, only patience does.
    case lacking(reason: String)
    /// It is neither a photo nor a film.
    case notAPhoto(reason: String)
    /// It is empty.
    case empty

    /// The clause.
    package var words: String {
        switch self {
        case .whole(let words), .cutShort(let words), .malformed(let words), .weak(let words), .lacking(let words),
            .notAPhoto(let words):
            words
        case .empty: "0 bytes"
        }
    }

    /// A stable word for logs, the catalogue and JSON.
    package var code: String {
        switch self {
        case .whole: "whole"
        case .cutShort: "cut-short"
        case .malformed: "malformed"
        case .weak: "weak"
        case .lacking: "lacking"
        case .notAPhoto: "not-a-photo"
        case .empty: "empty"
        }
    }
}
