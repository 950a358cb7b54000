import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
package import ControlProtocol
import Explaining
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
package import Reporting
import Settings
import SystemPackage

/// A command that is one request to the daemon.
protocol RequestCommand: DaemonCommand {
    var options: RequestOptions { get }
    /// False if a person at a terminal must confirm it first.
    var isConfirmed: Bool { get }
    /// Whether it must be confirmed by an option where nobody can be asked.
    var requiresConsent: Bool { get }

    func request(_ client: RequestClient) throws -> ControlCommand
}

/// The options of all requests.
struct RequestOptions: ParsableArguments {
    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions
}

extension RequestCommand {
    var places: PlaceOptions { options.places }
    var isConfirmed: Bool { true }
    var requiresConsent: Bool { false }

    func run(at places: Places) throws {
        let client = RequestClient(places: places, output: options.output)
        try client.run(
            try request(client), isDryRun: options.dryRun.isDryRun, isConfirmed: isConfirmed,
            requiresConsent: requiresConsent)
    }
}

/// Sends a command to the daemon and prints its answer.
struct RequestClient {
    let places: Places
    let output: OutputOptions

    /// Sends the request to the daemon, after a confirmation if it needs one and there is a terminal to ask on; without one, it
    /// fails if `requiresConsent`. If no daemon runs, carries it out here if that is possible and permitted.
    func run(
        _ command: ControlCommand, isDryRun: Bool = false, isConfirmed: Bool = true, requiresConsent: Bool = false
    ) throws {
        if !isDryRun, !isConfirmed, requiresConsent, output.json || !Terminal.canAsk {
            // What cannot be done at all is said first.
            _ = try answer(to: ControlRequest(command, isDryRun: true))
            throw CommandFailure(
                .usage, "this needs a confirmation",
                action: "Give --yes to confirm, or --dry-run to see what would be done.")
        }
        var request = ControlRequest(command, isDryRun: isDryRun)
        if !isDryRun, !isConfirmed, !output.json, Terminal.canAsk {
            let foreseen = try answer(to: ControlRequest(command, isDryRun: true))
            try printOut(text(foreseen, true))
            guard Confirmation.ask("continue?", isJSON: false, ProgressDisplay(json: false)) else {
                throw CommandFailure(.failed, "nothing was changed")
            }
            request.expected = foreseen.identities
        }
        try run(request)
    }

    private func run(_ request: ControlRequest) throws {
        let answer = try answer(to: request)
        if output.json {
            try printJSON([
                JSONField("message", answer.message), JSONField("action", answer.action),
                JSONField("items", answer.items),
            ])
        } else {
            try printOut(text(answer, request.isDryRun))
        }
        let status = ExitStatus(reported: answer.status)
        if status != .ok { throw CommandEnd(status: status) }
    }

    /// Sends the request, and prints nothing.
    func send(_ command: ControlCommand) throws(CommandFailure) { _ = try answer(to: ControlRequest(command)) }

    private func answer(to request: ControlRequest) throws(CommandFailure) -> ControlAnswer {
        let answer: ControlAnswer
        do throws(CommandFailure) { answer = try ControlContact(places: places).ask(request) } catch {
            guard error == ControlContact.down else { throw error }
            answer = try withoutDaemon(request, error)
        }
        if let failure = CommandFailure(answer) { throw failure }
        return answer
    }

    private func withoutDaemon(
        _ request: ControlRequest, _ down: CommandFailure
    ) throws(CommandFailure) -> ControlAnswer {
        // Without a state directory no daemon has ever run there.
        guard let settings = places.settings, !request.command.needsRunningDaemon,
            let owner = (try? FileStatus(at: settings.state, followingLinks: true))?.user
        else { throw down }
        guard owner == geteuid() else {
            throw CommandFailure(
                .unavailable, down.message,
                action: "Without it, only its own user can do this. \(down.action ?? "")")
        }
        return try ControlContact.answerWithoutDaemon(request, configuration: places.named)
    }

    private func text(_ answer: ControlAnswer, _ isDryRun: Bool) -> String {
        var text = printable(answer.message) + "\n"
        if isDryRun {
            for item in answer.items {
                if let from = item.from { text += "  from  \(from.escaped)\n" }
                if let to = item.to { text += "    to  \(to.escaped)\n" }
            }
        }
        if let action = answer.action { text += "\(DaemonAddress.current.completing(action))\n" }
        return text
    }

    /// An inbox by its name, or a file by its path or as INBOX/PATH.
    func subject(_ argument: RawArgument) throws -> ControlSubject {
        let contact = DaemonContact(places: places)
        // Without a configuration, the daemon alone knows its inboxes.
        let state = places.settings == nil ? (try? contact.freshState()) ?? contact.lastState() : nil
        let known = EvidenceSearch.knownPlaces(places.settings, state)
        let path = argument.path
        if let inbox = known.inboxes.first(where: { BytePath($0.name) == path }) { return .inbox(inbox.name) }
        let here = SettingsContext.ofProcess().workingDirectory
        let absolute = normalised(path.isAbsolute ? path : here.appending(path))
        if let inbox = known.inboxes.first(where: { $0.path == absolute || (try? realPath($0.path)) == absolute }) {
            return .inbox(inbox.name)
        }
        let location = Location(
            path, from: here, in: known, exists: { (try? FileStatus(at: $0)) != nil }, real: { try? realPath($0) })
        if case .inbox(let inbox, let file) = location { return .file(inbox: inbox.name, file) }
        // The daemon may know inboxes that are not known here.
        if known.inboxes.isEmpty, let name = String(validating: path.bytes, as: UTF8.self), path.components.count == 1 {
            return .inbox(name)
        }
        if let first = path.components.first, let name = String(validating: first.bytes, as: UTF8.self),
            let host = hostOfInbox(name)
        {
            throw CommandFailure(
                .noMatch, "the inbox \(printable(name)) is that of the host \(host)", action: "Run this on \(host).")
        }
        throw CommandFailure(
            .noMatch, "no inbox contains \(path)",
            action: known.inboxes.isEmpty
                ? "No inbox is configured." : "Inboxes: \(known.inboxes.map(\.name).joined(separator: ", ")).")
    }
}

extension RequestClient {
    /// The other host that has an inbox of this name, by what the catalogue says; nil if that is out of reach.
    private func hostOfInbox(_ name: String) -> String? {
        guard places.catalogue.file == nil, let hosts = try? places.openCatalogue().hosts(),
            let host = hosts.first(where: { !$0.isForgotten && $0.inboxes.contains(name) }),
            host.key != places.ownHost(among: hosts)?.key
        else { return nil }
        return printable(host.name)
    }
}

extension ControlAnswer.Item: JSONRepresentable {
    package var json: JSONValue {
        var fields = [JSONField("did", did), JSONField("inbox", inbox)]
        if let file { fields += JSONField.path("file", file) }
        fields += [JSONField("operation", operation), JSONField("request", request), JSONField("count", count)]
        if let from { fields += JSONField.path("from", from) }
        if let to { fields += JSONField.path("to", to) }
        return .object(fields)
    }
}
