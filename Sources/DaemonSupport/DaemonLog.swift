package import Catalogue
package import ControlProtocol
package import FileValues
package import Ingest
import LinuxKernel
import LogMessages
package import Logging
package import Reporting
package import Settings
package import SystemMonitor
import Systemd

/// The entries of the daemon's log, in one place: each kind of event with its MESSAGE_ID, level and fields.
///
/// Levels: error when filing stops or something is damaged, warning when a person is needed, notice for changes of
/// state, info for outcomes, debug for the rest. A tolerated failure ends with "continuing".
package struct DaemonLog: Sendable {
    package let logger: Logger
    /// The daemon that speaks, for the commands that it proposes.
    package let address: DaemonAddress

    package init(_ logger: Logger, of address: DaemonAddress = .system) {
        (self.logger, self.address) = (logger, address)
    }

    /// An arrival has its outcome.
    package func outcome(_ record: EndedArrival) {
        var fields: Logger.Metadata = [
            "inbox": "\(record.key.inbox)",
            "file": "\(record.key.path.escaped)",
            "outcome": "\(record.outcome.rawValue)",
            "reason": "\(record.reason)",
        ]
        if let destination = record.destination { fields["dest"] = "\(destination.escaped)" }
        if let sha256 = record.sha256 { fields["sha256"] = "\(sha256)" }
        if let bytes = record.bytes { fields["bytes"] = "\(bytes)" }
        if let operation = record.operation { fields["operation"] = "\(operation)" }
        if let proof = record.proof { fields["proof"] = "\(proof)" }
        switch record.outcome {
        case .filed:
            let place = record.destination.map { " as \($0.escaped)" } ?? ""
            logger.log(.info, .filed, "filed \(record.key)\(place) (\(record.reason))", metadata: fields)
        case .duplicate:
            logger.log(.info, .duplicate, "duplicate \(record.key): \(record.reason)", metadata: fields)
        case .quarantined:
            logger.log(.warning, .quarantined, "quarantined \(record.key): \(record.reason)", metadata: fields)
        case .ignored:
            logger.log(.info, .ignored, "ignored \(record.key): \(record.reason)", metadata: fields)
        case .withdrawn:
            logger.log(.info, .withdrawn, "withdrawn \(record.key): \(record.reason)", metadata: fields)
        }
    }

    /// An arrival will be tried again.
    package func deferred(_ key: ArrivalKey, reason: String, attempt: Int, seconds: Double) {
        // The first few tries are everyday life with a slow writer; only what keeps failing is worth a line.
        logger.log(
            attempt == 3 ? .notice : .debug, .deferred,
            "deferred \(key): \(reason); try \(attempt + 1) in \(Int(seconds.rounded(.up))) s, continuing",
            metadata: [
                "inbox": "\(key.inbox)", "file": "\(key.path.escaped)", "reason": "\(reason)",
                "attempt": "\(attempt)",
            ])
    }
}

extension DaemonLog {
    /// The daemon is ready to file photos.
    package func ready(_ settings: Settings) {
        let inboxes = settings.inboxes.map { "\($0.name) (\($0.path.escaped))" }.joined(separator: ", ")
        let text =
            settings.inboxes.isEmpty
            ? "ready, but no inbox is configured: there is nothing to do"
            : "ready: drop photos into \(inboxes); they are filed in \(settings.library?.path.escaped ?? "")"
        logger.log(.notice, .ready, "\(text)")
        guard address.isByHand else { return }
        let beside = programBeside("photoinbox")
        let program = (try? FileStatus(at: beside)) == nil ? "photoinbox" : shellQuoted(beside.escaped)
        logger.notice(
            "ask it from another terminal: \(program)\(address.completing("photoinbox status").dropFirst("photoinbox".count))"
        )
    }

    /// Everything has ended.
    package func stopped(monitorsLeft count: Int) {
        logger.log(.notice, .stopped, "stopped, \(count) monitors left", metadata: ["monitors": "\(count)"])
    }

    /// A configuration is in force.
    package func configuration(_ settings: Settings, from file: BytePath?, logReason: String?) {
        let origin = file?.escaped ?? "flags alone"
        logger.log(
            .info, .configurationLoaded,
            "configuration from \(origin): \(settings.inboxes.count) inbox\(settings.inboxes.count == 1 ? "" : "es")")
        if let logReason { logger.debug("the log goes here because \(logReason)") }
    }

    /// One mistake of a configuration that was refused.
    package func refused(_ issue: SettingsIssue) {
        logger.log(.error, .configurationRefused, "\(issue.description); the running configuration is kept")
    }

    /// A monitor's handler threw, and the monitor is off.
    package func handlerFailed(_ monitor: MonitorDescription, error: any Error) {
        logger.log(
            .error, .handlerFailed,
            "the handler of \(monitor.kind) \"\(monitor.label)\" failed, the monitor is off, continuing: \(error)",
            metadata: ["monitor": "\(monitor.kind) \(monitor.label)", "error": "\(error)"])
    }

    /// A configuration without a mistake that could not be set up all the same.
    package func refused(setup error: any Error) {
        logger.log(
            .error, .configurationRefused,
            "the new configuration cannot be set up: \(error); the old one is kept",
            metadata: ["reason": "setup"])
    }

    /// A problem is shown from now on.
    package func raised(_ problem: Problem) {
        let clock = LocalClock(at: problem.since)
        let level: Logger.Level =
            switch problem.severity {
            case .notice: .notice
            case .warning: .warning
            case .stopped: .error
            }
        let (title, effect) = (problem.title(clock: clock), problem.effect(clock: clock))
        let action = address.completing(problem.action(clock: clock))
        logger.log(
            level, .problemRaised, "\(problem.code.rawValue) \(title). Effect: \(effect). Action: \(action)",
            // The last three for `journalctl -x`, whose text is one for all problems: units/photoinbox.catalog.
            metadata: [
                "problem": "\(problem.code.rawValue)", "subject": "\(problem.subject)", "title": "\(title)",
                "effect": "\(effect)", "action": "\(action)",
            ])
    }

    /// A problem is over.
    package func cleared(_ key: String) {
        let (code, subject) = (key.prefix(6), key.dropFirst(7))
        logger.log(
            .notice, .problemCleared, "\(code) is over\(subject.isEmpty ? "" : " for \(subject)")",
            metadata: ["problem": "\(code)"])
    }

    /// A file of the library is not what was filed.
    package func damage(_ path: BytePath, reason: String) {
        logger.log(
            .error, .damageFound, "damage in the library: \(path.escaped): \(reason)",
            metadata: ["file": "\(path.escaped)", "reason": "\(reason)"])
    }

    /// A damaged catalogue was found at the start.
    package func catalogueSetAside(_ path: String, reason: String) {
        logger.log(
            .error, .damageFound,
            "the catalogue was damaged (\(reason)); it was set aside as \(path) and a new one begun, continuing")
    }

    /// The library was compared with the catalogue.
    package func audited(_ count: Int, _ missing: Int) {
        let photos = HumanText.count(count, "photo", "photos")
        logger.notice("audit: \(photos) of the catalogue, \(missing) missing or of another size in the library")
    }

    /// A part of the library was read again.
    package func verified(_ count: Int, bytes: UInt64, damaged: Int) {
        let photos = HumanText.count(count, "photo", "photos")
        logger.notice("verified \(photos), \(bytes >> 20) MiB: \(damaged) damaged or missing")
    }

    /// Somebody asked for something that moves no file.
    package func asked(_ what: RequestKind, _ inbox: String?, _ path: BytePath?, by requester: Requester) {
        let subject = path.map { "\(inbox ?? "")/\($0.escaped)" } ?? inbox ?? "all inboxes"
        let (id, words): (MessageID, String) =
            switch what {
            case .pause: (.paused, "paused \(subject)")
            case .resume: (.resumed, "resumed \(subject)")
            case .retry: (.retryAsked, "trying what is deferred of \(subject) now")
            default: (.rescanAsked, "examining \(subject) again")
            }
        var fields: Logger.Metadata = ["user": "\(requester.user)"]
        if let inbox { fields["inbox"] = "\(inbox)" }
        if let path { fields["file"] = "\(path.escaped)" }
        logger.log(.notice, id, "\(words), asked by \(requester.words)", metadata: fields)
    }

    /// A file was moved on request.
    package func moved(_ what: RequestKind, _ answer: ControlAnswer, by requester: Requester) {
        let id: MessageID =
            switch what {
            case .release: .released
            case .undo: .undone
            case .store: .stored
            default: .discarded
            }
        guard let item = answer.items.first else { return }
        var fields: Logger.Metadata = ["user": "\(requester.user)"]
        if let inbox = item.inbox { fields["inbox"] = "\(inbox)" }
        if let file = item.file { fields["file"] = "\(file.escaped)" }
        if let operation = item.operation { fields["operation"] = "\(operation)" }
        if let to = item.to { fields["dest"] = "\(to.escaped)" }
        logger.log(.notice, id, "\(answer.message), asked by \(requester.words)", metadata: fields)
    }

    /// What was discarded has lain in the trash for as long as the configuration says.
    package func expired(_ path: BytePath) {
        logger.log(
            .notice, .trashExpired, "deleted from the trash: \(path.escaped), whose time was over",
            metadata: ["file": "\(path.escaped)"])
    }

    /// The state was written out; the readable summary.
    package func dumped(_ state: DaemonState, at path: BytePath, asked by: String) {
        let waiting = state.inHand.prefix(5).map { "\($0.inbox)/\($0.file): \($0.stage), \($0.what)" }
        let stuck = state.subsystems.compactMap { subsystem in
            subsystem.stuckSeconds.map { "\(subsystem.name) stuck for \(Int($0)) s in: \(subsystem.step)" }
        }
        let problems = state.problems.map { "\($0.code) \($0.what)" }
        let parts = [
            "\(state.program.status), up \(Int(state.program.uptimeSeconds)) s",
            "\(state.monitors.count) monitors, \(state.inboxes.reduce(0) { $0 + $1.watches }) watches",
            "\(state.program.residentBytes >> 20) MiB resident, \(state.program.descriptors) descriptors",
        ]
        logger.log(
            .notice, .stateDumped,
            "state in \(path.escaped), asked by \(by): \((parts + stuck + problems + waiting).joined(separator: "; "))",
            metadata: ["file": "\(path.escaped)"])
    }
}
