import FileValues
import FleetRules

// Conversions between this module's values and those of SQL. Unsigned numbers keep their bits. Reading a row that this
// program cannot have written throws instead of trapping, since the file may have been edited or damaged.

extension FileTime {
    /// Nanoseconds since 1970, clamped to the years 1678 to 2262.
    var nanosecondsSince1970: Int64 {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = product.addingReportingOverflow(Int64(nanoseconds))
        return overflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }

    init(nanosecondsSince1970 value: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 1_000_000_000)
        let borrow: Int64 = remainder < 0 ? 1 : 0
        self.init(seconds: quotient - borrow, nanoseconds: UInt32(remainder + borrow * 1_000_000_000))
    }
}

extension FileIdentity {
    /// The columns of an identity, whose names begin with `prefix`, but for the size.
    func columns(_ prefix: String = "") -> Columns {
        [
            "size": Int64(bitPattern: size), "\(prefix)inode": Int64(bitPattern: inode),
            "\(prefix)modified": modified.seconds, "\(prefix)modified_ns": Int64(modified.nanoseconds),
            "\(prefix)changed": changed.seconds, "\(prefix)changed_ns": Int64(changed.nanoseconds),
        ]
    }
}

extension SQLRow {
    /// See ``FileIdentity/columns(_:)``.
    func identity(_ prefix: String = "") throws -> FileIdentity {
        FileIdentity(
            inode: try unsigned("\(prefix)inode"), size: try unsigned("size"),
            modified: try fileTime("\(prefix)modified"), changed: try fileTime("\(prefix)changed"))
    }
}

extension PhotoRecord {
    /// Values of the columns that `photo` and `intent` share.
    var columns: Columns {
        let own: Columns = [
            "sha256": sha256, "size": Int64(bitPattern: size), "library": library,
            "library_path": libraryPath, "inbox": inbox, "source_path": sourcePath,
            "original_name": originalName, "format": format, "captured": captured?.local,
            "captured_offset": captured?.offset, "captured_provenance": captured?.provenance, "width": width,
            "height": height, "orientation": orientation.map { Int64($0) }, "camera": camera, "proof": proof,
            "role": part.role, "content_id": part.contentIdentifier, "set_key": part.key,
            "short_key": part.shortKey, "origin": origin,
        ]
        return own.merging(sourceIdentity.columns("source_")) { own, _ in own }
    }

    init(_ row: SQLRow) throws {
        let local: String? = try row.optional("captured")
        self.init(
            sha256: try row.bytes("sha256") ?? [], size: try row.unsigned("size"), library: try row.path("library"),
            libraryPath: try row.path("library_path"), inbox: try row.value("inbox"),
            sourcePath: try row.path("source_path"), originalName: try row.path("original_name"),
            format: try row.value("format"),
            captured: try local.map {
                RecordedCaptureDate(
                    local: $0, offset: try row.optional("captured_offset"),
                    provenance: try row.optional("captured_provenance") ?? "")
            },
            width: try row.optional("width"), height: try row.optional("height"),
            orientation: try row.optional("orientation"), camera: try row.optional("camera"),
            proof: try row.value("proof"),
            sourceIdentity: try row.identity("source_"),
            part: SetPart(
                role: try row.optional("role"), contentIdentifier: try row.optional("content_id"),
                key: try row.bytes("set_key"), shortKey: try row.bytes("short_key")),
            origin: try row.optional("origin"))
    }
}

extension StoredPhoto {
    /// All columns of a photo, with the operation that filed it.
    package static let columns =
        "*, (SELECT max(id) FROM outcome WHERE photo_id = photo.id AND outcome = 'filed') AS operation"

    /// A row of ``columns``, or of the table alone.
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.value("id"), setID: try row.optional("set_id"), filedAt: try row.time("filed_at"),
            sourceKept: try row.value("source_kept"),
            supersededAt: try row.optionalTime("superseded_at"),
            supersededBy: try row.optional("superseded_by"), undoneBy: try row.optional("undone_by"),
            operation: row["operation"].flatMap { Int64(sqlValue: $0) }, photo: try PhotoRecord(row))
    }
}

extension StoredIntent {
    init(_ row: SQLRow) throws {
        guard let step = Step(rawValue: try row.value("step")) else { throw UnreadableRow(column: "step") }
        self.init(
            id: try row.value("id"), token: try row.value("token"), since: try row.time("since"), step: step,
            temporary: try row.path("temporary"), photoID: try row.optional("photo_id"), photo: try PhotoRecord(row),
            setToken: try row.optional("set_token"), joins: try row.optional("joins"),
            numberAfter: try row.optional("number_after"))
    }
}

extension OutcomeRecord {
    var columns: Columns {
        [
            "at": at.nanosecondsSince1970, "inbox": inbox, "path": path, "outcome": outcome.rawValue,
            "reason": reason, "sha256": sha256, "photo_id": photoID,
            "destination": destination,
        ]
    }
}

extension StoredOutcome {
    init(_ row: SQLRow) throws {
        guard let kind = OutcomeKind(rawValue: try row.value("outcome")) else { throw UnreadableRow(column: "outcome") }
        let destination = try row.bytes("destination")
        self.init(
            id: try row.value("id"),
            outcome: OutcomeRecord(
                at: try row.time("at"), inbox: try row.value("inbox"), path: try row.path("path"), outcome: kind,
                reason: try row.value("reason"), sha256: try row.bytes("sha256"),
                photoID: try row.optional("photo_id"), destination: destination.map { BytePath($0) }))
    }
}

extension KeptSource {
    var columns: Columns {
        let own: Columns = [
            "inbox": inbox, "path": path, "since": since.nanosecondsSince1970, "why": why,
            "outcome_id": outcomeID, "sha256": sha256,
        ]
        return own.merging(identity.columns()) { $1 }
    }

    init(_ row: SQLRow) throws {
        self.init(
            inbox: try row.value("inbox"), path: try row.path("path"), identity: try row.identity(),
            since: try row.time("since"), why: try row.value("why"), sha256: try row.bytes("sha256"),
            outcomeID: try row.optional("outcome_id"))
    }
}
