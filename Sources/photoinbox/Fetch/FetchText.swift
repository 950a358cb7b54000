import CommandSupport
import ControlProtocol
import Fetching
import FileValues
import HTTPValues
import Reporting

/// The output of a fetch: each failed address, the progress, and the sums.
struct FetchText {
    let isJSON: Bool
    let isDry: Bool
    let links: FetchLinks
    let display: ProgressDisplay
    var progress = FetchProgress()

    init(isJSON: Bool, isDry: Bool, links: FetchLinks, display: ProgressDisplay) {
        (self.isJSON, self.isDry, self.links, self.display) = (isJSON, isDry, links, display)
        progress.total = links.addresses.count
    }

    func show(asked: Bool) throws {
        try display.show(photos: progress.ended, totalPhotos: progress.total, bytes: progress.bytes, asked: asked)
    }

    func show(_ refusal: FetchLinks.Refusal) throws {
        if isJSON {
            try item("refused", address: refusal.place, FetchEnd(.failed, refusal.reason))
        } else {
            try printLine("refused", "\(refusal.place)  (\(refusal.reason))")
        }
    }

    func show(_ member: Int, _ end: FetchEnd) throws {
        let address = links.addresses.indices.contains(member) ? links.addresses[member].text : ""
        if isJSON {
            try item(end.what.rawValue, address: address, end)
        } else if end.what == .failed {
            display.clear()
            let tries = end.tries > 1 ? "; \(end.tries) tries" : ""
            try printLine("failed", "\(address)  (\(escapeForDisplay(Array(end.reason.utf8)))\(tries))")
        }
    }

    private func item(_ what: String, address: String, _ end: FetchEnd) throws {
        try printJSON([
            JSONField("type", "item"), JSONField("what", what), JSONField("address", address),
            // Its path in the inbox, or why it is not there.
            JSONField(end.what == .arrived ? "path" : "reason", .string(end.reason)), JSONField("bytes", end.bytes),
            JSONField("tries", end.tries),
        ])
    }

    func finish(_ outcome: FetchOutcome, inbox: String) throws {
        if isDry {
            for address in links.addresses {
                if isJSON {
                    try item("would fetch", address: address.text, FetchEnd(.failed, "dry run"))
                } else {
                    try printOut("would fetch  \(address)\n")
                }
            }
        }
        let refused = links.refusals.count
        if isJSON {
            return try printJSON([
                JSONField("type", "summary"), JSONField("inbox", inbox), JSONField("addresses", links.addresses.count),
                JSONField("arrived", outcome.arrived), JSONField("failed", outcome.failed),
                JSONField("cancelled", outcome.cancelled), JSONField("refused", refused),
                JSONField("bytes", outcome.bytes), JSONField("directory", outcome.directory),
                JSONField("seconds", display.seconds), JSONField("dry_run", isDry),
            ])
        }
        let place = outcome.directory.map { " as \($0)" } ?? ""
        let count = HumanText.count(isDry ? links.addresses.count : outcome.arrived, "file", "files")
        var parts = [
            isDry
                ? "\(count) would be fetched into \(inbox)"
                : "\(count) arrived in \(inbox)\(place) (\(HumanText.bytes(outcome.bytes)))"
        ]
        let rest = [(outcome.failed, "failed"), (outcome.cancelled, "cancelled"), (refused, "refused")]
        parts += rest.compactMap { count, word in count > 0 ? "\(HumanText.count(count)) \(word)" : nil }
        try printOut(parts.joined(separator: ", ") + "\n")
    }
}
