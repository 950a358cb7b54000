import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import Explaining
import Fetching
import FileValues
import HTTPValues
import LinuxKernel
import Reporting
import Settings

struct FetchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "fetch", "Download photos from the network into an inbox.", "[OPTION…] URL…|FILE…")

    static let lesson = """
        EXAMPLES:
          photoinbox fetch https://example.org/IMG_1.JPG
                                              one photo, into the only inbox
          photoinbox fetch --inbox web trip.links
                                              every address of a list, into "web"
          photoinbox fetch --dry-run trip.links
                                              the addresses, and which of them are invalid
          photoinbox fetch --json trip.links | jq -r 'select(.what == "failed") | .address'

        An address begins with http:// or https://. A file is a list of them (.links, one a line, # begins a comment), a
        shortcut of Windows (.url) or of macOS (.webloc). Downloads run in photoinboxd-fetch.service if that is installed,
        otherwise in a child process. A download that fails for a temporary reason is retried, and continues where it stopped.

        Photos arrive complete and synced in fetch-DATE-N/ of the inbox, and the daemon files them like any other.

        [fetch] in the configuration limits their size and time, and names the private networks that links may lead to: by
        default none.

        Ctrl-C cancels what has not arrived and leaves nothing of it behind. SIGUSR1 prints the progress.

        EXIT STATUS:
          0   all have arrived
          3   some have not, or were cancelled
          4   no such inbox
          64, 69, 77, 78: see photoinbox --help
        """

    @Option(help: ArgumentHelp("The inbox to download into. Default: the only one.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Run this many downloads at once, at most fetch.at-once.", valueName: "number"))
    var jobs: Int?

    @Flag(name: .customLong("dry-run"), help: "Fetch nothing; show what would be fetched.")
    var isDry = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Addresses, or files of addresses.", valueName: "url"))
    var sources: [RawArgument]

    func validate() throws {
        if let jobs, !(1...FetchLimits.mostAtOnce).contains(jobs) {
            throw ValidationError("--jobs must be from 1 to \(FetchLimits.mostAtOnce).")
        }
    }

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json, silence: 5)
        // Before other threads exist, so that they inherit the blocked signals.
        let interruption = Interruption(remark: "cancelling; files that have arrived stay", announce: display.remark)
        let links = try FetchLinks(sources.map(\.path))
        var report = FetchText(isJSON: output.json, isDry: isDry, links: links, display: display)
        let contact = DaemonContact(places: places)
        let state = places.settings == nil ? (try? contact.freshState()) ?? contact.lastState() : nil
        let inbox = try EvidenceSearch.knownPlaces(places.settings, state).inbox(named: inbox)
        for refusal in links.refusals { try report.show(refusal) }
        guard !isDry, !links.addresses.isEmpty else {
            return try end(&report, FetchOutcome(), inbox.name)
        }
        let request = FetchRequest(
            inbox: inbox.name, addresses: links.addresses.map(\.text), atOnce: jobs)
        let place = FetchPlace(
            path: inbox.path.bytes, limits: places.settings?.fetch ?? FetchLimits(),
            minFree: places.settings?.library?.minFree ?? 0)
        let line = try FetchLine(socket: places.runtime.appending("fetch"), request, place)
        let outcome = try follow(line, &report, interruption)
        display.clear()
        line.end()
        if outcome.arrived > 0, !contact.isRunning {
            printRemark("photoinboxd is not running; they are filed when it runs", asJSON: output.json)
        }
        try end(&report, outcome, inbox.name)
    }

    /// Reads reports until the outcome; passes on a cancellation from the terminal.
    private func follow(
        _ line: FetchLine, _ report: inout FetchText, _ interruption: Interruption
    ) throws -> FetchOutcome {
        var hasCancelled = false
        while true {
            if interruption.mustStopAtOnce() {
                // The other side detects the closed connection, and cancels.
                report.display.clear()
                throw CommandEnd(status: .someLeft)
            }
            if interruption.isStopRequested, !hasCancelled {
                hasCancelled = true
                try line.send(FetchWord(cancel: nil).frame)
            }
            for message in try line.receive() {
                switch message {
                case .refused(let reason):
                    report.display.clear()
                    throw CommandFailure(.failed, "nothing is fetched: \(reason)")
                case .progress(let progress): report.progress = progress
                case .ended(let member, let end): try report.show(member, end)
                case .outcome(let outcome): return outcome
                }
            }
            try report.show(asked: interruption.consumeProgressRequest())
        }
    }

    private func end(_ report: inout FetchText, _ outcome: FetchOutcome, _ inbox: String) throws {
        try report.finish(outcome, inbox: inbox)
        let links = report.links
        if outcome.failed + outcome.cancelled + links.refusals.count > 0 { throw CommandEnd(status: .someLeft) }
    }
}
