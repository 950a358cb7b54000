package import FileValues
package import PhotoFormats
package import PhotoModel

/// The whole configuration, consistent in itself; ``check(against:)`` checks the directories. See photoinbox.toml(5).
///
/// Immutable: a reload creates another value.
package struct Settings: Hashable, Sendable {
    /// Nil only if there is no inbox either; then the daemon is idle, and reports that.
    package let library: LibrarySettings?
    /// In the order of their first mention.
    package let inboxes: [InboxSettings]
    /// The directory for data that must survive a restart.
    package let state: BytePath
    package let catalogue: CataloguePlace
    /// The directory for data that need not survive a restart.
    package let runtime: BytePath
    /// The name or number of the group whose members may operate the daemon; nil for the daemon's own.
    package let operators: String?
    package let cards: CardSettings
    package let sets: SetSettings
    /// Whether descriptions are written to sidecars.
    package let writesSidecars: Bool
    package let pictures: PictureSettings
    package let fetch: FetchLimits
    /// Whether link files in inboxes are processed.
    package let takesLinks: Bool
    /// The inbox for what is sent to the pages; nil if nothing can be.
    package let dropInbox: InboxSettings?
    package let watch: WatchSettings
    package let timers: [TimerSettings]
    /// The actions of signals; the others keep the system's meaning.
    package let signals: [SignalName: Action]
    package let descriptors: [DescriptorSettings]
    package let hooks: [HookSettings]
    package let hookPlace: HookPlaceSetting
    /// Users whose programs may be hooks.
    package let programOwners: Set<UInt32>
    /// Nil if no metrics file is written.
    package let metrics: MetricsSettings?
    package let log: LogSettings
    /// The files that may be the table of place names; the first that exists is it.
    package let placeNames: [BytePath]
    /// Every key that has a value, in the order of the key table, with its origin.
    package let effective: [EffectiveSetting]

    package func hook(named name: String) -> HookSettings? { hooks.first { $0.name == name } }

    /// Directories that the daemon creates at its start, parents before children. Those for photos are created when they
    /// are first needed, since their disk may not be mounted.
    package var directoriesToMake: [BytePath] { [state, runtime] }
}

/// The library: its place, and how photos are stored in it.
package struct LibrarySettings: Hashable, Sendable {
    /// The library's root.
    package let path: BytePath
    package let quarantine: BytePath
    package let duplicates: BytePath
    /// The directory for photos that `undo` removes from the library.
    package let returned: BytePath
    /// The directory for discarded files until they expire.
    package let trash: BytePath
    /// How long discarded files are kept.
    package let trashTime: TimeSpan
    /// A user's name or number; nil for the daemon's own.
    package let owner: String?
    /// A group's name or number; nil for the daemon's own.
    package let group: String?
    /// Permission bits of filed photos.
    package let mode: UInt32
    /// Bytes to keep free.
    package let minFree: UInt64
    /// The pattern of paths in the library.
    package let layout: LibraryLayout
    /// How reliable a photo's date must be.
    package let dates: DateTrust

    /// Permission bits of the library's directories: users who may read may also search, and the owner may write.
    package var directoryMode: UInt32 { mode | 0o300 | (mode & 0o444) >> 2 }
}

/// One inbox.
package struct InboxSettings: Hashable, Sendable {
    /// The treatment of a photo in the inbox once it is filed.
    package enum Mode: String, CaseIterable, Hashable, Sendable {
        /// It is removed from the inbox.
        case move
        /// It stays.
        case copy
    }

    package let name: String
    package let path: BytePath
    package let mode: Mode
    /// How long a file must stay unchanged where its writer cannot be detected.
    package let quiet: TimeSpan
    /// How long a file may stay incomplete after its last change.
    package let patience: TimeSpan
    package let exclude: [PathGlob]
    /// The renditions of its photos.
    package let renditions: [RenditionKind]

    /// Returns the pattern that excludes `path`, relative to the inbox.
    package func exclusion(of path: BytePath) -> PathGlob? { exclude.first { $0.matches(path) } }
}

/// Cards that are imported when they are mounted.
package struct CardSettings: Hashable, Sendable {
    package let isEnabled: Bool
    /// The name of the inbox that they are imported into; nil if there is none.
    package let inbox: String?
    /// Directories that are imported, relative to a card's root.
    package let directories: [BytePath]
    /// Where cards are mounted.
    package let below: [BytePath]
}

/// How related files are filed together.
package struct SetSettings: Hashable, Sendable {
    /// When a photo waits although no related file has arrived.
    package enum Expectation: String, CaseIterable, Hashable, Sendable {
        case auto, always, never
    }

    package let isEnabled: Bool
    /// From when the last file of a set is complete.
    package let wait: TimeSpan
    package let expectation: Expectation
}

/// Thumbnails and previews of filed photos.
package struct PictureSettings: Hashable, Sendable {
    package let isEnabled: Bool
    /// The longer side, in pixels.
    package let thumbnail: UInt32
    /// The longer side, in pixels; 0 for none.
    package let preview: UInt32
    /// The longer side of the picture that is made with each thumbnail for a page of many, in pixels: the largest square of
    /// the pages has 240, and a photograph is 3:2.
    package var tile: UInt32 { min(thumbnail, 320) }
    /// The JPEG quality, 1 to 100.
    package let quality: UInt8
    /// Whether none are made if the decoder cannot be confined completely.
    package let isConfinementRequired: Bool
    /// The time limit for one photo.
    package let time: TimeSpan
    /// The limit of processor time for one photo.
    package let processorTime: TimeSpan
    /// Nil for the decoder beside the program that starts it.
    package let decoder: BytePath?
    /// How many may run at once; 0 for one for each processor, four at most.
    package let decoders: Int

    /// The longer sides in pixels, from large to small, each once.
    package var sizes: [UInt32] { Set([thumbnail, preview]).filter { $0 > 0 }.sorted(by: >) }

    /// The defaults, where there is no configuration.
    package static let standard = Assignments().pictures
}

/// How often inboxes are scanned.
package struct WatchSettings: Hashable, Sendable {
    /// Directories that report no changes, while files arrive.
    package let fastest: TimeSpan
    /// Directories that report no changes, while nothing arrives.
    package let slowest: TimeSpan
    /// Inboxes that do report changes; nil for never.
    package let audit: TimeSpan?
}

/// A scheduled action.
package struct TimerSettings: Hashable, Sendable {
    package enum Clock: String, CaseIterable, Hashable, Sendable {
        /// Stops while the machine sleeps; see clock_gettime(2).
        case monotonic
        /// Runs while the machine sleeps.
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

/// A FIFO that accepts commands.
package struct DescriptorSettings: Hashable, Sendable {
    package let name: String
    package let fifo: BytePath
}

/// A program that runs on events, or by an action.
package struct HookSettings: Hashable, Sendable {
    package enum Event: String, CaseIterable, Hashable, Sendable {
        case filed, quarantined
        case setComplete = "set-complete"
    }

    package let name: String
    /// The program's absolute path and its arguments.
    package let command: [String]
    /// With none it is run by an action only.
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

    package var program: BytePath { BytePath(command.first ?? "") }
}

/// Where hooks run.
package enum HookPlaceSetting: String, CaseIterable, Hashable, Sendable {
    /// In their unit if a service manager started the daemon.
    case auto
    case unit, child
}

/// A metrics file for a collector.
package struct MetricsSettings: Hashable, Sendable {
    package let textfile: BytePath
    package let every: TimeSpan
}

/// The level and destination of the log.
package struct LogSettings: Hashable, Sendable {
    package enum Level: String, CaseIterable, Hashable, Sendable {
        case error, warning, notice, info, debug
    }

    package enum Destination: String, CaseIterable, Hashable, Sendable {
        /// The journal if there is one, unless standard error is a terminal.
        case auto
        case journal, console
    }

    package let level: Level
    package let destination: Destination
}

/// One key's value and its origin.
package struct EffectiveSetting: Hashable, Sendable {
    /// `inbox.card.quiet`.
    package let key: String
    /// As it would be written in the file.
    package let value: String
    package let origin: Origin
}
