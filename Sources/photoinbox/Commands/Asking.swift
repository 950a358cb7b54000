import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// Sends a command to the daemon and prints its answer.
struct Asking {
    let places: Places
    let output: OutputOptions
    private let configuration: BytePath?

    init(_ places: PlaceOptions, _ output: OutputOptions) throws(CommandFailure) {
        self.places = try Places(places)
        self.output = output
        configuration = places.config?.path
    }

    /// The same, after the person at the terminal, if there is one, has confirmed what would be done.
    func run(_ command: ControlCommand, isDryRun: Bool, unless consent: ConsentOption) throws {
        if !isDryRun, !consent.yes, !output.json, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 {
            let foreseen = try answer(to: ControlRequest(command, isDryRun: true))
            try printOut(text(foreseen, true))
            guard Confirmation.ask("continue?", isJSON: false, ProgressDisplay(json: false)) else {
                throw CommandFailure(.failed, "nothing was changed")
            }
        }
        try run(command, isDryRun: isDryRun)
    }

    /// Asks the daemon. If none runs, does it here, where that is possible and permitted.
    func run(_ command: ControlCommand, isDryRun: Bool = false) throws {
        let answer = try answer(to: ControlRequest(command, isDryRun: isDryRun))
        try printOut(output.json ? json(answer) : text(answer, isDryRun))
        let status = ExitStatus(reported: answer.status)
        if status != .ok { throw CommandEnd(status: status) }
    }

    /// Asks without printing the answer.
    func ask(_ command: ControlCommand) throws(CommandFailure) {
        do { _ = try answer(to: ControlRequest(command)) } catch let failure as CommandFailure { throw failure } catch {
            throw CommandFailure(.failed, "\(error)")
        }
    }

    private func answer(to request: ControlRequest) throws -> ControlAnswer {
        let answer: ControlAnswer
        do throws(CommandFailure) { answer = try ControlContact(places: places).ask(request) } catch {
            guard error.status == .unavailable, error == ControlContact.down else { throw error }
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
        return try ControlContact.askAlone(request, configuration: configuration)
    }

    private func text(_ answer: ControlAnswer, _ isDryRun: Bool) -> String {
        var text = shown(answer.message) + "\n"
        if isDryRun {
            for item in answer.items {
                if let from = item.from { text += "  from  \(from.escaped)\n" }
                if let to = item.to { text += "    to  \(to.escaped)\n" }
            }
        }
        if let action = answer.action { text += "\(DaemonAddress.asked.completing(action))\n" }
        return text
    }

    private func json(_ answer: ControlAnswer) -> String {
        JSONValue.document([
            JSONField("message", .string(answer.message)),
            JSONField("action", answer.action.map { .string($0) } ?? .null),
            JSONField("items", .array(answer.items.map { $0.json() })),
        ]).compact + "\n"
    }

    /// An inbox by its name, or a file by its path or as INBOX/PATH.
    func subject(_ argument: RawArgument) throws(CommandFailure) -> ControlSubject {
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
        throw CommandFailure(
            .noMatch, "no inbox contains \(path)",
            action: known.inboxes.isEmpty
                ? "No inbox is configured." : "Inboxes: \(known.inboxes.map(\.name).joined(separator: ", ")).")
    }
}

extension ControlAnswer.Item {
    func json() -> JSONValue {
        var fields = [JSONField("did", .string(did)), JSONField("inbox", inbox.map { .string($0) } ?? .null)]
        if let file { fields += JSONField.path("file", file) }
        fields += [
            JSONField("operation", operation.map { .integer($0) } ?? .null),
            JSONField("request", request.map { .integer($0) } ?? .null),
            JSONField("count", count.map { .count($0) } ?? .null),
        ]
        if let from { fields += JSONField.path("from", from) }
        if let to { fields += JSONField.path("to", to) }
        return .object(fields)
    }
}
