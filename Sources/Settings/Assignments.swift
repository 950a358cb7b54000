import FileValues

/// A value with the place and the statement that gave it.
struct Assignment {
    let value: any Sendable
    /// As it would be written in the file.
    let text: String
    let origin: Origin
    let statement: String
}

/// A named section, and where it was opened.
struct Member: Hashable {
    let section: SettingsSection
    let name: String
    let origin: Origin
}

/// Everything that files and flags say, and every mistake in it, before it is checked as a whole.
struct Assignments {
    private(set) var values: [SettingsKey: Assignment] = [:]
    private(set) var members: [Member] = []
    private(set) var issues: [SettingsIssue] = []
    /// Keys that were given with a mistake: not missing, only wrong.
    private var refused: Set<SettingsKey> = []
    /// Set when lines had to be skipped, so that nothing can be called missing.
    var isIncomplete = false
    /// Users whose programs may be run.
    var programOwners: Set<UInt32> = [0]

    /// The value of `key`, else its default.
    subscript<Value>(key: Key<Value>, member: String = "") -> Value {
        guard let given = values[key.at(member)] else { return key.standard }
        return given.value as? Value ?? key.standard
    }

    mutating func report(_ message: String, statement: String = "", origin: Origin) {
        issues.append(SettingsIssue(message, statement: statement, origin: origin))
    }

    /// Reports a mistake in what was assigned.
    mutating func report(_ message: String, at assignment: Assignment) {
        report(message, statement: assignment.statement, origin: assignment.origin)
    }

    mutating func refuse(_ key: SettingsKey) { refused.insert(key) }

    /// Flags override files; among equals the later one counts.
    mutating func assign(_ key: SettingsKey, _ assignment: Assignment) {
        if case .flag = values[key]?.origin, case .file = assignment.origin { return }
        values[key] = assignment
    }

    /// Assigns what `node` stands for, or reports what is wrong with it.
    mutating func assign(
        _ key: SettingsKey, _ row: KeyRow, node: TOMLNode, base: PathBase, statement: String,
        origin: (TextPosition) -> Origin
    ) {
        do throws(ValueMistake) {
            let (value, text) = try row.read(node, base)
            assign(key, Assignment(value: value, text: text, origin: origin(node.position), statement: statement))
        } catch {
            refuse(key)
            report(error.message, statement: statement, origin: origin(error.position ?? node.position))
        }
    }

    /// Adds a named section; the first of a name counts.
    mutating func open(_ section: SettingsSection, _ name: String, origin: Origin) {
        guard member(section, name) == nil else { return }
        members.append(Member(section: section, name: name, origin: origin))
    }

    func member(_ section: SettingsSection, _ name: String) -> Member? {
        members.first { $0.section == section && $0.name == name }
    }

    func members(of section: SettingsSection) -> [Member] { members.filter { $0.section == section } }

    func names(of section: SettingsSection) -> [String] { members(of: section).map(\.name) }

    func wasRefused(_ key: SettingsKey) -> Bool { refused.contains(key) }

    func isMissing(_ key: SettingsKey) -> Bool { values[key] == nil && !refused.contains(key) && !isIncomplete }
}
