import ControlProtocol
import DropStore
import FileValues
import Filing
import Reporting

/// What has become of an upload, for its sender. A value.
struct Receipt: Hashable, Sendable {
    enum Step: String, Hashable, Sendable {
        /// Durable in the inbox; photoinboxd has not filed it yet.
        case inbox
        case filed, duplicate, quarantined, deferred
        /// Not a photo: it stays in the inbox.
        case stays
        /// A person has taken it back out of the library.
        case returned
        /// It was quarantined, and a person has discarded it.
        case discarded
        case lost
    }

    let upload: UploadID
    let name: BytePath
    let size: UInt64
    private(set) var step = Step.inbox
    /// In the library.
    private(set) var place: String?
    private(set) var reason: String?
    /// The library has filed these very bytes, durably, has read them again, and has a file of this size that nothing has written to
    /// since: the sender's own copy may be deleted.
    private(set) var isSafe = false
    private(set) var warning: String?

    /// Nil for an upload of which nobody needs to hear: it is not in the inbox yet, or was ended by its sender. `report` is the
    /// daemon's, nil while there is none, for the reason `silence`; `isThere` says whether the file was in the inbox before that.
    init?(
        _ id: UploadID, _ record: UploadRecord, _ report: FileReports.Report?, isThere: Bool,
        silence: String = Self.noAnswer
    ) {
        (upload, name, size) = (id, record.new.name.original, record.length ?? record.offset)
        switch record.phase {
        case .placed(let digest, _):
            if let report { describe(report, "\(digest)", isThere: isThere) } else { warning = silence }
        case .ended(.lost), .ended(.failed): (step, reason) = (.lost, "the disk did not keep it: send it again")
        case .receiving, .whole, .placing, .ended: return nil
        }
    }

    static let noAnswer = "photoinboxd does not answer"
    /// As to `photoinbox web` of an operator, who is not the daemon's user.
    static let refused = "photoinboxd does not tell this program what has become of it"

    private mutating func describe(_ report: FileReports.Report, _ digest: String, isThere: Bool) {
        reason = report.reason
        switch report.step {
        case .filed, .duplicate:
            // It is never safe because of another file's outcome.
            if let durable = report.durable, durable != digest { return reason = nil }
            step = report.step == .filed ? .filed : .duplicate
            (place, isSafe) = (report.place, report.durable != nil)
            if !isSafe { warning = "whether the library has it now is not known" }
        case .quarantined: step = .quarantined
        case .deferred: step = .deferred
        case .undone: step = .returned
        case .discarded: step = .discarded
        case .lost: (step, reason) = (.lost, "the library's copy is missing or damaged")
        case .withdrawn: step = .lost
        case .ignored: step = .stays
        case .inHand: break
        case .unseen:
            if !isThere {
                (step, reason) = (.lost, "it is not in the inbox any more, and photoinboxd has not filed it")
            }
        }
    }

    /// A guest hears only of what the guest has sent: not where it is, nor whether it was there already.
    func json(for owner: DropOwner) -> JSONValue {
        var (step, reason, place) = (step, reason, place)
        if case .guest = owner {
            if step == .duplicate { step = .filed }
            if ![.quarantined, .stays, .discarded, .lost].contains(step) { reason = nil }
            place = nil
        }
        let fields: [JSONField?] =
            [JSONField("upload", "\(upload)")] + JSONField.path("name", name) + [
                JSONField("size", size), JSONField("step", step.rawValue), place.map { JSONField("where", $0) },
                reason.map { JSONField("reason", $0) }, JSONField("safe", isSafe),
                warning.map { JSONField("warning", $0) },
            ]
        return .object(fields.compactMap(\.self))
    }

    /// Whether nothing more is expected of it, though it may turn out to be otherwise.
    var isSettled: Bool { isSafe || [.lost, .returned, .discarded, .stays].contains(step) }
}
