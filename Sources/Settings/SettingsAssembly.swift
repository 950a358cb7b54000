import FileValues
import PhotoModel

/// Looks at all assignments as a whole: what is missing, what contradicts, what follows; makes the ``Settings``.
struct SettingsAssembly {
    var assignments: Assignments
    let context: SettingsContext
    /// In the order in which they were read; mistakes are reported in that order.
    let files: [BytePath]

    mutating func finish() throws(SettingsError) -> Settings {
        checkAll()
        if !assignments.issues.isEmpty { throw SettingsError(issues: sorted(assignments.issues)) }
        return SettingsValues(assignments: assignments).settings()
    }

    mutating func finish(
        checkingAgainst facts: some FileSystemFacts
    ) throws(SettingsError) -> (settings: Settings, warnings: [SettingsIssue]) {
        checkAll()
        // What could be read of it, where there are mistakes: its directories are looked at all the same.
        let settings = SettingsValues(assignments: assignments).settings()
        let found = settings.check(against: facts)
        if assignments.issues.isEmpty {
            if found.contains(where: { $0.severity == .error }) { throw SettingsError(issues: found) }
            return (settings, found)
        }
        // A place that nobody named may follow from what was refused, and one mistake in one place is enough.
        let blamed = Set(assignments.issues.map(\.origin))
        let more = found.filter { $0.origin != .standard && !blamed.contains($0.origin) }
        throw SettingsError(issues: sorted(assignments.issues + more))
    }

    /// What was not understood may have named another place.
    mutating func settingsDespiteMistakes() -> Settings? {
        let keys = ["runtime", "state", "catalogue", "library"].map { SettingsKey(.top, $0) }
        guard !assignments.isIncomplete, !keys.contains(where: assignments.wasRefused),
            keys.contains(where: { assignments.values[$0] != nil })
        else { return nil }
        checkAll()
        return SettingsValues(assignments: assignments).settings()
    }

    private mutating func checkAll() {
        checkRequiredKeys()
        checkWatch()
        checkTimers()
        checkHooks()
        checkCards()
        checkSignals()
        checkMetrics()
        checkRenditions()
        adoptInboxLibraries()
        deriveDirectories()
        checkOverlaps()
    }

    // MARK: - Rules

    private mutating func checkRequiredKeys() {
        for member in assignments.members {
            for key in Settings.keyTable where key.section == member.section && key.isRequired {
                guard assignments.isMissing(SettingsKey(member.section, member.name, key.name)) else { continue }
                let header = key.section == .inbox || key.section == .hook
                let title = header ? "[\(key.section.rawValue).\(member.name)]" : key.section.header
                assignments.report(
                    "\(title) has no \(key.name); add \(key.name) = \(key.example)", origin: member.origin)
            }
        }
        guard assignments.isMissing(SettingsKey(.top, "library")), let inbox = assignments.members(of: .inbox).first,
            assignments.members(of: .inbox).allSatisfy({
                assignments.isMissing(SettingsKey(.inbox, $0.name, "library"))
            })
        else { return }
        let origin: Origin = files.last.map { .wholeFile($0) } ?? inbox.origin
        assignments.report(
            "no library is named; add library = \"/srv/photos/library\" at the top, or give --library", origin: origin)
    }

    private mutating func checkWatch() {
        let watch = SettingsValues(assignments: assignments).settings().watch
        guard watch.fastest > watch.slowest else { return }
        for name in ["slowest", "fastest"] {
            guard let given = assignments.values[SettingsKey(.watch, name)] else { continue }
            return assignments.report(
                "the slowest pace, \(watch.slowest), is faster than the fastest, \(watch.fastest)",
                statement: given.statement, origin: given.origin)
        }
    }

    private mutating func checkTimers() {
        for timer in assignments.members(of: .timer) {
            let every = SettingsKey(.timer, timer.name, "every")
            let at = SettingsKey(.timer, timer.name, "at")
            if assignments.isMissing(every), assignments.isMissing(at) {
                assignments.report(
                    "[[timer]] has no time; add every = \"1h\" or at = \"03:00\"", origin: timer.origin)
            }
            guard let given = assignments.values[at] else { continue }
            if assignments.values[every] != nil {
                assignments.report(
                    "a timer has \"every\" or \"at\", not both", statement: given.statement, origin: given.origin)
            } else if let clock = assignments.values[SettingsKey(.timer, timer.name, "clock")] {
                assignments.report(
                    "\"at\" goes by the local time; leave the clock out", statement: clock.statement,
                    origin: clock.origin)
            }
        }
    }

    private mutating func checkHooks() {
        let names = assignments.members(of: .hook).map(\.name)
        for assignment in assignments.values.values {
            guard case .action(.hook(let name)) = assignment.value, !names.contains(name) else { continue }
            let meant = likelyMeaning(of: name, among: names).map { "; did you mean \"hook \($0)\"?" }
            assignments.report(
                "there is no [hook.\(name)]" + (meant ?? ""), statement: assignment.statement,
                origin: assignment.origin)
        }
        let inboxes = assignments.members(of: .inbox).map(\.name)
        for hook in names {
            let key = SettingsKey(.hook, hook, "inboxes")
            guard let given = assignments.values[key], case .words(let wanted) = given.value else { continue }
            for name in wanted where !inboxes.contains(name) {
                let meant = likelyMeaning(of: name, among: inboxes).map { "; did you mean \"\($0)\"?" }
                assignments.report(
                    "there is no [inbox.\(name)]" + (meant ?? ""), statement: given.statement, origin: given.origin)
            }
        }
    }

    private mutating func checkCards() {
        let inboxes = assignments.members(of: .inbox).map(\.name)
        if let given = assignments.values[SettingsKey(.cards, "inbox")], case .word(let name) = given.value {
            guard !inboxes.contains(name) else { return }
            let meant = likelyMeaning(of: name, among: inboxes).map { "; did you mean \"\($0)\"?" }
            assignments.report(
                "there is no [inbox.\(name)]" + (meant ?? ""), statement: given.statement, origin: given.origin)
        } else if inboxes.count > 1, let given = assignments.values[SettingsKey(.cards, "import")],
            case .word("yes") = given.value
        {
            assignments.report(
                "there are several inboxes; add inbox = \"\(inboxes[0])\" under [cards]", statement: given.statement,
                origin: given.origin)
        }
    }

    /// It is replaced without a question, so it must be nobody's photo.
    private mutating func checkMetrics() {
        guard let given = assignments.values[SettingsKey(.metrics, "textfile")], case .path(let path) = given.value
        else { return }
        if path.name.bytes.suffix(5) != ArraySlice(".prom".utf8) || path.name.bytes.count == 5 {
            assignments.report(
                "the collector reads only names that end in .prom", statement: given.statement, origin: given.origin)
        }
        let kept: [NamedPlace.Role] = [.library, .quarantine, .duplicates, .returned, .trash]
        let around = namedPlaces(in: assignments).first {
            ($0.isInbox || kept.contains($0.role)) && path.isInside($0.path)
        }
        if let around {
            assignments.report("this lies in \(around.name)", statement: given.statement, origin: given.origin)
        }
    }

    private mutating func checkRenditions() {
        guard SettingsValues(assignments: assignments).settings().pictures.preview == 0 else { return }
        for inbox in assignments.members(of: .inbox) {
            guard let given = assignments.values[SettingsKey(.inbox, inbox.name, "renditions")],
                case .words(let words) = given.value,
                let kind = words.compactMap(RenditionKind.init).first(where: { $0.needs.contains(.preview) })
            else { continue }
            assignments.report(
                "\"\(kind.rawValue)\" is made of the preview, and [pictures] says preview = \"0\"",
                statement: given.statement, origin: given.origin)
        }
    }

    private mutating func checkSignals() {
        guard let terminate = assignments.values[SettingsKey(.signals, SignalName.terminate.rawValue)],
            terminate.value != SettingValue.action(Action.stop)
        else { return }
        assignments.report(
            "service managers stop a daemon with SIGTERM; write \"stop\" or leave it out",
            statement: terminate.statement, origin: terminate.origin)
    }

    /// An inbox may name its library, as long as all of them, and the top, name the same.
    private mutating func adoptInboxLibraries() {
        let top = SettingsKey(.top, "library")
        for inbox in assignments.members(of: .inbox) {
            guard let own = assignments.values[SettingsKey(.inbox, inbox.name, "library")] else { continue }
            guard let shared = assignments.values[top] else {
                if !assignments.wasRefused(top) { assignments.assign(top, own) }
                continue
            }
            if own.value != shared.value {
                assignments.report(
                    "all inboxes share one library in this version, and it is \(shared.value.text) (\(shared.origin))",
                    statement: own.statement, origin: own.origin)
            }
        }
    }

    /// Gives the directories that nobody named their places.
    private mutating func deriveDirectories() {
        let library = path("library")
        if let library {
            derive("quarantine", library.parent.appending("quarantine"))
            derive("duplicates", library.parent.appending("duplicates"))
        }
        if let library, let quarantine = path("quarantine") {
            // One that lies in the library is refused as such; what would be beside it need not be told of, too.
            let place = (quarantine.isInside(library) ? library : quarantine).parent
            derive("returned", place.appending("returned"))
            derive("trash", place.appending("trash"))
        }
        let isOfSystem = files.isEmpty == false && files.allSatisfy { $0.isInside("/etc") }
        let place = files.count == 1 ? files.first.flatMap(standardPlace) : nil
        if let given = context.stateDirectory {
            derive("state", given, origin: .environment("STATE_DIRECTORY"))
        } else if let place {
            derive("state", place.state)
        } else if let library, !isOfSystem {
            derive("state", library.parent.appending("state"))
        } else {
            derive("state", Self.systemState)
        }
        guard let state = path("state") else { return }
        derive("catalogue", state.appending("catalogue.sqlite"))
        if let given = context.runtimeDirectory {
            derive("runtime", given, origin: .environment("RUNTIME_DIRECTORY"))
        } else if let place, state == place.state, let runtime = place.runtime {
            derive("runtime", runtime)
        } else {
            derive("runtime", state == Self.systemState ? "/run/photoinbox" : state.appending("run"))
        }
    }

    private func standardPlace(_ file: BytePath) -> StandardPlaces? {
        StandardPlaces(
            of: file.isAbsolute ? file : context.workingDirectory.appending(file), home: context.home)
    }

    private static let systemState: BytePath = "/var/lib/photoinbox"

    private mutating func derive(_ name: String, _ value: BytePath, origin: Origin = .standard) {
        let key = SettingsKey(.top, name)
        guard assignments.values[key] == nil, !assignments.wasRefused(key) else { return }
        assignments.assign(
            key,
            Assignment(value: .path(value), origin: origin, statement: "\(name) = \(tomlString(value.description))"))
    }

    private func path(_ name: String) -> BytePath? {
        guard case .path(let path) = assignments.values[SettingsKey(.top, name)]?.value else { return nil }
        return path
    }

    // MARK: - Places

    private mutating func checkOverlaps() {
        for overlap in Overlap.all(among: namedPlaces(in: assignments)) {
            assignments.report(overlap.message, statement: overlap.blamed.statement, origin: overlap.blamed.origin)
        }
    }

    private func sorted(_ issues: [SettingsIssue]) -> [SettingsIssue] {
        let once = issues.reduce(into: [SettingsIssue]()) { if !$0.contains($1) { $0.append($1) } }
        return once.sorted { left, right in
            let (leftRank, rightRank) = (rank(left), rank(right))
            if leftRank == rightRank { return left.description < right.description }
            return leftRank < rightRank
        }
    }

    /// File, line and column; flags after all files.
    private func rank(_ issue: SettingsIssue) -> (Int, Int, Int) {
        switch issue.origin {
        case .file(let path, let position): (files.firstIndex(of: path) ?? 0, position.line, position.column)
        case .wholeFile(let path): (files.firstIndex(of: path) ?? 0, .max, 0)
        case .flag, .environment: (files.count, 0, 0)
        case .standard: (files.count + 1, 0, 0)
        }
    }
}
