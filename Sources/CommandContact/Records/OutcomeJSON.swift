package import Catalogue
import FileValues
package import Reporting

// Records as JSON. Fields are only ever added.

extension StoredPhoto: JSONRepresentable {
    package var json: JSONValue { .object(fields) }

    /// With its description, and the metadata of its file and sidecars.
    package func json(describedBy description: PhotoDescription?, _ metadata: (any JSONRepresentable)?) -> JSONValue {
        .object(fields + [JSONField("description", description), JSONField("metadata", metadata?.json ?? .null)])
    }

    private var fields: [JSONField] {
        [
            JSONField("id", id), JSONField("operation", operation), JSONField("filed_at", filedAt),
            JSONField("inbox", photo.inbox),
        ] + JSONField.path("source", photo.sourcePath) + JSONField.path("library", photo.library)
            + JSONField.path("path", photo.libraryPath) + [
                JSONField("format", photo.format), JSONField("bytes", photo.size),
                JSONField("sha256", hexadecimal(photo.sha256)), JSONField("captured", photo.captured),
                JSONField("width", photo.width), JSONField("height", photo.height),
                JSONField("orientation", photo.orientation.map { Int($0) }), JSONField("camera", photo.camera),
                JSONField("origin", photo.origin), JSONField("proof", photo.proof),
                JSONField("source_kept", sourceKept), JSONField("superseded_at", supersededAt),
                JSONField("undone_by_request", undoneBy), JSONField("set", setID),
                JSONField("role", photo.part.role),
            ]
    }
}

extension RecordedCaptureDate: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("local", local), JSONField("utc_offset_seconds", offset), JSONField("provenance", provenance),
        ])
    }
}

extension StoredOutcome: JSONRepresentable {
    package var json: JSONValue { .object(fields) }

    /// The same as a line of its own.
    package func line() -> JSONValue { .document(fields) }

    package var fields: [JSONField] {
        [JSONField("operation", id), JSONField("time", outcome.at), JSONField("inbox", outcome.inbox)]
            + JSONField.path("file", outcome.path) + [
                JSONField("outcome", outcome.outcome.rawValue), JSONField("reason", outcome.reason),
                JSONField("sha256", outcome.sha256.map { hexadecimal($0) }), JSONField("photo", outcome.photoID),
            ] + (outcome.destination.map { JSONField.path("destination", $0) } ?? [])
    }
}

extension StoredRequest: JSONRepresentable {
    package var json: JSONValue {
        .object(
            [
                JSONField("request", id), JSONField("time", request.at), JSONField("what", request.what.rawValue),
                JSONField("step", step.rawValue), JSONField("user", request.user),
                JSONField("user_name", request.userName), JSONField("operation", request.outcomeID),
                JSONField("as_is", request.isAsIs), JSONField("ended", endedAt), JSONField("note", note),
            ] + (request.move.map { JSONField.path("from", $0.sourceRoot.appending($0.sourcePath)) } ?? [])
                + (request.move.map { JSONField.path("to", $0.destinationRoot.appending($0.destinationPath)) } ?? []))
    }
}

extension PhotoDescription: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("title", title), JSONField("keywords", keywords), JSONField("rating", rating),
            JSONField("taken", taken), JSONField("place", place),
        ])
    }
}
