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
            guard let section = SettingsSection(rawValue: entry.key), section != .top else {
                readKey(entry, in: .top, member: "")
                continue
            }
            switch section {
            case .top: break
            case .inbox, .hook: readNamedTables(entry, section)
            case .timer, .descriptor: readTableArray(entry, section)
            case .cards, .filing, .sets, .pictures, .fetch, .watch, .signals, .metrics, .log:
                guard case .table(let entries) = entry.node.content else {
                    complain("expected a section, found \(entry.node.kindName); write \(section.header)", entry)
                    continue
                }
                for inner in entries { readKey(inner, in: section, member: "") }
            }
        }
    }

    /// `[inbox.card]`.
    private mutating func readNamedTables(_ entry: TOMLEntry, _ section: SettingsSection) {
        guard case .table(let named) = entry.node.content else {
            return complain("expected named sections, found \(entry.node.kindName); write \(section.header)", entry)
        }
        for member in named {
            guard case .table(let entries) = member.node.content else {
                complain("the \(section.rawValue) has no name; write \(section.header) above this", member)
                continue
            }
            // Only a sound name is opened, so that later messages may show it as it is.
            if isPlainName(member.key) {
                assignments.open(section, member.key, origin: origin(member.position))
            } else {
                complain("\(quoted(member.key)) is no name; letters, digits, - and _, at most 64", member)
            }
            for inner in entries { readKey(inner, in: section, member: member.key) }
        }
    }

    /// `[[timer]]`.
    private mutating func readTableArray(_ entry: TOMLEntry, _ section: SettingsSection) {
        guard case .array(let elements) = entry.node.content else {
            return complain("each \(section.rawValue) needs a header of its own; write \(section.header)", entry)
        }
        for element in elements {
            guard case .table(let entries) = element.content else {
                complain("expected sections, found \(element.kindName) in it; write \(section.header)", entry)
                continue
            }
            let place = origin(element.position)
            // A mistaken or missing name is reported like any other key; the rest is still looked at under a stand-in.
            var name = "\u{1}\(element.position.line)"
            if let given = entries.first(where: { $0.key == "name" }), case .string(let text) = given.node.content,
                isPlainName(text)
            {
                name = text
                if let before = assignments.member(section, text) {
                    complain("there is a \(section.rawValue) of this name already (\(before.origin))", given)
                    name = "\u{1}\(element.position.line)"
                    assignments.refuse(SettingsKey(section, name, "name"))
                }
            }
            assignments.open(section, name, origin: place)
            for inner in entries
            where inner.key != "name" || !assignments.wasRefused(SettingsKey(section, name, "name")) {
                readKey(inner, in: section, member: name)
            }
        }
    }

    private mutating func readKey(_ entry: TOMLEntry, in section: SettingsSection, member: String) {
        var name = entry.key
        if section == .signals {
            do throws(SignalName.Mistake) { name = try SignalName(parsing: entry.key).rawValue } catch {
                return complain(error.message, entry)
            }
            if let before = assignments.values[SettingsKey(section, member, name)]?.origin, isHere(before) {
                return complain("SIG\(name) has an action already (\(before))", entry)
            }
        }
        let key = SettingsKey(section, member, name)
        guard let description = key.keyDescription else { return complainUnknown(entry, section) }
        assignments.assign(key, description, node: entry.node, base: base, statement: entry.statement) {
            .file(path, $0)
        }
    }

    private mutating func complainUnknown(_ entry: TOMLEntry, _ section: SettingsSection) {
        let siblings = Settings.keyTable.filter { $0.section == section }.map(\.name)
        let sections = section == .top ? SettingsSection.allCases.map(\.rawValue).filter { !$0.isEmpty } : []
        // A header is never a key of another section.
        var isHeader = false
        if section == .top, case .table = entry.node.content { isHeader = true }
        let elsewhere = Settings.keyTable.filter { !isHeader && $0.name == entry.key && $0.section != section }
        var message = "unknown key \(quoted(entry.key))"
        if let other = elsewhere.first {
            message += "; it belongs "
            message += other.section == .top ? "at the top, before the first section" : "under \(other.section.header)"
        } else if let meant = likelyMeaning(of: entry.key, among: siblings + sections) {
            message += "; did you mean \"\(meant)\"?"
        } else if section == .top {
            message += "; keys here are " + siblings.joined(separator: ", ")
        } else {
            message += "; keys of \(section.header) are " + siblings.joined(separator: ", ")
        }
        assignments.report(message, origin: origin(entry.position))
    }

    private mutating func complain(_ message: String, _ entry: TOMLEntry) {
        assignments.report(message, statement: entry.statement, origin: origin(entry.position))
    }

    private func origin(_ position: TextPosition) -> Origin { .file(path, position) }

    private func isHere(_ origin: Origin) -> Bool {
        if case .file(let other, _) = origin { return other == path }
        return false
    }
}
