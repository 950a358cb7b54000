// The problem table, by its hundreds. Texts are lower case and without a final stop, as they stand behind a label.

private let manual = "man photoinbox-problems"

/// What stops all filing explains why photos wait and why the library cannot be looked at.
private let everythingStopped: [ProblemRow.Cause] = [
    .init(code: .libraryMissing, scope: .everywhere), .init(code: .libraryFull, scope: .everywhere),
    .init(code: .libraryReadOnly, scope: .everywhere), .init(code: .libraryFailing, scope: .everywhere),
    .init(code: .libraryStalled, scope: .everywhere), .init(code: .libraryReplaced, scope: .everywhere),
    .init(code: .placesNested, scope: .everywhere), .init(code: .libraryUnsuitable, scope: .everywhere),
    .init(code: .placeTaken, scope: .everywhere),
    .init(code: .catalogueFull, scope: .everywhere),
    .init(code: .catalogueDamaged, scope: .everywhere), .init(code: .catalogueNewer, scope: .everywhere),
    .init(code: .catalogueRebuilding, scope: .everywhere), .init(code: .catalogueReplaced, scope: .everywhere),
]
private let inboxAway: [ProblemRow.Cause] = [
    .init(code: .inboxMissing, scope: .sameSubject), .init(code: .inboxGone, scope: .sameSubject),
]

extension ProblemCode {
    var daemonRow: ProblemRow {
        switch self {
        case .monitorDisabled:
            ProblemRow(
                .warning, title: "monitor {name} is off: its handler failed: {reason}",
                effect: "what it watched is not noticed until the next reconciliation",
                action: "systemctl restart photoinboxd; please report it with the output of photoinbox dump",
                see: manual)
        case .hookFailing:
            ProblemRow(
                .warning, title: "hook {name} failed {count|time|times} in a row: {reason}",
                effect:
                    "filing does not wait for hooks; what the hook does is missing. It is tried again, later and later",
                action: "journalctl -t photoinboxd PHOTOINBOX_HOOK={name} shows what it says")
        case .journalDropped:
            ProblemRow(
                .notice, title: "{count|journal entry was|journal entries were} dropped; journald did not take them",
                effect: "filing does not wait for the journal; photoinbox list shows what was filed",
                action: "systemctl status systemd-journald", showAfter: 10)
        case .queueStuck:
            ProblemRow(
                .warning, title: "{name} has been in one step for {age}: {reason}",
                effect: "what goes through it waits; the rest continues",
                action: "photoinbox dump shows where it waits",
                see: manual,
                hiddenBy: [
                    .init(code: .inboxStalled, scope: .sameSubject), .init(code: .libraryStalled, scope: .everywhere),
                ])
        case .decoderUnavailable:
            ProblemRow(
                .warning, title: "no thumbnails are made: {reason}",
                effect: "photos are filed all the same, and get theirs when it works again",
                action: "photoinbox thumbs says more; to do without, set enabled = \"no\" under [pictures]", see: manual
            )
        case .decoderUnconfined:
            ProblemRow(
                .warning, title: "photos are decoded by a program that is not confined entirely: {reason}",
                effect: "a photo that is made to attack it may do what photoinboxd may",
                action: "set confinement = \"required\" under [pictures], or have the kernel allow it", see: manual)
        case .metricsUnwritable:
            ProblemRow(
                .warning, title: "metrics cannot be written to {path}: {reason}",
                effect: "whoever collects them sees none, or old ones; photos are filed all the same",
                action: """
                    let photoinboxd write to that directory: by its owner or mode, and for the service with \
                    ReadWritePaths= in systemctl edit photoinboxd
                    """, see: manual)
        case .decoderWithoutFaces:
            ProblemRow(
                .notice, title: "no googly eyes are drawn: {path} was built without face detection",
                effect: "photos are filed, and get their other renditions",
                action: """
                    build it with FACES=1, then photoinbox thumbs --rebuild; or take "googly" out of renditions in the \
                    configuration
                    """, see: manual)
        case .noInboxes:
            ProblemRow(
                .notice, title: "no inbox is configured", effect: "there is nothing to do",
                action: "add an [inbox.NAME] section to {path}, then systemctl reload photoinboxd")
        case .watchDeaf:
            ProblemRow(
                .warning, title: "no event has come for {age}, though the daemon caused one itself",
                effect: "new photos are not noticed; the service manager restarts the daemon, which finds them",
                action: """
                    none needed under systemd, else restart photoinboxd; please report it with the output of \
                    photoinbox dump
                    """, see: manual)
        case .noWatchInstance:
            ProblemRow(
                .warning, title: "no inotify instance was left ({limit} for each user): every folder is polled",
                effect: "photos are found within {interval}",
                action: """
                    sudo sysctl {sysctl}, then systemctl restart photoinboxd; to keep it, put {sysctl} into \
                    /etc/sysctl.d/photoinbox.conf
                    """, see: manual)
        default:
            ProblemRow(
                .warning, title: "configuration refused: {count|mistake|mistakes} in {path}",
                effect: "the running configuration is kept; a restart would fail", action: "photoinboxd --check")
        }
    }

    var inboxRow: ProblemRow {
        switch self {
        case .watchLimit:
            ProblemRow(
                .warning,
                title: """
                    kernel watch limit ({limit}) reached, {needed} are needed: {count|folder|folders} polled; \
                    disk is fine
                    """,
                effect: "photos there are found within {interval}",
                action: """
                    sudo sysctl {sysctl}; to keep it, put {sysctl} into /etc/sysctl.d/photoinbox.conf; no restart \
                    is needed
                    """, see: manual)
        case .inboxPaused:
            ProblemRow(
                .notice, title: "inbox {inbox} is paused, by {name} at {next}",
                effect: "what comes is seen and waits untouched: {count|file|files} now; none is lost",
                action: "photoinbox resume {inbox'}", see: manual)
        case .cardIncomplete:
            ProblemRow(
                .warning, title: "not all photos of the card at {path} were imported: {reason}",
                effect: "what is missing is on the card alone: do not erase it; nothing was changed there",
                action: "mount the card at {path} again: it goes on where it stopped", see: manual)
        case .downloadsWait:
            ProblemRow(
                .warning, title: "nothing is downloaded into {inbox}: {reason}",
                effect: "links that were dropped there wait, and are tried again; photos are filed all the same",
                action: "systemctl status photoinboxd-fetch.socket, then photoinbox reload to try at once", see: manual)
        case .eventsMissed:
            ProblemRow(
                .warning,
                title: "{count|change|changes} in {inbox} raised no event and {count?was|were} found by comparing only",
                effect: "such photos are found when {inbox} is next compared, within {interval}",
                action: """
                    find out who writes past the file system of {path'} (a lower layer of an overlay, a disk image, \
                    another machine), or compare more often: audit in [watch] of the configuration
                    """,
                see: manual, hiddenBy: inboxAway)
        case .inboxMissing:
            ProblemRow(
                .warning, title: "inbox {inbox} is not there: {path}",
                effect: "its photos are filed once it is there; other inboxes continue",
                action: "mount or make {path}; it is found by itself", showAfter: 5)
        case .inboxGone:
            ProblemRow(
                .warning, title: "inbox {inbox} went away: {path} was unmounted, moved or removed",
                effect: "nothing is filed from it, and nothing is deleted; other inboxes continue",
                action: "bring {path} back; it is found by itself", showAfter: 5,
                hiddenBy: [.init(code: .inboxMissing, scope: .sameSubject)])
        case .directoryUnreadable:
            ProblemRow(
                .warning, title: "{count|folder|folders} of {inbox} cannot be read: {path}: {reason}",
                effect: "photos there are not seen; other folders continue",
                action: "give the user of photoinboxd permission to read {path'}", hiddenBy: inboxAway)
        case .inboxStalled:
            ProblemRow(
                .warning, title: "inbox {inbox} has not answered for {age}: {path}",
                effect: "its photos wait; other inboxes continue",
                action: "look at the disk or the network behind it; it goes on by itself", hiddenBy: inboxAway)
        case .inboxTaken:
            ProblemRow(
                .warning, title: "another daemon uses inbox {inbox}, {path}: {reason}",
                effect: "photos there wait for it; other inboxes continue",
                action: "stop one of the two, or give it an inbox of its own", see: manual)
        case .sourceKept:
            ProblemRow(
                .warning, title: "{count|photo|photos} of {inbox} filed, but not removed there: {reason}",
                effect: "they are safe in the library and will not be filed twice",
                action: "make {path'} writable, or set mode = \"copy\" for this inbox", hiddenBy: inboxAway)
        default:
            ProblemRow(
                .notice,
                title: "{count|folder|folders} of {inbox} {count?is|are} on {filesystem}, which reports no changes",
                effect: "photos there are found within {interval}", action: "none needed", hiddenBy: inboxAway)
        }
    }

    var photoRow: ProblemRow {
        switch self {
        case .photosQuarantined:
            ProblemRow(
                .warning, title: "{count|photo needs|photos need} a person: {path}",
                effect: "kept unchanged in quarantine; other photos continue",
                action: "photoinbox list --outcome quarantined says why, each")
        default:
            ProblemRow(
                .warning, title: "{count|photo|photos} deferred for {age}: {path}",
                effect: "other photos continue; next try {next}", action: "photoinbox explain {path'}",
                hiddenBy: everythingStopped + inboxAway + [
                    .init(code: .inboxStalled, scope: .sameSubject), .init(code: .inboxPaused, scope: .sameSubject),
                ])
        }
    }

    var libraryRow: ProblemRow {
        switch self {
        case .libraryFull:
            ProblemRow(
                .stopped, title: "library disk full: {path}: {reason}", effect: waiting,
                action: """
                    make room there; if enough is free, its inodes (df -i {path'}) or a quota are used up. Filing \
                    resumes by itself
                    """, see: manual)
        case .libraryReadOnly:
            ProblemRow(
                .stopped, title: "library cannot be written to: {path}: {reason}", effect: waiting,
                action: "make {path'} writable for the user of photoinboxd; filing resumes by itself", see: manual)
        case .libraryUnsuitable:
            ProblemRow(
                .stopped, title: "the library's file system cannot create names safely: {path}: {reason}",
                effect: waiting,
                action:
                    "move the library to a file system with hard links (ext4, XFS, btrfs), or mount this one otherwise",
                see: manual)
        case .libraryFailing:
            ProblemRow(
                .stopped, title: "library disk fails: {path}: {reason}", effect: waiting,
                action: "look at the disk (journalctl -k, smartctl) before anything else", see: manual)
        case .libraryStalled:
            ProblemRow(
                .stopped, title: "library has not answered for {age}: {path}", effect: waiting,
                action: "look at the disk or the network behind it; filing resumes by itself", see: manual,
                showAfter: 10)
        case .libraryReplaced:
            ProblemRow(
                .stopped, title: "what lies at {path} is not the library: {reason}", effect: waiting,
                action: """
                    mount the library at {path'}; it is found by itself. If what lies there is to be the library from \
                    now on: stop photoinboxd, then photoinboxd --accept-library
                    """, see: manual)
        case .placesNested:
            ProblemRow(
                .stopped, title: "two directories of the configuration overlap: {reason}", effect: waiting,
                action: """
                    unmount one of them, or give each a directory of its own in the configuration; filing resumes by \
                    itself
                    """, see: manual)
        case .libraryDamaged:
            ProblemRow(
                .warning,
                title: "{count|filed photo is|filed photos are} missing or damaged in the library: {name}: {reason}",
                effect: "what lies there is not what was filed; other photos continue",
                action: """
                    copy it back from a backup, or drop the original into an inbox, which files it again. If it was \
                    removed on purpose: photoinbox verify --repair
                    """,
                see: manual, hiddenBy: everythingStopped)
        case .placeTaken:
            ProblemRow(
                .stopped, title: "another daemon uses the library {path}: {reason}", effect: waiting,
                action: "stop one of the two, or give it directories of its own; filing resumes by itself", see: manual)
        case .photosElsewhere:
            ProblemRow(
                .warning,
                title: "{count|recorded photo is|recorded photos are} in {path}, which is not the configured library",
                effect: "they are not verified, and are filed again when they arrive again",
                action: """
                    photoinbox import {path'} brings them into the library of now; or set library to {path'} again
                    """, see: manual)
        case .placeAway:
            ProblemRow(
                .warning, title: "{path} is not available: {reason}",
                effect: "files for it wait where they are; filing continues",
                action: """
                    mount it; it is found by itself. If it is to be what lies there from now on: stop photoinboxd, \
                    then photoinboxd --accept-library
                    """, see: manual)
        case .photosUnrecorded:
            ProblemRow(
                .warning, title: "the library holds photos that are not in the catalogue: {name} in {path}",
                effect: "they stay where they are, and are filed again when they arrive again",
                action: "photoinbox adopt {path'}",
                see: manual, hiddenBy: everythingStopped)
        default:
            ProblemRow(
                .stopped, title: "library is not there: {path}", effect: waiting,
                action: "mount it; filing resumes by itself. An empty directory is not taken for it", see: manual,
                showAfter: 5)
        }
    }

    var catalogueRow: ProblemRow {
        switch self {
        case .catalogueDamaged:
            ProblemRow(
                .stopped, title: "catalogue damaged: {path}: {reason}", effect: waiting,
                action: "stop photoinboxd, keep a copy of {path'}, then restore it or have it made anew", see: manual)
        case .catalogueRebuilding:
            ProblemRow(
                .stopped, title: "catalogue is being made anew from the library, since it was lost: {path}",
                effect: waiting, action: "none needed: filing goes on when it is whole", see: manual)
        case .catalogueReplaced:
            ProblemRow(
                .stopped, title: "catalogue was removed or replaced while it was open: {path}: {reason}",
                effect: waiting, action: "none needed: it is written anew beside what is there", see: manual)
        case .catalogueNewer:
            ProblemRow(
                .stopped, title: "catalogue was written by a newer photoinboxd: {path}", effect: waiting,
                action: "install that version again, or a newer one", see: manual)
        default:
            ProblemRow(
                .stopped, title: "catalogue disk full: {path}", effect: waiting,
                action: "make room there, some megabytes at least; filing resumes by itself", see: manual)
        }
    }

    private var waiting: ProblemTemplate {
        "{count|photo waits|photos wait} untouched in their inboxes; none is lost"
    }
}
