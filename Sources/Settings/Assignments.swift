import FileValues

/// One key of one section's member: `inbox.card.quiet`.
struct SettingsKey: Hashable {
    let section: SettingsSection
    /// The inbox's, timer's, descriptor's or hook's name; empty in the other sections.
    let member: String
    let name: String

    init(_ section: SettingsSection, _ name: String) { self.init(section, "", name) }

    init(_ section: SettingsSection, _ member: String, _ name: String) {
        self.section = section
        self.member = member
        self.name = name
    }

    var text: String { [section.rawValue, member, name].filter { !$0.isEmpty }.joined(separator: ".") }

    var keyDescription: KeyDescription? { Settings.keyTable.first { $0.section == section && $0.name == name } }
}

/// A value with the place and the statement that gave it.
struct Assignment {
    var value: SettingValue
    var origin: Origin
    var statement: String
}

/// A named section, and where it was opened.
struct Member: Hashable {
    let section: SettingsSection
    let name: String
    let origin: Origin
}

/// Everything that files and flags say, and every mistake in it, before it is looked at as a whole.
struct Assignments {
    private(set) var values: [SettingsKey: Assignment] = [:]
    private(set) var members: [Member] = []
    private(set) var issues: [SettingsIssue] = []
    /// Keys that somebody meant to give: not missing, only wrong.
    private var refused: Set<SettingsKey> = []
    /// Set when lines had to be left out, so that nothing can be called missing.
    var isIncomplete = false
    /// Users whose programs may be run.
    var programOwners: Set<UInt32> = [0]

    mutating func report(_ message: String, statement: String = "", origin: Origin) {
        issues.append(SettingsIssue(message, statement: statement, origin: origin))
    }

    mutating func refuse(_ key: SettingsKey) { refused.insert(key) }

    /// Flags beat files; among equals the later one counts.
    mutating func assign(_ key: SettingsKey, _ assignment: Assignment) {
        if case .flag = values[key]?.origin, case .file = assignment.origin { return }
        values[key] = assignment
    }

    mutating func remove(_ key: SettingsKey) { values[key] = nil }

    /// Notes a named section; returns the one of that name that was there before.
    @discardableResult
    mutating func open(_ section: SettingsSection, _ name: String, origin: Origin) -> Member? {
        if let before = member(section, name) { return before }
        members.append(Member(section: section, name: name, origin: origin))
        return nil
    }

    func member(_ section: SettingsSection, _ name: String) -> Member? {
        members.first { $0.section == section && $0.name == name }
    }

    func members(of section: SettingsSection) -> [Member] { members.filter { $0.section == section } }

    func wasRefused(_ key: SettingsKey) -> Bool { refused.contains(key) }

    func isMissing(_ key: SettingsKey) -> Bool { values[key] == nil && !refused.contains(key) && !isIncomplete }

    /// Reads `node` as `key`'s kind demands, and keeps it or the mistake.
    mutating func assign(
        _ key: SettingsKey, _ description: KeyDescription, node: TOMLNode, base: PathBase, statement: String,
        origin: (TextPosition) -> Origin
    ) {
        do throws(ValueMistake) {
            let value = try description.kind.read(node, base: base)
            assign(key, Assignment(value: value, origin: origin(node.position), statement: statement))
        } catch {
            refuse(key)
            report(error.message, statement: statement, origin: origin(error.position ?? node.position))
        }
    }
}
