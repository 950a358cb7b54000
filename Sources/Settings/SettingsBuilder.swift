package import FileValues

/// Gathers what files and flags say, and makes ``Settings`` of it, or a list of every mistake.
///
/// Flags beat files, a later file beats an earlier one. Pure, but for what the ``SettingsContext`` was made from.
package struct SettingsBuilder {
    private let context: SettingsContext
    private var assignments = Assignments()
    private var files: [BytePath] = []
    /// Inboxes given by flags without a name; named last, so that none takes over another's name by accident.
    private var unnamedInboxes: [(flag: String, path: String)] = []
    /// Values for every inbox: key, value, flag.
    private var forEveryInbox: [(name: String, value: String, flag: String)] = []

    package init(context: SettingsContext) { self.context = context }

    /// Users whose programs hooks may be: root, and whoever may write the configuration if that is who reads it.
    package mutating func trustPrograms(of users: Set<UInt32>) { assignments.programOwners = users }

    /// Takes the text of a configuration file. `path` is how it is called in messages, and what its relative paths
    /// are relative to; files in /etc may have none.
    package mutating func addFile(_ text: [UInt8], path: BytePath) {
        files.append(path)
        let absolute = path.isAbsolute ? path : context.workingDirectory.appending(path)
        let base = PathBase(directory: absolute.isInside("/etc") ? nil : absolute.parent, mayClimb: false)
        var reader = FileReader(path: path, base: base, assignments: assignments)
        reader.read(TOMLDocument(text))
        assignments = reader.assignments
    }

    /// Notes that a file could not be read at all.
    package mutating func addUnreadableFile(path: BytePath, reason: String) {
        files.append(path)
        assignments.report(reason, origin: .wholeFile(path))
        assignments.isIncomplete = true
    }

    /// Takes a flag's value for a key: `library`, `inbox.card.quiet`, `timer.rescan.every`, `signals.USR2`;
    /// `inbox.*.mode` is for every inbox that has no such value of its own from a flag. The value is written as in
    /// the file, without its quotes.
    package mutating func addFlag(_ flag: String, key: String, value: String) {
        addFlag(flag, key: key, node: TOMLNode(content: .string(value), position: .first, source: value))
    }

    /// The same for keys that take arrays.
    package mutating func addFlag(_ flag: String, key: String, values: [String]) {
        let elements = values.map { TOMLNode(content: .string($0), position: .first, source: $0) }
        addFlag(
            flag, key: key,
            node: TOMLNode(content: .array(elements), position: .first, source: values.joined(separator: " ")))
    }

    /// Takes `KEY=VALUE`, for a flag that can set any key; an array's elements are separated by spaces.
    package mutating func addAssignment(_ text: String, flag: String) {
        guard let equals = text.firstIndex(of: "=") else {
            return assignments.report("write KEY=VALUE", statement: excerpt("\(flag) \(text)"), origin: .flag(flag))
        }
        let key = String(text[..<equals])
        let value = String(text[text.index(after: equals)...])
        if parse(key)?.keyDescription?.kind.takesArray == true {
            addFlag(flag, key: key, values: value.split(separator: " ").map(String.init))
        } else {
            addFlag(flag, key: key, value: value)
        }
    }

    /// Takes an inbox: `DIRECTORY`, named after its last name, or `NAME=DIRECTORY`.
    package mutating func addInbox(_ argument: String, flag: String) {
        if let equals = argument.firstIndex(of: "="), isPlainName(String(argument[..<equals])) {
            let path = String(argument[argument.index(after: equals)...])
            addFlag(flag, key: "inbox.\(argument[..<equals]).path", value: path)
        } else {
            unnamedInboxes.append((flag, argument))
        }
    }

    /// The whole, or every mistake in it, in file order. Directories are not looked at.
    package func build() throws(SettingsError) -> Settings {
        var assembly = assembled()
        return try assembly.finish()
    }

    /// What can be understood where keys have mistakes: enough to find the daemon and its records, which have read a
    /// better configuration. Nil where its places cannot be told for sure.
    package func settingsDespiteMistakes() -> Settings? {
        var assembly = assembled()
        return assembly.settingsDespiteMistakes()
    }

    /// The whole, and the warnings of ``Settings/check(against:)``; or every mistake that either of the two finds, at
    /// once and in file order.
    package func build(
        checkingAgainst facts: some FileSystemFacts
    ) throws(SettingsError) -> (settings: Settings, warnings: [SettingsIssue]) {
        var assembly = assembled()
        return try assembly.finish(checkingAgainst: facts)
    }

    private func assembled() -> SettingsAssembly {
        var complete = self
        complete.nameInboxes()
        for (name, value, flag) in forEveryInbox {
            for member in complete.assignments.members(of: .inbox) {
                let key = SettingsKey(.inbox, member.name, name)
                if case .flag = complete.assignments.values[key]?.origin { continue }
                complete.addFlag(flag, key: key.text, value: value)
            }
        }
        return SettingsAssembly(assignments: complete.assignments, context: context, files: files)
    }

    private mutating func nameInboxes() {
        for (flag, path) in unnamedInboxes {
            let wanted = String(
                decoding: BytePath(path).name.bytes.prefix(48).map { byte in
                    isPlainName("x" + String(decoding: [byte], as: UTF8.self)) ? byte : UInt8(ascii: "_")
                }, as: UTF8.self)
            let stem = isPlainName(wanted) ? wanted : "inbox"
            var name = stem
            var number = 1
            while assignments.values[SettingsKey(.inbox, name, "path")] != nil {
                number += 1
                name = "\(stem)-\(number)"
            }
            addFlag(flag, key: "inbox.\(name).path", value: path)
        }
    }

    private mutating func addFlag(_ flag: String, key text: String, node: TOMLNode) {
        let origin = Origin.flag(flag)
        let statement = excerpt("\(flag) \(node.source)")
        let steps = text.split(separator: ".", omittingEmptySubsequences: false)
        if steps.count == 3, steps[0] == "inbox", steps[1] == "*" {
            guard SettingsKey(.inbox, "x", String(steps[2])).keyDescription != nil else {
                return assignments.report("unknown key \(quoted(text))", statement: statement, origin: origin)
            }
            forEveryInbox.append((String(steps[2]), node.source, flag))
            return
        }
        guard let key = parse(text), let description = key.keyDescription else {
            let meant = likelyMeaning(of: text, among: Settings.keyTable.map(\.path))
            return assignments.report(
                "unknown key \(quoted(text))" + (meant.map { "; did you mean \"\($0)\"?" } ?? ""),
                statement: statement, origin: origin)
        }
        if !key.member.isEmpty { assignments.open(key.section, key.member, origin: origin) }
        if !key.member.isEmpty, key.section == .timer || key.section == .descriptor {
            let name = SettingsKey(key.section, key.member, "name")
            if assignments.isMissing(name) {
                assignments.assign(name, Assignment(value: .word(key.member), origin: origin, statement: statement))
            }
        }
        assignments.assign(
            key, description, node: node, base: PathBase(directory: context.workingDirectory, mayClimb: true),
            statement: statement
        ) { _ in origin }
    }

    private func parse(_ text: String) -> SettingsKey? {
        let steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let first = steps.first else { return nil }
        if steps.count == 1 { return SettingsKey(.top, first) }
        guard let section = SettingsSection(rawValue: first) else { return nil }
        switch section {
        case .top: return nil
        case .inbox, .hook, .timer, .descriptor:
            guard steps.count == 3, isPlainName(steps[1]) else { return nil }
            return SettingsKey(section, steps[1], steps[2])
        case .signals:
            guard steps.count == 2, let signal = try? SignalName(parsing: steps[1]) else { return nil }
            return SettingsKey(section, signal.rawValue)
        case .cards, .filing, .sets, .pictures, .fetch, .watch, .metrics, .log:
            return steps.count == 2 ? SettingsKey(section, steps[1]) : nil
        }
    }
}

extension TextPosition {
    /// Where every text begins.
    static let first = TextPosition(line: 1, column: 1)
}
