package import Catalogue
package import FileValues
package import Reporting

// Records as JSON. Fields are only ever added.

extension StoredPhoto {
    package func json() -> JSONValue {
        .object(
            [
                JSONField("id", .integer(id)), JSONField("operation", operation.map { .integer($0) } ?? .null),
                JSONField("filed_at", filedAt.json),
                JSONField("inbox", .string(photo.inbox)),
            ] + JSONField.path("source", photo.sourcePath) + JSONField.path("library", photo.library)
                + JSONField.path("path", photo.libraryPath) + [
                    JSONField("format", .string(photo.format)), JSONField("bytes", .unsigned(photo.size)),
                    JSONField("sha256", .string(hexadecimal(photo.sha256))),
                    JSONField("captured", photo.captured.map { $0.json() } ?? .null),
                    JSONField("width", photo.width.map { .unsigned(UInt64($0)) } ?? .null),
                    JSONField("height", photo.height.map { .unsigned(UInt64($0)) } ?? .null),
                    JSONField("orientation", photo.orientation.map { .unsigned(UInt64($0)) } ?? .null),
                    JSONField("camera", photo.camera.map { .string($0) } ?? .null),
                    JSONField("origin", photo.origin.map { .string($0) } ?? .null),
                    JSONField("proof", .string(photo.proof)), JSONField("source_kept", .boolean(sourceKept)),
                    JSONField("superseded_at", supersededAt?.json ?? .null),
                    JSONField("undone_by_request", undoneBy.map { .integer($0) } ?? .null),
                    JSONField("set", setID.map { .integer($0) } ?? .null),
                    JSONField("role", photo.part.role.map { .string($0) } ?? .null),
                ])
    }
}

extension CaptureDate {
    package func json() -> JSONValue {
        .object([
            JSONField("local", .string(local)),
            JSONField("utc_offset_seconds", offset.map { .integer(Int64($0)) } ?? .null),
            JSONField("provenance", .string(provenance)),
        ])
    }
}

extension StoredOutcome {
    package func json() -> JSONValue { .object(fields) }

    /// The same as a line of its own.
    package func line() -> JSONValue { .document(fields) }

    private var fields: [JSONField] {
        [
            JSONField("operation", .integer(id)), JSONField("time", outcome.at.json),
            JSONField("inbox", .string(outcome.inbox)),
        ] + JSONField.path("file", outcome.path) + [
            JSONField("outcome", .string(outcome.outcome.rawValue)), JSONField("reason", .string(outcome.reason)),
            JSONField("sha256", outcome.sha256.map { .string(hexadecimal($0)) } ?? .null),
            JSONField("photo", outcome.photoID.map { .integer($0) } ?? .null),
        ] + (outcome.destination.map { JSONField.path("destination", $0) } ?? [])
    }
}

extension StoredRequest {
    package func json() -> JSONValue {
        .object(
            [
                JSONField("request", .integer(id)), JSONField("time", request.at.json),
                JSONField("what", .string(request.what.rawValue)), JSONField("step", .string(step.rawValue)),
                JSONField("user", .unsigned(UInt64(request.user))),
                JSONField("user_name", request.userName.map { .string($0) } ?? .null),
                JSONField("operation", request.outcomeID.map { .integer($0) } ?? .null),
                JSONField("as_is", .boolean(request.isAsIs)), JSONField("ended", endedAt?.json ?? .null),
                JSONField("note", note.map { .string($0) } ?? .null),
            ]
                + (request.move.map { JSONField.path("from", $0.sourceRoot.appending($0.sourcePath)) } ?? [])
                + (request.move.map { JSONField.path("to", $0.destinationRoot.appending($0.destinationPath)) } ?? []))
    }
}

extension FileTime {
    package var json: JSONValue { .moment(seconds, milliseconds: Int(nanoseconds / 1_000_000)) }
}

extension StoredPhoto {
    /// The fields of a photo, and its description.
    package func json(describedBy description: PhotoDescription?) -> JSONValue {
        guard case .object(let fields) = json() else { return json() }
        return .object(fields + [JSONField("description", description?.json ?? .null)])
    }
}

extension PhotoDescription {
    package var json: JSONValue {
        .object([
            JSONField("title", title.map { .string($0) } ?? .null),
            JSONField("keywords", .array(keywords.map { .string($0) })),
            JSONField("rating", rating.map { .integer(Int64($0)) } ?? .null),
            JSONField("taken", taken.map { .string($0) } ?? .null),
            JSONField("place", place.map { .string($0) } ?? .null),
        ])
    }
}
