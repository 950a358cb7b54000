import FileValues
import LinuxKernel

extension Settings {
    /// What stands between this configuration and a running daemon: directories that are missing, or may not be
    /// entered, or are the same under two names; programs that cannot be run. In file order; warnings among them.
    package func check(against facts: some FileSystemFacts) -> [SettingsIssue] {
        var check = SettingsCheck(settings: self, facts: facts)
        check.run()
        return check.issues
    }

    /// Directories that meet now although they must not, a sentence each, naming both and how they meet: what was found
    /// apart when the configuration was read, and mounts have joined since. Makes no file; waits for the library's file
    /// system, and for an inbox two seconds.
    package func nestings(seenBy facts: some FileSystemFacts = LocalFileSystem(patience: 2)) -> [String] {
        var check = SettingsCheck(settings: self, facts: facts)
        return check.nestings()
    }

    /// What is said about `key`, as the check's messages show it.
    package func effective(_ key: String) -> EffectiveSetting? { effective.first { $0.key == key } }
}

private struct SettingsCheck<Facts: FileSystemFacts> {
    let settings: Settings
    let facts: Facts
    var issues: [SettingsIssue] = []
    /// Directories that are there, by what they are for.
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
        if let library = settings.library {
            checkDirectory(library.path, .library, key: "library", isMade: false, mustBeWritable: true)
            checkDirectory(library.quarantine, .quarantine, key: "quarantine", isMade: true, mustBeWritable: true)
            checkDirectory(library.duplicates, .duplicates, key: "duplicates", isMade: true, mustBeWritable: true)
            // Made when they are first needed: that nobody can make them is no reason not to file.
            for (path, role, key) in [
                (library.returned, NamedPlace.Role.returned, "returned"), (library.trash, .trash, "trash"),
            ] {
                if case .missing = facts.entry(at: path) {
                    foresee(path, role, key: key)
                    continue
                }
                checkDirectory(path, role, key: key, isMade: true, mustBeWritable: false)
            }
            if let owner = library.owner, !facts.hasUser(owner) { report("no such user", key: "filing.owner") }
            if let group = library.group, !facts.hasGroup(group) { report("no such group", key: "filing.group") }
        }
        if let group = settings.operators, !facts.hasGroup(group) { report("no such group", key: "operators") }
        checkDirectory(settings.state, .state, key: "state", isMade: true, mustBeWritable: true)
        checkDirectory(settings.runtime, .runtime, key: "runtime", isMade: true, mustBeWritable: true)
        if settings.catalogue.parent != settings.state {
            checkDirectory(
                settings.catalogue.parent, .catalogue, key: "catalogue", isMade: false, mustBeWritable: true)
        }
        for inbox in settings.inboxes {
            let key = "inbox.\(inbox.name).path"
            checkDirectory(inbox.path, .inbox(inbox.name), key: key, isMade: false, mustBeWritable: false)
            if let there = found.last, there.place.role == .inbox(inbox.name), !there.facts.isWritable,
                inbox.mode == .move
            {
                report(
                    "not writable, so filed photos cannot be removed from it; with mode = \"copy\" they are meant to stay",
                    key: key, severity: .warning)
            }
        }
    }

    private mutating func checkDirectory(
        _ path: BytePath, _ role: NamedPlace.Role, key: String, isMade: Bool, mustBeWritable: Bool
    ) {
        let isInbox = if case .inbox = role { true } else { false }
        switch isInbox ? facts.inbox(at: path) : facts.entry(at: path) {
        case .directory(let directory):
            if !directory.isReadable {
                report("\(facts.user.name) may not read and search this directory" + remedy(path), key: key)
            } else if mustBeWritable, !directory.isWritable {
                report("\(facts.user.name) may not write to this directory" + remedy(path), key: key)
            }
            found.append((place(path, role, key: key), directory))
        case .missing:
            if isMade, foresee(path, role, key: key) { return }
            let user = facts.user
            // The unit makes them: StateDirectory= and RuntimeDirectory= of systemd.exec(5).
            if user.isService, [.state, .runtime].contains(role) { return }
            let way =
                user.isService ? "sudo install -d -o \(user.name) -g \(user.name) -m 2775 \(path)" : "mkdir -p \(path)"
            report("no such directory; make it (\(way)), or correct the path" + hint(of: path), key: key)
        case .unreachable(let reason):
            guard isInbox else { return report("cannot be looked at: \(reason)", key: key) }
            report(
                "does not answer (\(reason)); the others are watched, and this one as soon as it does", key: key,
                severity: .warning)
        case .unknown(let reason): report("cannot be looked at: \(reason)" + hint(of: path), key: key)
        case .fifo, .file, .other: report("this is not a directory", key: key)
        }
    }

    /// How a service's user gets what is somebody else's.
    private func remedy(_ path: BytePath) -> String {
        let user = facts.user
        return user.isService ? "; sudo chown \(user.name): \(path)" : ""
    }

    /// The installed unit hides home directories, and who checks from a shell sees them.
    private func hint(of path: BytePath) -> String {
        let isHome = path.isInside("/home") || path.isInside("/root")
        return isHome ? "; for the installed service, see HOME DIRECTORIES in photoinboxd(8)" : ""
    }

    /// Where a directory will be that is made later; whether it can be, since the nearest one above it may be written to.
    @discardableResult
    private mutating func foresee(_ path: BytePath, _ role: NamedPlace.Role, key: String) -> Bool {
        var above = path.parent
        while !above.isEmpty {
            switch facts.entry(at: above) {
            case .directory(var directory):
                let way = path.relative(to: above) ?? ""
                directory.realPath = directory.realPath?.appending(way)
                directory.place = directory.place?.foreseen(way)
                found.append((place(path, role, key: key), directory))
                return directory.isWritable
            case .missing where above != "/": above = above.parent
            default: return false
            }
        }
        return false
    }

    /// The rules of the paths, once more for what they really are: links and mounts may join what names keep apart.
    private mutating func checkRealPlaces() {
        for overlap in realOverlaps(probing: true) {
            issues.append(
                SettingsIssue(overlap.message, statement: overlap.blamed.statement, origin: overlap.blamed.origin))
        }
    }

    /// Those that the names do not show, which were reported when they were read.
    private func realOverlaps(probing: Bool) -> [Overlap] {
        let mounts = facts.mounts()
        let there = found.reduce(into: [NamedPlace.Role: DirectoryFacts]()) { $0[$1.place.role] = $1.facts }
        return Overlap.all(among: found.map(\.place)) { first, second in
            guard Overlap.relation(of: first.path, second.path) == nil, let one = there[first.role],
                let other = there[second.role]
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
            // What lies beside the library shares its file system as a rule; and each probe is a walk over a network.
            let isWorthIt = probing && [first, second].allSatisfy { $0.role == .library || $0.isInbox }
            guard isWorthIt, mounts.mayBeTwins(one, other), let relation = facts.probe(first.path, second.path) else {
                return nil
            }
            return Overlap.Meeting(
                relation: relation, how: "a file made in one was seen in the other, though they are mounts of their own"
            )
        }
    }

    /// What of the configuration's directories meets now, a sentence each.
    mutating func nestings() -> [String] {
        checkDirectories()
        return realOverlaps(probing: false).map(\.sentence)
    }

    /// Photos are filed without it, too.
    private mutating func checkMetrics() {
        guard let directory = settings.metrics?.textfile.parent else { return }
        switch facts.entry(at: directory) {
        case .directory(let directory):
            if directory.isWritable { return }
            report(
                "\(facts.user.name) may not write to its directory", key: "metrics.textfile",
                severity: .warning)
        case .missing: report("its directory is not there", key: "metrics.textfile", severity: .warning)
        case .unreachable(let reason), .unknown(let reason):
            report("its directory cannot be looked at: \(reason)", key: "metrics.textfile", severity: .warning)
        case .fifo, .file, .other:
            report("what it lies in is not a directory", key: "metrics.textfile", severity: .warning)
        }
    }

    private mutating func checkFIFO(_ descriptor: DescriptorSettings) {
        let key = "descriptor.\(descriptor.name).fifo"
        switch facts.entry(at: descriptor.fifo) {
        case .fifo: break
        case .missing:
            let parent = descriptor.fifo.parent
            if settings.directoriesToMake.contains(parent) { return }
            guard case .directory(let directory) = facts.entry(at: parent) else {
                return report("no such directory: \(parent); make it, or correct the path", key: key)
            }
            if !directory.isWritable { report("the FIFO is absent, and \(parent) may not be written to", key: key) }
        case .unknown(let reason), .unreachable(let reason): report("cannot be looked at: \(reason)", key: key)
        case .directory, .file, .other: report("there is something here that is no FIFO; choose another path", key: key)
        }
    }

    private mutating func checkHook(_ hook: HookSettings) {
        let key = "hook.\(hook.name).command"
        let program = hook.program
        switch facts.entry(at: program) {
        case .file(isExecutable: true):
            if let objection = facts.objection(to: program, owners: settings.programOwners, isProgram: true) {
                return report("\(objection); whoever can change it could run programs as the hooks' user", key: key)
            }
            // Whoever can change the configuration could name any program, and give it any arguments.
            if case .file(let path, _) = settings.effective(key)?.origin,
                let objection = facts.objection(to: path, owners: settings.programOwners, isProgram: false)
            {
                report("a configuration with hooks must be safe: \(objection)", key: key)
            }
        case .file(isExecutable: false): report("\(program) may not be run; chmod +x it", key: key)
        case .missing: report("there is no program \(program)", key: key)
        case .unknown(let reason), .unreachable(let reason):
            report("\(program) cannot be looked at: \(reason)", key: key)
        case .directory, .fifo, .other: report("\(program) is not a program", key: key)
        }
    }

    private func statement(of key: String) -> String {
        let setting = settings.effective(key)
        let name = key.split(separator: ".").last.map(String.init) ?? key
        let value = setting?.value ?? ""
        if case .flag(let flag) = setting?.origin { return excerpt("\(flag) \(value)") }
        return excerpt("\(name) = \(value)")
    }

    private func place(_ path: BytePath, _ role: NamedPlace.Role, key: String) -> NamedPlace {
        NamedPlace(
            role: role, path: path,
            assignment: Assignment(
                value: .path(path), origin: settings.effective(key)?.origin ?? .standard,
                statement: statement(of: key)))
    }

    private mutating func report(_ message: String, key: String, severity: SettingsIssue.Severity = .error) {
        let origin = settings.effective(key)?.origin ?? .standard
        issues.append(SettingsIssue(message, statement: statement(of: key), origin: origin, severity: severity))
    }

    /// Lines of files first, then as they were found.
    private func order(_ issue: SettingsIssue) -> Int {
        if case .file(_, let position) = issue.origin { return position.line }
        return .max
    }
}
