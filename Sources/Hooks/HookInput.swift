import Catalogue
import FileValues
import Filing
import Reporting

/// The input of a hook: one JSON object a line; see photoinbox-json(7). Fields are only ever added.
enum HookInput {
    /// A run gets no more bytes than this, unless the events of one file alone are more.
    static let mostBytes = 256 << 10
    /// Files of one set that are listed.
    static let mostMembers = 200

    /// The first of these events as lines, and the outcome that they reach; nil if that is all of them.
    static func fit(_ events: [HookEvent]) -> (lines: [UInt8], count: Int, through: Int64?) {
        var lines: [UInt8] = []
        var count = 0
        for event in events {
            let line = Array(json(event).compact.utf8) + [UInt8(ascii: "\n")]
            let isOfTheLast = count > 0 && events[count - 1].outcome.id == event.outcome.id
            // The events of one file go into one run.
            if count > 0, !isOfTheLast, lines.count + line.count > mostBytes {
                return (lines, count, event.outcome.id - 1)
            }
            lines += line
            count += 1
        }
        return (lines, count, nil)
    }

    /// For a run that an action requested.
    static func requested(by asker: String, at time: FileTime) -> [UInt8] {
        let line = JSONValue.document([
            JSONField("event", "asked"), JSONField("time", time), JSONField("by", asker),
        ])
        return Array(line.compact.utf8) + [UInt8(ascii: "\n")]
    }

    static func json(_ event: HookEvent) -> JSONValue {
        let outcome = event.outcome.outcome
        let photo = event.photo?.photo
        var fields = [
            JSONField("event", event.kind.rawValue), JSONField("time", outcome.at), JSONField("inbox", outcome.inbox),
            JSONField("operation", event.outcome.id), JSONField("outcome", outcome.outcome.rawValue),
            JSONField("reason", outcome.reason), JSONField("photo", outcome.photoID),
            JSONField("set", event.photo?.setID),
        ]
        if event.kind == .setComplete {
            let members = event.set.prefix(mostMembers)
            fields.append(JSONField("files", .array(members.map { .object(file($0)) })))
            fields.append(JSONField("files_left_out", event.set.count - members.count))
            return .document(fields)
        }
        fields += JSONField.path("file", outcome.path)
        fields += JSONField.path("name", photo?.originalName ?? outcome.path.name)
        if let place = event.place {
            fields += JSONField.path("path", place)
        } else {
            fields.append(JSONField("path", .null))
        }
        fields.append(JSONField("sha256", outcome.sha256.map { hexadecimal($0) }))
        if let stored = event.photo { fields += content(stored) }
        return .document(fields)
    }

    /// A file of a set.
    private static func file(_ stored: StoredPhoto) -> [JSONField] {
        [JSONField("photo", stored.id)] + JSONField.path("file", stored.photo.sourcePath)
            + JSONField.path("name", stored.photo.originalName)
            + JSONField.path("path", stored.photo.library.appending(stored.photo.libraryPath))
            + [JSONField("sha256", hexadecimal(stored.photo.sha256))] + content(stored)
    }

    private static func content(_ stored: StoredPhoto) -> [JSONField] {
        [
            JSONField("bytes", stored.photo.size), JSONField("type", stored.photo.format),
            JSONField("role", stored.photo.part.role),
            JSONField("captured", stored.photo.captured.map { captured($0) }),
        ]
    }

    private static func captured(_ date: RecordedCaptureDate) -> JSONValue {
        .object([
            JSONField("local", date.local), JSONField("utc_offset_seconds", date.offset),
            JSONField("provenance", date.provenance),
        ])
    }
}
