import FileValues
import PhotoModel

/// Reads the values out of assignments that hold together, with the key table's defaults for what nobody said.
struct SettingsValues {
    let assignments: Assignments

    func settings() -> Settings {
        let state = path(SettingsKey(.top, "state")) ?? "/var/lib/photoinbox"
        return Settings(
            library: library(), inboxes: names(of: .inbox).compactMap(inbox), state: state,
            catalogue: path(SettingsKey(.top, "catalogue")) ?? state.appending("catalogue.sqlite"),
            runtime: path(SettingsKey(.top, "runtime")) ?? state.appending("run"),
            operators: word(SettingsKey(.top, "operators")), cards: cards(), sets: sets(), pictures: pictures(),
            fetch: fetch(), takesLinks: word(SettingsKey(.fetch, "links")) == "yes", watch: watch(),
            timers: names(of: .timer).compactMap(timer), signals: signals(),
            descriptors: names(of: .descriptor).compactMap(descriptor), hooks: names(of: .hook).compactMap(hook),
            hookPlace: word(SettingsKey(.top, "hooks")).flatMap(HookPlaceSetting.init) ?? .auto,
            programOwners: assignments.programOwners, metrics: metrics(),
            log: LogSettings(
                level: word(SettingsKey(.log, "level")).flatMap(LogSettings.Level.init) ?? .info,
                destination: word(SettingsKey(.log, "destination")).flatMap(LogSettings.Destination.init) ?? .auto),
            effective: effective())
    }

    // MARK: - Sections

    private func library() -> LibrarySettings? {
        guard let root = path(SettingsKey(.top, "library")), let quarantine = path(SettingsKey(.top, "quarantine")),
            let duplicates = path(SettingsKey(.top, "duplicates")),
            let returned = path(SettingsKey(.top, "returned")), let trash = path(SettingsKey(.top, "trash")),
            case .span(let trashTime) = value(SettingsKey(.filing, "trash"))?.value,
            case .fileMode(let mode) = value(SettingsKey(.filing, "mode"))?.value,
            case .size(let minFree) = value(SettingsKey(.filing, "min-free"))?.value,
            case .layout(let layout) = value(SettingsKey(.filing, "layout"))?.value,
            let dates = word(SettingsKey(.filing, "dates")).flatMap(DateTrust.init)
        else { return nil }
        return LibrarySettings(
            path: root, quarantine: quarantine, duplicates: duplicates, returned: returned, trash: trash,
            trashTime: trashTime, owner: word(SettingsKey(.filing, "owner")),
            group: word(SettingsKey(.filing, "group")), mode: mode,
            minFree: minFree.bytes, layout: layout, dates: dates)
    }

    private func inbox(_ name: String) -> InboxSettings? {
        guard let root = path(SettingsKey(.inbox, name, "path")),
            let mode = word(SettingsKey(.inbox, name, "mode")).flatMap(InboxSettings.Mode.init),
            case .span(let quiet) = value(SettingsKey(.inbox, name, "quiet"))?.value,
            case .span(let patience) = value(SettingsKey(.inbox, name, "patience"))?.value,
            case .globs(let exclude) = value(SettingsKey(.inbox, name, "exclude"))?.value
        else { return nil }
        return InboxSettings(
            name: name, path: root, mode: mode, quiet: quiet, patience: patience, exclude: exclude,
            renditions: renditions(of: name))
    }

    private func renditions(of inbox: String) -> [RenditionKind] {
        guard case .words(let words) = value(SettingsKey(.inbox, inbox, "renditions"))?.value else {
            return RenditionKind.standard
        }
        return words.compactMap(RenditionKind.init)
    }

    private func cards() -> CardSettings {
        func paths(_ name: String) -> [BytePath] {
            guard case .paths(let paths) = value(SettingsKey(.cards, name))?.value else {
                preconditionFailure("the key table has no cards.\(name)")
            }
            return paths
        }
        let inboxes = names(of: .inbox)
        return CardSettings(
            isEnabled: word(SettingsKey(.cards, "import")) == "yes",
            inbox: word(SettingsKey(.cards, "inbox")) ?? (inboxes.count == 1 ? inboxes.first : nil),
            directories: paths("directories"), below: paths("below"))
    }

    private func sets() -> SetSettings {
        guard case .span(let wait) = value(SettingsKey(.sets, "wait"))?.value else {
            preconditionFailure("the key table has no sets.wait")
        }
        return SetSettings(
            isEnabled: word(SettingsKey(.sets, "enabled")) != "no", wait: wait,
            expectation: word(SettingsKey(.sets, "expect")).flatMap(SetSettings.Expectation.init) ?? .auto)
    }

    private func pictures() -> PictureSettings {
        func number(_ name: String) -> Int {
            guard case .number(let number) = value(SettingsKey(.pictures, name))?.value else {
                preconditionFailure("the key table has no pictures.\(name)")
            }
            return number
        }
        func span(_ name: String) -> TimeSpan {
            guard case .span(let span) = value(SettingsKey(.pictures, name))?.value else {
                preconditionFailure("the key table has no pictures.\(name)")
            }
            return span
        }
        return PictureSettings(
            isEnabled: word(SettingsKey(.pictures, "enabled")) == "yes",
            thumbnail: UInt32(clamping: number("thumbnail")), preview: UInt32(clamping: number("preview")),
            quality: UInt8(clamping: number("quality")),
            isConfinementRequired: word(SettingsKey(.pictures, "confinement")) != "best-effort", time: span("time"),
            processorTime: span("processor-time"), decoder: path(SettingsKey(.pictures, "decoder")),
            decoders: number("decoders"))
    }

    private func fetch() -> FetchLimits {
        func number(_ name: String) -> Int {
            guard case .number(let number) = value(SettingsKey(.fetch, name))?.value else {
                preconditionFailure("the key table has no fetch.\(name)")
            }
            return number
        }
        func milliseconds(_ name: String) -> Int64 {
            guard case .span(let span) = value(SettingsKey(.fetch, name))?.value else {
                preconditionFailure("the key table has no fetch.\(name)")
            }
            return span.milliseconds
        }
        guard case .size(let largest) = value(SettingsKey(.fetch, "largest"))?.value,
            case .networks(let allowed) = value(SettingsKey(.fetch, "allow-private"))?.value
        else { preconditionFailure("the key table has no fetch.largest") }
        return FetchLimits(
            atOnce: number("at-once"), deadline: milliseconds("deadline") / 1_000,
            stall: milliseconds("stall") / 1_000, largest: largest.bytes, tries: number("tries"),
            pause: milliseconds("pause"), allowed: allowed)
    }

    private func watch() -> WatchSettings {
        func span(_ name: String) -> TimeSpan {
            guard case .span(let span) = value(SettingsKey(.watch, name))?.value else {
                preconditionFailure("the key table has no watch.\(name)")
            }
            return span
        }
        let audit = span("audit")
        return WatchSettings(
            fastest: span("fastest"), slowest: span("slowest"), audit: audit == .seconds(0) ? nil : audit)
    }

    private func metrics() -> MetricsSettings? {
        guard let textfile = path(SettingsKey(.metrics, "textfile")),
            case .span(let every) = value(SettingsKey(.metrics, "every"))?.value
        else { return nil }
        return MetricsSettings(textfile: textfile, every: every)
    }

    private func timer(_ name: String) -> TimerSettings? {
        guard case .action(let action) = value(SettingsKey(.timer, name, "action"))?.value else { return nil }
        if case .timeOfDay(let time) = value(SettingsKey(.timer, name, "at"))?.value {
            return TimerSettings(name: name, schedule: .at(time), action: action)
        }
        guard case .span(let span) = value(SettingsKey(.timer, name, "every"))?.value,
            let clock = word(SettingsKey(.timer, name, "clock")).flatMap(TimerSettings.Clock.init)
        else { return nil }
        return TimerSettings(name: name, schedule: .every(span, clock), action: action)
    }

    private func signals() -> [SignalName: Action] {
        var actions: [SignalName: Action] = [:]
        for signal in SignalName.allCases {
            if case .action(let action) = value(SettingsKey(.signals, signal.rawValue))?.value {
                actions[signal] = action
            }
        }
        return actions
    }

    private func descriptor(_ name: String) -> DescriptorSettings? {
        path(SettingsKey(.descriptor, name, "fifo")).map { DescriptorSettings(name: name, fifo: $0) }
    }

    private func hook(_ name: String) -> HookSettings? {
        guard case .command(let command) = value(SettingsKey(.hook, name, "command"))?.value,
            case .span(let deadline) = value(SettingsKey(.hook, name, "deadline"))?.value,
            case .words(let events) = value(SettingsKey(.hook, name, "on"))?.value
        else { return nil }
        var inboxes: [String]?
        if case .words(let names) = value(SettingsKey(.hook, name, "inboxes"))?.value { inboxes = names }
        return HookSettings(
            name: name, command: command, events: events.compactMap(HookSettings.Event.init), inboxes: inboxes,
            deadline: deadline)
    }

    // MARK: - Values

    private func effective() -> [EffectiveSetting] {
        SettingsSection.allCases.flatMap { section in
            (section.isNamed ? names(of: section) : [""]).flatMap { member in
                Settings.keyTable.filter { $0.section == section }.compactMap { description in
                    let key = SettingsKey(section, member, description.name)
                    // A clock says nothing about a timer that goes by the time of day.
                    if section == .timer, description.name == "clock",
                        assignments.values[SettingsKey(.timer, member, "at")] != nil
                    {
                        return nil
                    }
                    return value(key).map {
                        EffectiveSetting(
                            key: key.text, value: $0.value.text, origin: $0.origin, fallback: description.fallback)
                    }
                }
            }
        }
    }

    private func names(of section: SettingsSection) -> [String] { assignments.members(of: section).map(\.name) }

    private func path(_ key: SettingsKey) -> BytePath? {
        guard case .path(let path) = value(key)?.value else { return nil }
        return path
    }

    private func word(_ key: SettingsKey) -> String? {
        guard case .word(let word) = value(key)?.value else { return nil }
        return word
    }

    /// What was said, else the key table's default.
    private func value(_ key: SettingsKey) -> (value: SettingValue, origin: Origin)? {
        if let said = assignments.values[key] { return (said.value, said.origin) }
        let content: TOMLNode.Content
        switch key.keyDescription?.fallback {
        case .text(let text): content = .string(text)
        case .array(let texts):
            content = .array(texts.map { TOMLNode(content: .string($0), position: .first, source: "") })
        case .words, nil: return nil
        }
        let node = TOMLNode(content: content, position: .first, source: "")
        guard let value = try? key.keyDescription?.kind.read(node, base: PathBase(directory: nil, mayClimb: false))
        else {
            preconditionFailure("the key table's default for \(key.text) is not of its own kind")
        }
        return (value, .standard)
    }
}
