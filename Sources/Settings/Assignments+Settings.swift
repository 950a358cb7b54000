import FileValues
import PhotoModel

extension Assignments {
    /// Returns the settings of these assignments, without named sections that lack a required key.
    func settings() -> Settings {
        let top = Keys.top
        let state = self[top.state] ?? StandardPlaces.systemState
        return Settings(
            library: library, inboxes: names(of: .inbox).compactMap(inbox), state: state,
            catalogue: self[top.catalogue] ?? .file(state.appending("catalogue.sqlite")),
            runtime: self[top.runtime] ?? state.appending("run"), operators: self[top.operators], cards: cards,
            sets: SetSettings(
                isEnabled: self[Keys.sets.enabled], wait: self[Keys.sets.wait], expectation: self[Keys.sets.expect]),
            writesSidecars: self[Keys.describe.writeSidecars], pictures: pictures, fetch: fetch,
            takesLinks: self[Keys.fetch.links], dropInbox: self[Keys.web.inbox].flatMap(inbox), watch: watch,
            timers: names(of: .timer).compactMap(timer), signals: signals,
            descriptors: names(of: .descriptor).compactMap { name in
                self[Keys.descriptor.fifo, name].map { DescriptorSettings(name: name, fifo: $0) }
            },
            hooks: names(of: .hook).compactMap(hook), hookPlace: self[top.hooks], programOwners: programOwners,
            metrics: self[Keys.metrics.textfile].map {
                MetricsSettings(textfile: $0, every: self[Keys.metrics.every])
            },
            log: LogSettings(level: self[Keys.log.level], destination: self[Keys.log.destination]),
            placeNames: placeNames, effective: effective)
    }

    private var library: LibrarySettings? {
        let (top, filing) = (Keys.top, Keys.filing)
        guard let path = self[top.library], let quarantine = self[top.quarantine],
            let duplicates = self[top.duplicates], let returned = self[top.returned], let trash = self[top.trash]
        else { return nil }
        return LibrarySettings(
            path: path, quarantine: quarantine, duplicates: duplicates, returned: returned, trash: trash,
            trashTime: self[filing.trash], owner: self[filing.owner], group: self[filing.group],
            mode: self[filing.mode], minFree: self[filing.minFree].bytes, layout: self[filing.layout],
            dates: self[filing.dates])
    }

    private func inbox(_ name: String) -> InboxSettings? {
        let keys = Keys.inbox
        return self[keys.path, name].map { path in
            InboxSettings(
                name: name, path: path, mode: self[keys.mode, name], quiet: self[keys.quiet, name],
                patience: self[keys.patience, name], exclude: self[keys.exclude, name],
                renditions: self[keys.renditions, name])
        }
    }

    private var cards: CardSettings {
        let (keys, inboxes) = (Keys.cards, names(of: .inbox))
        return CardSettings(
            isEnabled: self[keys.import], inbox: self[keys.inbox] ?? (inboxes.count == 1 ? inboxes.first : nil),
            directories: self[keys.directories], below: self[keys.below])
    }

    var pictures: PictureSettings {
        let keys = Keys.pictures
        return PictureSettings(
            isEnabled: self[keys.enabled], thumbnail: self[keys.thumbnail], preview: self[keys.preview],
            quality: self[keys.quality], isConfinementRequired: self[keys.confinement], time: self[keys.time],
            processorTime: self[keys.processorTime], decoder: self[keys.decoder], decoders: self[keys.decoders])
    }

    private var fetch: FetchLimits {
        let keys = Keys.fetch
        return FetchLimits(
            atOnce: self[keys.atOnce], deadline: self[keys.deadline].milliseconds / 1_000,
            stall: self[keys.stall].milliseconds / 1_000, largest: self[keys.largest].bytes, tries: self[keys.tries],
            pause: self[keys.pause].milliseconds, allowed: self[keys.allowPrivate])
    }

    private var watch: WatchSettings {
        let (keys, audit) = (Keys.watch, self[Keys.watch.audit])
        return WatchSettings(
            fastest: self[keys.fastest], slowest: self[keys.slowest], audit: audit == .seconds(0) ? nil : audit)
    }

    private func timer(_ name: String) -> TimerSettings? {
        let keys = Keys.timer
        let every = self[keys.every, name].map { TimerSettings.Schedule.every($0, self[keys.clock, name]) }
        guard let action = self[keys.action, name], let schedule = self[keys.at, name].map({ .at($0) }) ?? every else {
            return nil
        }
        return TimerSettings(name: name, schedule: schedule, action: action)
    }

    private var signals: [SignalName: Action] {
        SignalName.allCases.reduce(into: [:]) { $0[$1] = self[Keys.signals[$1]] }
    }

    private func hook(_ name: String) -> HookSettings? {
        let keys = Keys.hook
        return self[keys.command, name].map { command in
            HookSettings(
                name: name, command: command, events: self[keys.on, name], inboxes: self[keys.inboxes, name],
                deadline: self[keys.deadline, name])
        }
    }

    private var effective: [EffectiveSetting] {
        SettingsSection.allCases.flatMap { section in
            (section.isNamed ? names(of: section) : [""]).flatMap { member in
                section.keys.compactMap { row in
                    let key = SettingsKey(section, member, row.name)
                    // A timer with a time of day has no clock.
                    if key == Keys.timer.clock.at(member), self[Keys.timer.at, member] != nil { return nil }
                    let given = values[key]
                    return (given?.text ?? row.standardText).map {
                        EffectiveSetting(key: key.text, value: $0, origin: given?.origin ?? .standard)
                    }
                }
            }
        }
    }
}
