private let manual = "man photoinbox-problems"

/// Problems that stop all filing are the cause of waiting photos, and of a library that cannot be checked.
private let everythingStopped: [ProblemRow.Cause] = [
    .everywhere(.libraryMissing), .everywhere(.libraryFull), .everywhere(.libraryReadOnly),
    .everywhere(.libraryFailing), .everywhere(.libraryStalled), .everywhere(.libraryReplaced),
    .everywhere(.placesNested), .everywhere(.libraryUnsuitable), .everywhere(.placeTaken),
    .everywhere(.catalogueFull), .everywhere(.catalogueDamaged), .everywhere(.catalogueNewer),
    .everywhere(.catalogueRebuilding), .everywhere(.catalogueReplaced),
    .everywhere(.catalogueUnreachable), .everywhere(.catalogueTaken),
]
private let inboxAway: [ProblemRow.Cause] = [.sameSubject(.inboxMissing), .sameSubject(.inboxGone)]
private let waiting: ProblemTemplate =
    "{count|photo waits in its inbox|photos wait in their inboxes}, untouched; none is lost"

extension ProblemCode {
    /// The problem table. Texts follow a label, so they are lower case and have no final stop.
    package var row: ProblemRow {
        switch self {
        // MARK: PI-1xx: the daemon
        case .configurationRefused:
            ProblemRow(
                .warning, title: "configuration refused: {count|mistake|mistakes} in {path}",
                effect: "the running configuration is kept; a restart would fail", action: "photoinboxd --check")
        case .monitorDisabled:
            ProblemRow(
                .warning, title: "monitor {name} is off: its handler failed: {reason}",
                effect: "changes that it watches for are not noticed until the next reconciliation",
                action: "systemctl restart photoinboxd; please report it with the output of photoinbox dump",
                see: manual)
        case .hookFailing:
            ProblemRow(
                .warning, title: "hook {name} failed {count|time|times} in a row: {reason}",
                effect: """
                    filing continues; the hook's work is not done. Failed events are retried at growing intervals; a run that an \
                    action started is not
                    """, action: "journalctl -t photoinboxd PHOTOINBOX_HOOK={name} shows its output")
        case .hookSkipped:
            ProblemRow(
                .warning,
                title: """
                    hook {name} skipped {count|file|files} that it failed on repeatedly{count?:|, the newest} {path}
                    """,
                effect:
                    "filing continues; the hook's work for what it skipped is not done, and is not tried again by itself",
                action: """
                    journalctl -t photoinboxd PHOTOINBOX_HOOK={name} shows why; correct that, then photoinbox retry --all
                    """)
        case .journalDropped:
            ProblemRow(
                .notice,
                title: "{count|journal entry was|journal entries were} dropped: journald did not accept them",
                effect: "filing does not wait for the journal; photoinbox list shows what was filed",
                action: "systemctl status systemd-journald", showAfter: 10)
        case .queueStuck:
            ProblemRow(
                .warning, title: "{name} has been in one step for {age}: {reason}",
                effect: "its work waits; the rest continues", action: "photoinbox dump shows where it waits",
                see: manual, hiddenBy: [.sameSubject(.inboxStalled), .everywhere(.libraryStalled)])
        case .noInboxes:
            ProblemRow(
                .notice, title: "no inbox is configured", effect: "there is nothing to do",
                action: "add an [inbox.NAME] section to {path}, then systemctl reload photoinboxd")
        case .watchDeaf:
            ProblemRow(
                .warning, title: "no event has arrived for {age}, although the daemon caused one itself",
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
        case .decoderUnavailable:
            ProblemRow(
                .warning, title: "no thumbnails are made: {reason}",
                effect: "photos are filed without thumbnails, and get them when the decoder works again",
                action:
                    "photoinbox thumbs shows details; to turn thumbnails off, set enabled = \"no\" under [pictures]",
                see: manual)
        case .decoderUnconfined:
            ProblemRow(
                .warning, title: "the program that decodes photos is not completely confined: {reason}",
                effect: "a malicious photo could do what photoinboxd may do",
                action: "set confinement = \"required\" under [pictures], or enable it in the kernel", see: manual)
        case .metricsUnwritable:
            ProblemRow(
                .warning, title: "metrics cannot be written to {path}: {reason}",
                effect: "collectors get no metrics, or old ones; filing continues",
                action: """
                    let photoinboxd write to that directory: by its owner or mode, and for the service with \
                    ReadWritePaths= in systemctl edit photoinboxd
                    """, see: manual)
        case .decoderWithoutFaces:
            ProblemRow(
                .notice, title: "no googly eyes are drawn: {path} was built without face detection",
                effect: "photos are filed, and get their other renditions",
                action: """
                    build it with FACES=1, then photoinbox thumbs --rebuild; or remove "googly" from renditions in the \
                    configuration
                    """, see: manual)

        // MARK: PI-2xx: inboxes
        case .inboxPolled:
            ProblemRow(
                .notice,
                title: "{count|folder|folders} of {inbox} {count?is|are} on {filesystem}, which reports no changes",
                effect: "photos there are found within {interval}", action: "none needed", hiddenBy: inboxAway)
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
        case .inboxMissing:
            ProblemRow(
                .warning, title: "inbox {inbox} not found: {path}",
                effect: "its photos are filed once it is found; other inboxes continue",
                action: "mount or create {path}; it is detected automatically", showAfter: 5)
        case .inboxGone:
            ProblemRow(
                .warning, title: "inbox {inbox} disappeared: {path} was unmounted, moved or removed",
                effect: "nothing is filed from it, and nothing is deleted; other inboxes continue",
                action: "bring {path} back; it is detected automatically", showAfter: 5,
                hiddenBy: [.sameSubject(.inboxMissing)])
        case .directoryUnreadable:
            ProblemRow(
                .warning, title: "{count|folder|folders} of {inbox} cannot be read: {path}: {reason}",
                effect: "photos there are not seen; other folders continue",
                action: "give the user of photoinboxd permission to read {path'}", hiddenBy: inboxAway)
        case .inboxStalled:
            ProblemRow(
                .warning, title: "inbox {inbox} has not answered for {age}: {path}",
                effect: "its photos wait; other inboxes continue",
                action: "check the disk or the network behind it; filing resumes automatically", hiddenBy: inboxAway)
        case .sourceKept:
            ProblemRow(
                .warning, title: "{count|photo|photos} of {inbox} filed, but not removed there: {reason}",
                effect: "they are safe in the library and will not be filed twice",
                action: "make {path'} writable, or set mode = \"copy\" for this inbox", hiddenBy: inboxAway)
        case .eventsMissed:
            ProblemRow(
                .warning,
                title: "{count|change|changes} in {inbox} raised no event and {count?was|were} found only by a scan",
                effect: "such photos are found by the next scan of {inbox}, within {interval}",
                action: """
                    find out what writes past the file system of {path'} (a lower layer of an overlay, a disk image, \
                    another machine), or scan more often: audit in [watch] of the configuration
                    """,
                see: manual, hiddenBy: inboxAway)
        case .inboxPaused:
            ProblemRow(
                .notice, title: "inbox {inbox} was paused by {name} at {next}",
                effect: "new files wait untouched: {count|file|files} now; none is lost",
                action: "photoinbox resume {inbox'}", see: manual)
        case .cardIncomplete:
            ProblemRow(
                .warning, title: "not all photos of the card at {path} were imported: {reason}",
                effect: "the missing photos are only on the card: do not erase it; nothing on it was changed",
                action: "mount the card at {path} again: the import continues where it stopped", see: manual)
        case .downloadsWait:
            ProblemRow(
                .warning, title: "nothing is downloaded into {inbox}: {reason}",
                effect: "links in that inbox wait and are retried; filing continues",
                action: "systemctl status photoinboxd-fetch.socket, then photoinbox reload to retry now", see: manual)
        case .inboxTaken:
            ProblemRow(
                .warning, title: "inbox {inbox} at {path} is another daemon's: {reason}",
                effect: "photos there wait; other inboxes continue",
                action: """
                    if a host has an inbox of this name: write another name for {inbox} in [inbox.{inbox}] of this \
                    host's configuration, then systemctl reload photoinboxd. If a daemon uses its directory: stop one \
                    of the two, or give this one another path there
                    """, see: manual)

        // MARK: PI-3xx: photos
        case .photosDeferred:
            ProblemRow(
                .warning, title: "{count|photo|photos} deferred for {age}: {path}",
                effect: "other photos continue; next try {next}", action: "photoinbox explain {path'}",
                hiddenBy: everythingStopped + inboxAway + [.sameSubject(.inboxStalled), .sameSubject(.inboxPaused)])
        case .photosQuarantined:
            ProblemRow(
                .warning, title: "{count|photo needs|photos need} a decision: {path}",
                effect: "kept unchanged in quarantine; other photos continue",
                action: "photoinbox list --outcome quarantined shows the reason for each")

        // MARK: PI-4xx: the library
        case .libraryMissing:
            ProblemRow(
                .stopped, title: "library not found: {path}", effect: waiting,
                action: "mount it; filing resumes automatically. An empty directory is not accepted as the library",
                see: manual, showAfter: 5)
        case .libraryFull:
            ProblemRow(
                .stopped, title: "library disk full: {path}: {reason}", effect: waiting,
                action: """
                    free space there; if there is enough, the inodes (df -i {path'}) or a quota are used up. Filing \
                    resumes automatically
                    """, see: manual)
        case .libraryReadOnly:
            ProblemRow(
                .stopped, title: "library is not writable: {path}: {reason}", effect: waiting,
                action: "make {path'} writable for the user of photoinboxd; filing resumes automatically", see: manual)
        case .libraryFailing:
            ProblemRow(
                .stopped, title: "library disk fails: {path}: {reason}", effect: waiting,
                action: "check the disk (journalctl -k, smartctl) before anything else", see: manual)
        case .libraryStalled:
            ProblemRow(
                .stopped, title: "library has not answered for {age}: {path}", effect: waiting,
                action: "check the disk or the network behind it; filing resumes automatically", see: manual,
                showAfter: 10)
        case .libraryReplaced:
            ProblemRow(
                .stopped, title: "the directory at {path} is not the library: {reason}", effect: waiting,
                action: """
                    mount the library at {path'}; it is detected automatically. To use this directory as the library \
                    from now on: stop photoinboxd, then photoinboxd --accept-library
                    """, see: manual)
        case .libraryDamaged:
            ProblemRow(
                .warning,
                title: "{count|filed photo is|filed photos are} missing or damaged in the library: {name}: {reason}",
                effect: "the library's copy is not what was filed; other photos continue",
                action: """
                    restore it from a backup, or put the original into an inbox, which files it again. If it was \
                    removed on purpose: photoinbox verify --repair
                    """,
                see: manual, hiddenBy: everythingStopped)
        case .placeTaken:
            ProblemRow(
                .stopped, title: "another daemon uses the library {path}: {reason}", effect: waiting,
                action: "stop one of the two daemons, or give it its own directories; filing resumes automatically",
                see: manual)
        case .photosElsewhere:
            ProblemRow(
                .warning,
                title: "{count|recorded photo is|recorded photos are} in {path}, which is not the configured library",
                effect: "they are not verified, and are filed again when they arrive again",
                action: """
                    photoinbox import {path'} brings them into the current library; or set library to {path'} again
                    """, see: manual)
        case .placesNested:
            ProblemRow(
                .stopped, title: "two directories of the configuration overlap: {reason}", effect: waiting,
                action: """
                    unmount one of them, or give each a directory of its own in the configuration; filing resumes \
                    automatically
                    """, see: manual)
        case .photosUnrecorded:
            ProblemRow(
                .warning, title: "the library holds photos that are not in the catalogue: {name} in {path}",
                effect: "they stay where they are, and are filed again when they arrive again",
                action: "photoinbox adopt {path'}", see: manual, hiddenBy: everythingStopped)
        case .placeAway:
            ProblemRow(
                .warning, title: "{path} is not available: {reason}",
                effect: "files for it stay where they are; filing continues",
                action: """
                    mount it; it is detected automatically. To use the directory that is there now: stop photoinboxd, \
                    then photoinboxd --accept-library
                    """, see: manual)
        case .libraryUnsuitable:
            ProblemRow(
                .stopped, title: "the library's file system cannot create names safely: {path}: {reason}",
                effect: waiting,
                action: """
                    move the library to a file system with hard links (ext4, XFS, btrfs), or mount this one with other \
                    options
                    """, see: manual)

        // MARK: PI-5xx: the catalogue
        case .catalogueFull:
            ProblemRow(
                .stopped, title: "catalogue disk full: {path}", effect: waiting,
                action: "free at least some megabytes there; filing resumes automatically", see: manual)
        case .catalogueDamaged:
            ProblemRow(
                .stopped, title: "catalogue damaged: {path}: {reason}", effect: waiting,
                action: "stop photoinboxd, keep a copy of {path'}, then restore or rebuild it", see: manual)
        case .catalogueNewer:
            ProblemRow(
                .stopped, title: "catalogue was written by a newer photoinboxd: {path}", effect: waiting,
                action: "install that version again, or a newer one", see: manual)
        case .catalogueRebuilding:
            ProblemRow(
                .stopped, title: "catalogue was lost and is being rebuilt from the library: {path}",
                effect:
                    "{count|photo waits in its inbox|photos wait in their inboxes}, untouched; photos that were moved to a bucket are recorded only as far as the old catalogue can be read",
                action:
                    "none needed for photos of the library: filing resumes when it is complete; if some are in a bucket, restore a copy of the catalogue instead",
                see: manual)
        case .catalogueReplaced:
            ProblemRow(
                .stopped, title: "catalogue was removed or replaced while it was open: {path}: {reason}",
                effect: waiting, action: "none needed: it is written again, or rebuilt from the library", see: manual)
        case .catalogueUnreachable:
            ProblemRow(
                .stopped, title: "catalogue cannot be used: {path}: {reason}", effect: waiting,
                action: "repair the server, the network, or its role's rights; filing resumes automatically",
                see: manual)
        case .catalogueTaken:
            ProblemRow(
                .stopped, title: "catalogue accepts nothing more from this daemon: {path}: {reason}", effect: waiting,
                action: """
                    if the host was forgotten: systemctl restart photoinboxd. Else first stop the other daemon, and \
                    remove the file host from that of the two state directories which is the copy
                    """, see: manual)

        // MARK: PI-6xx: other hosts
        case .hostSilent:
            // After an outage of the server all hosts are silent, and most of them are back in a moment.
            ProblemRow(
                .warning, title: "host {name} silent since {next}",
                effect: """
                    what is in its inboxes is not filed: {count|photo|photos} when it was last seen; other hosts continue
                    """,
                action: "start photoinboxd there; if it never comes back: photoinbox hosts forget {name'}",
                see: manual, showAfter: 15,
                hiddenBy: [.everywhere(.catalogueUnreachable), .everywhere(.catalogueTaken)])
        }
    }
}
