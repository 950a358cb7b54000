import FileValues

/// Reads one file's tree into assignments, checking each key and value against the key table.
struct FileReader {
    let path: BytePath
    let base: PathBase
    var assignments: Assignments

    mutating func read(_ document: TOMLDocument) {
        for error in document.errors { assignments.report(error.message, origin: origin(error.position)) }
        if !document.errors.isEmpty { assignments.isIncomplete = true }
        for entry in document.entries {
            let section = SettingsSection(rawValue: entry.key) ?? .top
            switch section.shape {
            case .top: readKey(entry, in: .top, member: "")
            case .namedTables: readNamedTables(entry, section)
            case .tableArray: readTableArray(entry, section)
            case .table:
                guard case .table(let entries) = entry.node.content else {
                    report("expected a section, found \(entry.node.kindName); write \(section.header)", entry)
                    continue
                }
                for inner in entries { readKey(inner, in: section, member: "") }
            }
        }
    }

    /// `[inbox.card]`.
    private mutating func readNamedTables(_ entry: TOMLEntry, _ section: SettingsSection) {
        guard case .table(let named) = entry.node.content else {
            return report("expected named sections, found \(entry.node.kindName); write \(section.header)", entry)
        }
        for member in named {
            guard case .table(let entries) = member.node.content else {
                report("the \(section.rawValue) has no name; write \(section.header) above this", member)
                continue
            }
            // Only valid names are added, so that later messages need not escape them.
            if isPlainName(member.key) {
                assignments.open(section, member.key, origin: origin(member.position))
            } else {
                report("\(quoted(member.key)) is not a valid name; \(Form.nameHint)", member)
            }
            for inner in entries { readKey(inner, in: section, member: member.key) }
        }
    }

    /// `[[timer]]`.
    private mutating func readTableArray(_ entry: TOMLEntry, _ section: SettingsSection) {
        guard case .array(let elements) = entry.node.content else {
            return report("each \(section.rawValue) needs a header of its own; write \(section.header)", entry)
        }
        for element in elements {
            guard case .table(let entries) = element.content else {
                report("expected sections, found \(element.kindName) in it; write \(section.header)", entry)
                continue
            }
            // A wrong or missing name is reported like any other key; the rest is read under a placeholder.
            var name = "\u{1}\(element.position.line)"
            if let given = entries.first(where: { $0.key == "name" }), case .string(let text) = given.node.content,
                isPlainName(text)
            {
                if let before = assignments.member(section, text) {
                    report("there is a \(section.rawValue) of this name already (\(before.origin))", given)
                    assignments.refuse(SettingsKey(section, name, "name"))
                } else {
                    name = text
                }
            }
            assignments.open(section, name, origin: origin(element.position))
            for inner in entries
            where inner.key != "name" || !assignments.wasRefused(SettingsKey(section, name, "name")) {
                readKey(inner, in: section, member: name)
            }
        }
    }

    private mutating func readKey(_ entry: TOMLEntry, in section: SettingsSection, member: String) {
        var name = entry.key
        if section == .signals {
            do throws(ValueMistake) { name = try SignalName(parsing: entry.key).rawValue } catch {
                return report(error.message, entry)
            }
            if let before = assignments.values[SettingsKey(section, name)]?.origin, case .file(path, _) = before {
                return report("SIG\(name) has an action already (\(before))", entry)
            }
        }
        let key = SettingsKey(section, member, name)
        guard let row = key.row else { return reportUnknown(entry, section) }
        assignments.assign(key, row, node: entry.node, base: base, statement: entry.statement) { .file(path, $0) }
    }

    private mutating func reportUnknown(_ entry: TOMLEntry, _ section: SettingsSection) {
        let siblings = section.keys.map(\.name)
        let sections = section == .top ? SettingsSection.allCases.map(\.rawValue).filter { !$0.isEmpty } : []
        // A header is never a key of another section.
        let isHeader = if section == .top, case .table = entry.node.content { true } else { false }
        let elsewhere = Settings.keyTable.filter { !isHeader && $0.name == entry.key && $0.section != section }
        var message = "unknown key \(quoted(entry.key)); "
        if let other = elsewhere.first {
            message +=
                other.section == .top
                ? "it belongs at the top, before the first section" : "it belongs under \(other.section.header)"
        } else if let meant = likelyMeaning(of: entry.key, among: siblings + sections) {
            message += "did you mean \"\(meant)\"?"
        } else {
            message +=
                isHeader ? "sections are " : section == .top ? "keys here are " : "keys of \(section.header) are "
            let headers = SettingsSection.allCases.map(\.header).filter { !$0.isEmpty }
            message += (isHeader ? headers : siblings).joined(separator: ", ")
        }
        assignments.report(message, origin: origin(entry.position))
    }

    private mutating func report(_ message: String, _ entry: TOMLEntry) {
        assignments.report(message, statement: entry.statement, origin: origin(entry.position))
    }

    private func origin(_ position: TextPosition) -> Origin { .file(path, position) }
}
