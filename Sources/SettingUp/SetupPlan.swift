import CommandSupport
import FileValues
import LinuxKernel
import Reporting
import Settings

/// What has to be done, from what there is and what is wanted: what is right already is not touched. Pure.
struct SetupPlan {
    let answers: SetupAnswers
    private(set) var steps: [SetupStep] = []
    let settings: Settings
    /// The name of the inbox.
    let inbox: String
    /// How many files and directories in the inbox are filed as soon as it is one.
    let arrivals: Int

    /// Where it is, without links.
    let configurationFile: BytePath

    let hasUserUnit: Bool

    /// Throws if something stands in the way that a person has to decide.
    init(_ asked: SetupAnswers, _ facts: SetupFacts) throws(CommandFailure) {
        var answers = asked
        answers.inbox = try facts.resolve(answers.inbox)
        answers.library = try facts.resolve(answers.library)
        self.answers = answers
        hasUserUnit = facts.unit?.isOfUser == true
        // One that cannot be seen is reported with the directory that hides it.
        if let reason = facts.unreadable, let place = facts.place(try facts.resolve(answers.configuration)) {
            throw CommandFailure(
                .permission,
                "\(answers.isOfSystem ? "root" : answers.user) cannot read \(answers.configuration)"
                    + " (\(place.text)): \(reason)",
                action: answers.isOfSystem ? nil : place.ownerAdvice(answers.configuration))
        }
        for path in [answers.inbox, answers.library] { try facts.requireNoOtherUse(of: path, answers) }
        try answers.droppers.requireNamed(answers)
        configurationFile = try facts.resolve(answers.configuration)
        let change = try SetupConfiguration(answers, old: facts.configuration, facts.context, facts.resolve)
        (settings, inbox) = (change.settings, change.inbox)
        if let joined = answers.joined {
            let former = settings.state.appending("catalogue.sqlite")
            let photos = try facts.photos(former)
            if photos > 0 {
                throw CommandFailure(
                    .configuration, "this machine has \(photos) photos in a catalogue of its own, \(former)",
                    action: "If that database is empty, copy them: photoinbox catalogue copy \(former.quoted) "
                        + "\(shellQuoted(joined))\nThen, or without that, move the file to another place.")
            }
            try facts.requirePasswordFile(of: joined)
            try facts.catalogue(settings, inbox).requireRoom(for: inbox, settings)
        }
        arrivals = change.isNewInbox ? facts.place(answers.inbox)?.entries ?? 0 : 0
        if let unit = facts.unit, unit.isMasked {
            throw CommandFailure(
                .unavailable, "\(unit.name).service is masked: somebody has forbidden it to start",
                action: "Allow it: \(unit.command("unmask", unit.name).joined(separator: " "))")
        }
        if answers.isOfSystem {
            try addAccounts(facts)
        } else if answers.droppers == .local {
            throw CommandFailure(
                .permission, "\(answers.user) cannot give other people access to an inbox",
                action: "Use sudo, or --for me.")
        }
        var directories = SetupDirectories(answers: answers, facts: facts, isNewInbox: change.isNewInbox)
        try directories.addPlaces(settings, to: &steps)
        let service = SetupService(
            answers: answers, facts: facts, settings: settings, inbox: inbox, isChanged: change.text != nil)
        // Before the configuration, with which the service would not start without them.
        let hasDropIns = try service.addDropIns(to: &steps, &directories)
        try addConfiguration(change, facts, &directories)
        try service.addSteps(to: &steps, hasDropIns: hasDropIns)
    }

    /// Whether nothing has to be done.
    var isRight: Bool { steps.allSatisfy { $0.act == nil } }

    /// The group that may drop if none is named: that of an inbox which the service files from, and is a member of.
    static func knownGroup(_ inbox: SetupPlace?, isConfigured: Bool, _ service: Account?) -> String? {
        guard isConfigured, let inbox, inbox.mode & 0o2000 != 0, inbox.groupNumber != 0,
            service?.groups.contains(inbox.groupNumber) == true
        else { return nil }
        return inbox.group
    }

    private mutating func addAccounts(_ facts: SetupFacts) throws(CommandFailure) {
        guard let user = facts.account(answers.user) else {
            throw CommandFailure(
                .usage, "there is no user \(printable(answers.user))", action: "Name one of those who drop: --as USER")
        }
        if user.user == 0 {
            throw CommandFailure(
                .usage, "root may do everything, so its test would show nothing",
                action: "Name one of those who drop: --as USER")
        }
        let service = facts.service
        if [service, "_photoinbox-fetch"].contains(user.name) {
            throw CommandFailure(
                .usage, "\(user.name) is a user of the service, so its test would show nothing",
                action: "Name one of those who drop: --as USER")
        }
        if facts.account(service) == nil {
            steps.addRun(
                "user \(service)", "missing", "created from sysusers.d", ["systemd-sysusers"],
                undo: ["userdel", service])
        } else {
            steps.addRight("user \(service)", "exists")
        }
        guard answers.droppers != .me, let group = answers.group else { return }
        let isOfService = group == facts.serviceGroup
        if facts.groupNumber(group) == 0 || group.allSatisfy(\.isNumber) || !isPlainName(group) {
            throw CommandFailure(
                .usage, "\(printable(group)) cannot be the group of those who drop", action: "Give another --group.")
        } else if facts.groupNumber(group) != nil {
            steps.addRight("group \(group)", "exists")
        } else if !isOfService {
            steps.addRun(
                "group \(group)", "missing", "created", ["groupadd", "--system", group], undo: ["groupdel", group])
        }
        // Of another group than its own, the service has to be a member as well, and so has who downloads for it.
        for name in [answers.user] + (isOfService ? [] : [service, "_photoinbox-fetch"]) {
            let account = facts.account(name)
            // systemd-sysusers makes both users.
            if account == nil, facts.account(service) != nil { continue }
            if let number = facts.groupNumber(group), account?.groups.contains(number) == true {
                steps.addRight("\(name) in \(group)", "a member")
                continue
            }
            steps.addRun(
                "\(name) in \(group)", "not a member",
                name == answers.user ? "a member, in sessions from the next login on" : "a member",
                ["usermod", "-aG", group, name], undo: ["gpasswd", "-d", name, group])
        }
    }

    private mutating func addConfiguration(
        _ change: SetupConfiguration, _ facts: SetupFacts, _ directories: inout SetupDirectories
    ) throws(CommandFailure) {
        let file = configurationFile
        try directories.addAbove(file, to: &steps)
        guard let text = change.text else {
            return steps.addRight(file.escaped, "has [inbox.\(inbox)] and the library")
        }
        var wanted = ["with"] + change.added.map { "+ \($0)" }
        if arrivals > 0 {
            wanted.append(
                "so that \(arrivals) files or directories in \(answers.inbox) are filed\(answers.droppers.keepsFiles ? "" : " and moved")"
            )
        }
        let old = facts.configuration
        steps.addFile(
            file, old == nil ? "missing" : "lacks \(change.added.count) lines", wanted.joined(separator: "\n"),
            was: old, text, change.commands, date: facts.date,
            then: old == nil ? nil : "photoinbox reload\(facts.option(for: answers.configuration))")
    }
}
