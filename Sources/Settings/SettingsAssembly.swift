import FileValues
import PhotoModel

/// Checks all assignments for missing and contradictory values, derives defaults, and creates the ``Settings``.
struct SettingsAssembly {
    var assignments: Assignments
    let context: SettingsContext
    /// In the order in which they were read; mistakes are reported in that order.
    let files: [BytePath]

    mutating func finish() throws(SettingsError) -> Settings {
        checkAll()
        if !assignments.issues.isEmpty { throw SettingsError(issues: sorted(assignments.issues)) }
        return assignments.settings()
    }

    mutating func finish(
        checkingAgainst facts: some FileSystemFacts
    ) throws(SettingsError) -> (settings: Settings, warnings: [SettingsIssue]) {
        checkAll()
        // After mistakes, the directories that could be read are still checked.
        let settings = assignments.settings()
        let found = settings.check(against: facts)
        if assignments.issues.isEmpty {
            if found.contains(where: { $0.severity == .error }) { throw SettingsError(issues: found) }
            return (settings, found)
        }
        // A default place may follow from a refused value, and one mistake per statement is enough.
        let blamed = Set(assignments.issues.map(\.origin))
        let more = found.filter { $0.origin != .standard && !blamed.contains($0.origin) }
        throw SettingsError(issues: sorted(assignments.issues + more))
    }

    /// Nil if a line with a mistake may have named another place.
    mutating func settingsDespiteMistakes() -> Settings? {
        let top = Keys.top
        let keys = [top.runtime.at(), top.state.at(), top.catalogue.at(), top.library.at()]
        guard !assignments.isIncomplete, !keys.contains(where: assignments.wasRefused),
            keys.contains(where: { assignments.values[$0] != nil })
        else { return nil }
        checkAll()
        return assignments.settings()
    }

    private mutating func checkAll() {
        checkRequiredKeys()
        checkWatch()
        checkTimers()
        checkHooks()
        checkCards()
        checkWeb()
        checkTermination()
        checkMetrics()
        checkRenditions()
        adoptInboxLibraries()
        deriveDirectories()
        for overlap in Overlap.all(among: assignments.places) {
            assignments.report(overlap.message, statement: overlap.blamed.statement, origin: overlap.blamed.origin)
        }
    }

    private func given<Value>(_ key: Key<Value>, _ member: String = "") -> Assignment? {
        assignments.values[key.at(member)]
    }

    // MARK: - Rules

    private mutating func checkRequiredKeys() {
        for member in assignments.members {
            for key in member.section.keys where key.isRequired {
                guard assignments.isMissing(SettingsKey(member.section, member.name, key.name)) else { continue }
                assignments.report(
                    "\(member.section.header(name: member.name)) has no \(key.name); add \(key.name) = \(key.example)",
                    origin: member.origin)
            }
        }
        let inboxes = assignments.members(of: .inbox)
        let places = [Keys.top.library.at()] + inboxes.map { Keys.inbox.library.at($0.name) }
        guard let inbox = inboxes.first, places.allSatisfy(assignments.isMissing) else { return }
        assignments.report(
            "no library is named; add library = \"/srv/photos/library\" at the top, or give --library",
            origin: files.last.map { .wholeFile($0) } ?? inbox.origin)
    }

    private mutating func checkWatch() {
        let (fastest, slowest) = (assignments[Keys.watch.fastest], assignments[Keys.watch.slowest])
        guard fastest > slowest, let given = given(Keys.watch.slowest) ?? given(Keys.watch.fastest) else { return }
        assignments.report("the slowest pace, \(slowest), is faster than the fastest, \(fastest)", at: given)
    }

    private mutating func checkTimers() {
        let keys = Keys.timer
        for timer in assignments.members(of: .timer) {
            let (every, at) = (keys.every.at(timer.name), keys.at.at(timer.name))
            if assignments.isMissing(every), assignments.isMissing(at) {
                assignments.report(
                    "[[timer]] has no time; add every = \"1h\" or at = \"03:00\"", origin: timer.origin)
            }
            guard let given = assignments.values[at] else { continue }
            if assignments.values[every] != nil {
                assignments.report("a timer has \"every\" or \"at\", not both", at: given)
            } else if let clock = self.given(keys.clock, timer.name) {
                assignments.report("\"at\" is local time; leave the clock out", at: clock)
            }
        }
    }

    private mutating func checkHooks() {
        for assignment in assignments.values.values {
            guard case .hook(let name)? = assignment.value as? Action else { continue }
            checkMember(.hook, name, "hook ", assignment)
        }
        for hook in assignments.names(of: .hook) {
            guard let given = given(Keys.hook.inboxes, hook) else { continue }
            for name in assignments[Keys.hook.inboxes, hook] ?? [] { checkMember(.inbox, name, "", given) }
        }
    }

    /// Reports a `name` that no section has; `verb` precedes it in the value.
    private mutating func checkMember(
        _ section: SettingsSection, _ name: String, _ verb: String, _ assignment: Assignment
    ) {
        let names = assignments.names(of: section)
        if names.contains(name) { return }
        let meant = likelyMeaning(of: name, among: names).map { "; did you mean \"\(verb)\($0)\"?" } ?? ""
        assignments.report("there is no \(section.header(name: name))\(meant)", at: assignment)
    }

    private mutating func checkCards() {
        let inboxes = assignments.names(of: .inbox)
        if let given = given(Keys.cards.inbox), let name = assignments[Keys.cards.inbox] {
            checkMember(.inbox, name, "", given)
        } else if inboxes.count > 1, let given = given(Keys.cards.import), assignments[Keys.cards.import] {
            assignments.report("there are several inboxes; add inbox = \"\(inboxes[0])\" under [cards]", at: given)
        }
    }

    private mutating func checkWeb() {
        guard let given = given(Keys.web.inbox), let name = assignments[Keys.web.inbox] else { return }
        checkMember(.inbox, name, "", given)
    }

    /// The daemon replaces the file, so it must not be a photo.
    private mutating func checkMetrics() {
        guard let given = given(Keys.metrics.textfile), let path = assignments[Keys.metrics.textfile] else { return }
        if path.name.bytes.suffix(5) != ArraySlice(".prom".utf8) || path.name.bytes.count == 5 {
            assignments.report("the collector reads only names that end in .prom", at: given)
        }
        if let place = assignments.places.first(where: { $0.role.containsPhotos && path.isInside($0.path) }) {
            assignments.report("this lies in \(place.name)", at: given)
        }
    }

    private mutating func checkRenditions() {
        guard assignments[Keys.pictures.preview] == 0 else { return }
        for inbox in assignments.names(of: .inbox) {
            let kinds = assignments[Keys.inbox.renditions, inbox]
            guard let given = given(Keys.inbox.renditions, inbox),
                let kind = kinds.first(where: { $0.needs.contains(.preview) })
            else { continue }
            assignments.report(
                "\"\(kind.rawValue)\" is made from the preview, and [pictures] says preview = \"0\"", at: given)
        }
    }

    private mutating func checkTermination() {
        let key = Keys.signals[.terminate]
        guard let given = given(key), assignments[key] != .stop else { return }
        assignments.report("service managers stop a daemon with SIGTERM; write \"stop\" or leave it out", at: given)
    }

    /// Reads the library from inboxes, which may name it if all of them, and the top, name the same.
    private mutating func adoptInboxLibraries() {
        let top = Keys.top.library.at()
        for inbox in assignments.names(of: .inbox) {
            guard let own = given(Keys.inbox.library, inbox) else { continue }
            guard let shared = assignments.values[top] else {
                if !assignments.wasRefused(top) { assignments.assign(top, own) }
                continue
            }
            if own.text != shared.text {
                assignments.report(
                    "all inboxes share one library in this version, and it is \(shared.text) (\(shared.origin))",
                    at: own)
            }
        }
    }

    /// Sets the default paths of directories that are not configured.
    private mutating func deriveDirectories() {
        let top = Keys.top
        let library = assignments[top.library]
        if let library {
            derive(top.quarantine, library.parent.appending("quarantine"))
            derive(top.duplicates, library.parent.appending("duplicates"))
        }
        if let library, let quarantine = assignments[top.quarantine] {
            // A quarantine in the library is reported already; its siblings must not be reported, too.
            let parent = (quarantine.isInside(library) ? library : quarantine).parent
            derive(top.returned, parent.appending("returned"))
            derive(top.trash, parent.appending("trash"))
        }
        let isOfSystem = !files.isEmpty && files.allSatisfy { $0.isInside("/etc") }
        if !isOfSystem { assignments.placeNames = StandardPlaces.placeNames(data: context.home?.data) }
        let place = files.count == 1 ? files.first.flatMap(standardPlace) : nil
        if let given = context.stateDirectory {
            derive(top.state, given, origin: .environment("STATE_DIRECTORY"))
        } else if let place {
            derive(top.state, place.state)
        } else if let library, !isOfSystem {
            derive(top.state, library.parent.appending("state"))
        } else {
            derive(top.state, StandardPlaces.systemState)
        }
        guard let state = assignments[top.state] else { return }
        derive(top.catalogue, .file(state.appending("catalogue.sqlite")))
        if let given = context.runtimeDirectory {
            derive(top.runtime, given, origin: .environment("RUNTIME_DIRECTORY"))
        } else if let place, state == place.state, let runtime = place.runtime {
            derive(top.runtime, runtime)
        } else {
            derive(top.runtime, state == StandardPlaces.systemState ? "/run/photoinbox" : state.appending("run"))
        }
    }

    private func standardPlace(_ file: BytePath) -> StandardPlaces? {
        StandardPlaces(
            of: file.isAbsolute ? file : context.workingDirectory.appending(file), home: context.home)
    }

    private mutating func derive<Place: Sendable & CustomStringConvertible>(
        _ key: Key<Place?>, _ value: Place, origin: Origin = .standard
    ) {
        guard given(key) == nil, !assignments.wasRefused(key.at()) else { return }
        let text = tomlString(value.description)
        assignments.assign(
            key.at(),
            Assignment(value: value, text: text, origin: origin, statement: "\(key.row.name) = \(text)"))
    }

    // MARK: - Order

    private func sorted(_ issues: [SettingsIssue]) -> [SettingsIssue] {
        let once = issues.reduce(into: [SettingsIssue]()) { if !$0.contains($1) { $0.append($1) } }
        return once.sorted { left, right in
            let (leftRank, rightRank) = (rank(left), rank(right))
            return leftRank == rightRank ? left.description < right.description : leftRank < rightRank
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
