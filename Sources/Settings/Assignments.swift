import FileValues

/// A value with its origin and its statement.
struct Assignment {
    let value: any Sendable
    /// The value as it would be written in the file.
    let text: String
    let origin: Origin
    let statement: String
}

/// A named section, and the position of its first mention.
struct Member: Hashable {
    let section: SettingsSection
    let name: String
    let origin: Origin
}

/// All values and mistakes of files and flags, before they are checked as a whole.
struct Assignments {
    private(set) var values: [SettingsKey: Assignment] = [:]
    private(set) var members: [Member] = []
    private(set) var issues: [SettingsIssue] = []
    /// Keys with a mistake in their value, which are therefore not missing.
    private var refused: Set<SettingsKey> = []
    /// Whether lines had to be skipped, so that no key can be reported missing.
    var isIncomplete = false
    /// Users whose programs may be run.
    var programOwners: Set<UInt32> = [0]
    var placeNames = StandardPlaces.placeNames()

    /// The value of `key`, or its default.
    subscript<Value>(key: Key<Value>, member: String = "") -> Value {
        guard let given = values[key.at(member)] else { return key.standard }
        return given.value as? Value ?? key.standard
    }

    mutating func report(_ message: String, statement: String = "", origin: Origin) {
        issues.append(SettingsIssue(message, statement: statement, origin: origin))
    }

    /// Reports a mistake in an assignment.
    mutating func report(_ message: String, at assignment: Assignment) {
        report(message, statement: assignment.statement, origin: assignment.origin)
    }

    mutating func refuse(_ key: SettingsKey) { refused.insert(key) }

    /// Flags override files; otherwise the later assignment wins.
    mutating func assign(_ key: SettingsKey, _ assignment: Assignment) {
        if case .flag = values[key]?.origin, case .file = assignment.origin { return }
        values[key] = assignment
    }

    /// Assigns the value of `node`, or reports its mistake.
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

    /// Adds a named section, unless there is one of this name.
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
