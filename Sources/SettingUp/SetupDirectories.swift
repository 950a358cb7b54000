import CommandSupport
import FileValues
import LinuxKernel
import Reporting
import Settings

/// Plans the directories: owner, group, mode and access lists. None is taken over that has other uses or other owners.
struct SetupDirectories {
    let answers: SetupAnswers
    let facts: SetupFacts
    /// Whether no daemon files from the inbox yet.
    let isNewInbox: Bool
    /// Those of the steps, which will be there.
    private var planned: Set<BytePath> = []

    init(answers: SetupAnswers, facts: SetupFacts, isNewInbox: Bool) {
        (self.answers, self.facts, self.isNewInbox) = (answers, facts, isNewInbox)
    }

    /// Adds the inbox, the library, and the directories beside it that the service cannot make itself.
    mutating func addPlaces(_ settings: Settings, to steps: inout [SetupStep]) throws(CommandFailure) {
        guard answers.isOfSystem else {
            let library = settings.library.map { [$0.quarantine, $0.duplicates, $0.returned, $0.trash] } ?? []
            return try addOwnPlaces([answers.inbox, answers.library], besides: library, to: &steps)
        }
        let (service, isOwn) = (facts.service, answers.droppers == .me)
        guard let user = facts.account(answers.user) else { return }
        // Once the steps before are done. What is not made yet has the number that nothing else has.
        let found = facts.account(service) ?? Account(name: service, user: .max, groups: [.max])
        let daemon = isOwn ? found : member(found)
        let dropper = isOwn ? user : member(user)
        let group = isOwn ? facts.serviceGroup : answers.group ?? facts.serviceGroup
        var asides: [BytePath] = []
        for path in settings.library.map({ [$0.quarantine, $0.duplicates, $0.returned, $0.trash] }) ?? [] {
            asides.append(try facts.resolve(path))
        }
        for path in asides { try facts.requireNoOtherUse(of: path, answers) }
        let hidden = facts.unit?.hiddenRoots(of: [answers.inbox, answers.library] + asides) ?? []
        try requireWay(to: answers.inbox, for: dropper)
        for path in [answers.inbox, answers.library] + asides {
            try requireWay(to: path, for: daemon, below: hidden.first { path.isInside($0) })
        }
        try addAbove(answers.inbox, to: &steps)
        let entries = isOwn ? "u:\(service):rwx,u:\(user.name):rwx" : "g:\(group):rwx"
        let mode = try addDirectory(
            answers.inbox, owner: isOwn ? user.name : service, group: group, mode: isOwn ? 0o2770 : 0o2775,
            keepsOwner: !isOwn || !isNewInbox, entries: entries, to: &steps
        ) { place in
            let isOfGroup = place.group == group && place.mode & 0o2070 == 0o2070
            return (place.access != nil || isOfGroup) && !place.isSticky(for: daemon)
                && place.grants(7, to: daemon) && place.grants(3, to: dropper)
        }
        try addNewFiles(daemon, entries, mode, to: &steps)
        try addAbove(answers.library, to: &steps)
        for path in [answers.library] + asides {
            // The daemon makes the others itself where it may.
            let above = facts.place(path.parent)
            if path != answers.library, facts.place(path) == nil, above?.grants(3, to: daemon) == true { continue }
            if path != answers.library { try addAbove(path, to: &steps) }
            // Those who drop read the library, and move nothing in it, unless it is one of theirs.
            let place = facts.place(path)
            let isKept = place.map { $0.user != 0 && $0.owner != service } ?? false
            let mode: UInt32 = path == answers.library ? 0o2755 : place == nil ? 0o750 : 0o2750
            try addDirectory(
                path, owner: service, group: facts.serviceGroup, mode: isKept ? mode | 0o20 : mode, keepsOwner: isKept,
                entries: "u:\(service):rwx", to: &steps
            ) { place in place.grants(7, to: daemon) && !place.isSticky(for: daemon) }
        }
    }

    /// Directories that people make in the inbox, and files of those with another umask, are for the group, too.
    private mutating func addNewFiles(_ daemon: Account, _ entries: String, _ mode: UInt32, to steps: inout [SetupStep])
        throws(CommandFailure)
    {
        let (path, place) = (answers.inbox, facts.place(answers.inbox))
        let name = path.quoted
        if let place, place.access != nil {
            // They get another group, unless it has the set-group-ID bit.
            let group = place.mode & 0o2000 != 0 ? place.groupNumber : .max - 1
            guard place.newFiles?.grants(7, to: daemon, owner: .max - 1, group: group) == true else {
                throw listed(path, place, entries)
            }
            return steps.addRight("new files in \(path)", "open by its list")
        }
        if place?.newFiles?.isOpenToGroup == true { return steps.addRight("new files in \(path)", "open to the group") }
        let list = place?.newFiles?.openingToGroup() ?? AccessList(mode: 0o770 | mode & 7)
        steps.add(
            "new files in \(path)", place?.newFiles?.text ?? "as each user's umask says", "open to the group",
            .newFiles(path, was: place, list), ["setfacl -d --set \(list.text) \(name)"],
            undo: place?.newFiles.map { "setfacl -d --set \($0.text) \(name)" } ?? "setfacl -k \(name)")
    }

    /// `account` as a member of the group that may drop.
    private func member(_ account: Account) -> Account {
        let number = answers.group.map { facts.groupNumber($0) ?? .max }
        return Account(
            name: account.name, user: account.user, groups: account.groups + (number.map { [$0] } ?? []),
            home: account.home)
    }

    /// Directories for a user's own daemon, which makes those that are `besides` them itself where it may.
    private mutating func addOwnPlaces(
        _ paths: [BytePath], besides: [BytePath], to steps: inout [SetupStep]
    ) throws(CommandFailure) {
        guard let own = facts.account(answers.user) else { return }
        // Those that are missing below a directory that the user may not write to.
        var missing: [BytePath] = []
        var closed: BytePath?
        for path in paths + besides {
            try requireWay(to: path, for: own)
            if let place = facts.place(path) {
                if place.grants(7, to: own) || !place.isDirectory { continue }
                let isFree = place.user == 0 && place.entries == 0 && !path.isInside("/etc")
                throw forbidden(
                    own, "write to", path, place,
                    isFree ? "Allow it: sudo chown \(own.name): \(path.quoted)" : place.ownerAdvice(path))
            }
            guard let above = path.ancestors.last(where: { facts.place($0) != nil }), let place = facts.place(above),
                !place.grants(3, to: own)
            else { continue }
            guard place.user == 0, !path.isInside("/etc") else {
                throw forbidden(own, "make a directory in", above, place, place.ownerAdvice(above))
            }
            closed = closed ?? above
            for path in path.ancestors + [path] where facts.place(path) == nil && !missing.contains(path) {
                missing.append(path)
            }
        }
        if let closed, let place = facts.place(closed) {
            let names = missing.map(\.quoted).joined(separator: " ")
            throw forbidden(
                own, "make a directory in", closed, place, "Allow it: sudo install -d -o \(own.name) \(names)")
        }
        for path in paths {
            try addAbove(path, to: &steps)
            try addDirectory(path, owner: nil, group: nil, mode: nil, to: &steps) { _ in true }
        }
    }

    /// Missing directories above `path`, which belong to who owns the one that they are made in.
    mutating func addAbove(_ path: BytePath, to steps: inout [SetupStep]) throws(CommandFailure) {
        for above in path.ancestors where facts.place(above) == nil && !planned.contains(above) {
            let place = above.ancestors.last { facts.place($0) != nil }.flatMap { facts.place($0) }
            let owner = answers.isOfSystem ? place : nil
            try addDirectory(
                above, owner: owner?.owner, group: owner?.group, mode: owner == nil ? nil : 0o755, to: &steps
            ) { _ in true }
        }
    }

    /// Returns the mode that it has then. `entries` of an access list would give the same without taking it over.
    @discardableResult
    private mutating func addDirectory(
        _ path: BytePath, owner: String?, group: String?, mode: UInt32?, keepsOwner: Bool = false,
        entries: String = "", to steps: inout [SetupStep], isRight: (SetupPlace) -> Bool
    ) throws(CommandFailure) -> UInt32 {
        guard planned.insert(path).inserted else { return facts.place(path)?.mode ?? mode ?? 0 }
        let name = path.quoted
        guard let place = facts.place(path) else {
            let bits = mode.map { octal($0) } ?? ""
            let owners = owner.map { " -o \($0) -g \(group ?? $0)" } ?? ""
            steps.add(
                path.escaped, "missing",
                owner.map { "a directory of \($0):\(group ?? $0) \(bits)" } ?? "a directory",
                .directory(path, was: nil, owner: owner, group: group, mode: mode),
                [mode == nil ? "mkdir \(name)" : "install -d\(owners) -m \(bits) \(name)"]
                    + (mode != nil && facts.place(path.parent)?.newFiles != nil ? ["setfacl -b \(name)"] : []),
                undo: "rmdir \(name)")
            return mode ?? 0
        }
        guard place.isDirectory else {
            throw CommandFailure(.usage, "\(path) is not a directory", action: "Give another.")
        }
        if isRight(place) {
            steps.addRight(path.escaped, place.text)
            return place.mode
        }
        if place.access != nil { throw listed(path, place, entries) }
        if place.mode & 0o1000 != 0, place.owner != facts.service {
            throw CommandFailure(
                .permission,
                "in \(path) (\(place.text)) only the owner of a file may remove it, and the service has to",
                action: "Name a directory in it, or change it: sudo chmod -t \(name)")
        }
        // What is in it stays whose it is.
        let isUsers = place.owner == answers.user
        let isFree = place.entries == 0 && (place.user == 0 || isUsers)
        guard place.owner == facts.service || isFree || isUsers && path == answers.inbox else {
            throw CommandFailure(
                .permission,
                "\(path) (\(place.text)) \(place.user == 0 || isUsers ? "is not empty" : "belongs to \(place.owner)")",
                action: "Name another directory. " + allowance(Self.twice(entries), path, place))
        }
        let isNamed = answers.isGroupChosen && path == answers.inbox
        guard
            isNamed || [0, place.user].contains(place.groupNumber) || place.group == place.owner
                || [group, facts.serviceGroup].contains(place.group)
        else {
            throw CommandFailure(
                .permission, "\(path) (\(place.text)) is for the group \(place.group)",
                action: (path == answers.inbox && answers.group != nil ? "Give --group \(place.group). " : "")
                    + allowance(Self.twice(entries), path, place))
        }
        var after = place
        after.mode |= (mode ?? 0) & 0o7770
        if let group { (after.group, after.groupNumber) = (group, facts.groupNumber(group) ?? .max) }
        if let owner, !keepsOwner { (after.owner, after.user) = (owner, facts.account(owner)?.user ?? .max) }
        guard isRight(after) else {
            throw CommandFailure(
                .permission, "\(path) (\(place.text)) would not do as \(after.text) either",
                action: "Name another directory.")
        }
        steps.add(
            path.escaped, place.text, after.text,
            .directory(path, was: place, owner: keepsOwner ? nil : owner, group: group, mode: after.mode),
            ["chown \(after.owner):\(after.group) \(name)", "chmod 0\(after.modeText) \(name)"],
            // Five digits, since with four chmod keeps the set-group-ID bit of a directory.
            undo: "chown \(place.owner):\(place.group) \(name); chmod 0\(place.modeText) \(name)")
        return after.mode
    }

    private func listed(_ path: BytePath, _ place: SetupPlace, _ entries: String) -> CommandFailure {
        CommandFailure(
            .permission,
            "\(path) (\(place.text)) has an access list, which does not let \(facts.service) and "
                + "\(answers.user) write to it and to what will be in it",
            action: allowance(Self.twice(entries), path, place))
    }

    /// The command that adds these entries to the access list of a directory, and of what is in it at `place`.
    private func allowance(_ entries: String, _ path: BytePath, _ place: SetupPlace? = nil) -> String {
        let isEmpty = place.map { $0.entries == 0 } ?? true
        let change = isEmpty ? "-m \(entries)" : "-R -m \(entries.replacing("rwx", with: "rwX"))"
        let user = facts.account(facts.service) == nil ? "sudo systemd-sysusers; " : ""
        return (facts.hasSetfacl ? "Allow it: " : "Install the package acl, then allow it: ")
            + user + setfaclCommand(change, path)
    }

    /// Entries of an access list, also for new files.
    private static func twice(_ entries: String) -> String {
        entries + entries.split(separator: ",").map { ",d:\($0)" }.joined()
    }

    /// Throws if `account` may not search a directory above `path`, of those from `root` on.
    private func requireWay(to path: BytePath, for account: Account, below root: BytePath? = nil) throws(CommandFailure)
    {
        for above in path.ancestors where root.map({ above.isInside($0) }) ?? true {
            guard let place = facts.place(above) else { return }
            guard place.isDirectory else {
                throw CommandFailure(.usage, "\(above) is not a directory", action: "Give another place than \(path).")
            }
            if place.grants(1, to: account) { continue }
            throw forbidden(
                account, "enter", above, place,
                above.isInside("/root") || above.isInside("/etc")
                    ? place.ownerAdvice(above) : allowance("u:\(account.name):x", above))
        }
    }

    private func forbidden(
        _ account: Account, _ act: String, _ path: BytePath, _ place: SetupPlace, _ action: String
    ) -> CommandFailure {
        CommandFailure(.permission, "\(account.name) may not \(act) \(path) (\(place.text))", action: action)
    }
}
