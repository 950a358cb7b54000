import Catalogue
import CommandContact
import CommandSupport
import FileValues
import LibraryCare
import Reporting

/// The output of a verification: each fault, and the sums.
struct VerifyReport {
    let output: OutputOptions
    let display: ProgressDisplay
    let isDry: Bool
    var wasStopped = false
    var wasSkipped = false
    /// Faults that a run found which this one continues.
    var earlier = 0
    /// The identifiers of photos that are not as they were filed.
    private(set) var faulty: Set<Int64> = []
    /// The identifiers of photos whose metadata differ from the recorded ones.
    private(set) var outdated: Set<Int64> = []
    private var photos = 0
    private var bytes: UInt64 = 0
    private var missing = 0
    private var damaged = 0
    private var unreadable = 0
    private var edited = 0
    /// Damaged files whose photos were filed again, by their absolute paths.
    private var replaced: [BytePath] = []
    private var repaired: LibraryAdoption.Summary?
    private var struck = 0
    private var unstruck = 0
    private var library: BytePath = ""

    init(output: OutputOptions, display: ProgressDisplay, isDry: Bool) {
        (self.output, self.display, self.isDry) = (output, display, isDry)
    }

    /// Whether every photo is as it was filed, or its record was repaired.
    var isGood: Bool {
        damaged + unreadable + unstruck + outdated.count + earlier == 0 && !wasSkipped
            && repaired?.unreadable ?? 0 == 0 && (missing == 0 || (repaired != nil && !isDry))
    }

    /// The photos with a fault until now; `progress` is that of the library that is being verified.
    func faults(with progress: LibraryVerification.Progress) -> Int {
        earlier + missing + damaged + unreadable + progress.missing + progress.damaged + progress.unreadable
    }

    mutating func add(_ progress: LibraryVerification.Progress, wasStopped: Bool) {
        photos += progress.photos
        bytes += progress.bytes
        missing += progress.missing
        damaged += progress.damaged
        unreadable += progress.unreadable
        self.wasStopped = self.wasStopped || wasStopped
    }

    /// Adds a repair of `library`; `lost` photos are nowhere.
    mutating func add(_ summary: LibraryAdoption.Summary, of library: BytePath, lost: Int, wereStruck: Bool) {
        repaired = summary
        self.library = library
        if wereStruck { struck = lost } else { unstruck = lost }
    }

    mutating func show(_ stored: StoredPhoto, _ fault: LibraryVerification.Fault) throws {
        switch fault {
        case .missing, .damaged, .unreadable: faulty.insert(stored.id)
        case .outdated: outdated.insert(stored.id)
        case .edited: edited += 1
        }
        let (word, reason): (String, String?) =
            switch fault {
            case .missing: ("missing", nil)
            case .damaged: ("damaged", nil)
            case .unreadable(let reason): ("unreadable", reason)
            case .outdated: ("outdated", "the catalogue has other metadata")
            case .edited: ("edited", "a sidecar that a person or a program has changed")
            }
        try line(
            word, stored.photo.libraryPath,
            remark: "number \(stored.number)" + (reason.map { ", \(printable($0))" } ?? ""),
            [JSONField("photo", stored.id), JSONField("operation", stored.operation), JSONField("reason", reason)])
    }

    /// A damaged file is still there, though its photo was filed again.
    mutating func show(replaced damaged: StoredPhoto, by whole: StoredPhoto?) throws {
        replaced.append(damaged.photo.library.appending(damaged.photo.libraryPath))
        let place = whole.map { "number \($0.number) replaced it: \($0.photo.libraryPath.escaped)" }
        try line(
            "replaced", damaged.photo.libraryPath,
            remark: "the damaged file is still there; \(place ?? "number \(damaged.number) was filed again")",
            [JSONField("photo", whole?.id), JSONField("operation", whole?.operation)])
    }

    func show(_ finding: LibraryAdoption.Finding) throws {
        switch finding {
        case .adopted(let path): try line("recorded", path, remark: "it had no record", [])
        case .moved(let path, let old):
            try line("moved", path, remark: "from \(old.escaped)", JSONField.path("from", old))
        case .sameContent(let path, let other):
            try line("same", path, remark: "the same bytes as \(other.escaped)", JSONField.path("as", other))
        // Shown already, by the verification.
        case .differs, .replaced: break
        case .noPhoto: break
        case .unreadable(let path, let reason):
            try line("unreadable", path, remark: printable(reason), [JSONField("reason", reason)])
        case .sidecar(let path, let reason):
            try line("sidecar", path, remark: printable(reason), [JSONField("reason", reason)])
        }
    }

    private func line(_ word: String, _ path: BytePath, remark: String, _ fields: [JSONField]) throws {
        display.clear()
        if output.json {
            let isFault = ["missing", "damaged", "unreadable"].contains(word)
            let others = ["outdated": "metadata", "replaced": "replaced", "edited": "edited"]
            let type = isFault ? "fault" : others[word] ?? "repair"
            try printJSON([JSONField("type", type), JSONField("what", word)] + JSONField.path("path", path) + fields)
        } else {
            let label = String(repeating: " ", count: max(0, 10 - word.utf8.count)) + word
            try printOut("\(label)  \(path.escaped)  (\(remark))\n")
        }
    }

    func finish(style: TextStyle) throws {
        if output.json {
            try printJSON([
                JSONField("type", "summary"), JSONField("photos", photos), JSONField("bytes", bytes),
                JSONField("missing", missing), JSONField("damaged", damaged), JSONField("unreadable", unreadable),
                JSONField("complete", !wasStopped), JSONField("recorded", repaired?.adopted ?? 0),
                JSONField("moved", repaired?.moved.count ?? 0), JSONField("struck", struck),
                JSONField("not_struck", unstruck), JSONField("outdated", outdated.count),
                JSONField("replaced", replaced.count), JSONField("earlier", earlier), JSONField("edited", edited),
                JSONField("dry_run", isDry),
            ])
            return
        }
        var text = LabelledText()
        let seen = "\(HumanText.count(photos, "photo", "photos")), \(HumanText.bytes(bytes))"
        text.add("verified", wasStopped ? "\(seen); stopped early, the next run continues" : seen)
        let faults = [(missing, "missing"), (damaged, "damaged"), (unreadable, "unreadable")].filter { $0.0 > 0 }
        if earlier > 0 {
            let photos = "\(HumanText.count(earlier)) with a fault, found by the run that this one continued"
            text.add("before", photos, textPaint: .bad)
        }
        text.add(
            "found",
            faults.isEmpty ? "no damage" : faults.map { "\(HumanText.count($0.0)) \($0.1)" }.joined(separator: ", "),
            textPaint: faults.isEmpty ? .good : .bad)
        if !outdated.isEmpty {
            let photos = HumanText.count(outdated.count, "photo", "photos")
            text.add("metadata", "the catalogue has other metadata of \(photos); the daemon reads them again")
        }
        if edited > 0 { text.add("edited", HumanText.count(edited, "sidecar", "sidecars") + ", which is no damage") }
        if let repaired {
            text.add(
                isDry ? "would repair" : "repaired",
                "\(HumanText.count(repaired.adopted, "photo", "photos")) recorded, "
                    + "\(HumanText.count(repaired.moved.count)) moved, \(HumanText.count(struck)) struck")
            if struck > 0, !isDry {
                text.add(
                    "undo",
                    DaemonAddress.current.completing(
                        "put the files back where they were, then: photoinbox adopt \(shellQuoted(library.escaped))")
                )
            }
        }
        if let first = replaced.first {
            let files = HumanText.count(replaced.count, "damaged file", "damaged files")
            let place = replaced.count == 1 ? ": \(first.escaped)" : ""
            text.add("left", "\(files) of photos that were filed again; look at them before you remove them\(place)")
        }
        if let advice { text.add("action", DaemonAddress.current.completing(advice)) }
        try printOut(text.rendered(style))
    }

    /// What to do about the faults; nil if there are none, or they were repaired.
    private var advice: String? {
        if unstruck > 0 {
            return "\(HumanText.count(unstruck, "photo is", "photos are")) nowhere, and no record was struck: restore "
                + "them from a backup, or run it again with --yes" + (damaged > 0 ? "; restore damaged ones, too" : "")
        }
        if repaired == nil, missing > 0 {
            return "restore them from a backup, or: photoinbox verify --repair"
                + (damaged > 0 ? ", which strikes the records of missing ones" : "")
        }
        return damaged > 0 ? "restore them from a backup; the catalogue still lists them" : nil
    }
}
