package import FileValues

/// Creates ``Settings`` from files and flags, or a list of every mistake.
///
/// Flags override files, later files override earlier ones. Pure; only the ``SettingsContext`` depends on the process.
package struct SettingsBuilder {
    private let context: SettingsContext
    private var assignments = Assignments()
    private var files: [BytePath] = []
    /// Inboxes given by flags without a name; named last, so that their names are unique.
    private var unnamedInboxes: [(flag: String, path: String)] = []
    /// Values for every inbox: key, value, flag.
    private var forEveryInbox: [(name: String, value: String, flag: String)] = []

    package init(context: SettingsContext) { self.context = context }

    /// Sets the users whose programs may be hooks: root, and the reader of the configuration if it is their own.
    package mutating func trustPrograms(of users: Set<UInt32>) { assignments.programOwners = users }

    /// Adds the text of a configuration file. `path` names it in messages, and its directory is the base of relative
    /// paths, which files in /etc must not have.
    package mutating func addFile(_ text: [UInt8], path: BytePath) {
        files.append(path)
        let absolute = path.isAbsolute ? path : context.workingDirectory.appending(path)
        let base = PathBase(directory: absolute.isInside("/etc") ? nil : absolute.parent, mayClimb: false)
        var reader = FileReader(path: path, base: base, assignments: assignments)
        reader.read(TOMLDocument(text))
        assignments = reader.assignments
    }

    /// Reports a file that could not be read at all.
    package mutating func addUnreadableFile(path: BytePath, reason: String) {
        files.append(path)
        assignments.report(reason, origin: .wholeFile(path))
        assignments.isIncomplete = true
    }

    /// Adds a flag's value for a key: `library`, `inbox.card.quiet`, `timer.rescan.every`, `signals.USR2`;
    /// `inbox.*.mode` applies to every inbox without a value of its own by a flag. The value is written as in the file,
    /// without quotes.
    package mutating func addFlag(_ flag: String, key: String, value: String) {
        addFlag(flag, key: key, node: TOMLNode(content: .string(value), position: .first, source: value))
    }

    /// Adds a flag's value for a key whose value is an array.
    package mutating func addFlag(_ flag: String, key: String, values: [String]) {
        let elements = values.map { TOMLNode(content: .string($0), position: .first, source: $0) }
        addFlag(
            flag, key: key,
            node: TOMLNode(content: .array(elements), position: .first, source: values.joined(separator: " ")))
    }

    /// Adds `KEY=VALUE`, for a flag that can set any key; the elements of an array are separated by spaces.
    package mutating func addAssignment(_ text: String, flag: String) {
        guard let equals = text.firstIndex(of: "=") else {
            return assignments.report("write KEY=VALUE", statement: excerpt("\(flag) \(text)"), origin: .flag(flag))
        }
        let key = String(text[..<equals])
        let value = String(text[text.index(after: equals)...])
        if parse(key)?.row?.takesArray == true {
            addFlag(flag, key: key, values: value.split(separator: " ").map(String.init))
        } else {
            addFlag(
                flag, key: key, node: TOMLNode(content: .string(value), position: .first, source: value),
                statement: "\(flag) \(text)")
        }
    }

    /// Adds an inbox: `DIRECTORY`, which gets the name of its last component, or `NAME=DIRECTORY`.
    package mutating func addInbox(_ argument: String, flag: String) {
        if let equals = argument.firstIndex(of: "="), isPlainName(String(argument[..<equals])) {
            let path = String(argument[argument.index(after: equals)...])
            addFlag(flag, key: "inbox.\(argument[..<equals]).path", value: path)
        } else {
            unnamedInboxes.append((flag, argument))
        }
    }

    /// Returns the settings, or throws every mistake in file order. Does not check directories.
    package func build() throws(SettingsError) -> Settings {
        var assembly = assembled()
        return try assembly.finish()
    }

    /// Returns the settings without the values that have mistakes: enough to find a daemon that runs with an earlier
    /// version of the file, and its records. Nil if its places are uncertain.
    package func settingsDespiteMistakes() -> Settings? {
        var assembly = assembled()
        return assembly.settingsDespiteMistakes()
    }

    /// Returns the settings and the warnings of ``Settings/check(against:)``, or throws every mistake in file order.
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
            for inbox in complete.assignments.names(of: .inbox) {
                let key = SettingsKey(.inbox, inbox, name)
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
            while assignments.values[Keys.inbox.path.at(name)] != nil {
                number += 1
                name = "\(stem)-\(number)"
            }
            addFlag(flag, key: "inbox.\(name).path", value: path)
        }
    }

    private mutating func addFlag(_ flag: String, key text: String, node: TOMLNode, statement: String? = nil) {
        let origin = Origin.flag(flag)
        let statement = excerpt(statement ?? "\(flag) \(node.source)")
        let steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isForEveryInbox = steps.count == 3 && steps[0] == "inbox" && steps[1] == "*"
        guard let key = isForEveryInbox ? SettingsKey(.inbox, "*", steps[2]) : parse(text), let row = key.row else {
            let meant = isForEveryInbox ? nil : likelyMeaning(of: text, among: Settings.keyTable.map(\.path))
            return assignments.report(
                "unknown key \(quoted(text))" + (meant.map { "; did you mean \"\($0)\"?" } ?? ""),
                statement: statement, origin: origin)
        }
        if isForEveryInbox { return forEveryInbox.append((key.name, node.source, flag)) }
        if !key.member.isEmpty { assignments.open(key.section, key.member, origin: origin) }
        let name = SettingsKey(key.section, key.member, "name")
        if key.section.shape == .tableArray, assignments.isMissing(name) {
            assignments.assign(
                name,
                Assignment(value: key.member, text: tomlString(key.member), origin: origin, statement: statement))
        }
        assignments.assign(
            key, row, node: node, base: PathBase(directory: context.workingDirectory, mayClimb: true),
            statement: statement
        ) { _ in origin }
    }

    private func parse(_ text: String) -> SettingsKey? {
        let steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let first = steps.first else { return nil }
        if steps.count == 1 { return SettingsKey(.top, first) }
        guard let section = SettingsSection(rawValue: first), section != .top,
            steps.count == (section.isNamed ? 3 : 2)
        else { return nil }
        if section.isNamed { return isPlainName(steps[1]) ? SettingsKey(section, steps[1], steps[2]) : nil }
        if section == .signals { return (try? SignalName(parsing: steps[1])).map { SettingsKey(section, $0.rawValue) } }
        return SettingsKey(section, steps[1])
    }
}

extension TextPosition {
    /// The beginning of a text.
    static let first = TextPosition(line: 1, column: 1)
}
