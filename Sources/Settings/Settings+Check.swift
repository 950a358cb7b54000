import FileValues
import LinuxKernel
import PhotoModel

extension Settings {
    /// Returns why a daemon could not run with this configuration, and warnings, in file order: directories that are
    /// missing, not accessible, or the same under two names; programs that cannot be run.
    package func check(against facts: some FileSystemFacts) -> [SettingsIssue] {
        var check = SettingsCheck(settings: self, facts: facts)
        check.run()
        return check.issues
    }

    /// Returns the forbidden overlaps of directories, one sentence each, since mounts may have changed after the
    /// configuration was read. Creates no file. Waits for the library's file system, and two seconds for an inbox.
    package func nestings(seenBy facts: some FileSystemFacts = LocalFileSystem(patience: 2)) -> [String] {
        var check = SettingsCheck(settings: self, facts: facts)
        return check.nestings()
    }

    /// Returns the value of `key` with its origin.
    package func effective(_ key: String) -> EffectiveSetting? { effective.first { $0.key == key } }
}

private struct SettingsCheck<Facts: FileSystemFacts> {
    let settings: Settings
    let facts: Facts
    var issues: [SettingsIssue] = []
    /// Directories that exist or can be created.
    private var found: [(place: NamedPlace, facts: DirectoryFacts)] = []

    init(settings: Settings, facts: Facts) {
        self.settings = settings
        self.facts = facts
    }

    mutating func run() {
        checkDirectories()
        checkRealPlaces()
        for descriptor in settings.descriptors { checkFIFO(descriptor) }
        for hook in settings.hooks { checkHook(hook) }
        checkMetrics()
        let known = issues.enumerated()
        issues = known.sorted { (order($0.element), $0.offset) < (order($1.element), $1.offset) }.map(\.element)
    }

    private mutating func checkDirectories() {
        let top = Keys.top
        if let library = settings.library {
            checkDirectory(library.path, .library, top.library.at(), isMade: false)
            checkDirectory(library.quarantine, .quarantine, top.quarantine.at())
            checkDirectory(library.duplicates, .duplicates, top.duplicates.at())
            // Created when they are first needed; filing continues even if that fails.
            for (path, role, key) in [
                (library.returned, NamedPlace.Role.returned, top.returned), (library.trash, .trash, top.trash),
            ] {
                if case .missing = facts.entry(at: path) {
                    expect(path, role, key.at())
                    continue
                }
                checkDirectory(path, role, key.at(), mustBeWritable: false)
            }
            checkOwners(of: library)
        }
        if let group = settings.operators, !facts.hasGroup(group) { report("no such group", top.operators.at()) }
        checkDirectory(settings.state, .state, top.state.at())
        checkDirectory(settings.runtime, .runtime, top.runtime.at())
        if let directory = settings.catalogue.file?.parent, directory != settings.state {
            checkDirectory(directory, .catalogue, top.catalogue.at(), isMade: false)
        }
        for inbox in settings.inboxes {
            let key = Keys.inbox.path.at(inbox.name)
            checkDirectory(inbox.path, .inbox(inbox.name), key, isMade: false, mustBeWritable: false)
            if let last = found.last, last.place.role == .inbox(inbox.name), !last.facts.isWritable,
                inbox.mode == .move
            {
                report(
                    "not writable, so filed photos cannot be removed from it; set mode = \"copy\" to keep them there",
                    key, severity: .warning)
            }
        }
    }

    private mutating func checkOwners(of library: LibrarySettings) {
        let (keys, name) = (Keys.filing, facts.user.name)
        // A unit may give its service capabilities and groups that a check outside of it does not have.
        let severity: SettingsIssue.Severity = facts.isOutsideUnit ? .warning : .error
        if let owner = library.owner {
            if !facts.hasUser(owner) {
                report("no such user", keys.owner.at())
            } else if !facts.mayGiveFiles(toUser: owner) {
                report(
                    "\(name) may not give files to another user, which needs CAP_CHOWN and CAP_FOWNER; leave it out, and "
                        + "set group and mode", keys.owner.at(), severity: severity)
            }
        }
        if let group = library.group {
            if !facts.hasGroup(group) {
                report("no such group", keys.group.at())
            } else {
                let mayGive = facts.mayGiveFiles(toGroup: group, in: library.path)
                if mayGive != true {
                    report(
                        "\(name) may not give files to this group, which it is not a member of" + joining(group),
                        keys.group.at(), severity: mayGive == nil ? .warning : severity)
                }
            }
        }
        let isWritable = found.contains { $0.place.role == .library && $0.facts.isWritable }
        if isWritable, let group = facts.groupLost(below: library.path) {
            // The unit's umask has fchmod(2) called for each, which clears the bit.
            let effect = library.group == group ? "photos for those are not filed" : "files in those that group"
            report(
                "\(name) is not a member of the group \(group) of this set-group-ID directory, so new directories in it may "
                    + "lose that bit, and \(effect)" + joining(group), Keys.top.library.at(), severity: .warning)
        }
    }

    private mutating func checkDirectory(
        _ path: BytePath, _ role: NamedPlace.Role, _ key: SettingsKey, isMade: Bool = true, mustBeWritable: Bool = true
    ) {
        let isInbox = if case .inbox = role { true } else { false }
        switch isInbox ? facts.inbox(at: path) : facts.entry(at: path) {
        case .directory(let directory):
            if !directory.isReadable {
                report("\(facts.user.name) has no permission to read and search this directory" + remedy(path), key)
            } else if mustBeWritable, !directory.isWritable {
                report("\(facts.user.name) has no permission to write to this directory" + remedy(path), key)
            }
            found.append((place(path, role, key), directory))
        case .missing:
            if isMade, expect(path, role, key) { return }
            let user = facts.user
            // The unit creates them: StateDirectory= and RuntimeDirectory= of systemd.exec(5).
            if user.isService, [.state, .runtime].contains(role) { return }
            let way =
                user.isService ? "sudo install -d -o \(user.name) -g \(user.name) -m 2775 \(path)" : "mkdir -p \(path)"
            report("no such directory; create it (\(way)), or correct the path" + hint(of: path), key)
        case .unreachable(let reason):
            guard isInbox else { return report("cannot be checked: \(reason)", key) }
            report(
                "does not answer (\(reason)); it will be watched once it answers, other inboxes are watched now", key,
                severity: .warning)
        case .unknown(let reason):
            report(
                "cannot be checked: \(reason)" + hint(of: path), key,
                severity: facts.isOutsideUnit && isHome(path) ? .warning : .error)
        case .fifo, .file, .other: report("this is not a directory", key)
        }
    }

    private func joining(_ group: String) -> String {
        "; sudo usermod -aG \(group) \(facts.user.name), then restart photoinboxd"
    }

    /// The command that grants a service's user access.
    private func remedy(_ path: BytePath) -> String {
        let user = facts.user
        return user.isService ? "; sudo chown \(user.name): \(path)" : ""
    }

    private func isHome(_ path: BytePath) -> Bool { facts.homes.contains { path.isInside($0) } }

    /// The installed unit hides home directories, which a check from a shell sees.
    private func hint(of path: BytePath) -> String {
        isHome(path) ? "; for the installed service, see HOME DIRECTORIES in photoinboxd(8)" : ""
    }

    /// Records the future place of a directory that is created later. Returns whether its nearest existing ancestor is
    /// writable, so that it can be created.
    @discardableResult
    private mutating func expect(_ path: BytePath, _ role: NamedPlace.Role, _ key: SettingsKey) -> Bool {
        var above = path.parent
        while !above.isEmpty {
            switch facts.entry(at: above) {
            case .directory(var directory):
                let way = path.relative(to: above) ?? ""
                directory.realPath = directory.realPath?.appending(way)
                directory.place = directory.place?.foreseen(way)
                found.append((place(path, role, key), directory))
                return directory.isWritable
            case .missing where above != "/": above = above.parent
            default: return false
            }
        }
        return false
    }

    /// Checks the rules for real places, too, since links and mounts may join directories with separate names.
    private mutating func checkRealPlaces() {
        for overlap in realOverlaps(probing: true) {
            issues.append(
                SettingsIssue(overlap.message, statement: overlap.blamed.statement, origin: overlap.blamed.origin))
        }
    }

    /// Returns overlaps that the names do not show; the others were reported when the configuration was read.
    private func realOverlaps(probing: Bool) -> [Overlap] {
        let mounts = facts.mounts()
        let known = found.reduce(into: [NamedPlace.Role: DirectoryFacts]()) { $0[$1.place.role] = $1.facts }
        return Overlap.all(among: found.map(\.place)) { first, second in
            guard Overlap.relation(of: first.path, second.path) == nil, let one = known[first.role],
                let other = known[second.role]
            else { return nil }
            let real = (one.realPath ?? first.path, other.realPath ?? second.path)
            if let relation = Overlap.relation(of: real.0, real.1) {
                return Overlap.Meeting(relation: relation, how: "without links they are", places: real)
            }
            guard let one = one.place, let other = other.place else { return nil }
            if let meeting = mounts.meeting(of: one, other) {
                return Overlap.Meeting(
                    relation: meeting.relation, how: "both lie in \(meeting.fileSystem), as",
                    places: (meeting.first, meeting.second))
            }
            // Places beside the library usually share its file system, and each probe may need the network.
            let isWorthIt = probing && [first, second].allSatisfy { $0.role == .library || $0.isInbox }
            guard isWorthIt, mounts.mayBeTwins(one, other), let relation = facts.probe(first.path, second.path) else {
                return nil
            }
            return Overlap.Meeting(
                relation: relation, how: "a file made in one was seen in the other, though they are mounts of their own"
            )
        }
    }

    mutating func nestings() -> [String] {
        checkDirectories()
        return realOverlaps(probing: false).map(\.sentence)
    }

    /// Reports warnings only, since photos are filed without metrics, too.
    private mutating func checkMetrics() {
        guard let directory = settings.metrics?.textfile.parent else { return }
        let message: String
        switch facts.entry(at: directory) {
        case .directory(let directory):
            if directory.isWritable { return }
            message = "\(facts.user.name) has no permission to write to its directory"
        case .missing: message = "its directory does not exist"
        case .unreachable(let reason), .unknown(let reason): message = "its directory cannot be checked: \(reason)"
        case .fifo, .file, .other: message = "its parent is not a directory"
        }
        report(message, Keys.metrics.textfile.at(), severity: .warning)
    }

    private mutating func checkFIFO(_ descriptor: DescriptorSettings) {
        let key = Keys.descriptor.fifo.at(descriptor.name)
        switch facts.entry(at: descriptor.fifo) {
        case .fifo: break
        case .missing:
            let parent = descriptor.fifo.parent
            if settings.directoriesToMake.contains(parent) { return }
            guard case .directory(let directory) = facts.entry(at: parent) else {
                return report("no such directory: \(parent); create it, or correct the path", key)
            }
            if !directory.isWritable { report("the FIFO does not exist, and \(parent) is not writable", key) }
        case .unknown(let reason), .unreachable(let reason): report("cannot be checked: \(reason)", key)
        case .directory, .file, .other: report("this is not a FIFO; choose another path", key)
        }
    }

    private mutating func checkHook(_ hook: HookSettings) {
        let key = Keys.hook.command.at(hook.name)
        let program = hook.program
        switch facts.entry(at: program) {
        case .file(isExecutable: true):
            if let objection = facts.objection(to: program, owners: settings.programOwners, isProgram: true) {
                return report("\(objection); whoever can change it could run programs as the hooks' user", key)
            }
            // A user who can change the configuration could name any program, with any arguments.
            if case .file(let path, _) = settings.effective(key.text)?.origin,
                let objection = facts.objection(to: path, owners: settings.programOwners, isProgram: false)
            {
                report("a configuration with hooks must be safe: \(objection)", key)
            }
        case .file(isExecutable: false): report("\(program) is not executable; run chmod +x on it", key)
        case .missing: report("no such program: \(program)", key)
        case .unknown(let reason), .unreachable(let reason): report("\(program) cannot be checked: \(reason)", key)
        case .directory, .fifo, .other: report("\(program) is not a program", key)
        }
    }

    private func place(_ path: BytePath, _ role: NamedPlace.Role, _ key: SettingsKey) -> NamedPlace {
        let (statement, origin) = statement(of: key)
        return NamedPlace(role: role, path: path, origin: origin, statement: statement)
    }

    private mutating func report(_ message: String, _ key: SettingsKey, severity: SettingsIssue.Severity = .error) {
        let (statement, origin) = statement(of: key)
        issues.append(SettingsIssue(message, statement: statement, origin: origin, severity: severity))
    }

    private func statement(of key: SettingsKey) -> (String, Origin) {
        let setting = settings.effective(key.text)
        let value = setting?.value ?? ""
        if case .flag(let flag) = setting?.origin { return (excerpt("\(flag) \(value)"), .flag(flag)) }
        return (excerpt("\(key.name) = \(value)"), setting?.origin ?? .standard)
    }

    /// Lines of files first, then the others in the order of the checks.
    private func order(_ issue: SettingsIssue) -> Int {
        if case .file(_, let position) = issue.origin { position.line } else { .max }
    }
}
