import CommandSupport
import FileValues
import LinuxKernel
import Settings

/// Plans the unit's drop-ins, and that the service runs with the configuration.
struct SetupService {
    let answers: SetupAnswers
    let facts: SetupFacts
    let settings: Settings
    /// The name of the inbox.
    let inbox: String
    /// Whether the configuration is changed by an earlier step.
    let isChanged: Bool

    /// Adds what starts the service, with drop-ins if `hasDropIns` were added, or has it read its configuration.
    func addSteps(to steps: inout [SetupStep], hasDropIns: Bool) throws(CommandFailure) {
        // Asking would start one whose socket a unit has made.
        let running = facts.unit?.isActive == false ? nil : try facts.running(settings)
        // As the configuration names them.
        let isCurrent =
            running.map { found in
                found.library == settings.library?.path
                    && settings.inboxes.contains { $0.name == inbox && found.inboxes.contains($0.path) }
            } ?? false
        guard let unit = facts.unit else {
            let identity =
                answers.isOfSystem
                ? "setpriv --reuid=\(facts.service) --regid=\(facts.serviceGroup) --init-groups " : ""
            let start = "\(identity)photoinboxd --config \(answers.configuration.quoted)"
            if isCurrent, !isChanged { return steps.addRight("photoinboxd", "runs with it") }
            if running != nil { return addReload("photoinboxd", to: &steps) }
            return steps.add(
                "photoinboxd", "no service manager has a unit for it", "started by hand", .byHand, [start],
                undo: "end it with Ctrl-C")
        }
        let mustRestart =
            hasDropIns || isOutdated(unit)
            || steps.contains { step in
                if case .run(let words) = step.act { words.last == facts.service } else { false }
            }
        let service = unit.name + ".service"
        if unit.isEnabled { steps.addRight(service, "enabled") }
        if !unit.isActive {
            let stop = unit.command("stop", service)
            steps.addRun(service, "not running", "started", unit.command("start", service), undo: stop) {
                .start($0, stop: stop)
            }
        } else if mustRestart || running == nil {
            steps.addRun(
                service, "running without these changes", "restarted", unit.command("restart", service)
            ) { .start($0, stop: nil) }
        } else if isCurrent, !isChanged {
            steps.addRight(service, "runs with it")
        } else {
            addReload(service, to: &steps)
        }
        // One that does not start is not enabled either.
        if !unit.isEnabled {
            steps.addRun(
                service, "not enabled", "started at boot", unit.command("enable", service),
                undo: unit.command("disable", service))
        }
    }

    /// Whether it was started before it got a group or its drop-in, by a run of this that ended early.
    private func isOutdated(_ unit: SetupUnit) -> Bool {
        guard answers.isOfSystem, unit.isActive else { return false }
        if answers.droppers != .me, let group = answers.group, group != facts.serviceGroup,
            let number = facts.groupNumber(group), unit.groups?.contains(number) == false
        {
            return true
        }
        guard let started = unit.started, let changed = facts.modified(unit.dropIn(for: unit.name)) else {
            return false
        }
        return changed > started
    }

    private func addReload(_ subject: String, to steps: inout [SetupStep]) {
        steps.add(
            subject, "running with the previous configuration", "reloaded", .reload,
            ["photoinbox reload\(facts.option(for: answers.configuration))"])
    }

    /// Adds drop-ins. Returns whether there was something to add.
    func addDropIns(
        to steps: inout [SetupStep], _ directories: inout SetupDirectories
    ) throws(CommandFailure) -> Bool {
        guard answers.isOfSystem, let unit = facts.unit else { return false }
        let own = unit.dropIn(for: unit.name)
        // What an earlier one allows has to be in this one, too.
        let others = unit.without(facts.content(own) ?? [])
        let inboxes = try settings.inboxes.map { inbox throws(CommandFailure) in try facts.resolve(inbox.path) }
        let library = settings.library.map { [$0.path, $0.quarantine, $0.duplicates, $0.returned, $0.trash] } ?? []
        let places = inboxes + (try library.map { path throws(CommandFailure) in try facts.resolve(path) })
        let roots = BytePath.roots(of: places.filter { !others.reaches($0) })
        let servers = others.hasNetwork ? [] : try facts.addresses(of: settings.catalogue)
        let text = Array(unit.dropInText(roots, servers: servers).utf8)
        if roots.isEmpty && servers.isEmpty || facts.content(own) == text && unit.isLoaded {
            steps.addRight("\(unit.name).service", "may write to inbox and library")
            return false
        }
        // That of the daemon at last: while it is missing, this is repeated.
        // What downloads writes into inboxes alone.
        for (file, roots, servers) in [
            (unit.dropIn(for: "photoinboxd-fetch@"), BytePath.roots(of: inboxes.filter { !others.reaches($0) }), []),
            (own, roots, servers),
        ] {
            let (old, lines) = (facts.content(file), unit.dropInText(roots, servers: servers))
            if roots.isEmpty && servers.isEmpty || old == Array(lines.utf8) { continue }
            try directories.addAbove(file, to: &steps)
            let allowed = [("may write to", roots.map(\.escaped)), ("may reach", servers)].filter { !$0.1.isEmpty }
            steps.addFile(
                file, old == nil ? "missing" : "for other places",
                allowed.map { "\($0.0) \($0.1.joined(separator: " and "))" }.joined(separator: ", "), was: old,
                Array(lines.utf8),
                ["tee \(file.quoted) <<'END'"] + lines.split(separator: "\n").map(String.init) + ["END"],
                date: facts.date, then: "systemctl daemon-reload")
        }
        steps.addRun("systemd", "has not read the drop-ins", "reads them", unit.command("daemon-reload"))
        return true
    }
}
