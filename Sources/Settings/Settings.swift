package import FileValues
package import PhotoModel

/// The whole configuration, checked in itself; whether the directories are there is asked by ``check(against:)``.
///
/// An immutable value: a reload makes another one. See photoinbox.toml(5).
package struct Settings: Hashable, Sendable {
    /// Nil only where there is no inbox either: then there is nothing to do, and the daemon idles and says so.
    package let library: LibrarySettings?
    /// In the order in which they were named first.
    package let inboxes: [InboxSettings]
    /// The directory for what must outlive a restart.
    package let state: BytePath
    /// The catalogue's database file.
    package let catalogue: BytePath
    /// The directory for what need not outlive a restart.
    package let runtime: BytePath
    /// A group's name or number whose members may operate the daemon; nil for the daemon's own.
    package let operators: String?
    package let cards: CardSettings
    package let sets: SetSettings
    package let pictures: PictureSettings
    package let fetch: FetchLimits
    /// Whether files of links that come into an inbox are taken up.
    package let takesLinks: Bool
    package let watch: WatchSettings
    package let timers: [TimerSettings]
    /// What each signal does; a signal that is absent keeps the system's meaning.
    package let signals: [SignalName: Action]
    package let descriptors: [DescriptorSettings]
    package let hooks: [HookSettings]
    package let hookPlace: HookPlaceSetting
    /// Users whose programs may be hooks.
    package let programOwners: Set<UInt32>
    /// Nil where no file of metrics is written.
    package let metrics: MetricsSettings?
    package let log: LogSettings
    /// Every key that has a value, in the order of the key table, with where the value comes from.
    package let effective: [EffectiveSetting]

    /// The hook of this name.
    package func hook(named name: String) -> HookSettings? { hooks.first { $0.name == name } }

    /// Directories that the daemon makes at its start if they are absent, parents before children. Those for photos are
    /// made when they are first needed, since their disk may not be mounted.
    package var directoriesToMake: [BytePath] { [state, runtime] }
}

/// Where photos are filed and how they are kept.
package struct LibrarySettings: Hashable, Sendable {
    /// The library's root.
    package let path: BytePath
    package let quarantine: BytePath
    package let duplicates: BytePath
    /// Where photos go that are taken back out of the library.
    package let returned: BytePath
    /// Where files go that are thrown away, until they expire.
    package let trash: BytePath
    /// How long they lie there.
    package let trashTime: TimeSpan
    /// A user's name or number; nil for the daemon's own.
    package let owner: String?
    /// A group's name or number; nil for the daemon's own.
    package let group: String?
    /// Permission bits of filed photos.
    package let mode: UInt32
    /// Bytes that filing leaves free.
    package let minFree: UInt64
    /// Where in the library a photo goes.
    package let layout: LibraryLayout
    /// How sure its date must be.
    package let dates: DateTrust

    /// Permission bits of the library's directories: whoever may read may also search, and the owner may write.
    package var directoryMode: UInt32 { mode | 0o300 | (mode & 0o444) >> 2 }
}

/// One inbox.
package struct InboxSettings: Hashable, Sendable {
    /// What happens to a photo in the inbox once it is filed.
    package enum Mode: String, Hashable, Sendable {
        /// It leaves the inbox.
        case move
        /// It stays.
        case copy
    }

    package let name: String
    package let path: BytePath
    package let mode: Mode
    /// How long a file must rest, where a writer cannot be seen.
    package let quiet: TimeSpan
    /// How long after its last change a file may stay incomplete, before it is set aside for a person.
    package let patience: TimeSpan
    package let exclude: [PathGlob]
    /// What is made of its photos.
    package let renditions: [RenditionKind]

    /// The pattern that leaves `path`, relative to the inbox, alone; nil if none does.
    package func exclusion(of path: BytePath) -> PathGlob? { exclude.first { $0.matches(path) } }
}

/// Cards that are imported when they are mounted.
package struct CardSettings: Hashable, Sendable {
    package let isEnabled: Bool
    /// The name of the inbox that they are imported into; nil where there is none.
    package let inbox: String?
    /// Of a card: relative to its root.
    package let directories: [BytePath]
    /// Where cards are mounted.
    package let below: [BytePath]
}

/// How what belongs together is filed as one.
package struct SetSettings: Hashable, Sendable {
    /// When a photo waits although nothing that belongs to it is in sight.
    package enum Expectation: String, Hashable, Sendable {
        case auto, always, never
    }

    package let isEnabled: Bool
    /// From when the last file of a set is complete.
    package let wait: TimeSpan
    package let expectation: Expectation
}

/// Small pictures of filed photos.
package struct PictureSettings: Hashable, Sendable {
    package let isEnabled: Bool
    /// Its longer side, in pixels.
    package let thumbnail: UInt32
    /// The same; 0 for none.
    package let preview: UInt32
    /// Of the JPEGs, 1 to 100.
    package let quality: UInt8
    /// Whether none are made where the decoder cannot be confined entirely.
    package let isConfinementRequired: Bool
    /// How long one photo may take.
    package let time: TimeSpan
    /// How much processor time it may take.
    package let processorTime: TimeSpan
    /// Nil for the one beside the program that starts it.
    package let decoder: BytePath?
    /// How many may run at once; 0 for one for each processor, four at most.
    package let decoders: Int

    /// The longer sides in pixels, from large to small, each once.
    package var sizes: [UInt32] { Set([thumbnail, preview]).filter { $0 > 0 }.sorted(by: >) }

    /// Where there is no configuration: the key table's defaults.
    package static let standard = PictureSettings(
        isEnabled: false, thumbnail: 512, preview: 2_048, quality: 80, isConfinementRequired: true, time: .seconds(60),
        processorTime: .seconds(30), decoder: nil, decoders: 0)
}

/// How inboxes are watched, and how often they are compared with what is known where that does not suffice.
package struct WatchSettings: Hashable, Sendable {
    /// What reports no changes, while files arrive.
    package let fastest: TimeSpan
    /// The same when nothing arrives.
    package let slowest: TimeSpan
    /// What does report changes; nil for never.
    package let audit: TimeSpan?
}

/// An action that comes back.
package struct TimerSettings: Hashable, Sendable {
    package enum Clock: String, Hashable, Sendable {
        /// Stands still while the machine sleeps; see clock_gettime(2).
        case monotonic
        /// Goes on while the machine sleeps.
        case boottime
    }

    package enum Schedule: Hashable, Sendable {
        case every(TimeSpan, Clock)
        case at(TimeOfDay)
    }

    package let name: String
    package let schedule: Schedule
    package let action: Action
}

/// A FIFO whose lines are commands.
package struct DescriptorSettings: Hashable, Sendable {
    package let name: String
    package let fifo: BytePath
}

/// A program that is told what happened, or that an action may run.
package struct HookSettings: Hashable, Sendable {
    package enum Event: String, CaseIterable, Hashable, Sendable {
        case filed, quarantined
        case setComplete = "set-complete"
    }

    package let name: String
    /// The program's absolute path and its arguments.
    package let command: [String]
    /// None: it is run by an action only.
    package let events: [Event]
    /// Nil for all.
    package let inboxes: [String]?
    package let deadline: TimeSpan

    package init(
        name: String, command: [String], events: [Event] = [], inboxes: [String]? = nil, deadline: TimeSpan
    ) {
        self.name = name
        self.command = command
        self.events = events
        self.inboxes = inboxes
        self.deadline = deadline
    }

    /// Its program.
    package var program: BytePath { BytePath(command.first ?? "") }
}

/// Where hooks run.
package enum HookPlaceSetting: String, Hashable, Sendable {
    /// In their unit where a service manager has started the daemon.
    case auto
    case unit, child
}

/// A file of metrics for a collector.
package struct MetricsSettings: Hashable, Sendable {
    package let textfile: BytePath
    package let every: TimeSpan
}

/// What is logged, and where.
package struct LogSettings: Hashable, Sendable {
    package enum Level: String, CaseIterable, Hashable, Sendable {
        case error, warning, notice, info, debug
    }

    package enum Destination: String, Hashable, Sendable {
        /// The journal where there is one, unless standard error is a terminal.
        case auto
        case journal, console
    }

    package let level: Level
    package let destination: Destination
}

/// One key's value and where it comes from.
package struct EffectiveSetting: Hashable, Sendable {
    /// `inbox.card.quiet`.
    package let key: String
    /// As it would be written in the file.
    package let value: String
    package let origin: Origin
    /// What the value would be without the origin, in words or as it would be written; nil if there is no default.
    package let fallback: Fallback?
}
