import CommandSupport
import FileValues
import Importing
import Reporting

/// The output of an import: files that need attention, the progress, and the sums.
struct ImportReport {
    let isJSON: Bool
    let isDry: Bool
    let moves: Bool
    let display: ProgressDisplay
    /// The directories of the inbox with the imported photos.
    var directories: [BytePath] = []

    private var counts: [ImportFinding.What: Int] = [:]
    private var copiedBytes: UInt64 = 0
    private var removed = 0
    private var kept = 0
    /// The sums of the directories before this one.
    private var before = ImportProgress()
    private var now = ImportProgress()

    init(isJSON: Bool, isDry: Bool, moves: Bool, display: ProgressDisplay) {
        (self.isJSON, self.isDry, self.moves, self.display) = (isJSON, isDry, moves, display)
    }

    var copied: Int { counts[.copied] ?? 0 }
    /// Whether a file was not imported or not removed.
    var isIncomplete: Bool { counts[.failed] != nil || kept > 0 }

    /// Begins another directory.
    mutating func begin() {
        before.files += now.files
        before.bytes += now.bytes
        now = ImportProgress()
    }

    mutating func show(_ progress: ImportProgress, asked: Bool) throws {
        now = progress
        try display.show(
            photos: before.files + progress.files, totalPhotos: progress.totalFiles.map { $0 + before.files },
            bytes: before.bytes + progress.bytes, totalBytes: progress.totalBytes.map { $0 + before.bytes },
            asked: asked)
    }

    mutating func show(_ finding: ImportFinding, in source: BytePath) throws {
        counts[finding.what, default: 0] += 1
        if finding.what == .copied { copiedBytes += finding.size }
        if finding.source == .removed { removed += 1 }
        if finding.kept != nil { kept += 1 }
        if isJSON {
            display.clear()
            try printOut(json(finding, source).compact + "\n")
        } else if isDry || finding.what == .failed || finding.what == .decided || finding.kept != nil {
            display.clear()
            let whole = source.appending(finding.path).escaped
            let remark = finding.reason + (finding.kept.map { "; kept there: \($0)" } ?? "")
            try printLine(label(finding.what), "\(whole)  (\(remark))")
        }
    }

    private func label(_ what: ImportFinding.What) -> String {
        switch what {
        case .copied: isDry ? "would copy" : "copied"
        case .known: "known"
        case .waiting: "waiting"
        case .decided: "decided"
        case .leftOut: "left out"
        case .failed: "failed"
        }
    }

    private func json(_ finding: ImportFinding, _ source: BytePath) -> JSONValue {
        .document(
            [JSONField("type", "item"), JSONField("what", finding.what.rawValue)]
                + JSONField.path("path", source.appending(finding.path))
                + [
                    JSONField("bytes", finding.size), JSONField("reason", finding.reason),
                    JSONField("removed", finding.source == .removed), JSONField("kept_because", finding.kept),
                ])
    }

    func finish(inbox: String, wasStopped: Bool) throws {
        let count = { (what: ImportFinding.What) in counts[what] ?? 0 }
        if isJSON {
            try printJSON(
                [JSONField("type", "summary"), JSONField("inbox", inbox)]
                    + ImportFinding.What.allCases.map {
                        JSONField($0 == .leftOut ? "left_out" : $0.rawValue, .count(count($0)))
                    }
                    + [
                        JSONField("bytes", copiedBytes), JSONField("removed", removed),
                        JSONField("directories", directories.map(\.escaped)), JSONField("seconds", display.seconds),
                        JSONField("dry_run", isDry), JSONField("complete", !wasStopped),
                    ])
            return
        }
        let files = HumanText.count(copied, "file", "files")
        let place = directories.isEmpty ? "" : " as " + directories.map(\.escaped).joined(separator: ", ")
        var parts = [
            isDry
                ? "\(files) would be copied into \(inbox) (\(HumanText.bytes(copiedBytes)))"
                : "\(files) copied into \(inbox)\(place) (\(HumanText.bytes(copiedBytes)), read again)"
        ]
        let rest: [(ImportFinding.What, String)] = [
            (.known, "filed already"), (.waiting, "in the inbox already"), (.decided, "decided on already"),
            (.leftOut, "left out"), (.failed, "failed"),
        ]
        parts += rest.compactMap { what, words in count(what) > 0 ? "\(HumanText.count(count(what))) \(words)" : nil }
        if moves, !isDry { parts.append("\(HumanText.count(removed)) removed from there") }
        try printOut(parts.joined(separator: ", ") + "\n")
        if wasStopped { display.remark("stopped; run the same command again to continue") }
    }
}
