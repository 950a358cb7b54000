import PhotoModel

/// The sections of the configuration.
package enum SettingsSection: String, CaseIterable, Hashable, Sendable {
    /// Keys before the first header.
    case top = ""
    case inbox, cards, filing, sets, pictures, fetch, watch, timer, signals, descriptor, hook, metrics, log

    /// How its header is written; empty for the top.
    package var header: String {
        switch self {
        case .top: ""
        case .inbox, .hook: "[\(rawValue).NAME]"
        case .timer, .descriptor: "[[\(rawValue)]]"
        case .cards, .filing, .sets, .pictures, .fetch, .watch, .signals, .metrics, .log: "[\(rawValue)]"
        }
    }

    /// Whether each of its headers has, or its keys contain, a name.
    package var isNamed: Bool {
        switch self {
        case .inbox, .hook, .timer, .descriptor: true
        case .top, .cards, .filing, .sets, .pictures, .fetch, .watch, .signals, .metrics, .log: false
        }
    }

    /// What it is for, for the manual and the default file.
    package var explanation: String {
        switch self {
        case .top: ""
        case .inbox: "A directory tree whose photos are filed. As many as are wanted, each with a name of its own."
        case .cards:
            "Cards of cameras, imported when they are mounted. Nothing is ever changed or removed on a card."
        case .filing: "How filed photos are kept."
        case .sets:
            "What belongs together is filed as one: RAW and JPEG, a Live Photo's picture and film, a photo and its sidecars."
        case .pictures:
            "Small pictures of filed photos, made by a confined program after filing, which never waits for them."
        case .fetch:
            "Photos that \"photoinbox fetch\" downloads from the network into an inbox, by a program of its own: the daemon "
                + "itself has no network. Read when a batch begins."
        case .watch:
            "How inboxes are watched, and how often they are compared with what is known where that does not suffice."
        case .timer: "An action that comes back: give it a name, and either \"every\" or \"at\"."
        case .signals: "What signals do. Names with or without SIG."
        case .descriptor: "A FIFO whose lines are commands: each line is an action."
        case .hook:
            "A program that is told what was filed or set aside, or that \"hook NAME\" runs; without a shell, with a time "
                + "limit. One JSON object a line comes on its standard input: see photoinbox-json(7)."
        case .metrics: "Numbers for those who collect them; \"photoinbox metrics\" tells the same at any time."
        case .log: "What is logged, and where."
        }
    }
}

/// What holds when a key is absent.
package enum Fallback: Hashable, Sendable, CustomStringConvertible {
    /// This text, without its quotes.
    case text(String)
    /// These texts.
    case array([String])
    /// Something that depends on other keys, or on the process; in words.
    case words(String)

    /// As it would be written, or the words.
    package var description: String {
        switch self {
        case .text(let text): tomlString(text)
        case .array(let texts): "[" + texts.map(tomlString).joined(separator: ", ") + "]"
        case .words(let words): words
        }
    }
}

/// One key of the configuration. The manual, the default file and the reader all come from these.
package struct KeyDescription: Hashable, Sendable {
    package let section: SettingsSection
    /// As it is written; in `[signals]` each signal is a key.
    package let name: String
    package let kind: ValueKind
    /// What holds when the key is absent; nil if there is no default.
    package let fallback: Fallback?
    /// Whether its section is refused without it.
    package let isRequired: Bool
    /// A value as it would be written, for the default file.
    package let example: String
    /// For people: what it does, in whole sentences.
    package let explanation: String

    /// `inbox.NAME.quiet`.
    package var path: String {
        switch section {
        case .top: name
        case .inbox, .hook, .timer, .descriptor: "\(section.rawValue).NAME.\(name)"
        case .cards, .filing, .sets, .pictures, .fetch, .watch, .signals, .metrics, .log:
            "\(section.rawValue).\(name)"
        }
    }
}

extension Settings {
    /// Every key there is, in the order in which people meet them.
    package static let keyTable: [KeyDescription] =
        topKeys + inboxKeys + cardKeys + filingKeys + setKeys + pictureKeys + fetchKeys + watchKeys + timerKeys
        + signalKeys + descriptorKeys + hookKeys + metricsKeys + logKeys

    private static let topKeys: [KeyDescription] = [
        key(
            .top, "library", .path, required: true, example: "\"/srv/photos/library\"",
            "The directory under which photos are filed, as filing.layout says. It must exist."),
        key(
            .top, "quarantine", .path, fallback: .words("\"quarantine\" beside the library"),
            example: "\"/srv/photos/quarantine\"", "Where files go that need a person: broken ones, and non-photos."),
        key(
            .top, "duplicates", .path, fallback: .words("\"duplicates\" beside the library"),
            example: "\"/srv/photos/duplicates\"",
            "Where files go whose equal is in the library, read again and compared, already."),
        key(
            .top, "returned", .path, fallback: .words("\"returned\" beside the quarantine"),
            example: "\"/srv/photos/returned\"",
            "Where photos go that \"photoinbox undo\" takes back out of the library. No inbox, or they would be filed again."
        ),
        key(
            .top, "trash", .path, fallback: .words("\"trash\" beside the quarantine"),
            example: "\"/srv/photos/trash\"",
            "Where files go that \"photoinbox discard\" throws away, until they expire: see trash in [filing]."),
        key(
            .top, "state", .path,
            fallback: .words(
                "\"/var/lib/photoinbox\" for a configuration in /etc, \"/var/lib/photoinboxd/NAME\" for "
                    + "/etc/photoinbox/NAME.toml, \"~/.local/state/photoinbox\" for a user's own, else \"state\" beside "
                    + "the library"),
            example: "\"/var/lib/photoinbox\"",
            "What must outlive a restart: the catalogue, and what is known of the inboxes. On a local disk."),
        key(
            .top, "catalogue", .path, fallback: .words("\"catalogue.sqlite\" in the state directory"),
            example: "\"/var/lib/photoinbox/catalogue.sqlite\"",
            "The database of what was filed, from where, when, and why so."),
        key(
            .top, "runtime", .path,
            fallback: .words(
                "\"/run/photoinbox\" for the state directory /var/lib/photoinbox, \"/run/photoinboxd/NAME\" for "
                    + "/var/lib/photoinboxd/NAME, \"$XDG_RUNTIME_DIR/photoinbox\" for a user's own, else \"run\" in it"),
            example: "\"/run/photoinbox\"", "What need not outlive a restart: the state dump, and the control socket."),
        key(
            .top, "operators", .account,
            fallback: .words("the group that photoinboxd runs as, if it is a service's or has its user's name"),
            example: "\"photo-operators\"",
            "The group whose members may pause, release, discard, undo and so on by the control socket, as root and photoinboxd's own user may. They "
                + "must be able to enter the runtime directory."),
        key(
            .top, "hooks", .choice(["auto", "unit", "child"]), fallback: .text("auto"), example: "\"auto\"",
            "Where hooks run: in photoinboxd-hooks@.service, which is not confined as the daemon is, by the socket "
                + "\"hooks\" in the runtime directory; or as children of the daemon. \"auto\" takes the unit where a service "
                + "manager has started the daemon, else children. Where the daemon is given another file with --config, that "
                + "unit must be, too: see photoinboxd(8)."),
    ]

    private static let inboxKeys: [KeyDescription] = [
        key(
            .inbox, "path", .path, required: true, example: "\"/srv/inbox/card\"",
            "The directory. It must exist, and neither contain nor lie in the library or another inbox."),
        key(
            .inbox, "mode", .choice(["move", "copy"]), fallback: .text("move"), example: "\"move\"",
            "With \"move\" a photo leaves the inbox once it is safe in the library. With \"copy\" it stays."),
        key(
            .inbox, "quiet", .span(least: .seconds(0), most: .seconds(86_400)), fallback: .text("5s"),
            example: "\"5s\"",
            "How long a file must stay unchanged before it is filed. Used only where a writer cannot be seen, or the "
                + "file's end, or where its only date is the file's time, which FTP clients set after the upload; longer, up "
                + "to 2m, where this inbox's writers were seen to pause for longer."),
        key(
            .inbox, "patience", .span(least: .seconds(0), most: .seconds(30 * 86_400)), fallback: .text("10m"),
            example: "\"10m\"",
            "How long after its last change an incomplete file may stay so. Then it is set aside, in quarantine, with "
                + "the reason beside it; one that lacks only what viewers do without is filed."),
        key(
            .inbox, "exclude", .globs, fallback: .array([]), example: "[\"*.tmp\", \"@eaDir\"]",
            "Files to leave alone. A pattern without a slash matches any name along the path; one with a slash is "
                + "compared from the inbox down. * and ? match within a name, ** whole names."),
        key(
            .inbox, "library", .path, fallback: .words("the library"), example: "\"/srv/photos/library\"",
            "The library of this inbox. All inboxes share one library in this version, so it must be the same."),
        key(
            .inbox, "renditions", .choices(RenditionKind.allCases.map(\.rawValue)),
            fallback: .array(RenditionKind.standard.map(\.rawValue)),
            example: "[\"thumbnail\", \"preview\", \"hash\", \"tilt-shift\"]",
            "What is made of the photos of this inbox, where [pictures] is enabled; what one of them needs is made, too. "
                + "\"hash\" is what \"photoinbox similar\" goes by; it needs the thumbnail. \"tilt-shift\" makes the "
                + "preview look like a model of what it shows, \"googly\" lays googly eyes over each pair of eyes in it; "
                + "for that the decoder must have been built with FACES=1."),
    ]

    private static let filingKeys: [KeyDescription] = [
        key(
            .filing, "layout", .layout, fallback: .text("{year}/{month}/{date}/{name}"),
            example: "\"{year}/{month}/{date}/{name}\"",
            "Where in the library a photo goes: directories of text and fields, ending in /{name}. Fields: {year}, {month}, "
                + "{day} and {date} (2026-11-21) of the date it was taken, {camera}, its model. What is filed already stays."
        ),
        key(
            .filing, "dates", .choice(DateTrust.allCases.map(\.rawValue)), fallback: .text("any"),
            example: "\"recorded\"",
            "How sure the date must be that a photo is filed by. \"device\": from the clock of what took it (EXIF, GPS, a "
                + "film's header). \"recorded\": also what other programs wrote into it, and its name. \"any\": at last "
                + "also its modification time. Photos without such a date are filed under undated/."),
        key(
            .filing, "owner", .account, fallback: .words("the user that photoinboxd runs as"), example: "\"ana\"",
            "The owner of filed photos. Giving files away needs CAP_CHOWN."),
        key(
            .filing, "group", .account, fallback: .words("the group that photoinboxd runs as"), example: "\"photos\"",
            "The group of filed photos. photoinboxd must be in it."),
        key(
            .filing, "mode", .fileMode, fallback: .text("0640"), example: "\"0640\"",
            "The permissions of filed photos. Directories can be searched by whoever may read."),
        key(
            .filing, "trash", .span(least: .seconds(1), most: .seconds(3_650 * 86_400)), fallback: .text("30d"),
            example: "\"30d\"",
            "How long what was discarded lies in the trash before it is deleted. Counted as it passes; while the "
                + "machine is off, a day at most."),
        key(
            .filing, "min-free", .size, fallback: .text("0"), example: "\"2G\"",
            "What filing leaves free in the library's file system: with less, photos wait in their inboxes, and that is "
                + "told. In bytes, or with K, M, G or T."),
    ]

    private static let setKeys: [KeyDescription] = [
        key(
            .sets, "enabled", .choice(["yes", "no"]), fallback: .text("yes"), example: "\"yes\"",
            "With \"no\" each photo is filed alone, and sidecars stay where they are."),
        key(
            .sets, "wait", .span(least: .seconds(0), most: .seconds(60)), fallback: .text("2s"), example: "\"2s\"",
            "How long what belongs together waits for the rest, from when its last file is complete. What comes later is "
                + "put beside it in the library all the same."),
        key(
            .sets, "expect", .choice(["auto", "always", "never"]), fallback: .text("auto"), example: "\"auto\"",
            "When a photo waits although nothing that belongs to it is in sight. With \"auto\" where half of the last "
                + "ones in its inbox came with a partner, and for a Live Photo's film; with \"always\" every photo; with "
                + "\"never\" none."),
    ]

    private static let watchKeys: [KeyDescription] = [
        key(
            .watch, "fastest", .span(least: .seconds(1), most: .seconds(86_400)), fallback: .text("2s"),
            example: "\"2s\"",
            "How soon a directory is looked through again that reports no changes (NFS, SMB, FUSE; where watches or "
                + "permission are missing), while files arrive. Done on the watchdog's tick, so seldom below 5s."),
        key(
            .watch, "slowest", .span(least: .seconds(1), most: .seconds(86_400)), fallback: .text("1m"),
            example: "\"1m\"",
            "The same when nothing has arrived for a while. Where looking takes long it is done less often, so that it "
                + "takes a fiftieth of the time at most."),
        key(
            .watch, "audit", .span(least: .seconds(0), most: .seconds(400 * 86_400)), fallback: .text("1d"),
            example: "\"1d\"",
            "How often inboxes that do report changes are compared all the same, to find and count what was missed; 24 "
                + "times as often after something was. \"0s\" for never."),
    ]

    private static let timerKeys: [KeyDescription] = [
        key(.timer, "name", .name, required: true, example: "\"rescan\"", "What logs and the state dump call it."),
        key(
            .timer, "action", .action(.timer), required: true, example: "\"reconcile\"",
            "One of \(Action.names(for: .timer).joined(separator: ", "))."),
        key(
            .timer, "every", .span(least: .seconds(1), most: .seconds(400 * 86_400)), example: "\"1h\"",
            "How long from one time to the next; at least \"1s\"."),
        key(
            .timer, "at", .timeOfDay, example: "\"sun 03:00\"",
            "The local time of day, with a weekday before it or without."),
        key(
            .timer, "clock", .choice(["monotonic", "boottime"]), fallback: .text("monotonic"), example: "\"boottime\"",
            "For \"every\": whether time spent asleep counts (\"boottime\") or not (\"monotonic\")."),
    ]

    private static let signalKeys: [KeyDescription] = SignalName.allCases.map { signal in
        key(
            .signals, signal.rawValue, .action(.signal),
            fallback: signal.standardAction.map { .text("\($0)") } ?? .words("the system's meaning"),
            example: "\"\(signal.standardAction ?? .reconcile)\"",
            signal == .terminate
                ? "Always \"stop\"." : "One of \(Action.names(for: .signal).joined(separator: ", ")).")
    }

    private static let descriptorKeys: [KeyDescription] = [
        key(
            .descriptor, "name", .name, required: true, example: "\"commands\"", "What logs and the state dump call it."
        ),
        key(
            .descriptor, "fifo", .path, required: true, example: "\"/run/photoinbox/commands\"",
            "The FIFO; made if it is absent. Whoever may write to it may command the daemon."),
    ]

    private static let hookKeys: [KeyDescription] = [
        key(
            .hook, "command", .command, required: true, example: "[\"/usr/local/lib/photos/notify\", \"argument\"]",
            "The program, by its absolute path, and its arguments. No shell reads them. It must be root's, as every "
                + "directory on the way must, and writable to nobody else; if the configuration is your own, not root's, it "
                + "may be yours, too."),
        key(
            .hook, "on", .choices(["filed", "quarantined", "set-complete"]), fallback: .array([]),
            example: "[\"filed\", \"set-complete\"]",
            "Of what it is told, at least once each, over restarts too: of every file that was filed, or set aside, or of "
                + "every set of several files that is complete, and again when another file joins it. A new hook is told "
                + "what happens from now on. With none it runs only when \"hook NAME\" is asked for."),
        key(
            .hook, "inboxes", .names, fallback: .words("all inboxes"), example: "[\"card\"]",
            "The inboxes that it is told of."),
        key(
            .hook, "deadline", .span(least: .seconds(1), most: .seconds(86_400)), fallback: .text("30s"),
            example: "\"30s\"",
            "How long it may run. Then it and what it has started get SIGTERM, and five seconds later SIGKILL. A run that "
                + "failed is tried again, later and later, with fewer files; a file that failed five times is passed over."
        ),
    ]

    static func key(
        _ section: SettingsSection, _ name: String, _ kind: ValueKind, required: Bool = false,
        fallback: Fallback? = nil,
        example: String, _ explanation: String
    ) -> KeyDescription {
        KeyDescription(
            section: section, name: name, kind: kind, fallback: fallback, isRequired: required, example: example,
            explanation: explanation)
    }
}
