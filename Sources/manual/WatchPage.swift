extension Roff {
    /// What photoinbox-watch(1) says of inotifywait(1).
    mutating func appendDifferences() {
        heading("DIFFERENCES FROM INOTIFYWAIT")
        paragraph(
            "Scripts that run \"inotifywait -m -r\" can run \"photoinbox watch -m -r\" with the same options: the same "
                + "lines come out, byte for byte, and the lines \"Setting up watches.\" and \"Watches established.\" on "
                + "standard error. These are the differences.")
        subheading("What only photoinbox watch does")
        for (term, meaning) in gains { item(term, [meaning]) }
        subheading("What only inotifywait does")
        for (term, meaning) in losses { item(term, [meaning]) }
    }
}

private let gains: [(String, String)] = [
    (
        "No directory is lost",
        "Each is watched before it is listed, so that what comes into it meanwhile is told. inotifywait lists first: of "
            + "\"mkdir -p a/b/c\", and of a tree that is moved in, it watches as much as it is quick enough for. Among the "
            + "kernel's events, what a new directory held is told as FOUND, in the place of CREATE or MOVED_TO, to "
            + "who asks for one of these, and its files to who asks for close_write; a file that is still being written is "
            + "told again when it is closed."
    ),
    (
        "Files that are finished",
        "Without -m, -r or -e, a file is told once it is whole: closed by its writer, moved in, or found; not once more "
            + "for each event on the way, and not under the name that it has while it is written. Each close after writing "
            + "and each new name is told once; a change of its mode, and a rename of a directory above it, are not."
    ),
    (
        "A full queue is made up for",
        "When events come faster than they are read, the kernel drops them. For kinds such as finished, what is there is "
            + "then compared with what was known, and exactly the differences are told. Among the kernel's events, which "
            + "nobody can make up for, the loss is said on standard error, the status is 3, new directories are watched, "
            + "and what they hold is told as FOUND. inotifywait says nothing, and watches no directory that it missed."
    ),
    (
        "Where no events come",
        "Network and FUSE file systems change behind the kernel's back. For kinds such as finished, such trees are "
            + "polled."
    ),
    (
        "Limits are said",
        "When fs.inotify.max_user_watches is reached, what fits is watched, what does not is said, and the status is 3. "
            + "inotifywait gives up."
    ),
    (
        "Excluded trees cost no watch",
        "A directory of which nothing can be told, by --exclude, --exclude-glob or @DIR, is neither watched nor read. "
            + "inotifywait watches it, and drops its events. @DIR also holds for directories that appear later."
    ),
    (
        "Renamed and departed directories",
        "A directory that is renamed keeps its watches under its new path, with all below it. One that is moved away is "
            + "not told of any more, and neither is what is below it; inotifywait goes on to tell of them under paths that "
            + "are not there."
    ),
    (
        "A root that goes and comes back",
        "For kinds such as finished, a root that is renamed or removed is said to be gone, and once a directory lies at its "
            + "path again, that is watched, and what differs is told. inotifywait stays with what went."
    ),
    (
        "Names as bytes",
        "--null and --json hold any name; on a terminal names are escaped. inotifywait truncates a line after 4,096 bytes."
    ),
    (
        "Several patterns",
        "All --exclude and --include options count, together; inotifywait takes the last of one of them."
    ),
    (
        "--include leaves directories alone",
        "They are watched whatever they are called; inotifywait 3.22 does not watch a new one whose name does not match."
    ),
    ("Globs", "--exclude-glob, --include-glob, as in photoinbox.toml(5)."),
    ("--count, --existing, --json, fractions of a second", "Are its own."),
    ("The end of its reader", "Is noticed at once; inotifywait lives on until it has something to tell."),
    ("Its cost", "In a storm, events are taken hundreds at a time, at a fraction of the processor time."),
]

private let losses: [(String, String)] = [
    (
        "Ending by itself after one event",
        "Without -m it goes on, too: --count 1 is for that. It watches with all that is below, without -r as well."
    ),
    ("Single files", "It watches directories. For a file, watch its directory with --include."),
    ("Links", "Are never followed below DIR, as with -P."),
    ("--daemon", "Use systemd-run(1), or nohup(1) with --outfile."),
    ("--syslog", "Use logger(1) or systemd-cat(1) on standard error."),
    (
        "--fanotify, --filesystem",
        "It uses inotify(7), which needs no privilege. Name the mount point."
    ),
    ("-e isdir, -e oneshot", "Are no events of the kernel's queue, and are refused."),
    ("Abbreviated options", "--recurs for --recursive is refused."),
    (
        "Status 1 for all failures",
        "1 means that it failed; usage is 64, a lack of permission 77, a part that could not be watched 3."
    ),
]
