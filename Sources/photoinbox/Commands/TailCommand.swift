import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Reporting

struct TailCommand: DaemonCommand {
    static let configuration = CommandConfiguration("tail", "Follow outcomes as they are recorded.")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox tail                               the last 10 outcomes, then each new one; Ctrl-C ends it
          photoinbox tail --outcome quarantined         only files that need your decision
          photoinbox tail -n 0 --json | while IFS= read -r line; do echo "$line"; done
          photoinbox tail -n 100 --no-follow            the last 100, and no more

        This reads the catalogue: it shows what is recorded and durable, of all hosts that use it, and needs no running daemon.

        EXIT STATUS:
          0   ended by Ctrl-C, by a closed pipe or with --no-follow
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: ArgumentHelp("Start with this many recent outcomes.", valueName: "number"))
    var count = 10

    @Option(help: ArgumentHelp("Only files from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Only this outcome.", valueName: "outcome"))
    var outcome: OutcomeKind?

    @Flag(name: .customLong("no-follow"), help: "Exit after the recent outcomes.")
    var endsAtOnce = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    private static let pause = timespec(tv_sec: 0, tv_nsec: 250_000_000)
    private static let page = 500
    /// How many reads of a new catalogue may fail: ten seconds.
    private static let mostTries = 40

    func validate() throws {
        if count < 0 { throw ValidationError("--lines must be at least 0.") }
    }

    /// Nil for a database.
    private static func inode(of catalogue: CataloguePlace) -> UInt64? {
        catalogue.file.flatMap { try? FileStatus(at: $0, followingLinks: true).identity.inode }
    }

    func run(at places: Places) throws {
        var catalogue = try places.openCatalogue()
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        var file = Self.inode(of: places.catalogue)
        // Before the first read, so that a signal waits until a line is complete.
        let interruption = Interruption { _ in }
        var last = try begin(catalogue)
        var latest = FileTime(seconds: Int64(time(nil)), nanoseconds: 0)
        // In a catalogue that replaced another one, older outcomes are not shown again.
        var horizon: FileTime?
        var tries = 0
        var missing = MissingNumbers()
        while !endsAtOnce {
            if interruption.mustStop() { return }
            let found = try catalogue.outcomes(after: last, limit: Self.page)
            let late = try catalogue.outcomes(numbered: missing.numbers)
            try show((late + found).filter { found in horizon.map { found.outcome.at > $0 } ?? true })
            if catalogue.isShared { missing.note(late: late.map(\.id), found.map(\.id), after: last, at: .now) }
            last = found.last?.id ?? last
            if found.count == Self.page { continue }
            if let end = found.last { latest = end.outcome.at }
            horizon = nil
            interruption.wait(atMost: Self.pause)
            let now = Self.inode(of: places.catalogue)
            guard let now, now != file else { continue }
            // One that is being created cannot be read before it has its tables.
            do { (catalogue, file) = (try places.openCatalogue(), now) } catch {
                tries += 1
                if tries > Self.mostTries { throw error }
                continue
            }
            (last, horizon, tries) = (0, latest, 0)
        }
    }

    /// Shows the recent outcomes; returns the number of the newest.
    private func begin(_ catalogue: CatalogueFile) throws -> Int64 {
        let newest = try newest(catalogue)
        if count == 0 { return newest }
        var before = newest
        var found: [StoredOutcome] = []
        while found.count < count, before > 0 {
            let page = try catalogue.outcomes(after: before - Int64(Self.page), limit: Self.page).filter {
                $0.id <= before
            }
            found = page.filter { isWanted($0) } + found
            before -= Int64(Self.page)
        }
        try show(found.suffix(count))
        return newest
    }

    private func newest(_ catalogue: CatalogueFile) throws -> Int64 {
        try catalogue.recentOutcomes(limit: 1).first?.id ?? 0
    }

    private func isWanted(_ found: StoredOutcome) -> Bool {
        (inbox == nil || found.outcome.inbox == inbox) && (outcome == nil || found.outcome.outcome == outcome)
    }

    private func show(_ outcomes: some Sequence<StoredOutcome>) throws {
        let now = Int64(time(nil))
        let style = Terminal.style(output.color)
        let lines = outcomes.filter { isWanted($0) }.map { found in
            output.json ? found.line().compact : line(found, now: now, style)
        }
        do { try printOut(lines.map { $0 + "\n" }.joined()) } catch is CommandEnd {
            // It has no natural end, so a closed pipe is a success.
            throw CommandEnd(status: .ok)
        }
    }

    private func line(_ found: StoredOutcome, now: Int64, _ style: TextStyle) -> String {
        let record = found.outcome
        let word = record.outcome.rawValue + String(repeating: " ", count: max(0, 11 - record.outcome.rawValue.count))
        let file = printable(record.inbox) + "/" + record.path.escaped
        let place = record.outcome == .filed ? record.destination.map { "  → \($0.escaped)" } ?? "" : ""
        let reason = record.outcome == .filed ? "" : ": \(printable(record.reason))"
        let time = shortTime(record.at, now: now)
        let margin = displayWidth(time) + 2 + displayWidth(word) + 2
        return "\(style.painted(time, .faint))  \(style.painted(word, record.outcome.paint))  "
            + hanging(file + place + reason, at: margin, columns: style.width)
    }
}

/// Numbers of outcomes that other hosts may have taken and not committed yet: theirs are not committed in order. The number
/// of a transaction that was rolled back is never used.
struct MissingNumbers {
    /// More than a host waits for its commit.
    private static let patience = Duration.seconds(30)
    private static let most = 1_000

    private var since: [Int64: ContinuousClock.Instant] = [:]

    var numbers: [Int64] { since.keys.sorted() }

    /// Notes that `late` and `found` were read, the latter in order after the number `last`.
    mutating func note(late: [Int64], _ found: [Int64], after last: Int64, at now: ContinuousClock.Instant) {
        for number in late { since[number] = nil }
        since = since.filter { now - $0.value < Self.patience }
        for (before, number) in zip([last] + found, found) where last > 0 {
            for missing in max(before + 1, number - Int64(Self.most))..<number { since[missing] = now }
        }
        for number in numbers.dropLast(Self.most) { since[number] = nil }
    }
}
