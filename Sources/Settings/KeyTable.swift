import FileValues
import PhotoFormats
import PhotoModel

extension Settings {
    /// All keys, in the order of the manual.
    package static let keyTable: [KeyRow] = SettingsSection.allCases.flatMap { section in
        let group: any KeyGroup =
            switch section {
            case .top: Keys.top
            case .inbox: Keys.inbox
            case .cards: Keys.cards
            case .filing: Keys.filing
            case .sets: Keys.sets
            case .describe: Keys.describe
            case .pictures: Keys.pictures
            case .fetch: Keys.fetch
            case .web: Keys.web
            case .watch: Keys.watch
            case .timer: Keys.timer
            case .signals: Keys.signals
            case .descriptor: Keys.descriptor
            case .hook: Keys.hook
            case .metrics: Keys.metrics
            case .log: Keys.log
            }
        return group.rows
    }
}

/// The keys by section. The words are for people: the manual and the default file show them.
enum Keys {
    static let top = Top()
    static let inbox = Inbox()
    static let filing = Filing()
    static let sets = Sets()
    static let watch = Watch()
    static let timer = Timer()
    static let signals = Signals()
    static let descriptor = Descriptor()
    static let hook = Hook()
    static let metrics = Metrics()
    static let log = Log()

    struct Top: KeyGroup {
        let library = Key<BytePath?>(
            .top, "library", Form.path, isRequired: true, example: "/srv/photos/library",
            words: "The directory under which photos are filed, arranged by filing.layout. It must exist.")
        let quarantine = Key<BytePath?>(
            .top, "quarantine", Form.path, otherwise: "\"quarantine\" beside the library",
            example: "/srv/photos/quarantine",
            words: "Where files go that need a person to decide: damaged files, and files that are not photos.")
        let duplicates = Key<BytePath?>(
            .top, "duplicates", Form.path, otherwise: "\"duplicates\" beside the library",
            example: "/srv/photos/duplicates",
            words: "Where duplicates go: files whose content, read and compared, is already in the library.")
        let returned = Key<BytePath?>(
            .top, "returned", Form.path, otherwise: "\"returned\" beside the quarantine",
            example: "/srv/photos/returned",
            words:
                "Where \"photoinbox undo\" puts photos that it removes from the library. Not in an inbox, or they would "
                + "be filed again.")
        let trash = Key<BytePath?>(
            .top, "trash", Form.path, otherwise: "\"trash\" beside the quarantine", example: "/srv/photos/trash",
            words: "Where \"photoinbox discard\" puts files until they expire: see trash in [filing].")
        let state = Key<BytePath?>(
            .top, "state", Form.path,
            otherwise: "\"/var/lib/photoinbox\" for a configuration in /etc, \"/var/lib/photoinboxd/NAME\" for "
                + "/etc/photoinbox/NAME.toml, \"~/.local/state/photoinbox\" for a user's own, else \"state\" beside the "
                + "library", example: "/var/lib/photoinbox",
            words:
                "What must survive a restart: the catalogue, and what is known of the inboxes. Must be on a local disk."
        )
        let catalogue = Key<CataloguePlace?>(
            .top, "catalogue", Form.catalogue, otherwise: "\"catalogue.sqlite\" in the state directory",
            example: "/var/lib/photoinbox/catalogue.sqlite",
            words:
                "The database that records what was filed, from where, when and why: a file, or a database of PostgreSQL 14 "
                + "or later in the words of libpq, like \"service=photoinbox\", without a password. All of it is in the "
                + "schema \"photoinbox\".")
        let runtime = Key<BytePath?>(
            .top, "runtime", Form.path,
            otherwise: "\"/run/photoinbox\" for the state directory /var/lib/photoinbox, \"/run/photoinboxd/NAME\" for "
                + "/var/lib/photoinboxd/NAME, \"$XDG_RUNTIME_DIR/photoinbox\" for a user's own, else \"run\" in it",
            example: "/run/photoinbox",
            words: "What need not survive a restart: the state dump, and the control socket.")
        let operators = Key<String?>(
            .top, "operators", Form.account,
            otherwise: "the group that photoinboxd runs as, if it is a service's or has its user's name",
            example: "photo-operators",
            words:
                "The group whose members may use the control socket to pause, release, discard, undo and so on, like "
                + "root and the user that photoinboxd runs as. The service cannot give its sockets to a group that it is not "
                + "a member of: add SocketGroup= to photoinboxd.socket and photoinboxd-fetch.socket, and enable the first."
        )
        let hooks = Key<HookPlaceSetting>(
            .top, "hooks", Form.choice(), default: .auto,
            words: "Where hooks run. \"unit\": in photoinboxd-hooks@.service, which is not confined as the daemon is, "
                + "through the socket \"hooks\" in the runtime directory. \"child\": as child processes of the daemon. "
                + "\"auto\": in the unit if a service manager started the daemon, else as child processes. If the daemon "
                + "is started with another --config, that unit must be, too: see photoinboxd(8).")
    }

    struct Inbox: KeyGroup {
        let path = Key<BytePath?>(
            .inbox, "path", Form.path, isRequired: true, example: "/srv/inbox/card",
            words: "The directory. It must exist, and must not contain, or lie in, the library or another inbox.")
        let mode = Key<InboxSettings.Mode>(
            .inbox, "mode", Form.choice(), default: .move,
            words: "\"move\": a photo is removed from the inbox once it is safe in the library. \"copy\": it stays.")
        let quiet = Key<TimeSpan>(
            .inbox, "quiet", Form.span(0...86_400), default: .seconds(5),
            words:
                "How long a file must stay unchanged before it is filed. Used only where a writer, or the end of the "
                + "file, cannot be detected, or where the only date is the file's time, which FTP clients set after the "
                + "upload. Extended, up to 2m, for inboxes whose writers were seen to pause for longer.")
        let patience = Key<TimeSpan>(
            .inbox, "patience", Form.span(0...30 * 86_400), default: .seconds(600),
            words:
                "How long a file may stay incomplete after its last change. Then it is moved to the quarantine, with a "
                + "file beside it that gives the reason; a file that lacks only what viewers do not need is filed.")
        let exclude = Key<[PathGlob]>(
            .inbox, "exclude", Form.patterns, default: [], example: "*.tmp", "@eaDir",
            words: "Files to ignore. A pattern without a slash matches any name along the path; one with a slash is "
                + "matched from the inbox down. * and ? match within a name, ** matches whole names.")
        let library = Key<BytePath?>(
            .inbox, "library", Form.path, otherwise: "the library", example: "/srv/photos/library",
            words: "The library of this inbox. All inboxes share one library in this version, so it must be the same.")
        let renditions = Key<[RenditionKind]>(
            .inbox, "renditions", Form.choices(), default: RenditionKind.standard,
            example: "thumbnail", "preview", "hash", "tilt-shift",
            words: "What is made from the photos of this inbox, if [pictures] is enabled; what one of them requires is "
                + "made, too. \"hash\" is used by \"photoinbox similar\" and requires the thumbnail. \"tilt-shift\" makes "
                + "the preview look like a photo of a miniature; \"googly\" draws googly eyes over each pair of eyes in "
                + "it, and needs a decoder that was built with FACES=1.")
    }

    struct Filing: KeyGroup {
        let layout = Key<LibraryLayout>(
            .filing, "layout", Form.layout, default: .standard,
            words: "Where in the library a photo goes: directories made of text and fields, ending in /{name}. Fields: "
                + "{year}, {month}, {day} and {date} (2026-11-21) of the date the photo was taken, and {camera}, the "
                + "camera model. Photos that are filed already stay where they are.")
        let dates = Key<DateTrust>(
            .filing, "dates", Form.choice(), default: .any, example: "recorded",
            words:
                "How reliable the date must be by which a photo is filed. \"device\": the clock of the device that took "
                + "it (EXIF, GPS, the header of a film). \"recorded\": also dates written by other programs, or in the "
                + "file name. \"any\": as a last resort also the modification time. Photos without such a date are filed "
                + "under undated/.")
        let owner = Key<String?>(
            .filing, "owner", Form.account, otherwise: "the user that photoinboxd runs as", example: "ana",
            words:
                "The owner of filed photos. Another than the user that photoinboxd runs as requires CAP_CHOWN and "
                + "CAP_FOWNER, which the service does not have.")
        let group = Key<String?>(
            .filing, "group", Form.account, otherwise: "the group that photoinboxd runs as", example: "photos",
            words: "The group of filed photos. photoinboxd must be a member.")
        let mode = Key<UInt32>(
            .filing, "mode", Form.fileMode, default: 0o640,
            words: "The permissions of filed photos. Whoever may read them may also search their directories.")
        let trash = Key<TimeSpan>(
            .filing, "trash", Form.span(1...3_650 * 86_400), default: .seconds(30 * 86_400),
            words:
                "How long discarded files are kept in the trash before they are deleted. Time while the machine is off "
                + "counts for a day at most.")
        let minFree = Key<ByteSize>(
            .filing, "min-free", Form.size, default: ByteSize(bytes: 0), example: "2G",
            words: "How much space to keep free in the library's file system. With less, photos wait in their inboxes, "
                + "and a problem is reported. In bytes, or with K, M, G or T.")
    }

    struct Sets: KeyGroup {
        let enabled = Key<Bool>(
            .sets, "enabled", Form.yesNo, default: true,
            words: "With \"no\" each photo is filed alone, and sidecars stay where they are.")
        let wait = Key<TimeSpan>(
            .sets, "wait", Form.span(0...60), default: .seconds(2),
            words:
                "How long related files wait for others of their set, from when the last of them is complete. A file "
                + "that comes later is still put beside the others in the library.")
        let expect = Key<SetSettings.Expectation>(
            .sets, "expect", Form.choice(), default: .auto,
            words:
                "Whether a photo waits although no related file has arrived. \"auto\": if half of the last photos of "
                + "its inbox came with a partner, and for the film of a Live Photo. \"always\": every photo. \"never\": "
                + "none.")
    }

    struct Watch: KeyGroup {
        let fastest = Key<TimeSpan>(
            .watch, "fastest", Form.span(1...86_400), default: .seconds(2),
            words:
                "How often, while files arrive, to scan directories that report no changes: on NFS, SMB and FUSE, or "
                + "where watches or permissions are missing. Done on the watchdog's tick, so rarely more often than "
                + "every 5s.")
        let slowest = Key<TimeSpan>(
            .watch, "slowest", Form.span(1...86_400), default: .seconds(60),
            words: "The same when nothing has arrived for a while. Slow scans are done less often, so that they take a "
                + "fiftieth of the time at most.")
        let audit = Key<TimeSpan>(
            .watch, "audit", Form.span(0...400 * 86_400), default: .seconds(86_400),
            words: "How often to scan inboxes that do report changes, to find and count what was missed; 24 times as "
                + "often after something was missed. \"0s\" for never.")
    }

    struct Timer: KeyGroup {
        let name = Key<String?>(
            .timer, "name", Form.name, isRequired: true, example: "rescan",
            words: "The name in logs and in the state dump.")
        let action = Key<Action?>(
            .timer, "action", Form.action(.timer), isRequired: true, example: "reconcile",
            words: "One of \(Action.names(for: .timer).joined(separator: ", ")).")
        let every = Key<TimeSpan?>(
            .timer, "every", Form.span(1...400 * 86_400), example: "1h",
            words: "The interval; at least \"1s\".")
        let at = Key<TimeOfDay?>(
            .timer, "at", Form.timeOfDay, example: "sun 03:00",
            words: "The local time of day, optionally after a weekday.")
        let clock = Key<TimerSettings.Clock>(
            .timer, "clock", Form.choice(), default: .monotonic, example: "boottime",
            words: "For \"every\": whether time while the machine sleeps counts (\"boottime\") or not (\"monotonic\").")
    }

    /// One key for each signal.
    struct Signals: KeyGroup {
        var rows: [KeyRow] { SignalName.allCases.map { self[$0].row } }

        subscript(signal: SignalName) -> Key<Action?> {
            Key(
                .signals, signal.rawValue, Form.action(.signal), default: signal.standardAction,
                otherwise: "the system's meaning", example: "\(signal.standardAction ?? .reconcile)",
                words: signal == .terminate
                    ? "Always \"stop\"." : "One of \(Action.names(for: .signal).joined(separator: ", ")).")
        }
    }

    struct Descriptor: KeyGroup {
        let name = Key<String?>(
            .descriptor, "name", Form.name, isRequired: true, example: "commands",
            words: "The name in logs and in the state dump.")
        let fifo = Key<BytePath?>(
            .descriptor, "fifo", Form.path, isRequired: true, example: "/run/photoinbox/commands",
            words: "The FIFO; created if it does not exist. Whoever may write to it may command the daemon.")
    }

    struct Hook: KeyGroup {
        let command = Key<[String]?>(
            .hook, "command", Form.command, isRequired: true, example: "/usr/local/lib/photos/notify", "argument",
            words:
                "The absolute path of the program, and its arguments; they are not passed through a shell. Program and "
                + "parent directories must be owned by root and writable to nobody else; if the configuration is your "
                + "own, not root's, they may be owned by you.")
        let on = Key<[HookSettings.Event]>(
            .hook, "on", Form.choices(), default: [], example: "filed", "set-complete",
            words: "The events to run it for, each reported at least once, also across restarts: \"filed\" and "
                + "\"quarantined\" for every such file, \"set-complete\" for every complete set of several files, and "
                + "again when another file joins it. A new hook gets only events from now on. With none it runs only on "
                + "\"hook NAME\".")
        let inboxes = Key<[String]?>(
            .hook, "inboxes", Form.names, otherwise: "all inboxes", example: "card",
            words: "The inboxes whose events it gets.")
        let deadline = Key<TimeSpan>(
            .hook, "deadline", Form.span(1...86_400), default: .seconds(30),
            words:
                "How long it may run. Then it and the processes it started get SIGTERM, and SIGKILL five seconds later. "
                + "A failed run is retried, with growing pauses and fewer files; a file that failed five times is skipped, "
                + "unless the status says that something else is missing: 69, 75, 77 or 78, as in sysexits.h."
        )
    }

    struct Metrics: KeyGroup {
        let textfile = Key<BytePath?>(
            .metrics, "textfile", Form.path, otherwise: "none is written",
            example: "/var/lib/prometheus/node-exporter/photoinbox.prom",
            words: "A file whose name ends in .prom, for the textfile collector of node_exporter: see "
                + "photoinbox-metrics(7). It is replaced atomically, and removed when the daemon stops. The service needs "
                + "ReadWritePaths= for its directory.")
        let every = Key<TimeSpan>(
            .metrics, "every", Form.span(1...3_600), default: .seconds(15),
            words: "How often to write it. Done on the watchdog's tick, so rarely more often than every 5s.")
    }

    struct Log: KeyGroup {
        let level = Key<LogSettings.Level>(
            .log, "level", Form.choice(), default: .info, words: "The least important messages to log.")
        let destination = Key<LogSettings.Destination>(
            .log, "destination", Form.choice(), default: .auto,
            words: "\"auto\" is the journal if there is one, unless standard error is a terminal.")
    }
}
